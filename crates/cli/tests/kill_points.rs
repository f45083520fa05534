//! A restore that is killed at any point, and restored again: the end is the same as without the kill.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;
#[path = "common/points.rs"]
mod points;

use points::{Crashed, When, has_strace, roughly, walk_points};

const RESTORE: [&str; 3] = ["restore", "--yes", "--json"];

/// Without a kill: the world is as it was, and the walk below compares with the right thing.
#[test]
fn a_restore_that_is_left_alone_brings_the_whole_server_back() {
    let crashed = Crashed::new();
    crashed.comes_back();
}

/// CRX-28: killed before or after any call of tmux.
#[test]
fn crx_28_killed_at_every_call_of_tmux() {
    for when in [When::Before, When::After] {
        walk_points(&format!("{when:?} call"), 12, |crashed, at| {
            let reached = crashed.killed_at_tmux(&RESTORE, at, when);
            if reached {
                crashed.comes_back();
            }
            reached
        });
    }
}

/// CRX-28: killed before any durable step of the store.
#[test]
fn crx_28_killed_at_every_durable_step() {
    if !has_strace() {
        return;
    }
    for (call, least) in [("fsync", 20), ("unlink", 8)] {
        walk_points(call, least, |crashed, at| {
            let reached = crashed.killed_at_call(&RESTORE, call, at);
            if reached {
                crashed.comes_back();
            }
            reached
        });
    }
}

/// CRX-28: killed while tmux was asked, and tmux does it when the next restore is long over: no second agent, and a
/// pane that nobody misses goes again.
#[test]
fn crx_28_a_late_answer_of_tmux_makes_nothing_twice() {
    walk_points("late call", 12, |crashed, at| {
        let reached = crashed.killed_at_tmux(&RESTORE, at, When::Late);
        if reached {
            crashed.comes_back();
            crashed.go();
            let whole = roughly(crashed.whole.clone());
            common::wait_for("the end of what came late", || roughly(crashed.places()) == whole);
            assert_eq!(crashed.world.running().into_values().collect::<Vec<_>>(), [1, 1]);
        }
        reached
    });
}

/// CRX-28: the `exec` of a pane killed at any step until its agent was verified.
#[test]
fn crx_28_the_start_in_a_pane_is_killed_at_every_step() {
    if !has_strace() {
        return;
    }
    // How a process is made, and which thread waits for it, hangs on libc and kernel.
    for (call, least) in
        [("fsync", 4), ("flock", 3), ("?clone,?clone3,?vfork", 2), ("ioctl", 1), ("?wait4,?waitid", 1)]
    {
        walk_points(&format!("exec {call}"), least, |crashed, at| {
            let outcome = crashed.exec_killed_at_call(call, at);
            if outcome == "restored" {
                return false;
            }
            assert_eq!(outcome, "failed");
            crashed.comes_back_roughly();
            true
        });
    }
}

/// The same where tmux keeps panes whose program has ended: they are closed, and nobody waits for them for ever.
#[test]
fn crx_28_dead_panes_are_closed() {
    if !has_strace() {
        return;
    }
    let crashed = Crashed::new();
    std::fs::write(crashed.world.home().join(".tmux.conf"), "set -g remain-on-exit on\n").unwrap();
    assert_eq!(crashed.exec_killed_at_call("fsync", 3), "failed");
    crashed.comes_back_roughly();
}

/// CRX-10, CRX-14: an undo killed before or after any call of tmux, or before any durable step; undone again, nothing of the
/// restore is left, nothing of the user's is gone, and the losses are offered again.
#[test]
fn crx_10_crx_14_a_killed_undo_loses_nothing() {
    const UNDO: [&str; 3] = ["undo", "--yes", "--json"];
    let undone = |crashed: &Crashed, kill: &dyn Fn(&Crashed) -> bool| {
        let world = &crashed.world;
        world.session("mine", "notes");
        assert_eq!(world.reseat(&RESTORE).code, 0);
        let reached = kill(crashed);
        if reached {
            let again = world.reseat(&UNDO);
            assert!(matches!(again.code, 0 | 4), "{again:?}");
            assert_eq!(world.tmux(&["list-sessions", "-F", "#{session_name}"]), "mine\n");
            common::wait_for("the end of the agents", || world.running().is_empty());
            world.tmux(&["kill-session", "-t", "mine"]);
            crashed.comes_back();
        }
        reached
    };
    for when in [When::Before, When::After] {
        walk_points(&format!("undo: {when:?} call"), 9, |crashed, at| {
            undone(crashed, &|crashed| crashed.killed_at_tmux(&UNDO, at, when))
        });
    }
    if has_strace() {
        walk_points("undo: fsync", 2, |crashed, at| {
            undone(crashed, &|crashed| crashed.killed_at_call(&UNDO, "fsync", at))
        });
    }
}

/// CRX-28: a restore killed after any call of tmux is undone as far as it came.
#[test]
fn crx_28_a_killed_restore_is_undone() {
    walk_points("restore and undo: After call", 12, |crashed, at| {
        let world = &crashed.world;
        world.session("mine", "notes");
        let reached = crashed.killed_at_tmux(&RESTORE, at, When::After);
        if reached {
            let undone = world.reseat(&["undo", "--yes", "--json"]);
            assert!(matches!(undone.code, 0 | 4), "{undone:?}");
            assert_eq!(world.tmux(&["list-sessions", "-F", "#{session_name}"]), "mine\n", "{undone:?}");
            common::wait_for("the end of the agents", || world.running().is_empty());
            world.tmux(&["kill-session", "-t", "mine"]);
            crashed.comes_back();
        }
        reached
    });
}
