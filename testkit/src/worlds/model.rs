//! What a world consists of. This is the truth; nothing of it is known to the code under test.

use super::rng::Rng;
use reseat_core::fact::Body;
use reseat_core::fact::{Fact, Sighting, Stamp, Was};
use reseat_core::ids::{AgentKind, SessionId, SessionKey};
use reseat_core::mux::{PaneId, ServerLife, Snapshot};
use reseat_core::process::{Boot, ProcessKey};
use std::collections::{BTreeMap, BTreeSet};

/// One second in nanoseconds.
pub(super) const SECOND: u64 = 1_000_000_000;
/// One millisecond in nanoseconds.
pub(super) const MS: u64 = 1_000_000;

/// What a transcript's file is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    /// Never written.
    Missing,
    /// Removed; side files remain.
    Removed,
    /// No bytes.
    Empty,
    /// Metadata only.
    Bare,
    /// A conversation.
    Yes,
    /// It cannot be read.
    Unreadable,
}

/// One conversation on the fake disk.
#[derive(Debug, Clone)]
pub(super) struct Talk {
    pub(super) headless: bool,
    pub(super) sub_agent: bool,
    pub(super) file: File,
    pub(super) project: String,
    pub(super) current: String,
    pub(super) written_ms: i64,
    pub(super) born_ms: i64,
    pub(super) continued_in: Option<SessionId>,
}

/// How an agent process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// It runs.
    Running,
    /// The user left it.
    UserWord,
    /// The user closed its pane.
    UserClosed,
    /// It was killed alone.
    Killed,
    /// It went down with its server or host.
    Crash,
}

/// The best evidence there can be of an agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Its hooks are installed.
    Hook,
    /// It keeps a live record.
    Registry,
    /// It holds its transcript open.
    OpenFile,
    /// It writes its id into the title.
    Title,
    /// Only its arguments name a session.
    Argv,
    /// Nothing.
    None,
}

/// One agent process.
#[derive(Debug, Clone)]
pub(super) struct Agent {
    pub(super) kind: AgentKind,
    pub(super) home: String,
    pub(super) process: ProcessKey,
    pub(super) began: u64,
    /// Index of its pane; `None` outside every multiplexer.
    pub(super) pane: Option<usize>,
    pub(super) hooks: bool,
    pub(super) registry: bool,
    /// Codex without its shared server.
    pub(super) embedded: bool,
    /// A Codex of its own that goes on holding the locks of the threads it showed before.
    pub(super) keeps_former: bool,
    /// Codex writes its id into the title.
    pub(super) titled: bool,
    /// The pane was created with the agent as its program.
    pub(super) is_pane_program: bool,
    pub(super) argv: Option<SessionId>,
    pub(super) cwd: String,
    pub(super) session: SessionId,
    /// When each session became the current one.
    pub(super) held: Vec<(u64, SessionId, &'static str)>,
    /// What its live record shows, from when on.
    pub(super) record: Vec<(u64, SessionId)>,
    pub(super) record_left: bool,
    pub(super) was: Was,
    pub(super) how: How,
    pub(super) ended: u64,
    /// A hook said that the user left.
    pub(super) word_kept: bool,
    /// Some fact placed it on a pane.
    pub(super) bound: bool,
    /// Stamp of the look that noticed that it was gone, and whether its pane was left then.
    pub(super) gone: Option<(u64, bool)>,
    /// When its polite end without a word was kept.
    pub(super) other_end: Option<u64>,
}

impl Agent {
    pub(super) fn key(&self) -> SessionKey {
        SessionKey { agent: self.kind, home: self.home.clone(), id: self.session.clone() }
    }

    pub(super) fn lives(&self) -> bool {
        self.how == How::Running
    }

    /// When the present session became the current one.
    pub(super) fn since(&self) -> u64 {
        self.held.last().map_or(self.began, |(at, ..)| *at)
    }

    pub(super) const fn class(&self) -> Class {
        if self.hooks {
            Class::Hook
        } else if self.registry {
            Class::Registry
        } else if self.embedded {
            Class::OpenFile
        } else if self.titled {
            Class::Title
        } else if self.argv.is_some() {
            Class::Argv
        } else {
            Class::None
        }
    }
}

/// One pane.
#[derive(Debug, Clone)]
pub(super) struct Pane {
    pub(super) server: usize,
    pub(super) id: PaneId,
    pub(super) pid: u32,
    pub(super) start: u64,
    pub(super) tty: u64,
    pub(super) cwd: String,
    /// The thread id that stands in the title.
    pub(super) title: Option<SessionId>,
    pub(super) open: bool,
}

/// One window: its place and its panes by index.
#[derive(Debug, Clone)]
pub(super) struct Win {
    pub(super) id: u32,
    pub(super) session: usize,
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) panes: Vec<usize>,
}

