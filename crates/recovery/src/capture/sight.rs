//! One pass over the process table: which agents run, in which pane, holding which session.
//!
//! Used by a look, which keeps what it saw as facts, and by a plan, which only asks.

use reseat_agents::unsupported::{Unsupported, unsupported};
use reseat_agents::{Agent, ProcessView, RegistryEntry, agent};
use reseat_core::ending::LiveAgent;
use reseat_core::fact::{Grade, Launch, Reading, Sighting, Was};
use reseat_core::ids::{AgentKind, SessionId, made_ms};
use reseat_core::mux::{PaneId, ServerLife, Snapshot};
use reseat_core::process::{Boot, ProcessKey};
use reseat_core::tree::{Row, Standing, Tree};
use reseat_os::proc::{Proc, Stat};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A registry record of a process this young counts only when its transcript exists: some versions show a
/// throwaway id first.
const SETTLED_TICKS: u64 = 200;

/// What one pass saw.
#[derive(Debug, Default)]
pub struct Seen {
    /// Agents in panes.
    pub sightings: Vec<Sighting>,
    /// All agent processes, in panes or not.
    pub agents: Vec<LiveAgent>,
    /// Agents that cannot be brought back, by pane.
    pub unsupported: Vec<(ServerLife, PaneId, Unsupported)>,
    /// Start ticks of every process, by pid.
    pub starts: BTreeMap<u32, u64>,
}

/// What a pass looks at.
pub struct Pass<'a> {
    /// The process table.
    pub proc: &'a Proc,
    /// The boot we run in.
    pub boot: &'a Boot,
    /// The user's home.
    pub user_home: &'a Path,
    /// Servers that answered.
    pub servers: &'a BTreeMap<ServerLife, Snapshot>,
    /// The thread id shown in the title when each process was last sighted; to see titles change.
    pub titles: &'a BTreeMap<ProcessKey, Option<String>>,
    /// CLOCK_BOOTTIME now, nanoseconds.
    pub now_ns: u64,
    /// Wall clock now, milliseconds since 1970.
    pub wall_ms: i64,
}

/// One agent process before it is placed.
struct Candidate {
    stat: Stat,
    view: ProcessView,
    kind: AgentKind,
    headless: bool,
}

