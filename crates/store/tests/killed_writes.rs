//! A writer killed before any of its writes: what it had acknowledged is there, what it had not is there whole or not
//! at all, and the next writer goes on.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use reseat_core::fact::{Body, Decision, Fact, Stamp};
use reseat_core::ids::{EntryId, FlightId, PlanId};
use reseat_core::process::{Boot, ProcessKey};
use reseat_store::facts::Spool;
use reseat_store::flights::{Flight, FlightEntry, State};
use reseat_store::store::{Store, Writer};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Names the directory to the child that is killed.
const STORY: &str = "RESEAT_STORY";
const STEPS: usize = 6;

fn boot() -> Boot {
    Boot { host: "h".into(), id: "b".into(), pidns: 1, init_start: 1 }
}

fn fact(nonce: u64) -> Fact {
    Fact {
        stamp: Stamp { boot: boot(), boot_number: 1, ns: nonce, pid: 7, nonce, wall_ms: 0 },
        body: Body::Decision(Decision::Dismissed { entries: vec![EntryId(format!("e-{nonce}"))] }),
    }
}

fn flight() -> Flight {
    Flight {
        flight: FlightId("f".into()),
        plan: PlanId("p".into()),
        caller: "me".into(),
        process: ProcessKey { boot: boot(), pid: 1, start: 1 },
        finished: false,
        built: false,
        entries: vec![FlightEntry {
            entry: EntryId("a".into()),
            state: State::Taken,
            body: "{}".into(),
            effect: None,
        }],
    }
}

fn spool(state: &Path) -> Spool {
    Spool::new(state.join("facts"), None)
}

/// One step of a restore, with a writer of its own.
fn step(state: &Path, number: usize) {
    let mut writer: Writer = Store::open_write(state, spool(state), Duration::from_secs(20)).unwrap();
    let (id, entry) = (FlightId("f".into()), EntryId("a".into()));
    match number {
        0 => writer.append(&[fact(1)]).unwrap(),
        1 => writer.take(&flight(), "1", &[fact(2)]).unwrap(),
        2 => writer.intend(&id).unwrap(),
        3 => {
            assert!(
                writer
                    .advance(
                        &id,
                        &entry,
                        &[State::Intended],
                        State::Started,
                        Some("{\"pane\":1}"),
                        &[fact(3)]
                    )
                    .unwrap()
            );
        }
        4 => writer.built(&id).unwrap(),
        _ => writer.finish(&id, &[fact(4)]).unwrap(),
    }
}

/// What a reader sees: facts and flights.
fn seen(state: &Path) -> (Vec<String>, Vec<Flight>) {
    let reader = Store::open_read(state, spool(state)).unwrap();
    let mut facts: Vec<String> = reader.facts().unwrap().iter().map(|fact| fact.stamp.id()).collect();
    facts.sort();
    (facts, reader.flights().unwrap())
}

/// C22, CRX-28.
#[test]
fn c22_a_writer_killed_before_any_write_leaves_a_whole_store() {
    if let Some(state) = std::env::var_os(STORY) {
        let state = Path::new(&state);
        let mut told = std::fs::File::create(state.join("told")).unwrap();
        for number in 0..STEPS {
            step(state, number);
            writeln!(told, "{number}").unwrap();
        }
        return;
    }
    if !Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        // Past the capture of the test runner, which hides what passing tests print.
        let _ =
            writeln!(std::io::stderr(), "\n!!! SKIPPED: strace is not installed; no writer was killed !!!\n");
        return;
    }
    let whole = tempfile::tempdir().unwrap();
    let mut legal = vec![seen(whole.path())];
    for number in 0..STEPS {
        step(whole.path(), number);
        legal.push(seen(whole.path()));
    }
    let mut points = 0;
    for call in ["pwrite64", "fsync", "fdatasync", "ftruncate", "unlink", "?rename,?renameat,?renameat2"] {
        for at in 1.. {
            // A kill loses no cached page: memory does as well as a disk, and syncs sooner.
            let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
            let state = dir.path();
            let output = Command::new("strace")
                .args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")])
                .args(["-e", &format!("inject={call}:signal=KILL:when={at}")])
                .arg(std::env::current_exe().unwrap())
                .args(["c22_a_writer_killed", "--test-threads", "1"])
                .env(STORY, state)
                .output()
                .unwrap();
            let told = std::fs::read_to_string(state.join("told")).unwrap_or_default().lines().count();
            if output.status.signal() != Some(9) {
                assert!(output.status.success() && told == STEPS, "{output:?}");
                break;
            }
            points += 1;
            let now = seen(state);
            let done = legal.iter().rposition(|legal| *legal == now);
            let done =
                done.unwrap_or_else(|| panic!("{call} {at}: {now:?} is no state that was ever written"));
            assert!(done >= told, "{call} {at}: {told} steps were acknowledged, {done} are there");
            for number in done..STEPS {
                step(state, number);
            }
            assert_eq!(seen(state), legal[STEPS], "{call} {at}");
            let daily = std::fs::read_dir(state.join("daily")).unwrap();
            let names: Vec<_> = daily.flatten().map(|entry| entry.file_name()).collect();
            assert_eq!(names, ["00000001.db"], "{call} {at}");
        }
    }
    assert!(points > 100, "only {points} points were reached");
    let _ = writeln!(std::io::stderr(), "killed writers: {points} points");
}
