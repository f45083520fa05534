//! What agents and tmux leave behind by themselves, for those who had nothing installed before the crash.
//!
//! Claude's live records of processes that are gone, Codex's writer locks that nobody holds, the last save of
//! tmux-resurrect and of tmux-assistant-resurrect. None of it is proof of what ran last in a pane: all of it is a
//! question.

use crate::context::Context;
use crate::observe::Observed;
use reseat_agents::{ProcessView, agent};
use reseat_core::fact::{Grade, Launch, Reading, Stamp, Was};
use reseat_core::fold::{Binding, Folded};
use reseat_core::ids::{AgentKind, SessionId, SurfaceId, digest};
use reseat_core::mux::{Place, ServerLife};
use reseat_core::process::{Liveness, ProcessKey};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A save file larger than this is not read.
const MAX_SAVE: u64 = 16 << 20;
/// How far the start of a process, derived from two clocks, may lie behind a file's time.
const CLOCK_SLACK_MS: i64 = 2_000;

/// One trace.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Trace {
    agent: AgentKind,
    home: PathBuf,
    session: Option<SessionId>,
    cwd: Option<String>,
    place: Option<Place>,
    /// What it was found in, for the surface's id.
    source: String,
    was: Was,
    at_ms: i64,
}

/// Adds a binding for each trace of a session that no fact names and nobody runs. They come first: anything
/// observed counts as newer.
pub(crate) fn add(context: &Context, folded: &mut Folded, observed: &Observed) {
    let mut known: BTreeSet<SessionId> = folded
        .bindings
        .iter()
        .flat_map(|binding| binding.sessions().into_iter().chain(binding.argv_session.clone()))
        .collect();
    known.extend(observed.view.agents.iter().flat_map(|live| live.sessions.iter().cloned()));
    known.extend(folded.unplaced.iter().map(|(_, event)| event.session.clone()));
    let seen_something = !folded.lives.is_empty();
    let mut traces = registries(context, folded, observed);
    traces.extend(locks(context, folded).into_iter().filter(|lock| !accounted(lock, &folded.bindings)));
    if !seen_something {
        // Whoever looks by himself knows the panes better than a save of another tool.
        traces.extend(saves(context));
    }
    let mut out = Vec::new();
    for trace in traces {
        if let Some(session) = &trace.session
            && !known.insert(session.clone())
        {
            continue;
        }
        out.push(binding(context, trace));
    }
    out.append(&mut folded.bindings);
    folded.bindings = out;
}

/// Claude's live records whose process is gone.
fn registries(context: &Context, folded: &Folded, observed: &Observed) -> Vec<Trace> {
    let mut out = Vec::new();
    for (kind, home) in crate::knowledge::homes(&context.config, &context.home, &folded.bindings) {
        for entry in agent(kind).registry(&home) {
            let alive = match (observed.seen.starts.get(&entry.pid), entry.start) {
                (Some(now), Some(start)) => *now == start,
                // Without its start a pid proves nothing; a running agent of that pid would have been seen.
                (Some(_), None) => observed.view.agents.iter().any(|live| live.process.pid == entry.pid),
                (None, _) => false,
            };
            if alive || entry.kind != reseat_agents::Kind::Interactive {
                continue;
            }
            let place = entry.tmux.as_deref().and_then(place_of_registry).map(|(session, pane)| Place {
                session,
                window: 0,
                window_name: entry.name.clone().unwrap_or_else(|| kind.name().to_owned()),
                pane,
            });
            out.push(Trace {
                agent: kind,
                home: home.clone(),
                session: Some(entry.session),
                cwd: entry.cwd,
                place,
                source: format!("record of pid {} start {:?}", entry.pid, entry.start),
                was: entry.was,
                at_ms: entry.started_ms.unwrap_or(0),
            });
        }
    }
    out
}

