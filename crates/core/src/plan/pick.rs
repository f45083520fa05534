//! A person's answer to a question of the plan.

use super::judge::{Judge, describe, key};
use super::once::once_each;
use super::types::{Plan, Reason, Verdict};
use super::usable::Block;
use super::{Knowledge, PickError, Policy};
use crate::ending::LiveView;
use crate::fold::Folded;
use crate::ids::{SessionId, SurfaceId};

/// Follows a person's answer.
pub(super) fn pick(
    plan: &mut Plan,
    surface: &SurfaceId,
    session: &SessionId,
    know: &dyn Knowledge,
    folded: &Folded,
    view: &LiveView,
) -> Result<(), PickError> {
    let policy = Policy { force: true, ..Policy::default() };
    let judge = Judge { folded, endings: &[], view, know, policy: &policy };
    let entry = plan
        .entries
        .iter_mut()
        .find(|entry| entry.surface.id == *surface || entry.entry.as_str() == surface.as_str())
        .ok_or_else(|| PickError::UnknownSurface(surface.clone()))?;
    if !entry.candidates.iter().any(|candidate| candidate.session == *session) {
        return Err(PickError::NotACandidate { surface: surface.clone(), session: session.clone() });
    }
    let binding = folded
        .bindings
        .iter()
        .find(|binding| binding.entry() == entry.entry)
        .ok_or_else(|| PickError::UnknownSurface(surface.clone()))?;
    let blocked = |reason: &Reason| PickError::Blocked {
        session: session.clone(),
        code: reason.code.clone(),
        text: reason.text.clone(),
    };
    if let Some(pid) = judge.running(binding, session) {
        return Err(blocked(&Reason::new("already-open", format!("running as pid {pid}"))));
    }
    let known = know.transcript(&key(binding, session));
    match judge.usable(binding, session, &known, entry) {
        // Archived, continued or moved is what the person was asked about.
        Ok(()) | Err(Block::Ask(..)) => {}
        Err(Block::Previous(reason) | Block::Final(reason)) => return Err(blocked(&reason)),
    }
    entry.session = Some(session.clone());
    entry.notes.clear();
    describe(entry, &known);
    judge.resume(binding, session, &known, entry);
    if entry.verdict != Verdict::Resume {
        return Err(blocked(&entry.reason));
    }
    entry.reason = Reason::new("picked", "you picked it");
    entry.candidates.clear();
    entry.preselected = None;
    let id = entry.entry.clone();
    if !plan.builds.iter().any(|build| build.carries(&id)) {
        let build = super::target::build_of_pick(folded, view, know, binding, &mut plan.entries);
        plan.builds.extend(build);
    }
    let duplicate = plan
        .entries
        .iter()
        .filter(|other| other.verdict == Verdict::Resume && other.session.as_ref() == Some(session))
        .count()
        > 1;
    if duplicate {
        once_each(&mut plan.entries);
    }
    Ok(())
}
