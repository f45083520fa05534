//! What the planner asks about the world outside the log. Answered by edges, and by tables in tests.

use crate::fact::Was;
use crate::fold::Binding;
use crate::ids::{AgentKind, SessionId, SessionKey};
use std::collections::BTreeMap;

/// Whether a transcript holds a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conversation {
    /// It does.
    Yes,
    /// There is no transcript.
    Missing {
        /// Side files of it remain: it existed and was removed.
        side_files: bool,
    },
    /// The file has no bytes.
    Empty,
    /// Only metadata.
    None,
    /// It cannot be read.
    Unreadable(String),
}

/// Who runs a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A person.
    Interactive,
    /// Another conversation.
    SubAgent,
    /// A program.
    Headless,
    /// Not known to this version.
    Unknown,
}

/// What is known of a conversation from its transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Whether there is one.
    pub conversation: Conversation,
    /// Who runs it.
    pub kind: Kind,
    /// The directory it must be started in.
    pub project: Option<String>,
    /// The directory last named in it.
    pub current: Option<String>,
    /// Title.
    pub title: Option<String>,
    /// Last prompt.
    pub last_prompt: Option<String>,
    /// Milliseconds since 1970 of the last line.
    pub last_activity_ms: i64,
    /// The conversation it was continued in.
    pub continued_in: Option<SessionId>,
    /// A conversation it needs whose file is missing.
    pub missing_base: Option<SessionId>,
    /// It lies in the archive.
    pub archived: bool,
    /// What its tail says the agent was doing.
    pub was: Was,
    /// Sentences worth showing.
    pub notes: Vec<String>,
}

impl Known {
    /// A conversation of which nothing is on disk.
    pub const fn missing(side_files: bool) -> Self {
        Self {
            conversation: Conversation::Missing { side_files },
            kind: Kind::Interactive,
            project: None,
            current: None,
            title: None,
            last_prompt: None,
            last_activity_ms: 0,
            continued_in: None,
            missing_base: None,
            archived: false,
            was: Was::Unknown,
            notes: Vec::new(),
        }
    }
}

/// The exact command that continues a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Command {
    /// Arguments, program first.
    pub argv: Vec<String>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// What was left out, and why.
    pub notes: Vec<String>,
    /// Why the program cannot be started, when it cannot be found.
    pub missing_program: Option<String>,
}

/// What can be said of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directory {
    /// It is there and can be entered.
    There,
    /// It is not there; perhaps with a way to get it back.
    Missing(Option<String>),
    /// The file system did not answer in time.
    Unreachable,
    /// It may not be entered.
    Forbidden,
}

/// Times written by others' clocks are compared with this tolerance, milliseconds.
pub const WALL_TOLERANCE_MS: i64 = 5_000;

/// Answers about agents, transcripts and directories.
pub trait Knowledge {
    /// What is known of a conversation.
    fn transcript(&self, key: &SessionKey) -> Known;
    /// Conversations of a home whose directory is `cwd`, newest first.
    fn candidates(&self, agent: AgentKind, home: &str, cwd: &str) -> Vec<SessionId>;
    /// Sessions of a home whose id begins so.
    fn starting_with(&self, agent: AgentKind, home: &str, prefix: &str) -> Vec<SessionId>;
    /// Whether another conversation of that home and directory was written after the process began.
    fn others_written_since(&self, binding: &Binding, session: &SessionId) -> bool;
    /// The command that continues a session as that binding ran it.
    fn command(&self, binding: &Binding, key: &SessionKey, known: &Known) -> Command;
    /// What can be said of a directory.
    fn directory(&self, path: &str) -> Directory;
    /// Whether an agent's home exists.
    fn home_exists(&self, home: &str) -> bool;
    /// The directory a session must be started in, of the two its transcript names.
    fn start_directory(&self, binding: &Binding, known: &Known) -> Option<String>;
    /// Whether the pane's first process is an idle shell, and when it was started.
    fn idle_shell(&self, life: &crate::mux::ServerLife, pane: crate::mux::PaneId) -> Option<IdleShell>;
}

/// A shell without children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleShell {
    /// Its start ticks.
    pub start: u64,
}
