//! Which bindings become entries of the plan, and what is decided before anyone asks for a conversation.

use super::judge::Judge;
use super::types::{Entry, Evidence, Reason, SurfaceView, Verdict};
use super::{Knowledge, Policy};
use crate::ending::{Ending, LifeNow, LiveView, life_now};
use crate::fact::Grade;
use crate::fold::{Binding, Folded};
use crate::ids::EntryId;
use crate::process::Liveness;
use crate::select::Subject;
use std::collections::BTreeMap;

/// Returns one entry for each binding that is lost, ended without a known cause, or cannot be observed, as far as
/// it is in scope and selected.
pub(super) fn entries(
    folded: &Folded,
    endings: &[Ending],
    view: &LiveView,
    know: &dyn Knowledge,
    policy: &Policy,
    in_scope: &BTreeMap<EntryId, String>,
) -> Vec<Entry> {
    let judge = Judge { folded, endings, view, know, policy };
    let mut out = Vec::new();
    for (index, (binding, ending)) in folded.bindings.iter().zip(endings).enumerate() {
        let id = binding.entry();
        let named = !policy.selection.ids.is_empty();
        let silent = match binding.life.as_ref().map(|life| life_now(life, view)) {
            Some(LifeNow::Silent(code, text)) => Some((code, text)),
            _ => None,
        };
        let mut entry = skeleton(binding);
        match ending {
            Ending::Lost(_) | Ending::EndedUnknown(_) => {
                let Some(incident) = in_scope.get(&id) else { continue };
                entry.incident = Some(incident.clone());
            }
            Ending::Unknown(..) => {}
            Ending::Live if silent.is_some() => {}
            Ending::Live | Ending::EndedByUser(_) | Ending::Closing if named => {}
            Ending::Live | Ending::EndedByUser(_) | Ending::Closing => continue,
        }
        if !judge.selected(binding, &entry) {
            continue;
        }
        if let Some(settled) = folded.settled.get(&id).filter(|settled| settled.is_done()) {
            let came_back = settled.process.as_ref().is_some_and(|process| {
                view.processes.get(process) == Some(&Liveness::Gone)
                    && !folded.bindings.iter().any(|other| other.process == *process)
            });
            if settled.dismissed && !named {
                if policy.selection.older {
                    entry.judged(Verdict::Skip, Reason::new("dismissed", "you dismissed it"));
                    out.push(entry);
                }
                continue;
            }
            if !settled.dismissed && !came_back {
                if named {
                    entry.judged(Verdict::Skip, Reason::new("already-restored", "it was restored already"));
                    out.push(entry);
                }
                continue;
            }
        }
        match (ending, silent) {
            // Lost or not: where its server does not answer, nothing can be made for it.
            (_, Some((code, text))) => entry.judged(Verdict::Unknown, Reason::new(code, text)),
            (Ending::Live, _) => {
                entry.judged(
                    Verdict::Skip,
                    Reason::new("already-open", format!("it is running as pid {}", binding.process.pid)),
                );
            }
            (Ending::EndedByUser(how), _) => entry.judged(Verdict::Skip, Reason::new("ended-by-user", *how)),
            (Ending::Closing, _) => entry.judged(Verdict::Skip, Reason::new("closing", ending.text())),
            (Ending::Unknown(code, text), _) if !policy.force => {
                entry.judged(Verdict::Unknown, Reason::new(code, text.clone()));
            }
            _ => judge.lost(index, binding, ending, &mut entry),
        }
        out.push(entry);
    }
    out
}

/// Returns an entry without a verdict.
fn skeleton(binding: &Binding) -> Entry {
    Entry {
        entry: binding.entry(),
        verdict: Verdict::Unknown,
        reason: Reason::new("", ""),
        agent: Some(binding.agent),
        session: binding.current.as_ref().map(|held| held.session.clone()),
        home: Some(binding.home.clone()),
        surface: surface_of(binding),
        cwd: binding.launch.cwd.clone(),
        argv: Vec::new(),
        env: BTreeMap::new(),
        was: binding.was,
        label: None,
        evidence: evidence_of(binding),
        candidates: Vec::new(),
        preselected: None,
        notes: Vec::new(),
        incident: None,
    }
}

/// Returns where a binding stood.
pub fn surface_of(binding: &Binding) -> SurfaceView {
    let place = binding.place.as_ref();
    SurfaceView {
        id: binding.surface.clone(),
        mux: if binding.life.is_some() { "tmux" } else { "none" }.into(),
        socket: binding.life.as_ref().map(|life| life.socket.clone()),
        session: place.map(|place| place.session.clone()),
        window: place.map(|place| place.window),
        window_name: place.map(|place| place.window_name.clone()),
        pane: place.map(|place| place.pane),
        pane_id: None,
    }
}

/// Returns what speaks for the session a binding holds, strongest first.
pub fn evidence_of(binding: &Binding) -> Vec<Evidence> {
    let mut grades: Vec<Grade> =
        binding.current.iter().flat_map(|held| held.grades.iter().copied()).collect();
    if binding.current.is_none() && binding.argv_session.is_some() {
        grades.push(Grade::Argv);
    }
    grades.reverse();
    grades.into_iter().map(|grade| Evidence { grade, source: source(grade).into() }).collect()
}

pub(super) const fn source(grade: Grade) -> &'static str {
    match grade {
        Grade::Hook => "the agent's hook",
        Grade::Registry => "the agent's live record",
        Grade::OpenFile => "an open transcript or its lock",
        Grade::Title => "the pane's title",
        Grade::Recorded => "index record",
        Grade::Argv => "the command line",
        Grade::Imported => "an imported save",
        Grade::Guess => "same directory",
    }
}

impl Judge<'_> {
    fn selected(&self, binding: &Binding, entry: &Entry) -> bool {
        let mut sessions: Vec<String> = binding.sessions().into_iter().map(String::from).collect();
        sessions.extend(binding.argv_session.iter().map(|id| id.as_str().to_owned()));
        self.policy.selection.matches(&Subject {
            entry: &entry.entry,
            surface: entry.surface.id.as_str(),
            agent: entry.agent,
            sessions: &sessions,
            mux_session: entry.surface.session.as_deref(),
            window: entry.surface.window,
            window_name: entry.surface.window_name.as_deref(),
            pane: entry.surface.pane,
            cwd: entry.cwd.as_deref(),
        })
    }
}