impl Pass<'_> {
    /// Reads the table once and names every agent in it.
    pub fn run(&self) -> std::io::Result<Seen> {
        let table = self.proc.table()?;
        let mut seen =
            Seen { starts: table.iter().map(|stat| (stat.pid, stat.start)).collect(), ..Seen::default() };
        let candidates = self.candidates(&table);
        let tree = Tree::new(table.iter().map(|stat| Row {
            pid: stat.pid,
            ppid: stat.ppid,
            pgrp: stat.pgrp,
            tty: stat.tty,
            foreground: stat.foreground,
        }));
        let agents: BTreeMap<u32, AgentKind> =
            candidates.iter().map(|found| (found.stat.pid, found.kind)).collect();
        let panes = self.panes_by_tty();
        let mut registries: BTreeMap<PathBuf, Vec<RegistryEntry>> = BTreeMap::new();
        for found in &candidates {
            let pid = found.stat.pid;
            // A wrapper and its native child are one agent: the outermost of the chain stands for both.
            let parent_same = agents.get(&found.stat.ppid) == Some(&found.kind)
                && candidates
                    .iter()
                    .any(|other| other.stat.pid == found.stat.ppid && is_wrapper(&other.view));
            if parent_same {
                continue;
            }
            let adapter = agent(found.kind);
            let Ok(env) = self.proc.environ(pid) else { continue };
            let user_home = env.get("HOME").map_or_else(|| self.user_home.to_path_buf(), PathBuf::from);
            let home = adapter.home_of(&env, &user_home);
            let key = ProcessKey { boot: self.boot.clone(), pid, start: found.stat.start };
            let entries = registries.entry(home.clone()).or_insert_with(|| adapter.registry(&home));
            let own = entries.iter().find(|entry| self.is_record_of(entry, &found.stat));
            let standing = panes.get(&found.stat.tty).map(|pane| {
                let standing =
                    tree.standing(pid, pane.pid, found.stat.tty, |other| agents.contains_key(&other));
                (*pane, standing)
            });
            let placed = standing
                .as_ref()
                .filter(|(_, standing)| matches!(standing, Standing::TopLevel { .. }) && !found.headless);
            let title_id = placed.and_then(|(pane, _)| adapter.title_id(pane.title));
            let mut readings = self.readings(adapter, found, &home, own, title_id.as_deref());
            let holds_files = found.kind == AgentKind::Codex && !readings.is_empty();
            if let Some(prefix) = &title_id {
                readings.extend(self.title_reading(adapter, found, &key, &home, prefix));
            }
            let argv_session = adapter.argv_session(&found.view);
            let mut launch = adapter.launch(&found.view, &env);
            launch.cwd = self.proc.cwd(pid);
            launch.through = through(self.proc, &tree, pid, |other| agents.contains_key(&other));
            if launch.version.is_none() {
                launch.version = own.and_then(|entry| entry.version.clone());
            }
            let certain = readings.iter().any(|reading| reading.grade.may_act());
            let mut sessions: Vec<SessionId> =
                readings.iter().map(|reading| reading.session.clone()).collect();
            if sessions.is_empty() {
                sessions.extend(argv_session.clone());
            }
            sessions.sort();
            sessions.dedup();
            seen.agents.push(LiveAgent {
                process: key.clone(),
                agent: found.kind,
                home: home.display().to_string(),
                sessions,
                pane: standing.as_ref().map(|(pane, _)| (pane.life.clone(), pane.id)),
                interactive: !found.headless,
                cwd: launch.cwd.clone(),
                began_ms: self.started_wall_ms(&found.stat),
                certain,
            });
            let Some((pane, _)) = placed else { continue };
            if let Some(session) = argv_session {
                readings.push(Reading { grade: Grade::Argv, session });
            }
            seen.sightings.push(Sighting {
                agent: found.kind,
                home: home.display().to_string(),
                process: key,
                life: pane.life.clone(),
                pane: pane.id,
                place: self.servers.get(pane.life).and_then(|snapshot| snapshot.place(pane.id)),
                shared_server: found.kind == AgentKind::Codex
                    && !holds_files
                    && reseat_agents::codex::shared_server(&home)
                        .is_some_and(|server| seen.starts.get(&server.pid) == Some(&server.start)),
                was: own.map_or_else(|| was_by_title(found.kind, pane.title), |entry| entry.was),
                readings,
                title_id,
                launch,
                mode: None,
            });
        }
        seen.unsupported = self.unsupported(&table, &panes);
        Ok(seen)
    }

    fn candidates(&self, table: &[Stat]) -> Vec<Candidate> {
        let mut out = Vec::new();
        for stat in table {
            if !may_be_agent(&stat.comm) {
                continue;
            }
            let view = self.view(stat);
            let Some(kind) = AgentKind::ALL.into_iter().find(|kind| agent(*kind).is_front_end(&view)) else {
                continue;
            };
            let headless = agent(kind).is_headless(&view);
            out.push(Candidate { stat: stat.clone(), view, kind, headless });
        }
        out
    }

    fn view(&self, stat: &Stat) -> ProcessView {
        ProcessView {
            pid: stat.pid,
            start: stat.start,
            comm: stat.comm.clone(),
            exe: self.proc.exe(stat.pid).map(|path| path.display().to_string()),
            argv: self.proc.cmdline(stat.pid),
        }
    }

    /// Whether a registry record is of this very process: by start ticks, else by start time with 5 s tolerance.
    fn is_record_of(&self, entry: &RegistryEntry, stat: &Stat) -> bool {
        if entry.pid != stat.pid {
            return false;
        }
        match (entry.start, entry.started_ms) {
            (Some(start), _) => start == stat.start,
            (None, Some(started_ms)) => (started_ms - self.started_wall_ms(stat)).abs() <= 5_000,
            (None, None) => false,
        }
    }

    /// When a process began by the present wall clock; ticks are hundredths of a second.
    fn started_wall_ms(&self, stat: &Stat) -> i64 {
        let now_ms = (self.now_ns / 1_000_000) as i64;
        self.wall_ms - (now_ms - (stat.start * 10) as i64)
    }

    fn readings(
        &self,
        adapter: &dyn Agent,
        found: &Candidate,
        home: &Path,
        own: Option<&RegistryEntry>,
        title: Option<&str>,
    ) -> Vec<Reading> {
        let mut out = Vec::new();
        if let Some(entry) = own {
            let age = (self.now_ns / 10_000_000).saturating_sub(found.stat.start);
            if age >= SETTLED_TICKS || adapter.find(home, &entry.session).is_some() {
                out.push(Reading { grade: Grade::Registry, session: entry.session.clone() });
            }
        }
        if found.kind == AgentKind::Codex {
            let mut held: Vec<Reading> = Vec::new();
            let mut pids = vec![found.stat.pid];
            pids.extend(self.native_child(found));
            for pid in pids {
                let open = self.proc.open_files(pid);
                let locked = self.proc.locked_files(pid);
                held.extend(adapter.open_file_sessions(&open, &locked));
            }
            out.extend(shown_of_held(held, title));
        }
        out
    }

    fn native_child(&self, found: &Candidate) -> Option<u32> {
        if !is_wrapper(&found.view) {
            return None;
        }
        self.proc
            .table()
            .ok()?
            .into_iter()
            .find(|stat| stat.ppid == found.stat.pid && agent(found.kind).is_front_end(&self.view(stat)))
            .map(|stat| stat.pid)
    }

    /// What a thread id in the title is worth. It is proof only when it must have been written by this very
    /// process: seen to change, named by the arguments too, or of a thread made after the process began.
    fn title_reading(
        &self,
        adapter: &dyn Agent,
        found: &Candidate,
        key: &ProcessKey,
        home: &Path,
        prefix: &str,
    ) -> Option<Reading> {
        let known: Vec<SessionId> = adapter
            .list(home)
            .into_iter()
            .map(|transcript| transcript.key.id)
            .filter(|id| id.as_str().starts_with(prefix))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let session = match (known.as_slice(), SessionId::parse(prefix)) {
            ([one], _) => one.clone(),
            ([], Ok(whole)) => whole,
            _ => return None,
        };
        let changed = self.titles.get(key).is_some_and(|before| before.as_deref() != Some(prefix));
        let settled = self.titles.get(key).is_some_and(|before| before.as_deref() == Some(prefix));
        let named = adapter.argv_session(&found.view).as_ref() == Some(&session);
        let made_since =
            made_ms(session.as_str()).is_some_and(|made| made + 1_000 >= self.started_wall_ms(&found.stat));
        let grade = if changed || named || made_since { Grade::Title } else { Grade::Guess };
        if settled && grade == Grade::Guess {
            // Its worth was judged when it was first seen; nothing new was learnt.
            return None;
        }
        Some(Reading { grade, session })
    }

    fn panes_by_tty(&self) -> BTreeMap<u64, PaneRef<'_>> {
        let mut out = BTreeMap::new();
        for (life, snapshot) in self.servers {
            for (_, pane) in snapshot.panes() {
                if let Some(device) = reseat_os::tty::device_of(Path::new(&pane.tty)) {
                    out.insert(device, PaneRef { life, id: pane.id, pid: pane.pid, title: &pane.title });
                }
            }
        }
        out
    }

    fn unsupported(
        &self,
        table: &[Stat],
        panes: &BTreeMap<u64, PaneRef<'_>>,
    ) -> Vec<(ServerLife, PaneId, Unsupported)> {
        let mut out = BTreeSet::new();
        for stat in table {
            let Some(pane) = panes.get(&stat.tty) else { continue };
            if let Some(found) = unsupported(&self.view(stat)) {
                out.insert((pane.life.clone(), pane.id, found));
            }
        }
        out.into_iter().collect()
    }
}

