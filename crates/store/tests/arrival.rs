//! Facts that wait as files for any time, are taken in at any moment, twice or never, give the same bindings.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use proptest::prelude::*;
use reseat_core::fact::{
    AgentEvent, Body, Decision, Fact, Grade, HookEvent, Launch, Look, PaneClaim, Reading, Sighting, Stamp,
    Was,
};
use reseat_core::fold::fold;
use reseat_core::ids::{AgentKind, EntryId, SessionId};
use reseat_core::mux::{Pane, PaneId, ServerLife, Snapshot, Window};
use reseat_core::process::{Boot, ProcessKey};
use reseat_store::facts::Spool;
use reseat_store::store::Store;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(5);

fn process(pid: u32) -> ProcessKey {
    let boot = Boot { host: "h".into(), id: "b".into(), pidns: 1, init_start: 1 };
    ProcessKey { boot, pid, start: 9 }
}

fn life() -> ServerLife {
    ServerLife { socket: "/t/default".into(), server: process(70) }
}

fn session(number: u64) -> SessionId {
    SessionId::parse(&format!("{number:08x}-1111-4111-8111-111111111111")).unwrap()
}

fn snapshot(panes: u32) -> Snapshot {
    let pane = |id| Pane {
        id: PaneId(id),
        index: id,
        active: false,
        dead: false,
        pid: 1,
        start: 1,
        tty: "/dev/pts/1".into(),
        cwd: "/".into(),
        command: "sh".into(),
        title: String::new(),
        start_command: String::new(),
    };
    let window = Window {
        id: "@0".into(),
        name: "w".into(),
        automatic_name: true,
        layout: String::new(),
        zoomed: false,
        width: 80,
        height: 24,
        panes: (0..panes).map(pane).collect(),
    };
    let windows = if panes == 0 { Vec::new() } else { vec![window] };
    Snapshot { sessions: Vec::new(), windows, version: "3.3a".into() }
}

fn body(kind: u8, pid: u32, number: u64) -> Body {
    match kind % 5 {
        0 => Body::Hook(HookEvent {
            agent: AgentKind::Claude,
            home: "/h".into(),
            event: AgentEvent::Start { source: "clear".into() },
            session: session(number),
            process: Some(process(pid)),
            pane: Some(PaneClaim { life: life(), pane: PaneId(pid), tty: 7, descends: true }),
            nested: false,
            launch: Launch::default(),
            mode: None,
        }),
        1 => Body::Sighting(Sighting {
            agent: AgentKind::Claude,
            home: "/h".into(),
            process: process(pid),
            life: life(),
            pane: PaneId(pid),
            place: None,
            readings: vec![Reading { grade: Grade::Registry, session: session(number) }],
            title_id: None,
            launch: Launch::default(),
            was: Was::Idle,
            mode: None,
            shared_server: false,
        }),
        2 => Body::Decision(Decision::Dismissed { entries: vec![EntryId(format!("e-{number}"))] }),
        // Of looks at the same agents the store gives back only the newest, and of snapshots only the newest that
        // shows something: neither may be seen in the bindings.
        _ => Body::Look(Look {
            life: life(),
            snapshot: Some(snapshot(pid % 3)),
            alive: if number.is_multiple_of(2) { vec![(pid, 9)] } else { vec![(1, 9), (2, 9)] },
            oom_kills: None,
        }),
    }
}

fn facts() -> impl Strategy<Value = Vec<Fact>> {
    prop::collection::vec((any::<u8>(), 1..4_u32, 0..6_u64), 1..14).prop_map(|rows| {
        rows.into_iter()
            .enumerate()
            .map(|(at, (kind, pid, number))| Fact {
                stamp: Stamp {
                    boot: process(1).boot,
                    boot_number: 1,
                    ns: at as u64 + 1,
                    pid: 7,
                    nonce: 1,
                    wall_ms: 0,
                },
                body: body(kind, pid, number),
            })
            .collect()
    })
}

/// What happens to a fact when it arrives.
#[derive(Debug, Clone, Copy)]
enum Arrival {
    /// It is left as a file.
    Waits,
    /// A writer takes in everything that waits.
    TakenIn,
    /// A writer that had it in hand is killed after the commit: its file stays beside the row.
    Both,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// CRX-14, CRX-23: whatever arrives when, and whatever has been taken in, the bindings are the same at every
    /// moment at which the same facts are there.
    #[test]
    fn the_moment_of_taking_in_changes_nothing(
        (facts, arrived) in facts().prop_flat_map(|facts| {
            let ways = prop_oneof![Just(Arrival::Waits), Just(Arrival::TakenIn), Just(Arrival::Both)];
            let ways = prop::collection::vec(ways, facts.len());
            (Just(facts.clone()), (Just(facts).prop_shuffle(), ways))
        })
    ) {
        let dir = tempfile::tempdir().unwrap();
        let spool = || Spool::new(dir.path().join("facts"), None);
        let mut there = Vec::new();
        for (fact, way) in arrived.0.iter().zip(&arrived.1) {
            there.push(fact.clone());
            spool().put(fact).unwrap();
            if matches!(way, Arrival::TakenIn | Arrival::Both) {
                Store::open_write(dir.path(), spool(), SOON).unwrap().append(&[]).unwrap();
            }
            if matches!(way, Arrival::Both) {
                spool().put(fact).unwrap();
            }
            let read = Store::open_read(dir.path(), spool()).unwrap().facts().unwrap();
            prop_assert_eq!(fold(&read), fold(&there));
        }
        prop_assert_eq!(fold(&there), fold(&facts));
    }
}
