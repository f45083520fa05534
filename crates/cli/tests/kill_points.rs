//! A restore that is killed at any point, and restored again: the end is the same as without the kill.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;
#[path = "common/points.rs"]
mod points;
#[path = "common/walk.rs"]
mod walks;

use points::{Crashed, When, roughly};
use walks::{Walk, has_strace, walk};

const RESTORE: [&str; 3] = ["restore", "--yes", "--json"];
const UNDO: [&str; 3] = ["undo", "--yes", "--json"];

/// Without a kill: the world is as it was, and the walk below compares with the right thing.
#[test]
fn a_restore_that_is_left_alone_brings_the_whole_server_back() {
    let crashed = Crashed::new();
    crashed.comes_back();
}

/// CRX-28: killed before or after any call of tmux.
#[test]
fn crx_28_killed_at_every_call_of_tmux() {
    walk(&[When::Before, When::After].map(|when| {
        Walk::new(format!("{when:?} call"), 12, move |crashed, at| {
            let reached = crashed.killed_at_tmux(&RESTORE, at, when);
            if reached {
                crashed.comes_back();
            }
            reached
        })
    }));
}

/// CRX-28: killed before any durable step of the store. The writes between two of them are killed one by one in the
/// store's own tests.
#[test]
fn crx_28_killed_at_every_durable_step() {
    if !has_strace() {
        return;
    }
    walk(&[("fsync", 20), ("unlink", 8)].map(|(call, least)| {
        Walk::new(call, least, move |crashed, at| {
            let reached = crashed.killed_at_call(&RESTORE, call, at);
            if reached {
                crashed.comes_back();
            }
            reached
        })
    }));
}

/// CRX-28: killed while tmux was asked, and tmux does it when the next restore is long over: no second agent, and a
/// pane that nobody misses goes again.
#[test]
fn crx_28_a_late_answer_of_tmux_makes_nothing_twice() {
    walk(&[Walk::new("late call", 12, |crashed, at| {
        let reached = crashed.killed_at_tmux(&RESTORE, at, When::Late);
        if reached {
            crashed.comes_back();
            crashed.go();
            let whole = roughly(&crashed.whole);
            common::wait_for("the end of what came late", || roughly(&crashed.places()) == whole);
            assert_eq!(crashed.world.running().into_values().collect::<Vec<_>>(), [1, 1]);
        }
        reached
    })]);
}

/// CRX-28: the `exec` of a pane killed at any step until its agent was verified.
#[test]
fn crx_28_the_start_in_a_pane_is_killed_at_every_step() {
    // How a process is made, and how it is waited for, hangs on libc and kernel.
    let calls =
        [("fsync", 4), ("flock", 3), ("?clone,?clone3,?vfork", 2), ("ioctl", 1), ("?wait4,?waitid", 1)];
    if !has_strace() {
        return;
    }
    walk(&calls.map(|(call, least)| {
        Walk::new(format!("exec {call}"), least, move |crashed, at| {
            let outcome = crashed.exec_killed_at_call(call, at);
            if outcome == "restored" {
                return false;
            }
            assert_eq!(outcome, "failed");
            crashed.comes_back_roughly();
            true
        })
    }));
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

/// CRX-10, CRX-14: an undo killed before or after any call of tmux, or before any durable step; undone again, nothing
/// of the restore is left, nothing of the user's is gone, and the losses are offered again.
#[test]
fn crx_10_crx_14_a_killed_undo_loses_nothing() {
    let undone = |crashed: &Crashed, kill: &dyn Fn(&Crashed) -> bool| {
        crashed.world.session("mine", "notes");
        assert_eq!(crashed.world.reseat(&RESTORE).code, 0);
        let reached = kill(crashed);
        if reached {
            is_undone(crashed);
        }
        reached
    };
    let mut walks: Vec<Walk> = [When::Before, When::After]
        .map(|when| {
            Walk::new(format!("undo: {when:?} call"), 9, move |crashed, at| {
                undone(crashed, &|crashed| crashed.killed_at_tmux(&UNDO, at, when))
            })
        })
        .into();
    if has_strace() {
        walks.push(Walk::new("undo: fsync", 2, move |crashed, at| {
            undone(crashed, &|crashed| crashed.killed_at_call(&UNDO, "fsync", at))
        }));
    }
    walk(&walks);
}

/// CRX-10: a restore killed after any call of tmux is undone as far as it came.
#[test]
fn crx_10_a_killed_restore_is_undone() {
    walk(&[Walk::new("restore and undo: After call", 12, |crashed, at| {
        crashed.world.session("mine", "notes");
        let reached = crashed.killed_at_tmux(&RESTORE, at, When::After);
        if reached {
            is_undone(crashed);
        }
        reached
    })]);
}

/// Undone, nothing but the user's own session is there, and everything comes back once more.
fn is_undone(crashed: &Crashed) {
    let world = &crashed.world;
    let undone = world.reseat(&UNDO);
    assert!(matches!(undone.code, 0 | 4), "{undone:?}");
    assert_eq!(world.tmux(&["list-sessions", "-F", "#{session_name}"]), "mine\n", "{undone:?}");
    common::wait_for("the end of the agents", || world.running().is_empty());
    world.tmux(&["kill-session", "-t", "mine"]);
    crashed.comes_back();
}
