//! How things ended: C07, C21, C24, C26, C27, C28, C33.

use crate::fixture::{Disk, Log, Now, SECOND, Spot, boot, id, life, life_at, lines, plan, snapshot};
use reseat_core::ending::{Ending, Loss, SocketState, judge};
use reseat_core::fact::{EndReason, Grade, KillMark};
use reseat_core::mux::Snapshot;

const HOOK: &str = "resume proof (the agent's hook named this conversation last)";

/// C07: pane ids mean nothing in another life: the stranger in %3 is left alone, and a pane of another socket comes
/// back on that socket.
#[test]
fn c07_pane_ids_of_another_life_are_strangers() {
    let (old, new, other) = (life(1, 77), life(1, 900), life_at("/t/second", 1, 78));
    let mut log = Log::new();
    let (here, there) = (Spot::at(&old, 3, 500, 0, 0), Spot::at(&other, 3, 501, 0, 0));
    log.start(&here, "startup", 1).start(&there, "startup", 2);
    let shown = snapshot("work", &[&[(3, "/w")]]);
    log.look(&old, &shown, &[&here]).look(&other, &shown, &[&there]);
    let stranger = snapshot("other", &[&[(3, "/v")]]);
    let now = Now::of(&log).answers(&new, &stranger);
    let whole = plan(&log, &now, &Disk::default());
    assert_eq!(
        lines(&whole),
        [format!("work:0.0 {HOOK} claude --resume U1"), format!("work:0.0 {HOOK} claude --resume U2")]
    );
    let builds = serde_json::to_value(&whole.builds).unwrap();
    let places: Vec<String> = builds
        .as_array()
        .unwrap()
        .iter()
        .map(|build| format!("{} {} {}", build["how"], build["socket"], build["session"]))
        .collect();
    assert_eq!(places, [r#""window" "/t/default" "work""#, r#""window" "/t/second" "work""#]);
    assert_eq!(judge(&log.folded().bindings[0], &log.folded(), &now.view), Ending::Lost(Loss::ServerDied));
}

/// C21 (c), SKL-02: a fresh server with one empty session is a new life beside the lost one, however often it is
/// looked at; what an empty look saw replaces nothing.
#[test]
fn c21_a_new_life_replaces_nothing() {
    let (old, new) = (life(1, 77), life(1, 900));
    let spots: Vec<Spot> = (1..=5).map(|pane| Spot::at(&old, pane, 500 + pane, 0, pane - 1)).collect();
    let mut log = Log::new();
    for (at, session) in spots.iter().zip(1..) {
        log.start(at, "startup", session);
    }
    let panes: Vec<(u32, &str)> = (1..=5).map(|pane| (pane, "/w")).collect();
    let shown = snapshot("work", &[&panes]);
    log.look(&old, &shown, &spots.iter().collect::<Vec<_>>());
    let before = plan(&log, &Now::of(&log), &Disk::default());
    assert_eq!(before.summary, [("resume".to_owned(), 5)].into());
    let fresh = snapshot("0", &[&[(0, "/h")]]);
    for _ in 0..3 {
        log.after(60).look(&new, &fresh, &[]).look(&new, &Snapshot::default(), &[]);
    }
    let now = Now::of(&log).answers(&new, &fresh);
    let after = plan(&log, &now, &Disk::default());
    assert_eq!(after.entries, before.entries);
    assert_eq!(after.incidents, before.incidents);
    assert_eq!(log.folded().lives.len(), 2);
    assert_eq!(log.folded().lives[&new].snapshot, Some(fresh));
}

/// C26 (a): three looks, the third in a new boot whose wall clock is behind: the newest is the third.
#[test]
fn c26_the_newest_is_told_by_boots_and_not_by_the_clock() {
    let mut log = Log::new();
    log.wall_ms = 12 * 3_600_000;
    let at = Spot::at(&life(1, 77), 1, 500, 0, 0);
    let shown = snapshot("work", &[&[(1, "/w")]]);
    log.start(&at, "startup", 1).look(&at.life, &shown, &[&at]).after(300).look(&at.life, &shown, &[&at]);
    log.boot = 2;
    log.ns = SECOND;
    log.wall_ms = 12 * 3_600_000 - 600_000;
    let later = Spot::at(&life(2, 77), 1, 500, 0, 0);
    log.start(&later, "startup", 2).look(&later.life, &shown, &[&later]);
    let folded = log.folded();
    assert_eq!(
        folded.bindings.iter().map(|held| held.process.boot.clone()).collect::<Vec<_>>(),
        [boot(1), boot(2)]
    );
    let now = Now::of(&log);
    let whole = plan(&log, &now, &Disk::default());
    // The second boot's server is gone too: its loss is the newer one, though its clock said earlier.
    let told: Vec<(&str, i64)> =
        whole.incidents.iter().map(|incident| (incident.code.as_str(), incident.last_seen_ms)).collect();
    assert_eq!(told, [("server-died", 42_600_000), ("host-rebooted", 43_500_000)]);
}

/// C27: the socket is gone but the server lives: nothing is lost, nothing would be made, and the way back is said;
/// with another server on that socket the other is left alone too.
#[test]
fn c27_a_server_behind_a_missing_socket_is_not_lost() {
    let (old, new) = (life(1, 77), life(1, 900));
    let at = Spot::at(&old, 1, 500, 0, 0);
    let mut log = Log::new();
    let shown = snapshot("work", &[&[(1, "/w")]]);
    log.start(&at, "startup", 1).look(&old, &shown, &[&at]);
    let want =
        ["work:0.0 unknown server-unreachable (not lost: the tmux server (pid 77) lives but its socket is \
        gone; `kill -USR1 77` makes it anew)"];
    let alone = Now::of(&log)
        .alive(&old.server)
        .alive(&at.process)
        .socket(&old.socket, SocketState::Unreachable { pid: 77 });
    let fresh = snapshot("0", &[&[(0, "/h")]]);
    let beside = Now::of(&log).alive(&old.server).alive(&at.process).answers(&new, &fresh);
    for now in [alone, beside] {
        let whole = plan(&log, &now, &Disk::default());
        assert_eq!(lines(&whole), want, "the place was told by no sighting, only by the look");
        assert_eq!((whole.builds.len(), whole.incidents.len()), (0, 0));
    }
}

/// C28: what runs elsewhere is skipped and named; a record of a pid that now belongs to something else is stale; of
/// two panes that held one conversation one is planned, and WEAK-29 the other asks.
#[test]
fn c28_one_conversation_one_process() {
    let life = life(1, 77);
    let (one, two) = (Spot::at(&life, 1, 500, 0, 0), Spot::at(&life, 2, 501, 0, 1));
    let mut log = Log::new();
    log.seen(&one, &[(Grade::Registry, 1)]);
    let registry = "resume proof (the agent's live record named this conversation last) claude --resume U1";
    let disk = Disk::default();
    assert_eq!(
        lines(&plan(&log, &Now::of(&log).runs(700, 1), &disk)),
        ["work:0.0 skip already-open (U1 is running as pid 700)"]
    );
    assert_eq!(lines(&plan(&log, &Now::of(&log), &disk)), [format!("work:0.0 {registry}")]);
    log.seen(&two, &[(Grade::Registry, 1)]);
    assert_eq!(
        lines(&plan(&log, &Now::of(&log), &disk)),
        [
            "work:0.0 choose planned-elsewhere (U1 is planned for another pane)".to_owned(),
            format!("work:0.1 {registry}")
        ]
    );
}

/// C33, CRX-09, RBT-20: (a) alive and idle at the crash, (b) left by its user, (c) a polite end at the second the
/// server died, (d) gone from a living shell without a word, (e) its pane closed while the server lived on.
#[test]
fn c33_lost_left_and_unknown_are_kept_apart() {
    let (dead, lives) = (life(1, 77), life_at("/t/second", 1, 78));
    let spot = |pane: u32| Spot::at(&dead, pane, 500 + pane, 0, pane - 1);
    let (a, b, c, d) = (spot(1), spot(2), spot(3), spot(4));
    let e = Spot::at(&lives, 1, 505, 3, 0);
    let mut log = Log::new();
    for (at, session) in [&a, &b, &c, &d, &e].into_iter().zip(1..) {
        log.start(at, "startup", session).seen(at, &[(Grade::Registry, session)]);
    }
    log.after(60).end(&b, EndReason::User, 2).gone(&b, true, &[]).gone(&d, true, &[]);
    log.end(&e, EndReason::Other, 5).gone(&e, false, &[]);
    let shown = snapshot("work", &[&[(1, "/w"), (2, "/w"), (3, "/w"), (4, "/w")]]);
    log.after(60).look(&dead, &shown, &[&a, &c]);
    let left = snapshot("other", &[&[(2, "/w")]]);
    log.look(&lives, &left, &[]);
    log.after(1).end(&c, EndReason::Other, 3);
    let now = Now::of(&log).answers(&lives, &left);
    let folded = log.folded();
    let endings: Vec<Ending> =
        folded.bindings.iter().map(|binding| judge(binding, &folded, &now.view)).collect();
    assert_eq!(
        endings,
        [
            Ending::Lost(Loss::ServerDied),
            Ending::EndedByUser("you left the agent"),
            Ending::Lost(Loss::ServerDied),
            Ending::EndedUnknown("the agent ended while its pane lived on; nothing says why"),
            Ending::EndedByUser("it ended politely while its tmux server lived on"),
        ]
    );
    assert_eq!(
        lines(&plan(&log, &now, &Disk::default())),
        [
            format!("work:0.0 {HOOK} claude --resume U1")
                .replace("the agent's hook", "the agent's live record"),
            format!("work:0.2 {HOOK} claude --resume U3")
                .replace("the agent's hook", "the agent's live record"),
            "work:0.3 choose ended-unknown (the agent ended while its pane lived on; nothing says why) ?U4"
                .into(),
        ]
    );
}

/// C33, the last sentence: without any word a process that is gone proves nothing about the user, only about its life.
#[test]
fn c33_the_absence_of_an_end_proves_nothing() {
    let life = life(1, 77);
    let at = Spot::at(&life, 1, 500, 0, 0);
    let mut log = Log::new();
    log.start(&at, "startup", 1);
    let shown = snapshot("work", &[&[(1, "/w")]]);
    log.look(&life, &shown, &[&at]);
    let folded = log.folded();
    let judged = |now: Now| judge(&folded.bindings[0], &folded, &now.view);
    assert_eq!(judged(Now::of(&log)), Ending::Lost(Loss::ServerDied));
    assert_eq!(
        judged(Now::of(&log).answers(&life, &shown)),
        Ending::EndedUnknown("the agent ended while its pane lived on; nothing says why")
    );
    let mut marked = Now::of(&log).answers(&life, &shown);
    marked.view.killed.insert(at.process.clone(), vec![KillMark::RegistryLeft]);
    assert_eq!(judged(marked), Ending::Lost(Loss::Killed));
    // Its pane is gone too, but whether its server outlives it is not known yet.
    let elsewhere = snapshot("work", &[&[(9, "/w")]]);
    assert_eq!(judged(Now::of(&log).answers(&life, &elsewhere)), Ending::Closing);
}

/// C24, RBT-24, RBT-45: a failed restore keeps the binding, its id and its offer, with what went wrong; only a
/// second equal failure blocks it.
#[test]
fn c24_a_failed_restore_loses_nothing() {
    let life = life(1, 77);
    let spots: Vec<Spot> = (1..=5).map(|pane| Spot::at(&life, pane, 500 + pane, 0, pane - 1)).collect();
    let mut log = Log::new();
    for (at, session) in spots.iter().zip(1..) {
        log.seen(at, &[(Grade::Registry, session)]);
    }
    let before = plan(&log, &Now::of(&log), &Disk::default());
    log.after(5).failed(&spots[2], "exited");
    let once = plan(&log, &Now::of(&log), &Disk::default());
    assert_eq!(once.entries, before.entries, "offered again, all five");
    log.after(5).failed(&spots[2], "exited");
    let twice = lines(&plan(&log, &Now::of(&log), &Disk::default()));
    assert_eq!(twice.len(), 5);
    assert_eq!(
        twice[2],
        "work:0.2 blocked failed-twice (it failed twice the same way (exited); --force tries again)"
    );
    assert_eq!(log.folded().bindings[2].sessions(), [id(3)]);
}
