//! Processes as the kernel's table shows them.

use reseat_core::process::{Boot, Liveness, Probe, ProcessKey, judge};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A process table: `/proc`, or a tree shaped like it in tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proc {
    root: PathBuf,
}

/// One process, from `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Pid.
    pub pid: u32,
    /// Parent.
    pub ppid: u32,
    /// Process group.
    pub pgrp: u32,
    /// Session.
    pub session: u32,
    /// Controlling terminal's device; 0 when there is none.
    pub tty: u64,
    /// The terminal's foreground process group; -1 when there is none.
    pub foreground: i32,
    /// Start time in ticks since boot, as the kernel printed it.
    pub start: u64,
    /// State letter.
    pub state: char,
    /// The kernel's name of it.
    pub comm: String,
}

/// The pid of our own parent.
pub fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

impl Proc {
    /// The kernel's table.
    pub fn real() -> Self {
        Self { root: "/proc".into() }
    }

    /// A table elsewhere.
    pub const fn at(root: PathBuf) -> Self {
        Self { root }
    }

    fn file(&self, pid: u32, name: &str) -> PathBuf {
        self.root.join(pid.to_string()).join(name)
    }

    /// Returns a process; `None` when there is none, when it is a zombie, or when the id is a thread's.
    pub fn stat(&self, pid: u32) -> Option<Stat> {
        let stat = self.stat_of_any(pid)?;
        // The kernel answers for thread ids too, though it does not list them.
        self.is_group_leader(pid).then_some(stat)
    }

    fn stat_of_any(&self, pid: u32) -> Option<Stat> {
        let text = std::fs::read(self.file(pid, "stat")).ok()?;
        parse_stat(&String::from_utf8_lossy(&text)).filter(|stat| !matches!(stat.state, 'Z' | 'X' | 'x'))
    }

    fn is_group_leader(&self, pid: u32) -> bool {
        let Ok(status) = std::fs::read_to_string(self.file(pid, "status")) else { return true };
        let group = status
            .lines()
            .find_map(|line| line.strip_prefix("Tgid:"))
            .and_then(|text| text.trim().parse().ok());
        group.is_none_or(|group: u32| group == pid)
    }

    /// Returns the whole table in one pass, without zombies. What vanishes meanwhile is left out.
    pub fn table(&self) -> io::Result<Vec<Stat>> {
        let mut out = Vec::new();
        for entry in std::fs::read_dir(&self.root)? {
            let Ok(entry) = entry else { continue };
            // Only group leaders are listed here.
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            out.extend(self.stat_of_any(pid));
        }
        Ok(out)
    }

    /// Returns the arguments; empty for a process that wiped them, a kernel thread, or one that is not ours to see.
    pub fn cmdline(&self, pid: u32) -> Vec<String> {
        let bytes = std::fs::read(self.file(pid, "cmdline")).unwrap_or_default();
        let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
        if bytes.is_empty() {
            return Vec::new();
        }
        bytes.split(|byte| *byte == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect()
    }

    /// Returns the environment a process was started with.
    pub fn environ(&self, pid: u32) -> io::Result<BTreeMap<String, String>> {
        let bytes = std::fs::read(self.file(pid, "environ"))?;
        Ok(bytes
            .split(|byte| *byte == 0)
            .filter_map(|pair| {
                String::from_utf8_lossy(pair)
                    .split_once('=')
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
            })
            .collect())
    }

    /// Returns the working directory, without the kernel's mark of a deleted one unless a directory of that very
    /// name is there.
    pub fn cwd(&self, pid: u32) -> Option<String> {
        let path = std::fs::read_link(self.file(pid, "cwd")).ok()?;
        Some(undeleted(&path.to_string_lossy()))
    }

    /// Returns the executable's path.
    pub fn exe(&self, pid: u32) -> Option<PathBuf> {
        std::fs::read_link(self.file(pid, "exe")).ok()
    }

    /// Returns the files a process holds open.
    pub fn open_files(&self, pid: u32) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.file(pid, "fd")) else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .filter(|path| path.as_os_str().as_bytes().starts_with(b"/"))
            .collect()
    }

    /// Returns the open files of a process on which it holds a lock.
    pub fn locked_files(&self, pid: u32) -> Vec<PathBuf> {
        let Ok(locks) = std::fs::read_to_string(self.root.join("locks")) else { return Vec::new() };
        let held: Vec<(u32, u32, u64)> = locks.lines().filter_map(|line| parse_lock(line, pid)).collect();
        if held.is_empty() {
            return Vec::new();
        }
        self.open_files(pid)
            .into_iter()
            .filter(|path| {
                std::fs::metadata(path).is_ok_and(|meta| {
                    let device = meta.dev();
                    held.contains(&(rustix::fs::major(device), rustix::fs::minor(device), meta.ino()))
                })
            })
            .collect()
    }

    /// Returns what the table says of a pid.
    pub fn probe(&self, pid: u32) -> Probe {
        match std::fs::read(self.file(pid, "stat")) {
            Ok(_) => self.stat(pid).map_or(Probe::Absent, |stat| Probe::Present { start: stat.start }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.root.join("stat").exists() => {
                Probe::Absent
            }
            // ESRCH: it ended between open and read.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                Probe::Absent
            }
            Err(_) => Probe::Unreadable,
        }
    }

    /// Returns whether a recorded process still runs.
    pub fn liveness(&self, here: &Boot, key: &ProcessKey) -> Liveness {
        judge(key, here, self.probe(key.pid))
    }

    /// Returns the identity of a process that runs.
    pub fn key(&self, here: &Boot, pid: u32) -> Option<ProcessKey> {
        let stat = self.stat(pid)?;
        Some(ProcessKey { boot: here.clone(), pid, start: stat.start })
    }

    /// Returns how many processes of a process's cgroup the kernel killed for want of memory (cgroup v2).
    pub fn oom_kills(&self, pid: u32) -> Option<u64> {
        let groups = std::fs::read_to_string(self.file(pid, "cgroup")).ok()?;
        let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let events =
            std::fs::read_to_string(Path::new("/sys/fs/cgroup").join(path).join("memory.events")).ok()?;
        events
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill "))
            .and_then(|count| count.trim().parse().ok())
    }

    /// The root of the table.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// Strips the kernel's mark of a deleted directory, unless a directory of that very name is there.
