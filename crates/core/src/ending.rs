//! Judges how a binding ended, from positive evidence only.
//!
//! Nothing is lost because it was not observed, and nothing was closed by the user unless a word only a person
//! causes says so, or the multiplexer lived on for ten seconds after the agent's polite end.

use crate::fact::{EndReason, KillMark};
use crate::fold::{Binding, Folded, LifeSeen};
use crate::mux::{PaneId, ServerLife, Snapshot};
use crate::process::{Boot, BootRelation, Liveness, ProcessKey, Unseen};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How long a server must outlive an agent's polite end before that end counts as the user's: 10 s of
/// CLOCK_BOOTTIME.
pub const CLOSING_NS: u64 = 10_000_000_000;

/// What is there now, as far as it could be seen. Gathered by one look; nothing in it is remembered.
#[derive(Debug, Clone, Default)]
pub struct LiveView {
    /// The boot we run in.
    pub here: Option<Boot>,
    /// CLOCK_BOOTTIME when the view was begun, nanoseconds.
    pub now_ns: u64,
    /// Servers that answered, with what they look like.
    pub servers: BTreeMap<ServerLife, Snapshot>,
    /// Sockets that did not answer, by path.
    pub sockets: BTreeMap<String, SocketState>,
    /// Whether each recorded process still runs.
    pub processes: BTreeMap<ProcessKey, Liveness>,
    /// Marks of an unorderly end found now, by process.
    pub killed: BTreeMap<ProcessKey, Vec<KillMark>>,
    /// Agent front ends running anywhere, with or without a pane.
    pub agents: Vec<LiveAgent>,
}

/// An agent process that runs now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveAgent {
    /// The process.
    pub process: ProcessKey,
    /// The agent.
    pub agent: crate::ids::AgentKind,
    /// Its home.
    pub home: String,
    /// Sessions it was read to hold, whatever the grade; empty when unknown.
    pub sessions: Vec<crate::ids::SessionId>,
    /// The pane it runs in, if any.
    pub pane: Option<(ServerLife, PaneId)>,
    /// It is a person's front end and not a headless run.
    pub interactive: bool,
    /// Its session's directory, if read.
    pub cwd: Option<String>,
    /// When it began by the wall clock, milliseconds since 1970; only to compare with the times in transcripts.
    pub began_ms: i64,
    /// Evidence that may act names its session. Without it the session it holds may be any.
    pub certain: bool,
}

/// Why a socket did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SocketState {
    /// No socket, or one that nobody listens on.
    NoServer,
    /// The socket is missing but its server lives.
    Unreachable {
        /// The server's pid.
        pid: u32,
    },
    /// It could not be asked: timeout, another protocol version, no permission.
    NotAnswering {
        /// Why, as a sentence.
        why: String,
    },
}

/// Why a binding counts as lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The agent was killed while its server lived.
    Killed,
    /// The multiplexer's server died.
    ServerDied,
    /// The host was restarted.
    HostRebooted,
    /// The container was restarted.
    ContainerRestarted,
}

/// How a binding stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The process runs.
    Live,
    /// A polite end, not yet old enough to be called the user's.
    Closing,
    /// The user ended it.
    EndedByUser(&'static str),
    /// It ended; nothing says how.
    EndedUnknown(&'static str),
    /// It was lost.
    Lost(Loss),
    /// It could not be observed.
    Unknown(&'static str, String),
}

impl Ending {
    /// The code used in JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Closing => "closing",
            Self::EndedByUser(_) => "ended-by-user",
            Self::EndedUnknown(_) => "ended-unknown",
            Self::Lost(Loss::Killed) => "killed",
            Self::Lost(Loss::ServerDied) => "server-died",
            Self::Lost(Loss::HostRebooted) => "host-rebooted",
            Self::Lost(Loss::ContainerRestarted) => "container-restarted",
            Self::Unknown(code, _) => code,
        }
    }

    /// A sentence for people.
    pub fn text(&self) -> String {
        match self {
            Self::Live => "running".into(),
            Self::Closing => "just ended; whether it was closed or lost is known in ten seconds".into(),
            Self::EndedByUser(how) | Self::EndedUnknown(how) => (*how).into(),
            Self::Lost(Loss::Killed) => "the agent was killed".into(),
            Self::Lost(Loss::ServerDied) => "the tmux server died".into(),
            Self::Lost(Loss::HostRebooted) => "the host was restarted".into(),
            Self::Lost(Loss::ContainerRestarted) => "the container was restarted".into(),
            Self::Unknown(_, text) => text.clone(),
        }
    }
}