/// Writer locks that nobody holds. They name no pane.
fn locks(context: &Context, folded: &Folded) -> Vec<Trace> {
    let mut out = Vec::new();
    for (kind, home) in crate::knowledge::homes(&context.config, &context.home, &folded.bindings) {
        let adapter = agent(kind);
        let locks = adapter.locks(&home);
        if locks.is_empty() {
            continue;
        }
        // A front end that holds one is seen by every look; the shared server holds those of all panes.
        let held = reseat_agents::codex::shared_server(&home)
            .map(|server| adapter.open_file_sessions(&[], &context.proc.locked_files(server.pid)))
            .unwrap_or_default();
        for (session, at_ms) in locks {
            if held.iter().any(|reading| reading.session == session) {
                continue;
            }
            let Some(found) = adapter.find(&home, &session) else { continue };
            let transcript = adapter.read(&found);
            if transcript.kind != reseat_agents::Kind::Interactive {
                continue;
            }
            out.push(Trace {
                agent: kind,
                home: home.clone(),
                source: format!("lock of {session}"),
                session: Some(session),
                cwd: transcript.current.or(transcript.project),
                place: None,
                was: transcript.was,
                at_ms,
            });
        }
    }
    out
}

/// Whether a known agent accounts for a lock: it ran in that directory when the lock was made and was seen later.
///
/// A look sees every pane, so the lock's holder is among the agents seen: the lock is of the conversation of one that
/// said nothing of itself, which asks for it by its directory, or of one that its user left there by `/new`.
fn accounted(lock: &Trace, bindings: &[Binding]) -> bool {
    bindings.iter().any(|binding| {
        binding.agent == lock.agent
            && Path::new(&binding.home) == lock.home
            && binding.launch.cwd == lock.cwd
            && binding.began_ms() - CLOCK_SLACK_MS <= lock.at_ms
            && lock.at_ms <= binding.last_seen.wall_ms
    })
}

/// `session:@window.%pane`; only the session's name outlives the server.
fn place_of_registry(text: &str) -> Option<(String, u32)> {
    let (session, _) = text.rsplit_once(":@")?;
    (!session.is_empty()).then(|| (session.to_owned(), 0))
}

/// The last saves of other tools.
fn saves(context: &Context) -> Vec<Trace> {
    let data =
        context.env.get("XDG_DATA_HOME").map_or_else(|| context.home.join(".local/share"), PathBuf::from);
    let dirs = [context.home.join(".tmux/resurrect"), data.join("tmux/resurrect")];
    let mut out = Vec::new();
    for dir in dirs {
        if let Some(text) = small(&dir.join("assistant-sessions.json")) {
            out.extend(assistant_save(context, &text));
        }
        let last = newest_save(&dir);
        if let Some(text) = last.as_deref().and_then(small) {
            for trace in resurrect_save(context, &text) {
                // The more telling save of the same pane stands already.
                if !out
                    .iter()
                    .any(|other: &Trace| other.place.as_ref().map(key) == trace.place.as_ref().map(key))
                {
                    out.push(trace);
                }
            }
        }
    }
    out
}

fn key(place: &Place) -> (String, u32, u32) {
    (place.session.clone(), place.window, place.pane)
}

/// `last`, or the newest save when `last` names nothing that can be read.
fn newest_save(dir: &Path) -> Option<PathBuf> {
    let last = dir.join("last");
    if small(&last).is_some_and(|text| !text.is_empty()) {
        return Some(last);
    }
    let mut saves: Vec<PathBuf> = std::fs::read_dir(dir)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tmux_resurrect_"))
        })
        .filter(|path| small(path).is_some_and(|text| !text.is_empty()))
        .collect();
    saves.sort();
    saves.pop()
}

