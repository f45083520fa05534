//! Facts: immutable observations, each stamped with where and when it was made.
//!
//! A fact taken in twice is one fact; facts may arrive in any order. The log of facts and decisions is the truth,
//! everything else is a fold of it.

use crate::ids::{AgentKind, EntryId, FlightId, PlanId, SessionId, SessionKey, SurfaceId, digest};
use crate::mux::{PaneId, Place, ServerLife, Snapshot, Stood};
use crate::process::{Boot, ProcessKey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the line format that [`Fact`] is written in.
pub const FORMAT: u32 = 1;

/// Who stamped a fact, and when. Orders facts within a boot; is the fact's id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// The boot of the observer.
    pub boot: Boot,
    /// Number of that boot on this host, counted when first seen; 0 when it could not be counted.
    pub boot_number: u64,
    /// CLOCK_BOOTTIME in nanoseconds.
    pub ns: u64,
    /// Pid of the observer.
    pub pid: u32,
    /// Random.
    pub nonce: u64,
    /// Wall clock in milliseconds since 1970. Shown to people, never used to decide or to order.
    pub wall_ms: i64,
}

/// The order of facts: boot by its number, then time within the boot, then the rest so that it is total.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Order(u64, String, u64, u32, u64);

impl Stamp {
    /// Returns the key facts are sorted by.
    pub fn order(&self) -> Order {
        Order(self.boot_number, self.boot.id.clone(), self.ns, self.pid, self.nonce)
    }

    /// Returns the fact's id: equal stamps are one fact.
    pub fn id(&self) -> String {
        digest(
            "f-",
            24,
            &[
                &self.boot.host,
                &self.boot.id,
                &self.boot.pidns.to_string(),
                &self.ns.to_string(),
                &self.pid.to_string(),
                &self.nonce.to_string(),
            ],
        )
    }
}

/// Gives facts of boots that their observer could not count (its disk was full) the number that others counted for
/// that boot. Those of a boot that nobody counted come last: what it lost is offered rather than hidden.
pub fn count_boots(facts: &mut [Fact]) {
    if facts.iter().all(|fact| fact.stamp.boot_number > 0) {
        return;
    }
    let mut numbers: BTreeMap<Boot, u64> = BTreeMap::new();
    for fact in facts.iter().filter(|fact| fact.stamp.boot_number > 0) {
        numbers.insert(fact.stamp.boot.clone(), fact.stamp.boot_number);
    }
    for fact in facts.iter_mut().filter(|fact| fact.stamp.boot_number == 0) {
        fact.stamp.boot_number = numbers.get(&fact.stamp.boot).copied().unwrap_or(u64::MAX);
    }
}

/// One observation or decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Who, when.
    pub stamp: Stamp,
    /// What.
    pub body: Body,
}

/// What was observed or decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// An agent's own hook told us.
    Hook(HookEvent),
    /// A look saw an agent process in a pane.
    Sighting(Sighting),
    /// A look found that a process seen before is gone, or that its pane is.
    Gone(Gone),
    /// A look over one server that answered.
    Look(Look),
    /// An orchestrator, or an import of another tool's save, named a binding.
    Recorded(Recorded),
    /// A person or our own restore decided.
    Decision(Decision),
}

/// How strong an observation of "this process holds that session" is. Greater is stronger only for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Same directory and fitting times.
    Guess,
    /// Another tool's save file.
    Imported,
    /// The id stood in the arguments; stale after `/clear` or `/new`.
    Argv,
    /// The agent wrote the id into its pane title, and we saw it change to that id.
    Title,
    /// The process holds the transcript or its writer lock.
    OpenFile,
    /// The agent's own live record.
    Registry,
    /// An orchestrator said so.
    Recorded,
    /// The agent's hook said so.
    Hook,
}

impl Grade {
    /// Whether this grade alone is proof enough to resume without a question.
    pub const fn may_act(self) -> bool {
        matches!(self, Self::Hook | Self::Registry | Self::OpenFile | Self::Title | Self::Recorded)
    }