#[derive(Clone, Copy)]
struct PaneRef<'a> {
    life: &'a ServerLife,
    id: PaneId,
    pid: u32,
    title: &'a str,
}

/// Names a kernel can show for an agent: its own, a version number, or its runtime's.
/// Which of the threads that a process holds it shows. Without a server of its own to ask, a Codex keeps the former
/// thread's lock after /new, /fork and /resume: one alone is proof, and of several the one in its own title; else
/// each is a guess, the newest last.
fn shown_of_held(mut held: Vec<Reading>, title: Option<&str>) -> Vec<Reading> {
    if held.len() > 1 {
        held.reverse();
        let shown = |reading: &Reading| title.is_some_and(|id| reading.session.as_str().starts_with(id));
        match held.iter().filter(|reading| shown(reading)).count() {
            1 => {
                let at = held.iter().position(shown).unwrap_or_default();
                let proof = held.remove(at);
                for other in &mut held {
                    other.grade = Grade::Guess;
                }
                held.push(proof);
            }
            _ => held.iter_mut().for_each(|reading| reading.grade = Grade::Guess),
        }
    }
    held
}

fn may_be_agent(comm: &str) -> bool {
    comm.starts_with("claude")
        || comm.starts_with("codex")
        || matches!(comm, "node" | "MainThread" | "bun")
        || comm.starts_with(|first: char| first.is_ascii_digit())
}

