//! The one lock: an operating system's lock on an open file. The kernel releases it with its holder, so nothing is
//! ever judged by age, and a lock file is never unlinked.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The file could not be opened or locked.
    #[error("cannot lock {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Somebody else holds it.
    #[error("{what} is in use{by} ({}); try again, or end that process", path.display())]
    Busy {
        /// The resource.
        what: String,
        /// The file.
        path: PathBuf,
        /// ` by process N`, when the holder left a hint.
        by: String,
    },
}

/// A file to lock.
#[derive(Debug, Clone)]
pub struct LockFile {
    path: PathBuf,
}

/// A lock that is held until this is dropped or its process ends. Closed on exec.
#[derive(Debug)]
pub struct Guard {
    file: File,
}

impl LockFile {
    /// Names a lock file. It is made, 0600, when first locked.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn open(&self) -> Result<File, LockError> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&self.path)
            .map_err(|source| self.io(source))
    }

    fn io(&self, source: io::Error) -> LockError {
        LockError::Io { path: self.path.clone(), source }
    }

    /// Takes the lock if nobody holds it. The pid written into the file is a hint for people; the lock is the truth.
    pub fn try_lock(&self) -> Result<Option<Guard>, LockError> {
        let mut file = self.open()?;
        match file.try_lock() {
            Ok(()) => {
                // A hint that cannot be written (full disk) does not undo the lock.
                let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
                Ok(Some(Guard { file }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(self.io(source)),
        }
    }

    /// Takes the lock, waiting at most `deadline`; on timeout says what is in use and by whom.
    pub fn lock(&self, deadline: Duration, what: &str) -> Result<Guard, LockError> {
        let end = Instant::now() + deadline;
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(guard) = self.try_lock()? {
                return Ok(guard);
            }
            if Instant::now() >= end {
                return Err(LockError::Busy {
                    what: what.to_owned(),
                    path: self.path.clone(),
                    by: self.holder(),
                });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Whether somebody holds the lock now. Changes nothing, makes no file.
    pub fn is_held(&self) -> bool {
        let Ok(file) = File::open(&self.path) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Waits at most `deadline` for writers to leave, and keeps them out while the file it returns is open. `None`
    /// when there is no lock file, or when a writer does not leave. Makes no file.
    pub fn shared(&self, deadline: Duration) -> Option<File> {
        let file = File::open(&self.path).ok()?;
        let end = Instant::now() + deadline;
        while file.try_lock_shared().is_err() {
            if Instant::now() >= end {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Some(file)
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who holds it, as far as its text tells: a hint for people.
    pub fn holder(&self) -> String {
        let hint = std::fs::read_to_string(&self.path).ok().and_then(|text| text.trim().parse::<u32>().ok());
        hint.map_or_else(String::new, |pid| format!(" by process {pid}"))
    }
}

impl Guard {
    /// Replaces the file's content, which is a hint for others.
    pub fn note(&mut self, text: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }

    /// Returns the file's content.
    pub fn noted(&mut self) -> io::Result<String> {
        let mut text = String::new();
        self.file.rewind()?;
        self.file.read_to_string(&mut text)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn holder(path: &Path) -> Child {
        let mut child = Command::new("flock")
            .arg(path)
            .args(["sh", "-c", "echo held; exec sleep 60"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 5];
        child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        child
    }

    /// C25, CRX-07: a live holder is not robbed, even suspended; a dead one is taken over at once; whatever pid the
    /// file names.
    #[test]
    fn c25_the_lock_decides_and_not_the_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l");
        for text in ["", "1", "999999999", "not a pid"] {
            std::fs::write(&path, text).unwrap();
            assert!(LockFile::new(&path).try_lock().unwrap().is_some(), "{text:?}");
        }
        let mut child = holder(&path);
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        let lock = LockFile::new(&path);
        assert!(lock.try_lock().unwrap().is_none());
        assert!(lock.is_held());
        assert!(matches!(lock.lock(Duration::from_millis(30), "the store"), Err(LockError::Busy { .. })));
        // flock keeps the lock in its child too: both must go.
        child.kill().unwrap();
        child.wait().unwrap();
        drop(dir);
    }

    #[test]
    fn of_two_starters_exactly_one_wins() {
        let dir = tempfile::tempdir().unwrap();
        let lock = LockFile::new(dir.path().join("l"));
        let won: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let guard = lock.try_lock().unwrap();
                        let won = usize::from(guard.is_some());
                        std::mem::forget(guard);
                        won
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(won, 1);
    }

    #[test]
    fn asking_makes_no_file() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!LockFile::new(dir.path().join("l")).is_held());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
