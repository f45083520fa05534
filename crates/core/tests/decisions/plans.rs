//! What would be done: C29, C30, C32, and the scope of a plan.

use crate::fixture::{Disk, Log, Now, Spot, id, life, lines, plan, snapshot};
use reseat_core::fact::{Body, Decision, Grade, KillMark};
use reseat_core::mux::PaneId;
use reseat_core::plan::{Build, Plan, Policy, Verdict, compute};
use reseat_core::select::{PaneSelector, Selection, WindowSelector};

/// `work` with two windows, an agent in the first pane of the first, on a server that died.
fn lost() -> (Log, Spot) {
    let at = Spot::at(&life(1, 77), 1, 500, 0, 0);
    let mut log = Log::new();
    log.seen(&at, &[(Grade::Registry, 1)]);
    log.look(&at.life, &snapshot("work", &[&[(1, "/w")], &[(2, "/w")]]), &[&at]);
    (log, at)
}

/// Each build in a few words.
fn builds(plan: &Plan) -> Vec<String> {
    plan.builds
        .iter()
        .map(|build| match build {
            Build::Window(window) => format!(
                "window {}:{} {}{}",
                window.session,
                window.index,
                if window.session_exists { "in a session that lives" } else { "in a new session" },
                if window.index_taken { ", at the next free index" } else { "" },
            ),
            Build::Split { window, .. } => format!("split {window}"),
            Build::Respawn { target, .. } => format!("respawn {target}"),
        })
        .collect()
}

/// C29 (a) no server, (b) a server with a session of its own, (c) the same place with an idle shell, (d) the same
/// place at work: the plan says what is made and what is left alone.
#[test]
fn c29_what_lives_is_left_alone() {
    let (log, _) = lost();
    let new = life(1, 900);
    let whole = ["window work:0 in a new session", "window work:1 in a new session"];
    assert_eq!(builds(&plan(&log, &Now::of(&log), &Disk::default())), whole);
    let beside = Now::of(&log).answers(&new, &snapshot("0", &[&[(0, "/h")]]));
    assert_eq!(builds(&plan(&log, &beside, &Disk::default())), whole);
    let taken = || Now::of(&log).answers(&new, &snapshot("work", &[&[(0, "/w")]]));
    let added = [
        "window work:0 in a session that lives, at the next free index",
        "window work:1 in a session that lives",
    ];
    let idle = Disk { idle: [PaneId(0)].into(), ..Disk::default() };
    assert_eq!(builds(&plan(&log, &taken(), &idle)), added, "not without the user's word");
    let into_idle = Policy { into_idle: true, ..Policy::default() };
    let reused = compute(&log.folded(), &taken().view, &idle, &into_idle);
    assert_eq!(builds(&reused), ["respawn %0", "window work:1 in a session that lives"]);
    assert_eq!(reused.entries[0].notes, ["replaces the idle shell in pane %0"]);
    let busy = compute(&log.folded(), &taken().view, &Disk::default(), &into_idle);
    assert_eq!(builds(&busy), added, "a pane at work is never used");
}

/// C30, RBT-29, RBT-46: a missing directory blocks only its own entry, before anything is made, with the way back.
#[test]
fn c30_a_missing_directory_is_blocked_with_a_hint() {
    let life = life(1, 77);
    let (here, gone) = (Spot::at(&life, 1, 500, 0, 0), Spot::at(&life, 2, 501, 0, 1).cwd("/w/repo/.wt/feat"));
    let mut log = Log::new();
    log.seen(&here, &[(Grade::Registry, 1)]).seen(&gone, &[(Grade::Registry, 2)]);
    let hint = "git -C /w/repo worktree add /w/repo/.wt/feat feat";
    let mut disk = Disk::default();
    disk.missing.insert("/w/repo/.wt/feat".into(), Some(hint.into()));
    let whole = plan(&log, &Now::of(&log), &disk);
    assert_eq!(
        lines(&whole),
        [
            "work:0.0 resume proof (the agent's live record named this conversation last) claude --resume U1",
            "work:0.1 blocked directory-missing (directory missing: /w/repo/.wt/feat)",
        ]
    );
    assert_eq!(whole.entries[1].notes, [hint]);
    assert_eq!(whole.entries[1].session, Some(id(2)));
}

/// C32, WEAK-27: what goes beyond the capacity is blocked by name, in the order of the plan; the rest is untouched.
#[test]
fn c32_capacity_blocks_the_last_ones() {
    let life = life(1, 77);
    let mut log = Log::new();
    for pane in 0..43 {
        log.seen(&Spot::at(&life, pane, 500 + pane, 0, pane), &[(Grade::Registry, 1 + pane % 15)]);
    }
    let policy = Policy { capacity: Some(5), ..Policy::default() };
    let whole = compute(&log.folded(), &Now::of(&log).view, &Disk::default(), &policy);
    assert_eq!(whole.entries.len(), 43);
    let resumed: Vec<usize> = (0..43).filter(|at| whole.entries[*at].verdict == Verdict::Resume).collect();
    // Fifteen conversations, each in the last pane that held it: the first five of those.
    assert_eq!(resumed, [28, 29, 30, 31, 32]);
    let over: Vec<&str> = whole
        .entries
        .iter()
        .filter(|entry| entry.verdict == Verdict::Blocked)
        .map(|entry| entry.reason.code.as_str())
        .collect();
    assert_eq!(over, ["over-capacity"; 10]);
}

