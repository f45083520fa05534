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

/// CRX-28: the start in a pane is killed before it notes which agent it started. The agent went with its pane, and its
/// hook had been quicker: it belongs to the failed start and is neither a pane that its user closed nor a later resume.
/// What ran in that pane before, and what its user starts there afterwards, is their own.
#[test]
fn crx_28_an_agent_of_a_failed_start_is_no_binding_of_its_own() {
    let (before, after) = (life(1, 50), life(1, 60));
    let lost = Spot::at(&before, 1, 500, 0, 0);
    let in_pane = |pid| Spot::at(&after, 1, pid, 0, 0);
    let mut log = Log::new();
    log.seen(&lost, &[(Grade::Registry, 1)]).seen(&in_pane(900), &[(Grade::Registry, 2)]);
    log.put(Body::Decision(Decision::Placed {
        surface: before.surface(&lost.pane),
        entry: lost.entry(),
        life: after.clone(),
        pane: in_pane(1).pane,
    }));
    log.after(10).start(&in_pane(1050), "resume", 1).gone(&in_pane(1050), true, &[]);
    log.failed(&lost, "pane-lost");
    log.after(20).start(&in_pane(1200), "startup", 3);
    // A hook of the failed start that was late to tell.
    log.start(&in_pane(1060), "resume", 1);
    log.failed(&lost, "pane-lost");
    let pids: Vec<u32> = log.folded().bindings.iter().map(|binding| binding.process.pid).collect();
    assert_eq!(pids, [500, 900, 1200]);
}
