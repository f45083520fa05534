//! `reseat exec`: brings one entry up in the pane it runs in.

use super::Outcome;
use crate::exit::{Failure, sentence};
use reseat_core::ids::{EntryId, FlightId};
use reseat_os::env::Env;
use reseat_recovery::restore::exec::exec;
use std::path::Path;

pub(crate) fn run(env: &Env, state: &Path, config: Option<&Path>, flight: String, entry: String) -> Outcome {
    let given = env.get("RESEAT_STATE_DIR").map(str::to_owned);
    let context = super::gather(&super::look::with(env, Some(state), config))?;
    let mut context = context;
    // What the pane runs inherits the user's environment, not our way of naming the state directory.
    let mut vars = context.env.vars().clone();
    if given.is_none() {
        vars.remove("RESEAT_STATE_DIR");
    }
    context.env = Env::from_pairs(vars);
    let error = exec(&context, &FlightId(flight), &EntryId(entry), &mut std::io::stderr());
    Err(Failure::failed("no-shell", sentence(&error), "`reseat restore` starts it"))
}
