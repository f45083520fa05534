//! What a restore did: one line per entry, and how to get there.

use super::Progress;
use crate::context::Context;
use reseat_core::fact::Outcome;
use reseat_core::ids::{AgentKind, EntryId, FlightId, PlanId, SessionId};
use reseat_core::mux::PaneId;
use reseat_core::plan::{Build, Entry, Plan, Reason, SurfaceView, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// `reseat restore --json`.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Version of this JSON.
    pub schema: u32,
    /// The flight; `None` when nothing was begun.
    pub flight: Option<FlightId>,
    /// The plan that was spent.
    pub plan: PlanId,
    /// One per entry.
    pub results: Vec<EntryResult>,
    /// How many came out how.
    pub summary: BTreeMap<String, usize>,
    /// The command that attaches to what came up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attach: Option<Vec<String>>,
    /// Something the plan could not do exactly.
    pub notes: Vec<String>,
}

/// How one entry came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntryResult {
    /// The entry.
    pub entry: EntryId,
    /// How.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// The agent.
    pub agent: Option<AgentKind>,
    /// The session.
    pub session: Option<SessionId>,
    /// Where it stood.
    pub surface: SurfaceView,
    /// The pane it is in now.
    pub pane: Option<PaneId>,
    /// The agent's pid.
    pub pid: Option<u32>,
}

impl Report {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            schema: reseat_core::plan::SCHEMA,
            flight: None,
            plan: plan.plan.clone(),
            results: Vec::new(),
            summary: BTreeMap::new(),
            attach: None,
            notes: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, result: EntryResult, tell: &mut dyn FnMut(&Progress<'_>)) {
        *self.summary.entry(outcome_name(result.outcome).to_owned()).or_default() += 1;
        tell(&Progress::Entry(&result));
        self.results.push(result);
    }

    /// Takes in what came of an interrupted restore, as far as this one did not go on with it. It was told before.
    pub(super) fn take_in(&mut self, recovered: Vec<EntryResult>) {
        for result in recovered {
            if !self.results.iter().any(|other| other.entry == result.entry) {
                *self.summary.entry(outcome_name(result.outcome).to_owned()).or_default() += 1;
                self.results.push(result);
            }
        }
    }

    /// Adds what needed nothing or could not be done.
    pub(super) fn add_rest(&mut self, plan: &Plan, tell: &mut dyn FnMut(&Progress<'_>)) {
        for entry in &plan.entries {
            if self.results.iter().any(|result| result.entry == entry.entry) {
                continue;
            }
            let outcome = match entry.verdict {
                Verdict::Blocked | Verdict::Unknown => Outcome::Refused,
                _ => Outcome::Skipped,
            };
            self.add(result_of(entry, outcome, entry.reason.clone()), tell);
        }
    }

    /// Entries with an agent that came up.
    pub fn came_up(&self) -> usize {
        self.results
            .iter()
            .filter(|result| matches!(result.outcome, Outcome::Restored | Outcome::Started))
            .count()
    }

    /// Entries that failed.
    pub fn failed(&self) -> usize {
        self.results.iter().filter(|result| result.outcome == Outcome::Failed).count()
    }
}

pub(super) fn result_of(entry: &Entry, outcome: Outcome, reason: Reason) -> EntryResult {
    EntryResult {
        entry: entry.entry.clone(),
        outcome,
        reason,
        agent: entry.agent,
        session: entry.session.clone(),
        surface: entry.surface.clone(),
        pane: None,
        pid: None,
    }
}

/// The name used in JSON.
pub const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Restored => "restored",
        Outcome::Started => "started",
        Outcome::Failed => "failed",
        Outcome::Skipped => "skipped",
        Outcome::Refused => "refused",
    }
}

/// The command that attaches to the first session that was built.
pub(super) fn attach_command(context: &Context, plan: &Plan) -> Option<Vec<String>> {
    let (socket, session) = match plan.builds.first()? {
        Build::Window(window) => (window.socket.clone(), Some(window.session.clone())),
        Build::Split { socket, .. } | Build::Respawn { socket, .. } => (socket.clone(), None),
    };
    let mut argv = vec![context.tmux.display().to_string()];
    if std::path::Path::new(&socket) != reseat_mux::tmux::default_socket(&context.env) {
        argv.extend(["-S".to_owned(), socket]);
    }
    argv.push("attach".into());
    if let Some(session) = session {
        // `=` makes tmux take the name as it is and not as the beginning of one.
        argv.extend(["-t".to_owned(), format!("={session}")]);
    }
    Some(argv)
}
