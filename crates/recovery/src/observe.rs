//! One look at what is there now: every tmux server of the user and the whole process table, once each.
//!
//! Writes nothing. A look keeps what it returns as facts; a plan judges by it and forgets it.

use crate::capture::sight::{Pass, Seen};
use crate::context::Context;
use reseat_core::ending::{LiveView, SocketState};
use reseat_core::fact::{Body, Fact, KillMark, Sighting};
use reseat_core::fold::{Binding, Folded};
use reseat_core::ids::AgentKind;
use reseat_core::mux::{ServerLife, Snapshot};
use reseat_core::process::{BootRelation, Liveness, ProcessKey, Unseen};
use reseat_mux::tmux::{MuxError, Tmux};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one tmux server may take to answer.
pub const TMUX_DEADLINE: Duration = Duration::from_secs(1);

/// What one look saw.
#[derive(Debug, Default)]
pub struct Observed {
    /// What the planner judges by.
    pub view: LiveView,
    /// Agents seen, in panes and elsewhere.
    pub seen: Seen,
    /// Out-of-memory kills counted in each answering server's cgroup.
    pub oom_kills: BTreeMap<ServerLife, u64>,
    /// Whether the process table could be read.
    pub table_read: bool,
}

/// Looks at everything once. `facts` is the log that the recorded processes and lives come from.
pub fn observe(context: &Context, facts: &[Fact], folded: &Folded) -> Observed {
    let mut out = Observed::default();
    out.view.here = Some(context.boot.clone());
    out.view.now_ns = reseat_os::clock::boottime_ns();
    let wall_ms = reseat_os::clock::wall_ms();
    for socket in sockets(context, folded) {
        let tmux = context.tmux_at(&socket);
        match reseat_mux::tmux::look(&tmux, &context.proc, &context.boot, TMUX_DEADLINE) {
            Ok(found) => {
                if let Some(kills) = context.proc.oom_kills(found.life.server.pid) {
                    out.oom_kills.insert(found.life.clone(), kills);
                }
                out.view.servers.insert(found.life, found.snapshot);
            }
            Err(error) => {
                out.view.sockets.insert(socket.display().to_string(), state_of(&error));
            }
        }
    }
    let titles = last_titles(facts);
    let pass = Pass {
        proc: &context.proc,
        boot: &context.boot,
        user_home: &context.home,
        servers: &out.view.servers,
        titles: &titles,
        now_ns: out.view.now_ns,
        wall_ms,
    };
    if let Ok(seen) = pass.run() {
        out.table_read = true;
        out.seen = seen;
    }
    out.view.agents.clone_from(&out.seen.agents);
    probe_recorded(context, folded, &mut out);
    add_held_by_bindings(folded, &mut out.view);
    let shown = last_sightings(facts);
    for binding in &folded.bindings {
        if out.view.processes.get(&binding.process) == Some(&Liveness::Gone) {
            let marks = kill_marks(binding, folded, &out, shown.get(&binding.process).copied());
            if !marks.is_empty() {
                out.view.killed.insert(binding.process.clone(), marks);
            }
        }
    }
    out
}

impl Context {
    /// The way to run tmux on one socket.
    pub fn tmux_at(&self, socket: &Path) -> Tmux {
        Tmux::new(self.tmux.clone(), socket.to_path_buf(), self.env.vars().clone())
    }
}

/// Every socket to ask: those of the user, and those of lives we know in this boot.
fn sockets(context: &Context, folded: &Folded) -> BTreeSet<PathBuf> {
    let known: Vec<PathBuf> = folded
        .lives
        .keys()
        .chain(folded.bindings.iter().filter_map(|binding| binding.life.as_ref()))
        .map(|life| PathBuf::from(&life.socket))
        .collect();
    reseat_mux::tmux::sockets(&context.env, &context.proc, &known).into_iter().collect()
}

fn state_of(error: &MuxError) -> SocketState {
    match error {
        MuxError::NoServer { .. } | MuxError::StaleSocket { .. } | MuxError::ServerGone { .. } => {
            SocketState::NoServer
        }
        MuxError::Unreachable { pid, .. } => SocketState::Unreachable { pid: *pid },
        other => SocketState::NotAnswering { why: other.to_string() },
    }
}

/// The thread id that each process's pane title showed when it was last sighted.
fn last_titles(facts: &[Fact]) -> BTreeMap<ProcessKey, Option<String>> {
    last_sightings(facts).into_iter().map(|(key, seen)| (key, seen.title_id.clone())).collect()
}