    /// The name used in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guess => "guess",
            Self::Imported => "imported",
            Self::Argv => "argv",
            Self::Title => "title",
            Self::OpenFile => "open-file",
            Self::Registry => "registry",
            Self::Recorded => "recorded",
            Self::Hook => "hook",
        }
    }
}

/// What an agent's hook reported, with what the hook process could read of its agent without asking anyone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookEvent {
    /// The agent.
    pub agent: AgentKind,
    /// The agent's home directory.
    pub home: String,
    /// Which event.
    pub event: AgentEvent,
    /// The conversation the event names.
    pub session: SessionId,
    /// The agent process, when it could be found among the hook's ancestors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessKey>,
    /// The pane the agent runs in, when the environment names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pane: Option<PaneClaim>,
    /// Below another agent, headless, or without the pane's terminal: never the pane's binding.
    #[serde(default)]
    pub nested: bool,
    /// How it was started, as far as it could be read.
    #[serde(default)]
    pub launch: Launch,
    /// The permission mode the event named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// A pane named by a process's environment, and whether its controlling terminal agrees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaneClaim {
    /// The server life that `TMUX` named, with the server's start ticks read from the process table.
    pub life: ServerLife,
    /// `TMUX_PANE`.
    pub pane: PaneId,
    /// Device number of the agent's controlling terminal; 0 when it has none.
    pub tty: u64,
    /// The agent descends from that server through a process that has the same controlling terminal.
    pub descends: bool,
}

/// What an agent said happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent {
    /// A conversation became the current one.
    Start {
        /// startup, resume, clear, compact, fork or another word of the agent.
        source: String,
    },
    /// A prompt was submitted.
    Prompt,
    /// A conversation ended.
    End {
        /// The agent's word for why.
        reason: EndReason,
    },
}

/// Why an agent says a conversation ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// A word only a person causes (Claude: `prompt_input_exit`, `logout`).
    User,
    /// Another conversation took its place (clear, resume, fork, /new).
    Replaced,
    /// Anything else, a crash among them.
    Other,
}

/// How an agent was started, without secrets and without prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Launch {
    /// Directory of the live process when it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The program by the name it was started with, and the flags worth carrying over. Empty when unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// The arguments could not be read (the program wiped them).
    #[serde(default)]
    pub flags_unknown: bool,
    /// The program that started the agent, when it was neither a shell nor the multiplexer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<Vec<String>>,
    /// Allow-listed variables with their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names of variables that matter but whose values are not kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_names: Vec<String>,
    /// The agent's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// One reading of which session a process holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// How it was read.
    pub grade: Grade,
    /// The conversation.
    pub session: SessionId,
}

/// What an agent was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Was {
    /// At its prompt.
    Idle,
    /// In the middle of a turn.
    MidTurn,
    /// Waiting for a person: a permission or another dialog.
    Waiting,
    /// Not observed.
    #[default]
    Unknown,
}

/// An agent process seen in a pane by a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// The agent.
    pub agent: AgentKind,
    /// Its home directory.
    pub home: String,
    /// The process.
    pub process: ProcessKey,
    /// The server life.
    pub life: ServerLife,
    /// The pane, by the pane's process tree and terminal.
    pub pane: PaneId,
    /// Where that pane stood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Which sessions it was read to hold; empty when none could be read. Titles count here only when they were
    /// seen to change; a standing title is a [`Grade::Guess`].
    pub readings: Vec<Reading>,
    /// The id shown in the pane's title, to tell a change at the next look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title_id: Option<String>,
    /// How it was started.
    pub launch: Launch,
    /// What it was doing.
    pub was: Was,
    /// The permission mode last read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The front end keeps its thread in a server that several panes share.
    #[serde(default)]
    pub shared_server: bool,
}

/// A process that an earlier look saw is gone, or its pane is. Written once, by the first look that noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// The process.
    pub process: ProcessKey,
    /// The life, which answered this look.
    pub life: ServerLife,
    /// Whether its pane was still there.
    pub pane_left: bool,
    /// Marks only an unorderly end leaves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub killed: Vec<KillMark>,
    /// Codex emptied its own title, which it does only when a person quits it.
    #[serde(default)]
    pub title_emptied: bool,
    /// Where its pane stood when it was last seen there, if the pane is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stood: Option<Stood>,
}