/// One life of a server.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) life: ServerLife,
    pub(super) alive: bool,
    /// When it ended.
    pub(super) died: Option<u64>,
    pub(super) hung_until: u64,
    pub(super) next_pane: u32,
    pub(super) windows: Vec<Win>,
    /// Looks that it answered.
    pub(super) looks: Vec<u64>,
}

/// Everything.
#[derive(Debug)]
pub(super) struct World {
    pub(super) seed: u64,
    pub(super) rng: Rng,
    pub(super) now: u64,
    pub(super) boot: Boot,
    pub(super) boots: u64,
    /// Wall clock at the start of each boot, by boot id.
    pub(super) wall: BTreeMap<String, i64>,
    pub(super) servers: Vec<Server>,
    pub(super) panes: Vec<Pane>,
    pub(super) agents: Vec<Agent>,
    pub(super) disk: BTreeMap<SessionKey, Talk>,
    pub(super) dirs: Vec<String>,
    pub(super) gone_dirs: BTreeSet<String>,
    pub(super) homes: Vec<String>,
    pub(super) facts: Vec<Fact>,
    pub(super) told: BTreeMap<ProcessKey, Sighting>,
    pub(super) shown: BTreeMap<ServerLife, Snapshot>,
    pub(super) look_due: Option<u64>,
    pub(super) looked: Option<u64>,
    /// Every change causes a look within two seconds, also without hooks.
    pub(super) watched: bool,
    /// Hooks are there from this moment on for agents started after it.
    pub(super) installed: u64,
    pub(super) history: Vec<(String, u64, Option<usize>, String)>,
    pub(super) free_pids: Vec<u32>,
    pub(super) next_pid: u32,
    pub(super) nonce: u64,
    /// Agents that the last crash took.
    pub(super) lost: Vec<usize>,
    /// When the last crash was, for a reader of a violation.
    pub(super) crashed: u64,
}

impl World {
    /// Wall clock of a moment of this boot.
    pub(super) fn wall_ms(&self, ns: u64) -> i64 {
        self.wall.get(&self.boot.id).copied().unwrap_or(0) + (ns / MS) as i64
    }

    /// Keeps a fact that was stamped at a moment.
    pub(super) fn emit(&mut self, ns: u64, body: Body) {
        self.nonce += 1;
        let stamp = Stamp {
            boot: self.boot.clone(),
            boot_number: self.boots,
            ns,
            pid: 1,
            nonce: self.nonce,
            wall_ms: self.wall_ms(ns),
        };
        self.facts.push(Fact { stamp, body });
    }

    /// Writes the true history, for a reader of a violation.
    pub(super) fn note(&mut self, agent: Option<usize>, text: String) {
        self.history.push((self.boot.id.clone(), self.now, agent, text));
    }

    /// A process that begins now; pids of dead ones are used again.
    pub(super) fn process(&mut self) -> ProcessKey {
        let reuse = !self.free_pids.is_empty() && self.rng.chance(25);
        let pid = if reuse {
            let at = self.rng.below(self.free_pids.len() as u64) as usize;
            self.free_pids.swap_remove(at)
        } else {
            self.next_pid += 1;
            self.next_pid
        };
        self.now += 10 * MS;
        ProcessKey { boot: self.boot.clone(), pid, start: self.now / (10 * MS) }
    }

    /// A session id that no other has.
    pub(super) fn session_id(&mut self) -> SessionId {
        let (a, b) = (self.rng.next(), self.rng.next());
        let text = format!(
            "{:08x}-{:04x}-7{:03x}-8{:03x}-{:012x}",
            a >> 32,
            a & 0xffff,
            (a >> 16) & 0xfff,
            b >> 52,
            b & 0xffff_ffff_ffff
        );
        match SessionId::parse(&text) {
            Ok(id) => id,
            Err(error) => panic!("{text}: {error}"),
        }
    }

    /// Indexes of agents that run in an open pane of a living server.
    pub(super) fn running(&self) -> Vec<usize> {
        (0..self.agents.len())
            .filter(|at| self.agents[*at].lives() && self.agents[*at].pane.is_some())
            .collect()
    }

    /// The agent that runs in a pane.
    pub(super) fn agent_in(&self, pane: usize) -> Option<usize> {
        (0..self.agents.len())
            .rev()
            .find(|at| self.agents[*at].lives() && self.agents[*at].pane == Some(pane))
    }

    /// Open panes of living servers.
    pub(super) fn open_panes(&self) -> Vec<usize> {
        (0..self.panes.len()).filter(|at| self.panes[*at].open).collect()
    }
}
