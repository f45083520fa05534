//! What an agent's hook keeps: one fact, from the event on standard input and the process table above the hook.
//!
//! Never opens the store, never asks tmux, never fails an agent: whatever cannot be read is left out.

use super::sight::launch_of;
use reseat_agents::{Agent, ProcessView, agent};
use reseat_core::fact::{AgentEvent, Body, Fact, HookEvent, PaneClaim, Stamp};
use reseat_core::ids::{AgentKind, SessionId};
use reseat_core::mux::{PaneId, ServerLife};
use reseat_core::process::{Boot, ProcessKey};
use reseat_os::env::Env;
use reseat_os::proc::{Proc, Stat};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// More ancestors than this are not walked.
const MAX_ANCESTORS: usize = 64;

/// The fields of a hook's input that are kept or looked at. Prompts and everything else are not even parsed.
#[derive(Debug, Deserialize)]
struct Input {
    session_id: String,
    hook_event_name: String,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    permission_mode: Option<String>,
}

/// Why an event was not kept. Said only in the log of a person who asks; a hook itself is silent.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The input is not what a hook is given.
    #[error("cannot understand the event")]
    Input(#[source] serde_json::Error),
    /// It names something that is no session id.
    #[error("cannot use the event's session id")]
    Session(#[from] reseat_core::ids::BadId),
    /// It is an event that says nothing about which session is where.
    #[error("not an event that is kept")]
    OtherEvent,
}

/// What a hook process can see.
pub struct Surroundings<'a> {
    /// The hook's own environment, inherited from the agent.
    pub env: &'a Env,
    /// The process table.
    pub proc: &'a Proc,
    /// The boot.
    pub boot: &'a Boot,
    /// The hook's parent.
    pub parent: u32,
    /// The user's home.
    pub user_home: &'a Path,
}

/// Returns the fact that an event gives.
pub fn fact_of(
    kind: AgentKind,
    input: &[u8],
    stamp: Stamp,
    around: &Surroundings<'_>,
) -> Result<Fact, HookError> {
    let input: Input = serde_json::from_slice(input).map_err(HookError::Input)?;
    let session = SessionId::parse(&input.session_id)?;
    let adapter = agent(kind);
    let event = match input.hook_event_name.as_str() {
        "SessionStart" => AgentEvent::Start { source: input.source.unwrap_or_else(|| "startup".into()) },
        "UserPromptSubmit" => AgentEvent::Prompt,
        "SessionEnd" => {
            AgentEvent::End { reason: adapter.end_reason(input.reason.as_deref().unwrap_or("other")) }
        }
        _ => return Err(HookError::OtherEvent),
    };
    let found = find_agent(adapter, around);
    let variables: BTreeMap<String, String> = found
        .as_ref()
        .and_then(|found| around.proc.environ(found.stat.pid).ok())
        .unwrap_or_else(|| around.env.vars().clone());
    let user_home = variables.get("HOME").map_or_else(|| around.user_home.to_path_buf(), PathBuf::from);
    let home = adapter.home_of(&variables, &user_home).display().to_string();
    let launch = found
        .as_ref()
        .map(|found| launch_of(around.proc, adapter, &found.view, &variables))
        .unwrap_or_default();
    let pane = found.as_ref().and_then(|found| pane_claim(around, &found.stat, &found.above));
    let nested = found.as_ref().is_some_and(|found| found.nested || adapter.is_headless(&found.view));
    let process = found.map(|found| ProcessKey {
        boot: around.boot.clone(),
        pid: found.stat.pid,
        start: found.stat.start,
    });
    Ok(Fact {
        stamp,
        body: Body::Hook(HookEvent {
            agent: kind,
            home,
            event,
            session,
            process,
            pane,
            nested,
            launch,
            mode: input.permission_mode,
        }),
    })
}

