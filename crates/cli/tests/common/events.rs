//! What an agent does when something happens: it runs a hook, hands over the event, and goes on.

use crate::common::{World, wait_for};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, Stdio};

pub(crate) fn event(id: &str) -> String {
    format!(r#"{{"session_id":"{id}","hook_event_name":"SessionStart","source":"startup"}}"#)
}

pub(crate) fn id(number: u32) -> String {
    format!("{number:08x}-1111-4111-8111-111111111111")
}

pub(crate) fn hook(world: &World) -> Child {
    world
        .command(env!("CARGO_BIN_EXE_reseat"))
        .args(["hook", "claude"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends an event and returns after the hook's end: it must be silent and successful, and afterwards nobody may hold
/// the agent's pipes.
pub(crate) fn send(world: &World, input: &[u8]) {
    let mut child = hook(world);
    // A hook that reads nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input);
    wait_for("the end of the hook", || child.try_wait().unwrap().is_some());
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    assert_eq!(holders(&stdout), Vec::<PathBuf>::new(), "the agent's standard output is held");
    assert_eq!(holders(&stderr), Vec::<PathBuf>::new(), "the agent's standard error is held");
    let mut said = Vec::new();
    stdout.read_to_end(&mut said).unwrap();
    stderr.read_to_end(&mut said).unwrap();
    let status = child.wait().unwrap();
    assert_eq!((status.code(), String::from_utf8_lossy(&said).into_owned()), (Some(0), String::new()));
}

/// Descriptors of other processes on a pipe of ours. A test beside us that is just starting a program has a copy of
/// everything for a moment; one that stays is meant.
fn holders(pipe: &impl AsRawFd) -> Vec<PathBuf> {
    let own = std::fs::read_link(format!("/proc/self/fd/{}", pipe.as_raw_fd())).unwrap();
    let me = std::process::id().to_string();
    let mut out = Vec::new();
    for _ in 0..20 {
        out = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter(|process| {
                process.file_name().to_str().is_some_and(|name| name != me && name.parse::<u32>().is_ok())
            })
            .flat_map(|process| std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten())
            .map(|fd| fd.path())
            .filter(|fd| std::fs::read_link(fd).is_ok_and(|target| target == own))
            .collect();
        if out.is_empty() {
            break;
        }
        std::thread::yield_now();
    }
    out
}

/// Whether an event is in the log that people see.
pub(crate) fn kept(world: &World, id: &str) -> bool {
    let log = world.json(&["log", "-n", "100000"]);
    log["lines"].as_array().is_some_and(|lines| lines.iter().any(|line| line["session"] == id))
}
