//! The plan: a pure value that says, for every lost surface, what would be done and why.
//!
//! `compute` decides everything; whoever executes chooses nothing. A plan's id is the digest of its content, so
//! that a restore can refuse when the world is no longer the one that was shown.

mod entries;
mod held;
mod incident;
mod judge;
mod knowledge;
mod once;
mod pick;
mod target;
mod types;
mod usable;

pub use knowledge::{Command, Conversation, Directory, IdleShell, Kind, Knowledge, Known, WALL_TOLERANCE_MS};
pub use types::{
    Build, Candidate, Entry, Evidence, Incident, PaneBuild, Plan, Reason, SCHEMA, SurfaceView, Verdict,
    WindowBuild,
};

pub use entries::{evidence_of, surface_of};

use crate::ending::{Ending, LiveView, judge};
use crate::fold::Folded;
use crate::ids::{EntryId, PlanId, SessionId, SurfaceId, digest};
use crate::select::Selection;
use std::collections::BTreeMap;

/// What the user allows and asks for.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Which losses are meant.
    pub selection: Selection,
    /// Idle shells that stand where a lost agent stood may be replaced.
    pub into_idle: bool,
    /// Resume although it failed twice, or although it cannot be told whether it still runs elsewhere.
    pub force: bool,
    /// At most this many sessions are resumed; the rest is `blocked`.
    pub capacity: Option<usize>,
    /// Directories (and all below) whose sessions are left alone.
    pub exclude_directories: Vec<String>,
    /// Names of multiplexer sessions that are left alone.
    pub exclude_sessions: Vec<String>,
}

/// Computes the plan for what `folded` says was, against what `view` says is.
pub fn compute(folded: &Folded, view: &LiveView, know: &dyn Knowledge, policy: &Policy) -> Plan {
    let endings: Vec<Ending> = folded.bindings.iter().map(|binding| judge(binding, folded, view)).collect();
    let incidents = incident::find(folded, &endings, view);
    let in_scope = incident::scope(&incidents, folded, policy);
    let mut entries = entries::entries(folded, &endings, view, know, policy, &in_scope);
    let builds = target::builds(folded, view, know, policy, &mut entries);
    once::once_each(&mut entries);
    in_order(&mut entries, &incidents);
    once::limit(&mut entries, policy.capacity);
    let mut plan = Plan {
        schema: SCHEMA,
        plan: PlanId(String::new()),
        incidents: incidents
            .into_iter()
            .filter(|incident| {
                incident.entries.iter().any(|id| entries.iter().any(|entry| entry.entry == *id))
            })
            .collect(),
        summary: BTreeMap::new(),
        entries,
        builds,
    };
    plan.seal();
    plan
}

/// The order of the listing is the order of the restore: the newest incident first, then place by place.
fn in_order(entries: &mut [Entry], incidents: &[Incident]) {
    entries.sort_by_cached_key(|entry| {
        let rank = |incident: &String| incidents.iter().position(|other| other.id == *incident);
        let place = &entry.surface;
        (
            entry.incident.as_ref().and_then(rank).unwrap_or(usize::MAX),
            place.socket.clone(),
            place.session.clone(),
            place.window,
            place.pane,
        )
    });
}

impl Plan {
    /// Counts the verdicts and gives the plan its id.
    fn seal(&mut self) {
        self.summary = BTreeMap::new();
        for entry in &self.entries {
            *self.summary.entry(entry.verdict.name().to_owned()).or_default() += 1;
        }
        self.plan = PlanId(String::new());
        let content = serde_json::to_string(self).unwrap_or_default();
        self.plan = PlanId(digest("plan-", 16, &[&content]));
    }

    /// Returns the entry of that id.
    pub fn entry(&self, id: &EntryId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.entry == *id)
    }

    /// Whether something can be resumed without a question.
    pub fn has_resumable(&self) -> bool {
        self.entries.iter().any(|entry| entry.verdict == Verdict::Resume)
    }

    /// Whether something is left that needs a person.
    pub fn needs_person(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry.verdict, Verdict::Choose | Verdict::Blocked | Verdict::Unknown))
    }

    /// Turns a `choose` entry into a `resume` of the session a person picked. The plan keeps the id it was shown
    /// under: a pick is an answer to it, not another plan.
    pub fn pick(
        &mut self,
        surface: &SurfaceId,
        session: &SessionId,
        know: &dyn Knowledge,
        folded: &Folded,
        view: &LiveView,
    ) -> Result<(), PickError> {
        pick::pick(self, surface, session, know, folded, view)
    }
}

/// A pick that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PickError {
    /// No entry of the plan stands on that surface.
    #[error("no entry of this plan stands on surface {0}")]
    UnknownSurface(SurfaceId),
    /// That session is not among the entry's candidates.
    #[error("session {session} is not among the candidates of {surface}")]
    NotACandidate {
        /// The surface.
        surface: SurfaceId,
        /// The session.
        session: SessionId,
    },
    /// The picked session cannot be resumed.
    #[error("session {session} cannot be resumed: {text}")]
    Blocked {
        /// The session.
        session: SessionId,
        /// Reason code.
        code: String,
        /// Why.
        text: String,
    },
}