fn small(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > MAX_SAVE {
        return None;
    }
    std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn assistant_save(context: &Context, text: &str) -> Vec<Trace> {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else { return Vec::new() };
    let rows = value.get("sessions").and_then(serde_json::Value::as_array).cloned().unwrap_or_default();
    rows.iter()
        .filter_map(|row| {
            let word = |name: &str| row.get(name).and_then(serde_json::Value::as_str);
            let kind: AgentKind = word("tool")?.parse().ok()?;
            let session = SessionId::parse(word("session_id")?).ok()?;
            Some(Trace {
                agent: kind,
                home: agent(kind).default_home(&context.home),
                session: Some(session),
                cwd: word("cwd").map(str::to_owned),
                place: word("pane").and_then(|pane| place(pane, kind)),
                source: format!("assistant save {}", word("pane").unwrap_or_default()),
                was: Was::Unknown,
                at_ms: 0,
            })
        })
        .collect()
}

fn place(text: &str, kind: AgentKind) -> Option<Place> {
    let (rest, pane) = text.rsplit_once('.')?;
    let (session, window) = rest.rsplit_once(':')?;
    Some(Place {
        session: session.to_owned(),
        window: window.parse().ok()?,
        window_name: kind.name().to_owned(),
        pane: pane.parse().ok()?,
    })
}

/// Rows `pane SESSION WINDOW ... PANE TITLE :DIR ... COMMAND :FULL COMMAND`, separated by tabs.
fn resurrect_save(context: &Context, text: &str) -> Vec<Trace> {
    let mut out = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if fields.first() != Some(&"pane") || fields.len() < 11 {
            continue;
        }
        let argv: Vec<String> =
            fields[10].trim_start_matches(':').split_whitespace().map(str::to_owned).collect();
        let view = ProcessView { comm: fields[9].to_owned(), argv, ..ProcessView::default() };
        let Some(kind) = AgentKind::ALL.into_iter().find(|kind| agent(*kind).is_front_end(&view)) else {
            continue;
        };
        if agent(kind).is_headless(&view) {
            continue;
        }
        let (Ok(window), Ok(pane)) = (fields[2].parse(), fields[5].parse()) else { continue };
        out.push(Trace {
            agent: kind,
            home: agent(kind).default_home(&context.home),
            session: agent(kind).argv_session(&view),
            cwd: Some(fields[7].trim_start_matches(':').replace("\\ ", " ")),
            place: Some(Place {
                session: fields[1].to_owned(),
                window,
                window_name: kind.name().to_owned(),
                pane,
            }),
            source: format!("save {}:{window}.{pane}", fields[1]),
            was: Was::Unknown,
            at_ms: 0,
        });
    }
    out
}

fn binding(context: &Context, trace: Trace) -> Binding {
    let socket = reseat_mux::tmux::default_socket(&context.env).display().to_string();
    let nobody = ProcessKey { boot: context.boot.clone(), pid: 0, start: 0 };
    let surface = SurfaceId(digest("l-", 12, &[&trace.home.display().to_string(), &trace.source]));
    let number = u64::from_str_radix(&surface.0[2..10], 16).unwrap_or_default();
    let stamp = Stamp {
        boot: context.boot.clone(),
        boot_number: 0,
        ns: 0,
        pid: 0,
        nonce: number,
        wall_ms: trace.at_ms,
    };
    Binding {
        surface,
        // No process of that number can ever run: the trace's own may have been used again.
        process: ProcessKey { start: number, ..nobody.clone() },
        agent: trace.agent,
        home: trace.home.display().to_string(),
        life: Some(ServerLife { socket, server: nobody }),
        pane: None,
        place: trace.place,
        current: None,
        history: Vec::new(),
        disputed: trace
            .session
            .into_iter()
            .map(|session| Reading { grade: Grade::Imported, session })
            .collect(),
        shown: None,
        sighted: false,
        argv_session: None,
        prompted: BTreeSet::new(),
        launch: Launch { cwd: trace.cwd, ..Launch::default() },
        mode: None,
        was: trace.was,
        shared_server: false,
        end: None,
        gone: None,
        first_seen: stamp.clone(),
        last_seen: stamp,
    }
}

/// What the view must know of these bindings: that nothing of them runs.
pub(crate) fn gone(folded: &Folded, observed: &mut Observed) {
    for binding in &folded.bindings {
        if let Some(life) = binding.life.as_ref().filter(|life| life.is_a_guess()) {
            observed.view.processes.insert(binding.process.clone(), Liveness::Gone);
            observed.view.processes.insert(life.server.clone(), Liveness::Gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_their_ends() {
        assert_eq!(place_of_registry("a:b:@3.%7"), Some(("a:b".into(), 0)));
        let found = place("a.b:2.1", AgentKind::Claude).unwrap();
        assert_eq!((found.session.as_str(), found.window, found.pane), ("a.b", 2, 1));
        assert_eq!(place("nonsense", AgentKind::Claude), None);
    }
}
