//! Never in the way: a hook exits 0, quickly and silently, whatever is wrong, and its fact is kept where it can be.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

#[path = "common/events.rs"]
mod events;

use common::{World, wait_for};
use events::{event, hook, id, kept, send};
use std::io::Write as _;
use std::process::Child;
use std::time::Duration;

/// Input of any shape disturbs nobody.
#[test]
fn garbage_on_standard_input_is_ignored() {
    let world = World::new();
    for input in [&b""[..], b"null", b"[]", b"{", b"\xff\xfe\x00", b"{\"session_id\":7}"] {
        send(&world, input);
    }
    send(&world, &vec![b'x'; 6 << 20]);
    send(&world, event("management").as_bytes());
    send(&world, event(&id(7)).as_bytes());
    assert!(kept(&world, &id(7)));
}

/// An agent that never closes the pipe does not hold the hook.
#[test]
fn an_open_pipe_does_not_hold_the_hook() {
    let world = World::new();
    let mut child = hook(&world);
    let open = child.stdin.take();
    wait_for("the end of the hook", || child.try_wait().unwrap().is_some());
    assert!(child.wait().unwrap().success());
    drop(open);
}

/// The store is locked, then corrupt, then from the future: the fact waits in the spool, and is taken in later.
#[test]
fn a_store_in_any_state_does_not_hold_the_hook() {
    let world = World::new();
    send(&world, event(&id(1)).as_bytes());
    wait_for("the first look", || world.reseat(&["doctor"]).code == 0);
    let lock = reseat_store::store::lock(&world.state()).lock(Duration::from_secs(20), "the test").unwrap();
    send(&world, event(&id(2)).as_bytes());
    drop(lock);
    let store = world.state().join("store.db");
    wait_for("a store", || store.exists());
    let whole = std::fs::read(&store).unwrap();
    std::fs::write(&store, vec![7; whole.len()]).unwrap();
    send(&world, event(&id(3)).as_bytes());
    assert!(kept(&world, &id(3)));
    let repaired = world.reseat(&["doctor", "--repair"]);
    assert_eq!(repaired.code, 0, "{repaired:?}");
    assert!(kept(&world, &id(3)));
    assert_eq!(std::fs::read_dir(world.state().join("damaged")).unwrap().count(), 1);
}

/// The state directory cannot be written: the fact goes to the runtime directory and the next command says so.
#[test]
fn without_a_state_directory_the_fact_goes_elsewhere() {
    let mut world = World::new();
    let runtime = world.root().join("run");
    std::fs::create_dir(&runtime).unwrap();
    world.env.insert("XDG_RUNTIME_DIR".into(), runtime.display().to_string());
    // A file where the directory should be: nobody, not even root, can write below it.
    std::fs::create_dir_all(world.state()).unwrap();
    std::fs::write(world.state().join("facts"), "in the way").unwrap();
    send(&world, event(&id(4)).as_bytes());
    assert!(kept(&world, &id(4)));
    let plan = world.reseat(&["plan"]);
    assert!(plan.stderr.contains("could not be kept in the state directory"), "{plan:?}");
}

/// A tmux that hangs does not hold a hook.
#[test]
fn a_hanging_tmux_does_not_hold_the_hook() {
    let world = World::new();
    world.script("tmux", "#!/bin/sh\nexec sleep 60\n");
    send(&world, event(&id(5)).as_bytes());
    assert!(kept(&world, &id(5)));
    std::fs::remove_file(world.home().join(".local/bin/tmux")).unwrap();
}

/// C23: 100 hooks at once, 10 of them killed: whatever exited 0 is there.
#[test]
fn c23_a_hundred_hooks_at_once_lose_nothing() {
    let world = World::new();
    let mut children: Vec<(u32, Child)> = (0..100)
        .map(|number| {
            let mut child = hook(&world);
            let input = event(&id(number));
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            (number, child)
        })
        .collect();
    for (number, child) in &mut children {
        if *number % 10 == 3 {
            let _ = child.kill();
        }
    }
    let done: Vec<u32> = children
        .into_iter()
        .filter_map(|(number, mut child)| child.wait().unwrap().success().then_some(number))
        .collect();
    assert!(done.len() >= 90, "{}", done.len());
    let log = world.json(&["log", "-n", "100000"]);
    let lines = log["lines"].as_array().unwrap();
    for number in done {
        assert!(lines.iter().any(|line| line["session"] == id(number)), "{number}");
    }
    let doctor = world.reseat(&["doctor"]);
    assert_eq!(doctor.code, 0, "{doctor:?}");
}
