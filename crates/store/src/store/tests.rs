use super::*;
use crate::facts::tests::fact;
use crate::flights::{Flight, FlightEntry, State};
use reseat_core::fact::Look;
use reseat_core::ids::{EntryId, FlightId, PlanId};
use reseat_core::mux::{Pane, PaneId, ServerLife, Window};
use reseat_core::process::{Boot, ProcessKey};
use std::os::unix::fs::PermissionsExt as _;

const SOON: Duration = Duration::from_secs(5);

struct TestState {
    dir: tempfile::TempDir,
}

impl TestState {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn spool(&self) -> Spool {
        Spool::new(self.dir.path().join("facts"), None)
    }

    fn write(&self) -> Writer {
        Store::open_write(self.dir.path(), self.spool(), SOON).unwrap()
    }

    fn read(&self) -> Reader {
        Store::open_read(self.dir.path(), self.spool()).unwrap()
    }

    fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.read().facts().unwrap().iter().map(|fact| fact.stamp.id()).collect();
        ids.sort();
        ids
    }
}

fn ids(nonces: &[u64]) -> Vec<String> {
    let mut ids: Vec<String> = nonces.iter().map(|nonce| fact(*nonce).stamp.id()).collect();
    ids.sort();
    ids
}

fn process() -> ProcessKey {
    ProcessKey { boot: Boot { host: "h".into(), id: "b".into(), pidns: 1, init_start: 1 }, pid: 9, start: 9 }
}

fn look(nonce: u64, panes: u32, alive: &[(u32, u64)]) -> Fact {
    let life = ServerLife { socket: "/t/default".into(), server: process() };
    let window = |id: u32| Window {
        id: format!("@{id}"),
        name: "w".into(),
        automatic_name: true,
        layout: String::new(),
        zoomed: false,
        width: 80,
        height: 24,
        panes: vec![Pane {
            id: PaneId(id),
            index: 0,
            active: true,
            dead: false,
            pid: 1,
            start: 1,
            tty: "/dev/pts/1".into(),
            cwd: "/".into(),
            command: "sh".into(),
            title: String::new(),
            start_command: String::new(),
        }],
    };
    let snapshot =
        Snapshot { sessions: Vec::new(), windows: (0..panes).map(window).collect(), version: "3.3a".into() };
    Fact {
        body: Body::Look(Look { life, snapshot: Some(snapshot), alive: alive.to_vec(), oom_kills: None }),
        ..fact(nonce)
    }
}

#[test]
fn facts_are_taken_in_once_and_their_files_go_after_the_commit() {
    let state = TestState::new();
    state.spool().put(&fact(1)).unwrap();
    assert_eq!(state.ids(), ids(&[1]), "pending facts are read before any writer came");
    state.write().append(&[fact(2), fact(1)]).unwrap();
    assert_eq!(state.ids(), ids(&[1, 2]));
    assert!(state.spool().read().facts.is_empty());
    // Its file was left behind by a writer killed after the commit: it is one fact still.
    state.spool().put(&fact(1)).unwrap();
    state.write().append(&[]).unwrap();
    assert_eq!(state.ids(), ids(&[1, 2]));
}

