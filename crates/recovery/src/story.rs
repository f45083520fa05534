//! The story of a pane or a session: each fact with its evidence, each decision, in order. Behind `reseat log`.

use crate::time::rfc3339;
use reseat_core::fact::{AgentEvent, Body, Decision, EndReason, Fact, KillMark};
use reseat_core::fold::fold;
use serde::Serialize;

/// One line of a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// RFC 3339 UTC of the moment, by the clock of then.
    pub at: String,
    /// The boot it happened in, counted on this host.
    pub boot: u64,
    /// The surface, when it concerns one.
    pub surface: Option<String>,
    /// The session, when it concerns one.
    pub session: Option<String>,
    /// hook, sighting, gone, look, recorded or decision.
    pub kind: &'static str,
    /// A sentence.
    pub text: String,
}

/// Tells all facts that concern any of `names` (surface, session or entry ids, panes, places), or all of them.
pub fn story(facts: &[Fact], names: &[String]) -> Vec<Line> {
    let folded = fold(facts);
    let mut ordered: Vec<&Fact> = facts.iter().collect();
    ordered.sort_by_cached_key(|fact| fact.stamp.order());
    ordered.dedup_by(|one, other| one.stamp == other.stamp);
    let surface_of = |process: &reseat_core::process::ProcessKey| {
        let binding = folded.bindings.iter().find(|binding| binding.process == *process);
        binding.map(|binding| binding.surface.to_string())
    };
    let mut out = Vec::new();
    for fact in ordered {
        let mut line = tell(fact, &surface_of);
        let entries = entries_of(&fact.body);
        let place = |id: &str| {
            folded.bindings.iter().any(|binding| {
                Some(binding.surface.as_str()) == line.surface.as_deref()
                    && (binding.place.as_ref().is_some_and(|place| place.to_string() == id)
                        || binding.pane.is_some_and(|pane| pane.to_string() == id))
            })
        };
        let concerned = names.is_empty()
            || names.iter().any(|name| {
                line.surface.as_deref() == Some(name)
                    || line.session.as_deref() == Some(name)
                    || entries.iter().any(|entry| entry == name)
                    || place(name)
            });
        if concerned {
            line.text = reseat_core::text::plain(&line.text);
            out.push(line);
        }
    }
    out
}

fn entries_of(body: &Body) -> Vec<String> {
    match body {
        Body::Decision(
            Decision::Dismissed { entries }
            | Decision::Taken { entries, .. }
            | Decision::Undone { entries, .. },
        ) => entries.iter().map(ToString::to_string).collect(),
        Body::Decision(Decision::Placed { entry, .. } | Decision::Outcome { entry, .. }) => {
            vec![entry.to_string()]
        }
        _ => Vec::new(),
    }
}

fn tell(fact: &Fact, surface_of: &dyn Fn(&reseat_core::process::ProcessKey) -> Option<String>) -> Line {
    let (kind, surface, session, text) = match &fact.body {
        Body::Hook(event) => {
            let what = match &event.event {
                AgentEvent::Start { source } => format!("says it holds this conversation ({source})"),
                AgentEvent::Prompt => "a prompt was submitted".into(),
                AgentEvent::End { reason } => format!(
                    "says the conversation ended ({})",
                    match reason {
                        EndReason::User => "by its user",
                        EndReason::Replaced => "replaced by another",
                        EndReason::Other => "no reason that tells closed from crashed",
                    }
                ),
            };
            let pid =
                event.process.as_ref().map_or_else(String::new, |process| format!(" pid {}", process.pid));
            let nested = if event.nested { ", below another agent or headless: no pane's own" } else { "" };
            (
                "hook",
                event.process.as_ref().and_then(surface_of),
                Some(event.session.to_string()),
                format!("{}{pid}: {what}{nested}", event.agent.title()),
            )
        }
        Body::Sighting(seen) => {
            let readings: Vec<String> = seen
                .readings
                .iter()
                .map(|reading| format!("{} {}", reading.grade.name(), reading.session))
                .collect();
            let read = if readings.is_empty() { "no session read".into() } else { readings.join(", ") };
            let place = seen.place.as_ref().map_or_else(|| seen.pane.to_string(), ToString::to_string);
            (
                "sighting",
                surface_of(&seen.process),
                seen.readings
                    .iter()
                    .max_by_key(|reading| reading.grade)
                    .map(|reading| reading.session.to_string()),
                format!("{} pid {} seen in {place}: {read}", seen.agent.title(), seen.process.pid),
            )
        }
        Body::Gone(gone) => {
            let marks: Vec<&str> = gone
                .killed
                .iter()
                .map(|mark| match mark {
                    KillMark::RegistryLeft => "its live record remains",
                    KillMark::TitleLeft => "its title remains",
                    KillMark::OutOfMemory => "the kernel counted an out-of-memory kill",
                })
                .collect();
            let marks = if marks.is_empty() { "no mark of a kill".into() } else { marks.join(", ") };
            let pane = if gone.pane_left { "its pane lives on" } else { "its pane is gone too" };
            (
                "gone",
                surface_of(&gone.process),
                None,
                format!("pid {} is gone while the server answers; {pane}; {marks}", gone.process.pid),
            )
        }
        Body::Look(look) => {
            let panes = look.snapshot.as_ref().map_or(0, |snapshot| snapshot.panes().count());
            (
                "look",
                None,
                None,
                format!("{} answered: {panes} panes, {} agents alive", look.life.socket, look.alive.len()),
            )
        }
        Body::Recorded(recorded) => (
            "recorded",
            Some(recorded.surface.to_string()),
            Some(recorded.session.id.to_string()),
            format!("{} names this conversation", recorded.source),
        ),
        Body::Decision(decision) => decided(decision),
    };
    Line { at: rfc3339(fact.stamp.wall_ms), boot: fact.stamp.boot_number, surface, session, kind, text }
}

fn decided(decision: &Decision) -> (&'static str, Option<String>, Option<String>, String) {
    let (surface, session, text) = match decision {
        Decision::Ended { surface, session } => {
            (Some(surface.to_string()), Some(session.to_string()), "you ended it".to_owned())
        }
        Decision::Dismissed { entries } => (None, None, format!("you dismissed {} entries", entries.len())),
        Decision::Taken { flight, plan, entries } => {
            (None, None, format!("restore {flight} took {} entries of {plan}", entries.len()))
        }
        Decision::Placed { surface, entry, pane, .. } => {
            (Some(surface.to_string()), None, format!("{entry} was placed in pane {pane}"))
        }
        Decision::Outcome { surface, session, outcome, code, text, entry, .. } => (
            Some(surface.to_string()),
            session.as_ref().map(ToString::to_string),
            format!("{entry} {} ({code}): {text}", crate::restore::outcome_name(*outcome)),
        ),
        Decision::Undone { flight, entries } => {
            (None, None, format!("restore {flight} was taken back for {} entries", entries.len()))
        }
    };
    ("decision", surface, session, text)
}