/// How a server life stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LifeNow {
    /// It answered.
    Answers,
    /// Its process lives but its socket is gone or it does not answer.
    Silent(&'static str, String),
    /// It ended.
    Over(Loss),
    /// It cannot be told from here.
    CannotTell(&'static str, String),
}

/// Returns how a server life stands.
pub fn life_now(life: &ServerLife, view: &LiveView) -> LifeNow {
    if view.servers.contains_key(life) {
        return LifeNow::Answers;
    }
    let Some(here) = &view.here else {
        return LifeNow::CannotTell("boot-unknown", "this boot could not be identified".into());
    };
    match life.boot().seen_from(here) {
        BootRelation::OtherHost => life_unseen(Unseen::OtherHost, life),
        BootRelation::OtherContainer => life_unseen(Unseen::OtherContainer, life),
        BootRelation::EarlierBoot => LifeNow::Over(Loss::HostRebooted),
        BootRelation::ContainerRestarted => LifeNow::Over(Loss::ContainerRestarted),
        BootRelation::Same => match view.processes.get(&life.server) {
            Some(Liveness::Gone) => LifeNow::Over(Loss::ServerDied),
            Some(Liveness::Alive) => {
                let pid = life.server.pid;
                match view.sockets.get(&life.socket) {
                    Some(SocketState::NotAnswering { why }) => LifeNow::Silent(
                        "server-silent",
                        format!("the tmux server (pid {pid}) lives but does not answer: {why}"),
                    ),
                    _ => LifeNow::Silent(
                        "server-unreachable",
                        format!(
                            "not lost: the tmux server (pid {pid}) lives but its socket is gone; `kill -USR1 {pid}` makes it anew"
                        ),
                    ),
                }
            }
            Some(Liveness::CannotTell(why)) => life_unseen(*why, life),
            None => LifeNow::CannotTell("not-probed", "the server process was not looked at".into()),
        },
    }
}

fn life_unseen(why: Unseen, life: &ServerLife) -> LifeNow {
    let (code, text) = unseen(why, life.boot());
    LifeNow::CannotTell(code, text)
}

fn unseen(why: Unseen, boot: &Boot) -> (&'static str, String) {
    match why {
        Unseen::OtherHost => ("other-host", format!("on host {}", crate::text::plain(&boot.host))),
        Unseen::OtherContainer => ("other-container", "in another container".into()),
        Unseen::Unreadable => ("process-table-unreadable", "the process table could not be read".into()),
    }
}

/// Judges one binding.
pub fn judge(binding: &Binding, folded: &Folded, view: &LiveView) -> Ending {
    match view.processes.get(&binding.process) {
        Some(Liveness::Alive) => return Ending::Live,
        Some(Liveness::Gone) => {}
        Some(Liveness::CannotTell(why)) => {
            let (code, text) = unseen(*why, &binding.process.boot);
            return Ending::Unknown(code, text);
        }
        None => return Ending::Unknown("not-probed", "the process was not looked at".into()),
    }
    // The process is proven gone. A person's word comes first and outlives every later event.
    if binding
        .current
        .as_ref()
        .is_some_and(|held| folded.ended.contains(&(binding.surface.clone(), held.session.clone())))
    {
        return Ending::EndedByUser("ended by you");
    }
    if binding.end.as_ref().is_some_and(|end| end.reason == EndReason::User) {
        return Ending::EndedByUser("you left the agent");
    }
    if binding.gone.as_ref().is_some_and(|(_, gone)| gone.title_emptied && gone.killed.is_empty()) {
        return Ending::EndedByUser("you quit the agent");
    }
    let Some(life) = &binding.life else {
        return Ending::EndedUnknown("its process is gone; nothing says why");
    };
    if life.is_a_guess() {
        return Ending::EndedUnknown("it left a trace on disk; nothing was watching when it ended");
    }
    let seen = folded.lives.get(life);
    let now = life_now(life, view);
    if let Some((_, gone)) = &binding.gone
        && !gone.killed.is_empty()
    {
        return Ending::Lost(Loss::Killed);
    }
    if let Some(since) = closing_since(binding) {
        if outlived(since, seen, &now, view) {
            return Ending::EndedByUser(if binding.end.is_some() {
                "it ended politely while its tmux server lived on"
            } else {
                "its pane was closed while the tmux server lived on"
            });
        }
        return match now {
            LifeNow::Answers => Ending::Closing,
            LifeNow::Silent(code, text) | LifeNow::CannotTell(code, text) => Ending::Unknown(code, text),
            LifeNow::Over(loss) => Ending::Lost(loss),
        };
    }
    if binding.gone.is_some() {
        return Ending::EndedUnknown("the agent ended while its pane lived on; nothing says why");
    }
    match now {
        LifeNow::Answers => {
            if view.killed.get(&binding.process).is_some_and(|marks| !marks.is_empty()) {
                return Ending::Lost(Loss::Killed);
            }
            let pane_there = binding.pane.is_some_and(|pane| {
                view.servers.get(life).is_some_and(|snapshot| snapshot.pane(pane).is_some())
            });
            if pane_there {
                Ending::EndedUnknown("the agent ended while its pane lived on; nothing says why")
            } else {
                Ending::Closing
            }
        }
        LifeNow::Silent(code, text) | LifeNow::CannotTell(code, text) => Ending::Unknown(code, text),
        LifeNow::Over(loss) => {
            if alive_at_the_last_look(binding, seen) {
                Ending::Lost(loss)
            } else {
                Ending::EndedUnknown("it was not seen alive in the last look before its server ended")
            }
        }
    }
}

/// The moment, in nanoseconds since boot, from which a polite end or a closed pane waits for the server to outlive
/// it.
fn closing_since(binding: &Binding) -> Option<u64> {
    let end = binding.end.as_ref().filter(|end| end.reason == EndReason::Other).map(|end| end.at.ns);
    let pane = binding.gone.as_ref().filter(|(_, gone)| !gone.pane_left).map(|(at, _)| at.ns);
    match (end, pane) {
        (Some(end), Some(pane)) => Some(end.min(pane)),
        (end, pane) => end.or(pane),
    }
}

fn outlived(since: u64, seen: Option<&LifeSeen>, now: &LifeNow, view: &LiveView) -> bool {
    let later = since.saturating_add(CLOSING_NS);
    let looked = seen.and_then(|seen| seen.last_look.as_ref()).is_some_and(|look| look.ns >= later);
    looked || (*now == LifeNow::Answers && view.now_ns >= later)
}

fn alive_at_the_last_look(binding: &Binding, seen: Option<&LifeSeen>) -> bool {
    let Some(look) = seen.and_then(|seen| seen.last_look.as_ref()) else {
        // No look ever answered in this life: the agent's own hook is the last word.
        return true;
    };
    let listed = seen.is_some_and(|seen| seen.alive.contains(&(binding.process.pid, binding.process.start)));
    listed || binding.last_seen.order() >= look.order()
}
