//! An agent whose conversation nobody could read may hold any that was written since it began: then a lost one of
//! these is a question.

use crate::fixture::{Disk, Log, Now, Spot, life, lines, plan, snapshot};
use reseat_core::ending::LiveAgent;
use reseat_core::fact::Grade;
use reseat_core::ids::AgentKind;

/// A pane whose agent held `U1`, and the same pane layout after its server died: `%1` of a new server, where an agent
/// runs that no evidence names.
fn lost_then_blind(disk_written_s: i64, guess: Option<u32>) -> (Log, Now, Disk) {
    let (old, new) = (life(1, 50), life(1, 60));
    let first = Spot::at(&old, 0, 500, 0, 0);
    let blind = Spot::at(&new, 1, 2_000, 3, 0);
    let mut log = Log::new();
    log.start(&first, "startup", 1).look(&old, &snapshot("work", &[&[(0, "/w")]]), &[&first]);
    // Ticks of process 2000: 200 s after boot.
    log.after(105)
        .seen(&blind, &guess.map(|session| (Grade::Guess, session)).into_iter().collect::<Vec<_>>());
    log.look(&new, &snapshot("work", &[&[(1, "/w")]]), &[&blind]);
    log.after(20);
    let now = Now::of(&log);
    let mut talk = Disk::talk();
    // The log's wall clock reads 1,000 s at 100 s after boot.
    talk.last_activity_ms = (900 + disk_written_s) * 1000;
    let mut disk = Disk::default();
    disk.talks.insert(1, talk);
    (log, now, disk)
}

const RESUMED: &str =
    "work:0.0 resume proof (the agent's hook named this conversation last) claude --resume U1";
const ASKED: &str = "work:0.0 choose perhaps-continued (it was written after pid 2000 began, an agent whose conversation could \
                     not be read: it may have been continued there) ?U1";

fn first_line(log: &Log, now: &Now, disk: &Disk) -> String {
    lines(&plan(log, now, disk)).remove(0)
}

#[test]
fn written_before_an_unread_agent_began_is_no_reason_to_ask() {
    let (log, now, disk) = lost_then_blind(194, None);
    assert_eq!(first_line(&log, &now, &disk), RESUMED);
}

#[test]
fn written_after_an_unread_agent_began_is_a_question() {
    // Within the tolerance for clocks of others, and clearly after.
    for written in [196, 203, 210] {
        let (log, now, disk) = lost_then_blind(written, None);
        assert_eq!(first_line(&log, &now, &disk), ASKED, "written at {written} s");
    }
}

/// One that lives counts without a pane too, unless evidence says what it holds.
#[test]
fn a_living_unread_agent_outside_any_pane_counts() {
    let (old, pid) = (life(1, 50), 2_000);
    let spot = Spot::at(&old, 0, 500, 0, 0);
    let mut log = Log::new();
    log.start(&spot, "startup", 1).look(&old, &snapshot("work", &[&[(0, "/w")]]), &[&spot]).after(200);
    let mut disk = Disk::default();
    disk.talks.insert(1, reseat_core::plan::Known { last_activity_ms: 1_110_000, ..Disk::talk() });
    for (certain, expected) in [(false, ASKED), (true, RESUMED)] {
        let mut now = Now::of(&log);
        now.view.agents.push(LiveAgent {
            process: crate::fixture::process(1, pid),
            agent: AgentKind::Claude,
            home: crate::fixture::HOME.into(),
            sessions: Vec::new(),
            pane: None,
            interactive: true,
            cwd: Some("/w".into()),
            began_ms: 1_100_000,
            certain,
        });
        assert_eq!(first_line(&log, &now, &disk), expected, "certain: {certain}");
    }
}

/// Only the command line names `U1`, and the title shows another: argv never wins over a newer sign.
#[test]
fn argv_alone_against_a_guess_is_a_question() {
    let life = life(1, 50);
    let spot = Spot::at(&life, 0, 500, 0, 0);
    let mut log = Log::new();
    log.seen(&spot, &[(Grade::Argv, 1), (Grade::Guess, 2)]);
    log.look(&life, &snapshot("work", &[&[(0, "/w")]]), &[&spot]);
    let now = Now::of(&log);
    assert_eq!(
        lines(&plan(&log, &now, &Disk::default())),
        ["work:0.0 choose disputed (weaker but newer evidence names another conversation) ?U2 ?U1"]
    );
}
