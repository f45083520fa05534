//! The plan's value, exactly as its JSON shows it.

use crate::fact::{Grade, Was};
use crate::ids::{AgentKind, EntryId, PlanId, SessionId, SurfaceId};
use crate::mux::PaneId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the JSON. Fields may be added under one number, never changed.
pub const SCHEMA: u32 = 1;

/// What would be done, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Digest of all the rest.
    pub plan: PlanId,
    /// What happened, newest first.
    pub incidents: Vec<Incident>,
    /// One line per lost surface, and one per other pane of a window that is rebuilt.
    pub entries: Vec<Entry>,
    /// How many entries have each verdict.
    pub summary: BTreeMap<String, usize>,
    /// The windows that would be made, in order.
    pub builds: Vec<Build>,
}

/// One boot change, one server life's end, or one agent's death.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// `i-` and 12 hex digits.
    pub id: String,
    /// killed, server-died, host-rebooted or container-restarted.
    pub code: String,
    /// A sentence.
    pub text: String,
    /// The socket of the server, when it was one server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
    /// Wall clock of the last look or event before it, milliseconds since 1970.
    pub last_seen_ms: i64,
    /// The entries it lost.
    pub entries: Vec<EntryId>,
}

/// What is to become of one surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Start exactly this command there.
    Resume,
    /// A person must say which session.
    Choose,
    /// A plain shell.
    Shell,
    /// Nothing needs doing.
    Skip,
    /// Cannot be done safely.
    Blocked,
    /// Could not be observed.
    Unknown,
}

impl Verdict {
    /// The name used in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Choose => "choose",
            Self::Shell => "shell",
            Self::Skip => "skip",
            Self::Blocked => "blocked",
            Self::Unknown => "unknown",
        }
    }
}

/// A machine code and a true sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The code.
    pub code: String,
    /// The sentence.
    pub text: String,
}

impl Reason {
    /// Returns a reason.
    pub fn new(code: &str, text: impl Into<String>) -> Self {
        Self { code: code.to_owned(), text: text.into() }
    }
}

/// One line of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its id, the same in every plan made of the same loss.
    pub entry: EntryId,
    /// What is to become of it.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// The agent; `None` for a plain pane.
    pub agent: Option<AgentKind>,
    /// The session that would be resumed, or was held.
    pub session: Option<SessionId>,
    /// The agent's home.
    pub home: Option<String>,
    /// Where it stood.
    pub surface: SurfaceView,
    /// The directory it starts in.
    pub cwd: Option<String>,
    /// The exact command; empty unless the verdict is `resume`.
    pub argv: Vec<String>,
    /// Variables set for it.
    pub env: BTreeMap<String, String>,
    /// What the agent was doing.
    pub was: Was,
    /// The last prompt, or what a plain pane ran, to know it by.
    pub label: Option<String>,
    /// What speaks for the session.
    pub evidence: Vec<Evidence>,
    /// What a person may choose from, likeliest first.
    pub candidates: Vec<Candidate>,
    /// The candidate marked for a person to confirm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preselected: Option<SessionId>,
    /// Worth knowing.
    pub notes: Vec<String>,
    /// The incident that lost it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
}

impl Entry {
    /// Gives it its verdict and the reason.
    pub(super) fn judged(&mut self, verdict: Verdict, reason: Reason) {
        self.verdict = verdict;
        self.reason = reason;
    }
}

/// Where a surface stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceView {
    /// Its id.
    pub id: SurfaceId,
    /// `tmux`, or `none` for an opaque surface.
    pub mux: String,
    /// Absolute path of the socket.
    pub socket: Option<String>,
    /// Session name.
    pub session: Option<String>,
    /// Window index.
    pub window: Option<u32>,
    /// Window name.
    pub window_name: Option<String>,
    /// Pane index.
    pub pane: Option<u32>,
    /// Pane id while it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pane_id: Option<PaneId>,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// How strong.
    pub grade: Grade,
    /// Who saw it.
    pub source: String,
}

/// A session a person may choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The session.
    pub session: SessionId,
    /// Its directory.
    pub cwd: Option<String>,
    /// Its title or last prompt.
    pub title: Option<String>,
    /// Milliseconds since 1970 of its last line.
    pub last_active_ms: i64,
}

/// One thing to make: a window, or panes in one that lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Build {
    /// A new window, in a session that exists or is made for it.
    Window(WindowBuild),
    /// A new pane in a window that lives.
    Split {
        /// The server.
        socket: String,
        /// `@N` of the living window.
        window: String,
        /// The pane.
        pane: PaneBuild,
        /// Its position among the panes of the window, from 0.
        at: u32,
        /// The layout the window had when it was whole; empty when unknown.
        layout: String,
        /// Of how many panes that was.
        panes: u32,
    },
    /// An idle shell is replaced.
    Respawn {
        /// The server.
        socket: String,
        /// The living pane.
        target: PaneId,
        /// The pane.
        pane: PaneBuild,
    },
}

impl Build {
    /// Whether this makes the pane of an entry.
    pub fn carries(&self, entry: &EntryId) -> bool {
        match self {
            Self::Window(window) => window.panes.iter().any(|pane| pane.entry == *entry),
            Self::Split { pane, .. } | Self::Respawn { pane, .. } => pane.entry == *entry,
        }
    }
}

/// A window to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowBuild {
    /// The server.
    pub socket: String,
    /// Name of the session.
    pub session: String,
    /// The session exists already.
    pub session_exists: bool,
    /// Where new windows of a new session start.
    pub session_path: String,
    /// Sessions of the same group that are made beside it, by name.
    pub group: Vec<String>,
    /// Other sessions that link the window, with the index there.
    pub links: Vec<(String, u32)>,
    /// The index it had. When it is taken, the next free one is used and said.
    pub index: u32,
    /// The index it had is taken.
    pub index_taken: bool,
    /// Its name.
    pub name: String,
    /// The multiplexer named it.
    pub automatic_name: bool,
    /// It was the session's current window.
    pub active: bool,
    /// The unzoomed layout; empty when unknown.
    pub layout: String,
    /// A pane was zoomed.
    pub zoomed: bool,
    /// Columns.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Its panes in layout order.
    pub panes: Vec<PaneBuild>,
}

/// A pane to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaneBuild {
    /// The entry that it carries.
    pub entry: EntryId,
    /// Directory; the nearest existing one when its own is gone.
    pub cwd: String,
    /// It was the window's active pane.
    pub active: bool,
}
