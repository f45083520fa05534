//! No session is planned twice, and no more of them than the host may carry.

use super::types::{Entry, Reason, Verdict};
use std::collections::{BTreeMap, BTreeSet};

/// A session is planned at most once: the surface seen last keeps it, the others ask.
pub(super) fn once_each(entries: &mut [Entry]) {
    let mut planned = BTreeSet::new();
    for entry in entries.iter_mut().rev().filter(|entry| entry.verdict == Verdict::Resume) {
        let Some(session) = entry.session.clone() else { continue };
        if !planned.insert((entry.agent, entry.home.clone(), session.clone())) {
            entry.judged(
                Verdict::Choose,
                Reason::new("planned-elsewhere", format!("{session} is planned for another pane")),
            );
            entry.argv = Vec::new();
            entry.env = BTreeMap::new();
            entry.candidates.clear();
        }
    }
}

/// Blocks what goes beyond the capacity, in the order of the plan.
pub(super) fn limit(entries: &mut [Entry], capacity: Option<usize>) {
    let Some(capacity) = capacity else { return };
    for entry in entries.iter_mut().filter(|entry| entry.verdict == Verdict::Resume).skip(capacity) {
        entry.judged(
            Verdict::Blocked,
            Reason::new(
                "over-capacity",
                format!("more than {capacity} sessions at once; restore it afterwards"),
            ),
        );
        entry.argv = Vec::new();
        entry.env = BTreeMap::new();
    }
}
