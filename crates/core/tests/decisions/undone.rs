//! What an undo takes back, and what it could not close.

use crate::fixture::{Log, Spot, life};
use reseat_core::fact::{Body, Decision, Grade, Outcome};
use reseat_core::ids::FlightId;

/// An undo says that panes are taken back before it closes them: what runs in them is no loss. Of one that it could
/// not close the outcome is said again, and its agent counts as before.
#[test]
fn crx_10_an_outcome_said_again_outlives_an_undo() {
    let (before, after) = (life(1, 50), life(1, 60));
    let (lost, back) = (Spot::at(&before, 1, 500, 0, 0), Spot::at(&after, 1, 600, 0, 0));
    let outcome = Decision::Outcome {
        flight: FlightId("f".into()),
        entry: lost.entry(),
        surface: before.surface(&lost.pane),
        session: None,
        outcome: Outcome::Restored,
        code: "verified".into(),
        text: "it reports it".into(),
        process: Some(back.process.clone()),
    };
    let mut log = Log::new();
    log.seen(&lost, &[(Grade::Registry, 1)]).seen(&back, &[(Grade::Registry, 1)]);
    log.put(Body::Decision(outcome.clone()));
    let seen = |log: &Log| {
        let folded = log.folded();
        let pids: Vec<u32> = folded.bindings.iter().map(|binding| binding.process.pid).collect();
        (pids, folded.settled[&lost.entry()].is_done())
    };
    assert_eq!(seen(&log), (vec![500, 600], true));
    log.put(Body::Decision(Decision::Undone { flight: FlightId("f".into()), entries: vec![lost.entry()] }));
    assert_eq!(seen(&log), (vec![500], false));
    log.put(Body::Decision(outcome));
    assert_eq!(seen(&log), (vec![500, 600], true));
}