/// The last sighting of each process, by the order of facts.
pub fn last_sightings(facts: &[Fact]) -> BTreeMap<ProcessKey, &Sighting> {
    let mut ordered: Vec<&Fact> =
        facts.iter().filter(|fact| matches!(fact.body, Body::Sighting(_))).collect();
    ordered.sort_by_cached_key(|fact| fact.stamp.order());
    let mut out = BTreeMap::new();
    for fact in ordered {
        if let Body::Sighting(seen) = &fact.body {
            out.insert(seen.process.clone(), seen);
        }
    }
    out
}

fn probe_recorded(context: &Context, folded: &Folded, out: &mut Observed) {
    let recorded: BTreeSet<&ProcessKey> = folded
        .bindings
        .iter()
        .map(|binding| &binding.process)
        .chain(folded.bindings.iter().filter_map(|binding| binding.life.as_ref().map(|life| &life.server)))
        .chain(folded.lives.keys().map(|life| &life.server))
        .chain(folded.settled.values().filter_map(|settled| settled.process.as_ref()))
        .chain(folded.recorded.iter().filter_map(|(_, recorded)| recorded.process.as_ref()))
        .collect();
    for key in recorded {
        let same_boot = key.boot.seen_from(&context.boot) == BootRelation::Same;
        let liveness = if same_boot && out.table_read {
            if out.seen.starts.get(&key.pid) == Some(&key.start) { Liveness::Alive } else { Liveness::Gone }
        } else if same_boot {
            Liveness::CannotTell(Unseen::Unreadable)
        } else {
            context.proc.liveness(&context.boot, key)
        };
        out.view.processes.insert(key.clone(), liveness);
    }
}

/// What hooks told of living processes counts as held, also where this look could not read it.
fn add_held_by_bindings(folded: &Folded, view: &mut LiveView) {
    for binding in &folded.bindings {
        if view.processes.get(&binding.process) != Some(&Liveness::Alive) {
            continue;
        }
        let Some(held) = &binding.current else { continue };
        match view.agents.iter_mut().find(|live| live.process == binding.process) {
            Some(live) => {
                live.certain = true;
                if !live.sessions.contains(&held.session) {
                    live.sessions.push(held.session.clone());
                }
            }
            None => view.agents.push(reseat_core::ending::LiveAgent {
                process: binding.process.clone(),
                agent: binding.agent,
                home: binding.home.clone(),
                sessions: vec![held.session.clone()],
                pane: binding.life.clone().zip(binding.pane),
                interactive: true,
                cwd: binding.launch.cwd.clone(),
                began_ms: binding.began_ms(),
                certain: true,
            }),
        }
    }
}

/// Traces that an orderly end would have removed.
fn kill_marks(binding: &Binding, folded: &Folded, out: &Observed, last: Option<&Sighting>) -> Vec<KillMark> {
    let mut marks = Vec::new();
    if binding.agent == AgentKind::Claude {
        let entries = reseat_agents::agent(binding.agent).registry(Path::new(&binding.home));
        let left = entries.iter().any(|entry| {
            entry.pid == binding.process.pid
                && match entry.start {
                    Some(start) => start == binding.process.start,
                    None => binding.current.as_ref().is_some_and(|held| held.session == entry.session),
                }
        });
        if left {
            marks.push(KillMark::RegistryLeft);
        }
    }
    let Some(life) = &binding.life else { return marks };
    let Some(snapshot) = out.view.servers.get(life) else { return marks };
    if let Some(shown) = last.and_then(|seen| seen.title_id.as_deref())
        && let Some((_, pane)) = binding.pane.and_then(|pane| snapshot.pane(pane))
        && reseat_agents::agent(binding.agent).title_id(&pane.title).as_deref() == Some(shown)
        && !out.seen.sightings.iter().any(|seen| seen.life == *life && seen.pane == pane.id)
    {
        marks.push(KillMark::TitleLeft);
    }
    let before = folded.lives.get(life).and_then(|seen| seen.oom_kills);
    if binding.end.is_none()
        && let (Some(before), Some(now)) = (before, out.oom_kills.get(life))
        && *now > before
    {
        marks.push(KillMark::OutOfMemory);
    }
    marks
}

/// Whether a pane of an answering server shows an empty title where its agent had shown a thread id.
pub fn title_emptied(snapshot: &Snapshot, binding: &Binding, last: Option<&Sighting>) -> bool {
    binding.agent == AgentKind::Codex
        && last.is_some_and(|seen| seen.title_id.is_some())
        && binding.pane.and_then(|pane| snapshot.pane(pane)).is_some_and(|(_, pane)| pane.title.is_empty())
}
