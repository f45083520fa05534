//! The process table, read from `/proc` (Linux) or `ps` (elsewhere).

use crate::{Result, wait_until};
use rustix::process::{Pid, Signal};
use std::collections::{HashSet, VecDeque};
use std::fs;
use std::process::Command;
use std::time::Duration;

/// One process. Two with equal `pid` and `start` are the same process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub parent: u32,
    /// When it started, as the kernel printed it.
    pub start: String,
    /// Short name (`comm`).
    pub name: String,
    /// Ended, but not yet collected by its parent.
    pub zombie: bool,
}

/// Every process that can be seen.
pub fn all() -> Vec<Process> {
    match fs::read_dir("/proc/self") {
        Ok(_) => fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(from_proc)
            .collect(),
        Err(_) => from_ps(),
    }
}

fn from_proc(pid: u32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        start: (*fields.get(19)?).to_owned(),
        name,
        zombie: matches!(*fields.first()?, "Z" | "X"),
    })
}

fn from_ps() -> Vec<Process> {
    let output = Command::new("ps").args(["-A", "-o", "pid=,ppid=,stat=,lstart=,comm="]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let parse = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let name = fields.get(8..)?.join(" ");
        Some(Process {
            pid: fields.first()?.parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            start: fields.get(3..8)?.join(" "),
            name: name.rsplit('/').next().unwrap_or_default().to_owned(),
            zombie: fields.get(2)?.starts_with('Z'),
        })
    };
    text.lines().filter_map(parse).collect()
}

/// The process with this pid now, unless it is gone or a zombie.
pub fn find(pid: u32) -> Option<Process> {
    all().into_iter().find(|process| process.pid == pid && !process.zombie)
}

/// Children, their children and so on; parents before their children, `root` itself not among them.
pub fn below(root: u32) -> Vec<Process> {
    let table = all();
    let mut found: Vec<Process> = Vec::new();
    let mut seen = HashSet::from([root]);
    let mut queue = VecDeque::from([root]);
    while let Some(parent) = queue.pop_front() {
        for process in table.iter().filter(|process| process.parent == parent && !process.zombie) {
            if seen.insert(process.pid) {
                queue.push_back(process.pid);
                found.push(process.clone());
            }
        }
    }
    found
}

/// Processes whose environment has exactly this `NAME=value` entry. Linux only; elsewhere none.
pub fn with_environment(entry: &str) -> Vec<Process> {
    let has = |process: &Process| {
        fs::read(format!("/proc/{}/environ", process.pid))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|part| part == entry.as_bytes()))
    };
    all().into_iter().filter(|process| !process.zombie && has(process)).collect()
}

/// Still there, and still the same process.
pub fn alive(process: &Process) -> bool {
    find(process.pid).is_some_and(|now| now.start == process.start)
}

/// Sends a signal to exactly this process; false when it is gone already.
pub fn signal(process: &Process, signal: Signal) -> bool {
    alive(process)
        && i32::try_from(process.pid)
            .ok()
            .and_then(Pid::from_raw)
            .is_some_and(|pid| rustix::process::kill_process(pid, signal).is_ok())
}

/// Sends SIGKILL to each and waits until all are gone.
pub fn kill(list: &[Process]) -> Result<()> {
    for process in list {
        signal(process, Signal::KILL);
    }
    wait_until("end of the killed processes", Duration::from_secs(10), || !list.iter().any(alive))
}
