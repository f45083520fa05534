//! What is known of each coding agent, one module per agent.
//!
//! Adding an agent means one module that implements [`Agent`], its fixtures, and its line in [`agent`]. Nothing
//! here decides what to restore; nothing here writes to an agent's home except [`hooks`](Agent) edits that return
//! text for the caller to write.

pub mod claude;
pub mod codex;
pub mod scan;
pub mod unsupported;

use reseat_core::fact::{Grade, Launch, Reading, Was};
use reseat_core::ids::{AgentKind, SessionId, SessionKey};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A transcript found on disk, from its path and metadata alone; nothing was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The conversation, by the file's name.
    pub key: SessionKey,
    /// The file.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
    /// Modification time, milliseconds since 1970.
    pub modified_ms: i64,
    /// It lies in the agent's archive.
    pub archived: bool,
    /// It is compressed.
    pub compressed: bool,
}

/// What a bounded read of a transcript's head and tail told. Text from outside is kept as it was; whoever shows
/// it makes it plain first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transcript {
    /// The conversation.
    pub key: SessionKey,
    /// The file.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
    /// The directory the conversation belongs to: where it must be started so that the agent finds it.
    pub project: Option<String>,
    /// The directory last named in the file.
    pub current: Option<String>,
    /// Its title or name.
    pub title: Option<String>,
    /// The last thing a person typed.
    pub last_prompt: Option<String>,
    /// Time of the last whole line, milliseconds since 1970; the file's own modification time where no line has one.
    pub last_activity_ms: i64,
    /// The model last used.
    pub model: Option<String>,
    /// The branch last named.
    pub branch: Option<String>,
    /// The permission mode (Claude) or approval policy and sandbox (Codex) last named.
    pub mode: Option<String>,
    /// The agent version that last wrote to it.
    pub version: Option<String>,
    /// Whether there is something to resume in it.
    pub conversation: Conversation,
    /// What kind of conversation it is.
    pub kind: Kind,
    /// Conversations whose files must exist too (a fork that copies no history), nearest first.
    pub bases: Vec<SessionId>,
    /// The conversation the agent says it was continued in.
    pub continued_in: Option<SessionId>,
    /// It lies in the agent's archive.
    pub archived: bool,
    /// It is compressed.
    pub compressed: bool,
    /// Bytes at the end, or within what was read, that are no whole line.
    pub damaged_bytes: u64,
    /// What the last lines say the agent was doing.
    pub was: Was,
    /// Sentences worth showing beside it (why a title is unknown, that the agent may refuse it, …).
    pub notes: Vec<String>,
}

/// Whether a transcript holds a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conversation {
    /// At least one message of a person or the agent.
    Yes,
    /// The file has no bytes.
    Empty,
    /// Only metadata lines.
    None,
    /// The file cannot be read, or is no regular file.
    Unreadable,
}

/// Who runs a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A person in a terminal.
    Interactive,
    /// A sub-agent or reviewer of another conversation; cannot take typed turns.
    SubAgent,
    /// A program: `-p`, `exec`, an SDK.
    Headless,
    /// A kind this version does not know; not resumable by us.
    Unknown,
}

/// What a look hands to an agent to recognise a process by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessView {
    /// Pid.
    pub pid: u32,
    /// Start ticks.
    pub start: u64,
    /// `comm` of the kernel.
    pub comm: String,
    /// Path of the executable, where readable.
    pub exe: Option<String>,
    /// Arguments; may be wiped.
    pub argv: Vec<String>,
}

/// The agent's own record of a live (or once live) process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryEntry {
    /// Pid in the record.
    pub pid: u32,
    /// Start ticks, when the record holds them.
    pub start: Option<u64>,
    /// When the record says it began, milliseconds since 1970 (compared with 5 s tolerance where `start` is absent).
    pub started_ms: Option<i64>,
    /// The conversation.
    pub session: SessionId,
    /// Directory.
    pub cwd: Option<String>,
    /// What it was doing.
    pub was: Was,
    /// Interactive in a terminal, or headless.
    pub kind: Kind,
    /// The agent's version.
    pub version: Option<String>,
    /// The pane the record names (`session:@window.%pane`), as text.
    pub tmux: Option<String>,
    /// The title the agent shows for it.
    pub name: Option<String>,
}

