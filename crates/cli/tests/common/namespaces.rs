//! Plays a part of a test in namespaces of its own, where file systems, boot ids and processes are nobody else's.

use crate::common::World;
use std::io::Write as _;
use std::process::Command;

/// Names the part that is played inside.
const PART: &str = "RESEAT_PART";
/// Names the world it is played in.
const ROOT: &str = "RESEAT_ROOT";

/// The words that begin namespaces; `None` where that is not permitted, which is said loudly.
pub(crate) fn unshare(own: &[&'static str]) -> Option<Vec<&'static str>> {
    let ways = [own.to_vec(), [own, &["--map-root-user"]].concat()];
    let permitted = |words: &Vec<&str>| {
        Command::new("unshare").args(words).arg("true").output().is_ok_and(|output| output.status.success())
    };
    let found = ways.into_iter().find(permitted);
    if found.is_none() {
        // Past the capture of the test runner, which hides what passing tests print.
        let _ = writeln!(std::io::stderr(), "\n!!! SKIPPED: unshare {own:?} is not permitted !!!\n");
    }
    found
}

/// Runs `script` in new namespaces with a part of the test `inside` as its arguments, which it is to exec.
pub(crate) fn play(world: &World, unshare: &[&str], script: &str, part: &str) {
    let output = Command::new("unshare")
        .args(unshare)
        .args(["sh", "-c", script])
        .arg(world.root())
        .arg(std::env::current_exe().unwrap())
        .args(["inside", "--exact", "--nocapture"])
        .env(PART, part)
        .env(ROOT, world.root())
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{part}:\n{}\n{}", said(&output.stdout), said(&output.stderr));
}

/// The part to play and its world; `None` outside.
pub(crate) fn part() -> Option<(String, World)> {
    let part = std::env::var(PART).ok()?;
    Some((part, World::again(std::env::var_os(ROOT)?.into())))
}