struct FoundAgent {
    stat: Stat,
    view: ProcessView,
    /// Everything above the agent, nearest first.
    above: Vec<Stat>,
    /// Another agent is above it.
    nested: bool,
}

/// The nearest agent above the hook.
fn find_agent(adapter: &dyn Agent, around: &Surroundings<'_>) -> Option<FoundAgent> {
    let mut chain = Vec::new();
    let mut pid = around.parent;
    while pid > 1 && chain.len() < MAX_ANCESTORS {
        let stat = around.proc.stat(pid)?;
        pid = stat.ppid;
        chain.push(stat);
    }
    let views: Vec<ProcessView> = chain.iter().map(|stat| view(around.proc, stat)).collect();
    let at = views.iter().position(|view| adapter.is_front_end(view))?;
    // A wrapper right above its native child is the same agent.
    let nested = views[at + 1..]
        .iter()
        .any(|view| AgentKind::ALL.into_iter().any(|kind| agent(kind).is_front_end(view)));
    Some(FoundAgent {
        stat: chain[at].clone(),
        view: views[at].clone(),
        above: chain[at + 1..].to_vec(),
        nested,
    })
}

fn view(proc: &Proc, stat: &Stat) -> ProcessView {
    ProcessView {
        pid: stat.pid,
        start: stat.start,
        comm: stat.comm.clone(),
        exe: proc.exe(stat.pid).map(|path| path.display().to_string()),
        argv: proc.cmdline(stat.pid),
    }
}

/// The pane that the environment names, and whether the agent's terminal and ancestors agree.
fn pane_claim(around: &Surroundings<'_>, agent: &Stat, above: &[Stat]) -> Option<PaneClaim> {
    let pane = PaneId::parse(around.env.get("TMUX_PANE")?).ok()?;
    let mut parts = around.env.get("TMUX")?.rsplitn(3, ',');
    let _session = parts.next()?;
    let server: u32 = parts.next()?.parse().ok()?;
    let socket = parts.next()?.to_owned();
    let start = around.proc.stat(server)?.start;
    let life = ServerLife { socket, server: ProcessKey { boot: around.boot.clone(), pid: server, start } };
    let below_server = above.iter().position(|stat| stat.pid == server);
    let root = below_server.map(|at| if at == 0 { agent } else { &above[at - 1] });
    let descends = agent.tty != 0 && root.is_some_and(|root| root.tty == agent.tty);
    Some(PaneClaim { life, pane, tty: agent.tty, descends })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reseat_core::ids::AgentKind;

    fn stamp(boot: &Boot) -> Stamp {
        Stamp { boot: boot.clone(), boot_number: 1, ns: 1, pid: 1, nonce: 1, wall_ms: 0 }
    }

    fn refused(input: &[u8]) -> HookError {
        let boot = Boot { host: "h".into(), id: "b".into(), pidns: 1, init_start: 1 };
        let env = Env::from_pairs(Vec::<(String, String)>::new());
        let proc = Proc::at("/nonexistent".into());
        let around =
            Surroundings { env: &env, proc: &proc, boot: &boot, parent: 7, user_home: Path::new("/h") };
        fact_of(AgentKind::Claude, input, stamp(&boot), &around).unwrap_err()
    }

    /// Bad input, C13: hook input of any shape, and ids that are none.
    #[test]
    fn c13_what_is_no_event_is_refused() {
        for shape in [&b""[..], b"null", b"[]", b"7", b"{\"session_id\":7}", b"\xff\xfe", b"{"] {
            assert!(matches!(refused(shape), HookError::Input(_)), "{shape:?}");
        }
        assert!(matches!(
            refused(br#"{"session_id":"management","hook_event_name":"SessionStart"}"#),
            HookError::Session(_)
        ));
        let other = br#"{"session_id":"11111111-1111-4111-8111-111111111111","hook_event_name":"Stop"}"#;
        assert!(matches!(refused(other), HookError::OtherEvent));
    }
}
