//! Never in the way where nothing can be written: full disks, disks without inodes, a home that is read-only. Mounted in
//! a namespace of its own, for permissions do not stop root.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;
#[path = "common/events.rs"]
mod events;
#[path = "common/namespaces.rs"]
mod namespaces;

use common::{World, wait_for};
use events::{event, id, kept, send};
use namespaces::{part, play, unshare};
use std::path::PathBuf;

const SAYS: &str = "could not be kept in the state directory; is the disk full?";

/// Where the parts are played; nothing of its own.
#[test]
fn inside() {
    let Some((part, mut world)) = part() else { return };
    let runtime = world.root().join("run");
    if part != "nowhere" {
        std::fs::create_dir(&runtime).unwrap();
        world.env.insert("XDG_RUNTIME_DIR".into(), runtime.display().to_string());
    }
    match part.as_str() {
        "bytes" => full(&world, true),
        "inodes" => full(&world, false),
        "read-only" => read_only(&mut world),
        _ => {
            let fill = fill(&world, true);
            send(&world, event(&id(1)).as_bytes());
            assert!(!kept(&world, &id(1)), "there was no place for it");
            drop(fill);
        }
    }
}

/// Uses up the state directory, and returns what to remove to have room again.
fn fill(world: &World, bytes: bool) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for number in 0.. {
        let path = world.state().join(format!("fill-{number}"));
        let content = if bytes { vec![b'x'; 4096] } else { Vec::new() };
        let filled = std::fs::write(&path, content);
        if path.exists() {
            out.push(path);
        }
        if let Err(error) = filled {
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
            return out;
        }
    }
    unreachable!()
}

/// What waits in the runtime directory.
fn waiting(world: &World) -> usize {
    std::fs::read_dir(world.root().join("run/reseat/facts")).into_iter().flatten().flatten().count()
}

fn full(world: &World, bytes: bool) {
    // Before there is a store, and with one.
    for number in [1, 2] {
        let fill = fill(world, bytes);
        send(world, event(&id(number)).as_bytes());
        assert!(waiting(world) > 0, "its fact is kept where there is room");
        assert!(kept(world, &id(number)));
        let plan = world.reseat(&["plan"]);
        assert_eq!(plan.code, 4, "{plan:?}");
        assert!(plan.stderr.contains(SAYS), "{plan:?}");
        for path in fill {
            std::fs::remove_file(path).unwrap();
        }
        // A look that the hook had begun may still put something aside.
        wait_for("the facts to be taken in", || {
            let _ = world.reseat(&["snapshot", "take"]);
            // An empty look takes nothing in: this does.
            let _ = world.reseat(&["restore", "--yes"]);
            waiting(world) == 0
        });
        assert!(kept(world, &id(number)));
        let plan = world.reseat(&["plan"]);
        assert!(!plan.stderr.contains(SAYS), "{plan:?}");
    }
}

fn read_only(world: &mut World) {
    world.env.insert("RESEAT_STATE_DIR".into(), world.home().join("state").display().to_string());
    let refused = std::fs::write(world.home().join("x"), "").unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    send(world, event(&id(2)).as_bytes());
    assert!(kept(world, &id(1)) && kept(world, &id(2)));
    // Reading commands read.
    for (args, code) in [(&["plan"][..], 4), (&["status"], 0), (&["log"], 0), (&["find"], 4), (&[], 0)] {
        let out = world.reseat(args);
        assert_eq!(out.code, code, "{args:?}: {out:?}");
    }
    assert!(world.reseat(&["plan"]).stderr.contains(SAYS));
}

fn played_on_a_small_disk(part: &str) {
    let Some(own) = unshare(&["--mount"]) else { return };
    let world = World::new();
    let options = if part == "inodes" { "nr_inodes=64" } else { "size=1m" };
    let script = format!("mount -t tmpfs -o {options},mode=700 none \"$0/state\" && exec \"$@\"");
    play(&world, &own, &script, part);
}

/// C22: no byte is left.
#[test]
fn c22_a_full_disk_does_not_hold_the_hook() {
    played_on_a_small_disk("bytes");
}

/// C22: no inode is left.
#[test]
fn c22_a_disk_without_inodes_does_not_hold_the_hook() {
    played_on_a_small_disk("inodes");
}

/// Nowhere is any room: the hook still ends well and says nothing.
#[test]
fn a_fact_without_any_place_disturbs_nobody() {
    played_on_a_small_disk("nowhere");
}

/// The home is read-only, as after an error of its disk.
#[test]
fn a_read_only_home_does_not_hold_the_hook() {
    let Some(own) = unshare(&["--mount"]) else { return };
    let mut world = World::new();
    world.env.insert("RESEAT_STATE_DIR".into(), world.home().join("state").display().to_string());
    send(&world, event(&id(1)).as_bytes());
    let script =
        "mount --bind \"$0/home\" \"$0/home\" && mount -o remount,bind,ro \"$0/home\" && exec \"$@\"";
    play(&world, &own, script, "read-only");
}