fn is_wrapper(view: &ProcessView) -> bool {
    view.exe
        .as_deref()
        .is_some_and(|exe| exe.rsplit('/').next().is_some_and(|name| name == "node" || name == "bun"))
}

fn was_by_title(kind: AgentKind, title: &str) -> Was {
    if kind != AgentKind::Codex {
        return Was::Unknown;
    }
    match reseat_agents::codex::title_run_state(title) {
        Some("Ready") => Was::Idle,
        Some("Working" | "Thinking") => Was::MidTurn,
        Some("Waiting") => Was::Waiting,
        _ => Was::Unknown,
    }
}

/// The program that started an agent, when it was neither a shell at work nor the multiplexer.
fn through(proc: &Proc, tree: &Tree, pid: u32, is_agent: impl Fn(u32) -> bool) -> Option<Vec<String>> {
    for above in tree.ancestors(pid) {
        if is_agent(above) {
            continue;
        }
        let comm = proc.stat(above).map(|stat| stat.comm).unwrap_or_default();
        if above == 1 {
            return None;
        }
        match starter(&comm, &proc.cmdline(above)) {
            Starter::Shell => {}
            Starter::Ours => return None,
            Starter::Launcher(names) => return Some(names),
        }
    }
    None
}

/// What a process above an agent is.
#[derive(Debug, PartialEq, Eq)]
enum Starter {
    /// A shell at work: how people type.
    Shell,
    /// The multiplexer, or we ourselves.
    Ours,
    /// A program with a mind of its own, by its names.
    Launcher(Vec<String>),
}

