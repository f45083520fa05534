//! A Codex shows the id of a thread in its title, cut, and of a fresh one before anybody wrote in it.

use crate::fixture::{Disk, Log, Now, Spot, id, life, lines, plan, snapshot};
use reseat_core::fact::{Body, Grade, Launch, Sighting, Was};
use reseat_core::ids::AgentKind;
use reseat_core::mux::ServerLife;

const CUT: usize = 29;

/// A look that reads the start of an id in the title, and nothing else.
fn shows(log: &mut Log, at: &Spot, session: Option<u32>, readings: &[(Grade, u32)]) {
    let readings = readings
        .iter()
        .map(|(grade, session)| reseat_core::fact::Reading { grade: *grade, session: id(*session) })
        .collect();
    log.put(Body::Sighting(Sighting {
        agent: AgentKind::Claude,
        home: crate::fixture::HOME.into(),
        process: at.process.clone(),
        life: at.life.clone(),
        pane: at.pane,
        place: at.place.clone(),
        readings,
        title_id: session.map(|session| id(session).as_str()[..CUT].to_owned()),
        launch: Launch { cwd: Some("/w".into()), argv: vec!["codex".into()], ..Launch::default() },
        was: Was::Idle,
        mode: None,
        shared_server: true,
    }));
}

fn start() -> (Log, ServerLife, Spot) {
    let life = life(1, 50);
    let spot = Spot::at(&life, 0, 500, 0, 0);
    (Log::new(), life, spot)
}

fn planned(mut log: Log, life: &ServerLife, spot: &Spot, disk: &Disk) -> Vec<String> {
    log.look(life, &snapshot("work", &[&[(0, "/w")]]), &[spot]);
    lines(&plan(&log, &Now::of(&log), disk))
}

/// The title changed to an id before the first prompt; the transcript was begun after the last look.
#[test]
fn a_thread_begun_after_the_last_look_is_known_by_its_title() {
    let (mut log, life, spot) = start();
    shows(&mut log, &spot, None, &[]);
    shows(&mut log, &spot, Some(2), &[]);
    assert_eq!(
        planned(log, &life, &spot, &Disk::default()),
        ["work:0.0 resume proof (the pane's title named this conversation last) codex --resume U2"]
    );
}

/// C02: the newest thread holds nothing. The one before it is offered and never taken silently.
#[test]
fn c02_a_fresh_thread_in_the_title_asks_about_the_one_before_it() {
    let (mut log, life, spot) = start();
    shows(&mut log, &spot, None, &[]);
    shows(&mut log, &spot, Some(1), &[(Grade::Title, 1)]);
    shows(&mut log, &spot, Some(2), &[]);
    assert_eq!(
        planned(log, &life, &spot, &Disk::default().without(2)),
        [
            "work:0.0 choose no-conversation-yet (its title showed a thread without a conversation; the one before it can \
          be resumed) ?U1"
        ]
    );
}

/// SKL: opened and never prompted is a shell, not a guess by directory.
#[test]
fn a_fresh_thread_alone_is_a_shell() {
    let (mut log, life, spot) = start();
    shows(&mut log, &spot, None, &[]);
    shows(&mut log, &spot, Some(2), &[]);
    let mut disk = Disk::default().without(2);
    disk.by_directory.insert("/w".into(), vec![1]);
    assert_eq!(
        planned(log, &life, &spot, &disk),
        ["work:0.0 shell never-prompted (it was opened and never prompted)"]
    );
}

/// A title found standing may be a dead agent's; it is no proof of anything.
#[test]
fn a_title_found_standing_names_nothing() {
    let (mut log, life, spot) = start();
    shows(&mut log, &spot, Some(2), &[]);
    let mut disk = Disk::default();
    disk.by_directory.insert("/w".into(), vec![1, 2]);
    assert_eq!(
        planned(log, &life, &spot, &disk),
        [
            "work:0.0 choose session-unknown (which conversation ran here is not known; these fit its directory) ?U1 ?U2"
        ]
    );
}

/// Newer evidence that may act is not undone by an older title.
#[test]
fn newer_evidence_supersedes_the_title() {
    let (mut log, life, spot) = start();
    shows(&mut log, &spot, None, &[]);
    shows(&mut log, &spot, Some(2), &[]);
    log.after(5);
    shows(&mut log, &spot, Some(2), &[(Grade::OpenFile, 3)]);
    assert_eq!(
        planned(log, &life, &spot, &Disk::default()),
        [
            "work:0.0 resume proof (an open transcript or its lock named this conversation last) codex --resume U3"
        ]
    );
}