pub fn undeleted(path: &str) -> String {
    match path.strip_suffix(" (deleted)") {
        Some(stripped) if !Path::new(path).is_dir() => stripped.to_owned(),
        _ => path.to_owned(),
    }
}

/// Parses `/proc/PID/stat`. The name stands in parentheses and may hold spaces and parentheses itself.
fn parse_stat(text: &str) -> Option<Stat> {
    let (before, after) = text.rsplit_once(')')?;
    let (pid, comm) = before.split_once(" (")?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<i64>().ok());
    Some(Stat {
        pid: pid.trim().parse().ok()?,
        comm: comm.to_owned(),
        state: fields.first()?.chars().next()?,
        ppid: number(1)? as u32,
        pgrp: number(2)? as u32,
        session: number(3)? as u32,
        tty: number(4)? as u64,
        foreground: number(5)? as i32,
        start: fields.get(19)?.parse().ok()?,
    })
}

/// Parses one line of `/proc/locks` held by `pid`: `1: FLOCK ADVISORY WRITE 42 fe:00:131 0 EOF`.
fn parse_lock(line: &str, pid: u32) -> Option<(u32, u32, u64)> {
    let mut fields = line.split_whitespace().filter(|field| *field != "->");
    let holder: u32 = fields.nth(4)?.parse().ok()?;
    let mut device = fields.next()?.split(':');
    let major = u32::from_str_radix(device.next()?, 16).ok()?;
    let minor = u32::from_str_radix(device.next()?, 16).ok()?;
    let inode = device.next()?.parse().ok()?;
    (holder == pid).then_some((major, minor, inode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn names_with_parentheses_and_spaces_are_parsed() {
        let text = "42 (a) b (c)) S 7 8 9 34816 8 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9000 1 2";
        let stat = parse_stat(text).unwrap();
        assert_eq!(
            (stat.comm.as_str(), stat.ppid, stat.tty, stat.foreground, stat.start),
            ("a) b (c)", 7, 34816, 8, 9000)
        );
        assert_eq!(parse_stat("garbage"), None);
    }

    #[test]
    fn locks_are_parsed_with_and_without_waiters() {
        assert_eq!(parse_lock("1: FLOCK  ADVISORY  WRITE 42 fe:01:131 0 EOF", 42), Some((0xfe, 1, 131)));
        assert_eq!(parse_lock("1: -> FLOCK  ADVISORY  WRITE 42 fe:01:131 0 EOF", 43), None);
    }

    /// CRX-08: a zombie is not a process.
    #[test]
    fn crx_08_a_zombie_is_gone() {
        let mut child = Command::new("true").stdout(Stdio::null()).spawn().unwrap();
        let proc = Proc::real();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while proc.stat_of_any(child.id()).is_some() {
            assert!(std::time::Instant::now() < deadline, "it never became a zombie");
            std::thread::yield_now();
        }
        assert_eq!(proc.probe(child.id()), Probe::Absent);
        child.wait().unwrap();
        assert_eq!(proc.probe(child.id()), Probe::Absent);
    }

    /// CRX-08: a thread id is not a process.
    #[test]
    fn crx_08_a_thread_id_is_gone() {
        let (send, receive) = std::sync::mpsc::channel();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            send.send(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()).unwrap();
            stopped.recv().ok();
        });
        let tid = receive.recv().unwrap();
        let proc = Proc::real();
        assert!(proc.stat_of_any(tid).is_some(), "the kernel answers for thread ids");
        assert_eq!(proc.probe(tid), Probe::Absent);
        drop(stop);
        thread.join().unwrap();
    }

    /// Suspended is alive.
    #[test]
    fn a_suspended_process_is_present() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        assert!(matches!(Proc::real().probe(child.id()), Probe::Present { .. }));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn an_unreadable_table_cannot_tell() {
        assert_eq!(Proc::at("/nonexistent".into()).probe(1), Probe::Unreadable);
    }

    /// C30: the mark of a deleted directory is not part of a path, unless it is.
    #[test]
    fn c30_the_mark_of_a_deleted_directory() {
        let dir = tempfile::tempdir().unwrap();
        let gone = dir.path().join("gone");
        assert_eq!(undeleted(&format!("{} (deleted)", gone.display())), gone.display().to_string());
        let real = dir.path().join("real (deleted)");
        std::fs::create_dir(&real).unwrap();
        assert_eq!(undeleted(&real.display().to_string()), real.display().to_string());
    }
}
