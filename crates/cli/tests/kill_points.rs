//! A restore that is killed at any point, and restored again: the end is the same as without the kill.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;
#[path = "common/points.rs"]
mod points;

use points::{Crashed, When, has_strace, walk_points};

const RESTORE: [&str; 3] = ["restore", "--yes", "--json"];

/// Without a kill: the world is as it was, and the walk below compares with the right thing.
#[test]
fn a_restore_that_is_left_alone_brings_the_whole_server_back() {
    let crashed = Crashed::new();
    crashed.comes_back();
}

/// RBT-08: killed before or after any call of tmux.
#[test]
fn rbt_08_killed_at_every_call_of_tmux() {
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

/// RBT-08: killed before any durable step of the store.
#[test]
fn rbt_08_killed_at_every_durable_step() {
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
