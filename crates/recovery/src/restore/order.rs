//! What a pane's `reseat exec` needs, as the flight keeps it: its own copy, so that it needs no plan.

use super::Request;
use reseat_core::ids::{AgentKind, EntryId, SessionId, SessionKey};
use reseat_core::mux::{PaneId, ServerLife};
use reseat_core::plan::{Build, Entry, Plan, Reason, SurfaceView, Verdict, WindowBuild};
use reseat_core::process::ProcessKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The order of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The entry.
    pub entry: EntryId,
    /// Where it stood.
    pub surface: SurfaceView,
    /// `resume` starts an agent, all others a shell.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// The agent.
    pub agent: Option<AgentKind>,
    /// Its home.
    pub home: Option<String>,
    /// The session.
    pub session: Option<SessionId>,
    /// The command.
    pub argv: Vec<String>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// The directory.
    pub cwd: Option<String>,
    /// What to know it by.
    pub label: Option<String>,
    /// The caller insists.
    pub force: bool,
    /// It goes into a pane that was there before.
    pub respawn: bool,
    /// The window whose first pane it is: whoever finishes a restore that was killed makes the rest of it.
    #[serde(default)]
    pub window: Option<WindowBuild>,
}

/// What was made for an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Effect {
    /// The server.
    #[serde(default)]
    pub(super) life: Option<ServerLife>,
    /// The pane.
    #[serde(default)]
    pub(super) pane: Option<PaneId>,
    /// The agent process.
    #[serde(default)]
    pub(super) process: Option<ProcessKey>,
    /// The agent's shared server held the conversation before the start.
    #[serde(default)]
    pub(super) server_held: bool,
    /// How the agent ended, when it did: a code and a sentence.
    #[serde(default)]
    pub(super) ended: Option<Reason>,
    /// Worth knowing.
    #[serde(default)]
    pub(super) notes: Vec<String>,
}

impl Order {
    pub(super) fn of(entry: &Entry, plan: &Plan, request: &Request) -> Self {
        Self {
            entry: entry.entry.clone(),
            surface: entry.surface.clone(),
            verdict: entry.verdict,
            reason: entry.reason.clone(),
            agent: entry.agent,
            home: entry.home.clone(),
            session: entry.session.clone(),
            argv: entry.argv.clone(),
            env: entry.env.clone(),
            cwd: entry.cwd.clone(),
            label: entry.label.clone(),
            force: request.policy.force,
            respawn: plan
                .builds
                .iter()
                .any(|build| matches!(build, Build::Respawn { pane, .. } if pane.entry == entry.entry)),
            window: plan.builds.iter().find_map(|build| match build {
                Build::Window(window) if window.panes.first()?.entry == entry.entry => Some(window.clone()),
                _ => None,
            }),
        }
    }

    /// The conversation this order starts, if it starts one.
    pub fn key(&self) -> Option<SessionKey> {
        if self.verdict != Verdict::Resume {
            return None;
        }
        Some(SessionKey { agent: self.agent?, home: self.home.clone()?, id: self.session.clone()? })
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

impl Effect {
    pub(super) fn parse(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