/// What to start so that a conversation continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeRequest<'a> {
    /// The conversation.
    pub key: &'a SessionKey,
    /// How the lost process was started.
    pub launch: &'a Launch,
    /// The permission mode last observed, whatever was asked for at start.
    pub mode: Option<&'a str>,
    /// Whether flags that lift safety may be carried over.
    pub carry_dangerous: bool,
    /// The default home of this agent for the user; a variable is only needed for another.
    pub default_home: &'a str,
}

/// The exact command that continues a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeCommand {
    /// Arguments, program name first.
    pub argv: Vec<String>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// A flag that lifts safety stands in `argv`.
    pub dangerous: bool,
    /// What was left out and why.
    pub notes: Vec<String>,
}

/// One agent program. All paths are explicit; nothing reads the environment of this process.
pub trait Agent: Sync {
    /// Which agent.
    fn kind(&self) -> AgentKind;

    /// The default home below a user's home directory.
    fn default_home(&self, user_home: &Path) -> PathBuf;

    /// The home a process with these variables uses, absolute.
    fn home_of(&self, env: &BTreeMap<String, String>, user_home: &Path) -> PathBuf;

    /// Variables whose values are kept.
    fn kept_variables(&self) -> &'static [&'static str];

    /// Variables whose presence is noted by name only.
    fn noted_variables(&self) -> &'static [&'static str];

    /// Variables that mark a child of an agent; removed before every start.
    fn marker_variables(&self) -> &'static [&'static str];

    /// Whether a process is this agent's front end (not a helper, not its shared server).
    fn is_front_end(&self, process: &ProcessView) -> bool;

    /// Whether a front end was started to run without a person (`-p`, `exec`).
    fn is_headless(&self, process: &ProcessView) -> bool;

    /// Splits arguments into what may be carried over and whether they could be read; drops prompts and secrets.
    fn launch(&self, process: &ProcessView, env: &BTreeMap<String, String>) -> Launch;

    /// The id that stands in the arguments (`--resume ID`), if any.
    fn argv_session(&self, process: &ProcessView) -> Option<SessionId>;

    /// The agent's live records.
    fn registry(&self, home: &Path) -> Vec<RegistryEntry>;

    /// Conversations whose writer left its lock behind when it ended, or holds it still, with the lock's time in
    /// milliseconds since 1970. An orderly end removes the lock.
    fn locks(&self, home: &Path) -> Vec<(SessionId, i64)>;

    /// All transcripts of a home, sub-agents left out where the path tells.
    fn list(&self, home: &Path) -> Vec<Found>;

    /// The transcript of one id, by id and not by directory; plain before compressed, live before archived.
    fn find(&self, home: &Path, id: &SessionId) -> Option<Found>;

    /// Reads a bounded head and tail.
    fn read(&self, found: &Found) -> Transcript;

    /// Full or abbreviated thread id shown in a pane title, if the title has our form.
    fn title_id(&self, title: &str) -> Option<String>;

    /// Sessions read from files and locks a process holds (`open` paths, `locked` inode-checked paths).
    fn open_file_sessions(&self, open: &[PathBuf], locked: &[PathBuf]) -> Vec<Reading>;

    /// The exact command that continues a conversation.
    fn resume(&self, request: &ResumeRequest<'_>) -> ResumeCommand;

    /// The word of an end event.
    fn end_reason(&self, word: &str) -> reseat_core::fact::EndReason;

    /// Whether a screen shows a dialog that waits for a person, and which.
    fn blocked_by(&self, screen: &str) -> Option<&'static str>;
}

/// Returns the adapter of an agent.
pub fn agent(kind: AgentKind) -> &'static dyn Agent {
    match kind {
        AgentKind::Claude => &claude::Claude,
        AgentKind::Codex => &codex::Codex,
    }
}

/// The strongest of some readings, newest agreement first.
pub fn strongest(readings: &[Reading]) -> Option<&Reading> {
    readings.iter().max_by_key(|reading| reading.grade)
}

/// Grades that a look can produce by itself.
pub const LOOK_GRADES: [Grade; 5] =
    [Grade::Registry, Grade::OpenFile, Grade::Title, Grade::Argv, Grade::Guess];