/// A trace that an orderly end would have removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KillMark {
    /// Its registry file is still there with the same pid and start.
    RegistryLeft,
    /// The pane's title still holds the thread id.
    TitleLeft,
    /// The kernel counted an out-of-memory kill in its cgroup.
    OutOfMemory,
}

/// One look over one server that answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The server life.
    pub life: ServerLife,
    /// What it looked like; `None` when it equals the last stored one of this life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
    /// Agent processes seen alive in its panes: pid and start ticks.
    pub alive: Vec<(u32, u64)>,
    /// Out-of-memory kills counted so far in the server's cgroup, when readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom_kills: Option<u64>,
}

/// A binding that was told rather than observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// `recorded` or `imported`.
    pub grade: Grade,
    /// Who told: `index record`, or the save file's name.
    pub source: String,
    /// The conversation.
    pub session: SessionKey,
    /// The surface.
    pub surface: SurfaceId,
    /// Repository name the caller gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Role the caller gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The process that holds it, if the caller named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessKey>,
}

/// Something a person or our own restore decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// The user says this session is over; never offered by default again.
    Ended {
        /// The surface.
        surface: SurfaceId,
        /// The conversation.
        session: SessionId,
    },
    /// The user does not want these losses offered.
    Dismissed {
        /// The entries.
        entries: Vec<EntryId>,
    },
    /// A restore took these entries of a plan.
    Taken {
        /// The flight.
        flight: FlightId,
        /// The plan that was shown.
        plan: PlanId,
        /// The entries.
        entries: Vec<EntryId>,
    },
    /// A pane now carries a surface. Written before an agent starts in it.
    Placed {
        /// The surface.
        surface: SurfaceId,
        /// The entry that brought it there.
        entry: EntryId,
        /// The life.
        life: ServerLife,
        /// The pane.
        pane: PaneId,
    },
    /// How an entry of a flight came out.
    Outcome {
        /// The flight.
        flight: FlightId,
        /// The entry.
        entry: EntryId,
        /// The surface.
        surface: SurfaceId,
        /// The conversation that was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// restored, started, failed, skipped or refused.
        outcome: Outcome,
        /// Reason code.
        code: String,
        /// A sentence.
        text: String,
        /// The process that came up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<ProcessKey>,
    },
    /// A restore was taken back.
    Undone {
        /// The flight.
        flight: FlightId,
        /// The entries whose panes were closed.
        entries: Vec<EntryId>,
    },
}

/// What became of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The agent lives and reports that session.
    Restored,
    /// The agent lives; it has not reported which session it holds.
    Started,
    /// It did not come up, or came up as something else and was undone.
    Failed,
    /// Nothing needed doing.
    Skipped,
    /// Not allowed or not possible now; nothing was created.
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(number: u64, ns: u64) -> Stamp {
        let boot = Boot { host: "h".into(), id: format!("b{number}"), pidns: 1, init_start: 1 };
        Stamp { boot, boot_number: number, ns, pid: 1, nonce: 1, wall_ms: 0 }
    }

    /// C26: order comes from the boot's number and the time within it, never from a wall clock.
    #[test]
    fn c26_order_ignores_the_wall_clock() {
        let mut late = stamp(1, 900);
        late.wall_ms = 9_000;
        let mut next_boot = stamp(2, 10);
        next_boot.wall_ms = 10;
        assert!(late.order() < next_boot.order());
        assert!(stamp(1, 5).order() < late.order());
    }

    #[test]
    fn a_fact_survives_its_line_format() {
        let fact = Fact {
            stamp: stamp(3, 77),
            body: Body::Decision(Decision::Dismissed { entries: vec![EntryId("e-1".into())] }),
        };
        let line = serde_json::to_string(&fact).unwrap();
        assert_eq!(serde_json::from_str::<Fact>(&line).unwrap(), fact);
        assert_eq!(fact.stamp.id(), fact.stamp.id());
    }
}