/// SKL-12, CRX-26: one pane before one window before a session: a selector touches nothing else.
#[test]
fn skl_12_the_smallest_change_that_helps() {
    let life = life(1, 77);
    let spots: Vec<Spot> = (0..4).map(|pane| Spot::at(&life, pane, 500 + pane, pane / 2, pane % 2)).collect();
    let mut log = Log::new();
    for (at, session) in spots.iter().zip(1..) {
        log.seen(at, &[(Grade::Registry, session)]);
    }
    let shown = snapshot("work", &[&[(0, "/w"), (1, "/w")], &[(2, "/w"), (3, "/w")], &[(9, "/w")]]);
    log.look(&life, &shown, &spots.iter().collect::<Vec<_>>());
    let of = |selection: Selection| {
        let policy = Policy { selection, ..Policy::default() };
        let plan = compute(&log.folded(), &Now::of(&log).view, &Disk::default(), &policy);
        let resumed = plan.entries.iter().filter(|entry| entry.verdict == Verdict::Resume).count();
        (resumed, builds(&plan))
    };
    let window = WindowSelector { session: "work".into(), window: "1".into() };
    let pane = PaneSelector { window: window.clone(), pane: 1 };
    let one = "window work:1 in a new session".to_owned();
    assert_eq!(of(Selection { panes: vec![pane], ..Selection::default() }), (1, vec![one.clone()]));
    assert_eq!(of(Selection { windows: vec![window], ..Selection::default() }), (2, vec![one]));
    assert_eq!(of(Selection { sessions: vec!["work".into()], ..Selection::default() }).1.len(), 3);
    // One agent lost from a server that lives: its pane alone.
    let mut kill = Now::of(&log).answers(&life, &snapshot("work", &[&[(0, "/w")], &[(2, "/w"), (3, "/w")]]));
    for at in [&spots[0], &spots[2], &spots[3]] {
        kill = kill.alive(&at.process);
    }
    kill.view.killed.insert(spots[1].process.clone(), vec![KillMark::RegistryLeft]);
    let whole = plan(&log, &kill, &Disk::default());
    assert_eq!(builds(&whole), ["split @0"]);
    assert_eq!(whole.entries.len(), 1);
}

/// CRX-12, CRX-13, RBT-15: age hides nothing, and what was dismissed is out of the default scope and still there.
#[test]
fn crx_12_nothing_is_hidden_by_age() {
    let (mut log, at) = lost();
    let first = plan(&log, &Now::of(&log), &Disk::default());
    log.after(400 * 86_400);
    assert_eq!(plan(&log, &Now::of(&log), &Disk::default()), first, "400 days later it is the very plan");
    log.put(Body::Decision(Decision::Dismissed { entries: vec![at.entry()] }));
    assert_eq!(lines(&plan(&log, &Now::of(&log), &Disk::default())), [""; 0]);
    let older = Policy { selection: Selection { older: true, ..Selection::default() }, ..Policy::default() };
    let seen = compute(&log.folded(), &Now::of(&log).view, &Disk::default(), &older);
    assert_eq!(lines(&seen), ["work:0.0 skip dismissed (you dismissed it)"]);
    let named = Selection { ids: vec![at.entry().0], ..Selection::default() };
    let named = Policy { selection: named, ..Policy::default() };
    let again = compute(&log.folded(), &Now::of(&log).view, &Disk::default(), &named);
    assert_eq!(again.entries[0].verdict, Verdict::Resume, "by name it can be had back");
}

/// Panes that went with their agents while the server lived on: the last to go comes back first, each at the position
/// and with the layout that its window had when it was last there.
#[test]
fn panes_that_went_one_after_the_other_come_back_in_order() {
    let life = life(1, 77);
    let spots: Vec<Spot> = (0..4).map(|pane| Spot::at(&life, pane, 500 + pane, 0, pane)).collect();
    let shown = |panes: &[u32]| {
        let rows: Vec<(u32, &str)> = panes.iter().map(|pane| (*pane, "/w")).collect();
        let mut shown = snapshot("work", &[&rows]);
        shown.windows[0].layout = format!("of {panes:?}");
        shown
    };
    let mut log = Log::new();
    for (at, spot) in spots.iter().enumerate() {
        log.seen(spot, &[(Grade::Registry, 1 + at as u32)]);
    }
    // 1 goes first, 2 and 3 go together.
    log.look(&life, &shown(&[0, 1, 2, 3]), &spots.iter().collect::<Vec<_>>());
    log.gone(&spots[1], false, &[KillMark::RegistryLeft]);
    log.look(&life, &shown(&[0, 2, 3]), &[&spots[0], &spots[2], &spots[3]]);
    log.gone(&spots[2], false, &[KillMark::RegistryLeft]).gone(&spots[3], false, &[KillMark::RegistryLeft]);
    log.look(&life, &shown(&[0]), &[&spots[0]]);
    let now = Now::of(&log).answers(&life, &shown(&[0])).alive(&spots[0].process);
    let plan = plan(&log, &now, &Disk::default());
    let splits: Vec<String> = plan
        .builds
        .iter()
        .map(|build| match build {
            Build::Split { window, pane, at, layout, panes, .. } => {
                let entry = plan.entries.iter().find(|entry| entry.entry == pane.entry).unwrap();
                format!(
                    "U{} in {window} at {at}, {panes} {layout}",
                    &entry.session.as_ref().unwrap().as_str()[..1]
                )
            }
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        splits,
        [
            "U3 in @0 at 1, 3 of [0, 2, 3]",
            "U4 in @0 at 2, 3 of [0, 2, 3]",
            "U2 in @0 at 1, 4 of [0, 1, 2, 3]",
        ]
    );
    let mut places: Vec<u32> = plan.entries.iter().map(|entry| entry.surface.pane.unwrap()).collect();
    places.sort_unstable();
    assert_eq!(places, [1, 1, 2], "where each last stood");
}
