//! Assess: what is live, what was lost and why, what the user ended, what cannot be told. The value behind `status`.

use crate::knowledge::Disk;
use crate::observe::Observed;
use crate::time::rfc3339;
use reseat_core::ending::{Ending, judge};
use reseat_core::fold::{Binding, Folded};
use reseat_core::plan::{Evidence, Knowledge, Reason, SurfaceView};
use reseat_core::process::Boot;
use reseat_core::text::short;
use serde::Serialize;

/// `reseat status --json`.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Version of this JSON.
    pub schema: u32,
    /// The boot we run in.
    pub boot: Boot,
    /// Agents that run.
    pub live: Vec<Item>,
    /// Bindings that were lost and are not settled.
    pub lost: Vec<Item>,
    /// Bindings that ended, by the user or without a known cause.
    pub ended: Vec<Item>,
    /// Bindings that could not be observed.
    pub unknown: Vec<Item>,
    /// Agents seen in panes that have no adapter.
    pub unsupported: Vec<Unsupported>,
}

/// One binding.
#[derive(Debug, Clone, Serialize)]
pub struct Item {
    /// Where.
    pub surface: SurfaceView,
    /// The agent.
    pub agent: String,
    /// The session, if one was read.
    pub session: Option<String>,
    /// Directory.
    pub cwd: Option<String>,
    /// Pid while it lives.
    pub pid: Option<u32>,
    /// RFC 3339 UTC of the last sign of life.
    pub last_seen: String,
    /// The same in milliseconds since 1970.
    #[serde(skip)]
    pub last_seen_ms: i64,
    /// What it was doing.
    pub was: reseat_core::fact::Was,
    /// Last prompt or title.
    pub label: Option<String>,
    /// What speaks for the session.
    pub evidence: Vec<Evidence>,
    /// How it stands.
    pub ending: Reason,
}

/// An agent that cannot be brought back.
#[derive(Debug, Clone, Serialize)]
pub struct Unsupported {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
    /// The socket.
    pub socket: String,
    /// The pane.
    pub pane_id: String,
}

/// Judges every binding that still means something: all that live, and of those that ended the newest on each
/// surface as well as every loss that is not settled.
pub fn assess(folded: &Folded, observed: &Observed, disk: &Disk<'_>, boot: &Boot) -> Status {
    let mut status = Status {
        schema: reseat_core::plan::SCHEMA,
        boot: boot.clone(),
        live: Vec::new(),
        lost: Vec::new(),
        ended: Vec::new(),
        unknown: Vec::new(),
        unsupported: observed
            .seen
            .unsupported
            .iter()
            .map(|(life, pane, found)| Unsupported {
                name: found.name.to_owned(),
                reason: found.reason.clone(),
                socket: life.socket.clone(),
                pane_id: pane.to_string(),
            })
            .collect(),
    };
    for (index, binding) in folded.bindings.iter().enumerate() {
        let ending = judge(binding, folded, &observed.view);
        let settled = folded.settled.get(&binding.entry()).is_some_and(reseat_core::fold::Settled::is_done);
        let newest = !folded.bindings[index + 1..].iter().any(|later| later.surface == binding.surface);
        let (list, keep) = match ending {
            Ending::Live => (&mut status.live, true),
            Ending::Lost(_) => (&mut status.lost, !settled),
            Ending::EndedByUser(_) | Ending::EndedUnknown(_) | Ending::Closing => {
                (&mut status.ended, newest && !settled)
            }
            Ending::Unknown(..) => (&mut status.unknown, true),
        };
        if keep {
            list.push(item(binding, &ending, observed, disk));
        }
    }
    status
}

fn item(binding: &Binding, ending: &Ending, observed: &Observed, disk: &Disk<'_>) -> Item {
    let session =
        binding.current.as_ref().map(|held| held.session.clone()).or_else(|| binding.argv_session.clone());
    let known = session.as_ref().map(|id| {
        disk.transcript(&reseat_core::ids::SessionKey {
            agent: binding.agent,
            home: binding.home.clone(),
            id: id.clone(),
        })
    });
    let label = known.as_ref().and_then(|known| known.last_prompt.as_deref().or(known.title.as_deref()));
    let live = *ending == Ending::Live;
    let mut surface = reseat_core::plan::surface_of(binding);
    if live {
        let place = binding
            .life
            .as_ref()
            .and_then(|life| observed.view.servers.get(life))
            .and_then(|snapshot| binding.pane.and_then(|pane| snapshot.place(pane)));
        if let Some(place) = place {
            surface.session = Some(place.session);
            surface.window = Some(place.window);
            surface.window_name = Some(place.window_name);
            surface.pane = Some(place.pane);
        }
        surface.pane_id = binding.pane;
    }
    Item {
        surface,
        agent: binding.agent.name().to_owned(),
        session: session.map(String::from),
        cwd: binding.launch.cwd.clone(),
        pid: live.then_some(binding.process.pid),
        last_seen: rfc3339(binding.last_seen.wall_ms),
        last_seen_ms: binding.last_seen.wall_ms,
        was: binding.was,
        label: label.map(|text| short(text, 80)),
        evidence: reseat_core::plan::evidence_of(binding),
        ending: Reason::new(ending.code(), ending.text()),
    }
}
