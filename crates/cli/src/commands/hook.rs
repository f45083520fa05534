//! `reseat hook`: keeps one event and asks for a look. Silent, quick, and never failing: it runs inside agents.

use reseat_core::ids::AgentKind;
use reseat_os::env::Env;
use reseat_os::proc::Proc;
use reseat_recovery::capture::hook::{Surroundings, fact_of};
use reseat_recovery::capture::request;
use reseat_store::facts::Spool;
use std::time::Duration;

/// More input than this is not an event of ours.
const MAX_INPUT: u64 = 4 << 20;
/// How long the agent may take to hand the event over.
const INPUT_DEADLINE: Duration = Duration::from_millis(60);

pub(crate) fn run(source: &str) {
    let env = Env::of_process();
    let proc = Proc::real();
    let Ok(boot) = reseat_os::boot::current_boot(&proc) else { return };
    let Ok(state) = reseat_os::dirs::state_dir(&env, &boot.host) else { return };
    let usable = reseat_os::dirs::ensure_private(&env, &state).is_ok();
    if let Ok(kind) = source.parse::<AgentKind>() {
        // The moment of the event, not of its end.
        let number = if usable { reseat_os::boot::boot_number(&state, &boot) } else { 0 };
        let stamp = reseat_os::clock::stamp(&boot, number);
        let input = request::read_input(MAX_INPUT, INPUT_DEADLINE);
        let home = env.home().unwrap_or_default();
        let around = Surroundings {
            env: &env,
            proc: &proc,
            boot: &boot,
            parent: reseat_os::proc::parent(),
            user_home: &home,
        };
        let Ok(fact) = fact_of(kind, &input, stamp, &around) else { return };
        let fallback = reseat_os::dirs::runtime_dir(&env).map(|dir| dir.join("reseat").join("facts"));
        // Where nothing can be kept there is nobody to tell: an agent is not disturbed.
        let _ = Spool::new(state.join("facts"), fallback).put(&fact);
    }
    if usable {
        request::ask(&state, &super::program());
    }
}