fn starter(comm: &str, argv: &[String]) -> Starter {
    const SHELLS: [&str; 8] = ["sh", "bash", "zsh", "fish", "dash", "ksh", "mksh", "tcsh"];
    const CARRIERS: [&str; 7] = ["node", "nodejs", "bun", "python", "python3", "npx", "npm"];
    // npm writes all of its title into its first argument.
    let words: Vec<&str> = match argv {
        [title] => title.split_whitespace().collect(),
        argv => argv.iter().map(String::as_str).collect(),
    };
    let program = base(words.first().copied().unwrap_or(comm)).trim_start_matches('-');
    if comm.starts_with("tmux") || program == "reseat" {
        return Starter::Ours;
    }
    let script = words.iter().skip(1).find(|word| !word.starts_with('-')).copied();
    if SHELLS.contains(&program) {
        // `sh -c TEXT` and an interactive shell are how people type; a script is a launcher.
        let told =
            words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'));
        return match script {
            Some(script) if !told => Starter::Launcher(vec![base(script).to_owned()]),
            _ => Starter::Shell,
        };
    }
    if program == "npm" && script == Some("exec") {
        return Starter::Launcher(vec!["npx".into()]);
    }
    let mut names = vec![program.to_owned()];
    names.extend(script.filter(|_| CARRIERS.contains(&program)).map(|script| base(script).to_owned()));
    Starter::Launcher(names)
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What is worth keeping of how an agent was started when only its hook speaks.
pub(crate) fn launch_of(
    proc: &Proc,
    adapter: &dyn Agent,
    view: &ProcessView,
    env: &BTreeMap<String, String>,
) -> Launch {
    let mut launch = adapter.launch(view, env);
    launch.cwd = proc.cwd(view.pid);
    launch
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of several threads that a Codex holds only its title tells which it shows; the newest is a guess.
    #[test]
    fn one_held_thread_is_proof_and_of_several_the_titled_one() {
        let reading = |grade, end: char| Reading {
            grade,
            session: SessionId::parse(&format!("01900000-0000-7000-8000-00000000000{end}")).unwrap(),
        };
        let held = |ends: &str| ends.chars().map(|end| reading(Grade::OpenFile, end)).collect::<Vec<_>>();
        assert_eq!(shown_of_held(held("1"), None), held("1"));
        assert_eq!(
            shown_of_held(held("321"), None),
            vec![reading(Grade::Guess, '1'), reading(Grade::Guess, '2'), reading(Grade::Guess, '3')]
        );
        assert_eq!(
            shown_of_held(held("321"), Some("01900000-0000-7000-8000-000000000002")),
            vec![reading(Grade::Guess, '1'), reading(Grade::Guess, '3'), reading(Grade::OpenFile, '2')]
        );
        let cut = "01900000-0000-7000-8000-00000";
        assert!(
            shown_of_held(held("321"), Some(cut)).iter().all(|reading| reading.grade == Grade::Guess),
            "a title that fits them all singles none out"
        );
        assert_eq!(shown_of_held(Vec::new(), Some(cut)), Vec::new());
    }

    /// Who started an agent: people by their shells, or a program that may have to do it again.
    #[test]
    fn launchers_are_told_from_shells() {
        let of = |comm: &str, argv: &[&str]| {
            starter(comm, &argv.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
        };
        for shell in [
            &["-bash"][..],
            &["bash"],
            &["/bin/zsh", "-l", "-i"],
            &["sh", "-c", "corp-claude x"],
            &["bash", "-lic", "claude"],
            &["bash", "--norc"],
        ] {
            assert_eq!(of("bash", shell), Starter::Shell, "{shell:?}");
        }
        assert_eq!(of("tmux: server", &["tmux", "new"]), Starter::Ours);
        assert_eq!(of("reseat", &["/x/reseat", "exec", "e-1"]), Starter::Ours);
        for (comm, argv, names) in [
            ("corp-claude", &["/bin/sh", "/opt/bin/corp-claude", "-x"][..], &["corp-claude"][..]),
            ("bash", &["bash", "--norc", "./corp-claude"], &["corp-claude"]),
            ("corp", &["/opt/corp"], &["corp"]),
            ("npm exec @anthr", &["npm exec @anthropic-ai/claude-code"], &["npx"]),
            ("npm", &["npm", "exec", "claude"], &["npx"]),
            ("node", &["node", "/usr/bin/npx", "@anthropic-ai/claude-code"], &["node", "npx"]),
            ("python3", &["python3", "-u", "/opt/wrap.py"], &["python3", "wrap.py"]),
            ("sudo", &["sudo", "-u", "dev", "claude"], &["sudo"]),
            ("mise", &["mise", "exec", "--", "claude"], &["mise"]),
        ] {
            assert_eq!(
                of(comm, argv),
                Starter::Launcher(names.iter().map(|name| (*name).to_owned()).collect())
            );
        }
    }

    /// C04: the kernel's name may be a version number or the runtime's.
    #[test]
    fn c04_names_that_may_be_agents() {
        for name in ["claude", "2.1.34", "node", "codex", "MainThread", "claude.exe"] {
            assert!(may_be_agent(name), "{name}");
        }
        for name in ["bash", "vim", "tmux: server"] {
            assert!(!may_be_agent(name), "{name}");
        }
    }
}