#[test]
fn modes_are_private_whatever_the_umask() {
    let state = TestState::new();
    let _writer = state.write();
    for name in ["store.db", "store.db-wal", "store.db-shm", "store.lock"] {
        let mode = std::fs::metadata(state.dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// Reading commands write nothing: not with a store at rest, and not with what a killed writer left.
#[test]
fn readers_write_nothing_in_the_state_directory() {
    let state = TestState::new();
    state.write().append(&[fact(1)]).unwrap();
    let listing = || {
        let mut names: Vec<(String, u64)> = std::fs::read_dir(state.dir.path())
            .unwrap()
            .flatten()
            .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.metadata().unwrap().len()))
            .collect();
        names.sort();
        names
    };
    let before = listing();
    assert!(before.iter().all(|(name, _)| !name.ends_with("-wal")), "{before:?}");
    assert_eq!(state.ids(), ids(&[1]));
    assert_eq!(listing(), before);
    // A writer that was killed: its log is still there, and nobody holds the lock.
    let mut writer = state.write();
    writer.append(&[fact(2)]).unwrap();
    let copy = tempfile::tempdir().unwrap();
    for name in ["store.db", "store.db-wal"] {
        std::fs::copy(state.dir.path().join(name), copy.path().join(name)).unwrap();
    }
    drop(writer);
    let left = TestState { dir: copy };
    let before: Vec<_> =
        std::fs::read_dir(left.dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.ids(), ids(&[1, 2]));
    let after: Vec<_> =
        std::fs::read_dir(left.dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(after, before);
}

#[test]
fn a_reader_beside_a_writer_sees_what_was_committed() {
    let state = TestState::new();
    let mut writer = state.write();
    writer.append(&[fact(1)]).unwrap();
    assert_eq!(state.ids(), ids(&[1]));
    writer.append(&[fact(2)]).unwrap();
    assert_eq!(state.ids(), ids(&[1, 2]));
}

#[test]
fn a_second_writer_waits_and_then_says_who_is_in_the_way() {
    let state = TestState::new();
    let _writer = state.write();
    let refused = Store::open_write(state.dir.path(), state.spool(), Duration::from_millis(30)).unwrap_err();
    assert!(matches!(refused, StoreError::Busy(_)), "{refused:?}");
    assert!(refused.to_string().contains(&format!("by process {}", std::process::id())), "{refused}");
}

/// CRX-17: a store from the future is named, and stays as it was.
#[test]
fn crx_17_a_newer_store_is_refused_by_name() {
    let state = TestState::new();
    state.write().append(&[fact(1)]).unwrap();
    let path = file(state.dir.path());
    Connection::open(&path).unwrap().execute("INSERT INTO migrations VALUES ('9000-future')", []).unwrap();
    let before = std::fs::read(&path).unwrap();
    for refused in [
        Store::open_read(state.dir.path(), state.spool()).map(|_| ()),
        Store::open_write(state.dir.path(), state.spool(), SOON).map(|_| ()),
    ] {
        match refused {
            Err(StoreError::Newer { migration, .. }) => assert_eq!(migration, "9000-future"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// C21: a look that saw nothing does not replace the last one that did; repetitions are folded.
#[test]
fn c21_the_newest_snapshot_that_shows_something_is_kept() {
    let state = TestState::new();
    state.write().append(&[look(1, 2, &[(5, 5)]), look(2, 3, &[(5, 5)]), look(3, 0, &[])]).unwrap();
    let facts = state.read().facts().unwrap();
    let mut seen: Vec<(u64, Option<usize>)> = facts
        .iter()
        .filter_map(|fact| match &fact.body {
            Body::Look(look) => {
                Some((fact.stamp.nonce, look.snapshot.as_ref().map(|snapshot| snapshot.windows.len())))
            }
            _ => None,
        })
        .collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, vec![(2, Some(3)), (3, None)]);
    let kept = state.read().snapshots().unwrap();
    assert_eq!(kept.iter().map(|kept| kept.panes).collect::<Vec<_>>(), vec![0, 3, 2]);
    let (_, snapshot) = state.read().snapshot(&kept[1].id).unwrap().unwrap();
    assert_eq!(snapshot.windows.len(), 3);
}

/// C22: zero bytes, zeros and garbage in the store: facts still land, a repair brings the daily copy back, and the
/// damaged file is kept.
#[test]
fn c22_a_damaged_store_is_moved_aside_and_its_copy_comes_back() {
    for damage in [&b"\0"[..], b"garbage"] {
        let state = TestState::new();
        state.write().append(&[fact(1)]).unwrap();
        // The next writer makes the first copy: there is something to copy now.
        state.write().append(&[fact(2)]).unwrap();
        let path = file(state.dir.path());
        let length = std::fs::metadata(&path).unwrap().len() as usize;
        std::fs::write(&path, damage.repeat(length / damage.len())).unwrap();
        let refused = Store::open_write(state.dir.path(), state.spool(), SOON).unwrap_err();
        assert!(refused.is_damage(), "{refused:?}");
        state.spool().put(&fact(3)).unwrap();
        let reader = state.read();
        assert_eq!(reader.trouble().len(), 2, "{:?}", reader.trouble());
        drop(reader);
        assert_eq!(state.ids(), ids(&[1, 3]), "readers use the copy");
        let (mut writer, done) = Store::open_repairing(state.dir.path(), state.spool(), SOON).unwrap();
        assert_eq!(done.len(), 2, "{done:?}");
        writer.append(&[]).unwrap();
        drop(writer);
        assert_eq!(state.ids(), ids(&[1, 3]));
        assert_eq!(
            std::fs::metadata(state.dir.path().join("damaged/store-1.db")).unwrap().len() as usize,
            length / damage.len() * damage.len()
        );
    }
}

fn flight(name: &str, entries: &[&str]) -> Flight {
    Flight {
        flight: FlightId(name.into()),
        plan: PlanId("plan-1".into()),
        caller: "me".into(),
        process: process(),
        finished: false,
        built: false,
        entries: entries
            .iter()
            .map(|entry| FlightEntry {
                entry: EntryId((*entry).into()),
                state: State::Taken,
                body: "{}".into(),
                effect: None,
            })
            .collect(),
    }
}

/// CRX-06, CRX-10: one flight per caller, an entry is in the air once, and a refused take leaves nothing behind.
#[test]
fn crx_06_entries_are_taken_once() {
    let state = TestState::new();
    let mut writer = state.write();
    writer.take(&flight("f1", &["a", "b"]), "1", &[fact(1)]).unwrap();
    assert!(matches!(
        writer.take(&flight("f2", &["c"]), "2", &[fact(2)]),
        Err(StoreError::FlightOpen { .. })
    ));
    let mut other = flight("f3", &["b"]);
    other.caller = "another".into();
    assert!(matches!(writer.take(&other, "3", &[fact(3)]), Err(StoreError::EntryTaken { .. })));
    assert_eq!(writer.flights().unwrap().len(), 1);
    assert_eq!(writer.facts().unwrap().len(), 1);
    let (f1, a, b) = (FlightId("f1".into()), EntryId("a".into()), EntryId("b".into()));
    assert!(writer.advance(&f1, &a, &[State::Taken], State::Intended, Some("{\"pane\":1}"), &[]).unwrap());
    assert!(writer.advance(&f1, &a, &[State::Intended], State::Started, None, &[fact(4)]).unwrap());
    assert!(!writer.advance(&f1, &a, &[State::Intended], State::Started, None, &[fact(5)]).unwrap());
    assert_eq!(writer.facts().unwrap().len(), 2, "the loser's facts are not kept");
    assert!(writer.advance(&f1, &a, &[State::Started], State::Done, None, &[]).unwrap());
    assert!(!writer.flights().unwrap()[0].built);
    writer.built(&f1).unwrap();
    assert!(writer.flights().unwrap()[0].built);
    writer.finish(&f1, &[]).unwrap();
    let flights = writer.flights().unwrap();
    let states: Vec<(State, Option<String>)> =
        flights[0].entries.iter().map(|entry| (entry.state, entry.effect.clone())).collect();
    assert_eq!(states, vec![(State::Done, Some("{\"pane\":1}".into())), (State::Returned, None)]);
    assert!(
        !writer.advance(&f1, &b, &[State::Taken], State::Intended, None, &[]).unwrap(),
        "returned is spent"
    );
    writer.take(&flight("f4", &["a", "b"]), "4", &[]).unwrap();
}
