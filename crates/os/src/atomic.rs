//! The one way to write a file: whole or not at all, and durable on return.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// As many as the kernel follows.
const MAX_LINKS: usize = 40;

/// A file could not be written; what was there is unchanged.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct AtomicError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Writes a file of exactly `mode`, whatever the umask.
///
/// A reader sees the old content or the new, never a mixture. When this returns, content and name survive a power
/// cut: temporary file, fsync, rename, fsync of the directory. Of two writers at once the later rename wins.
pub fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), AtomicError> {
    put(path, bytes, mode).map_err(|source| AtomicError { path: path.to_owned(), source })
}

/// Writes through a symbolic link to the file it names, keeping that file's mode; `mode` is for a new file. A link to
/// a file that is not there yet makes that file.
pub fn write_through(path: &Path, bytes: &[u8], mode: u32) -> Result<(), AtomicError> {
    let target = behind_links(path).map_err(|source| AtomicError { path: path.to_owned(), source })?;
    let mode = std::fs::metadata(&target).map_or(mode, |meta| meta.permissions().mode() & 0o7777);
    write(&target, bytes, mode)
}

/// Returns the file that a path names, behind all symbolic links, whether that file is there or not.
pub fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new(".")).join(next),
            // Not a link, or not there.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn put(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let aside = dir.join(format!(".{name}.{}.{:x}.tmp", std::process::id(), crate::clock::nonce()));
    let result = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&aside)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&aside, path)?;
        File::open(dir)?.sync_all()
    })();
    if result.is_err() {
        let _ = std::fs::remove_file(&aside);
    }
    result
}

/// Removes what killed writers left behind in a directory: temporary files of processes that are gone.
pub fn sweep(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // SQLite keeps a journal beside a copy that it makes.
        let name = name.strip_suffix("-journal").unwrap_or(&name);
        let Some(inner) = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp")) else { continue };
        let pid = inner
            .rsplit('.')
            .nth(1)
            .and_then(|pid| pid.parse::<i32>().ok())
            .and_then(rustix::process::Pid::from_raw);
        if pid.is_some_and(is_gone) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Removes directories `PREFIX-PID-...` of our own whose process is gone.
pub fn sweep_directories(dir: &Path, prefix: &str) {
    let own = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_prefix('-')?.split_once('-')?.0.parse::<i32>().ok())
            .and_then(rustix::process::Pid::from_raw);
        let ours =
            || std::fs::symlink_metadata(entry.path()).is_ok_and(|meta| meta.is_dir() && meta.uid() == own);
        if pid.is_some_and(is_gone) && ours() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_gone(pid: rustix::process::Pid) -> bool {
    rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CRX-22: the mode is exact whatever the umask (the test's umask is the machine's).
    #[test]
    fn crx_22_modes_are_exact() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        for mode in [0o600, 0o644, 0o666] {
            write(&path, b"x", mode).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_litter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::create_dir(&path).unwrap();
        assert!(write(&path, b"x", 0o600).is_err());
        let left: Vec<_> =
            std::fs::read_dir(dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["f"]);
    }

    #[test]
    fn a_symlink_and_its_targets_mode_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        let link = dir.path().join("link");
        write(&real, b"old", 0o640).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_through(&link, b"new", 0o600).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    }

    /// C36: a link to a file that is not there yet stays a link; one that leads to itself is an error.
    #[test]
    fn c36_a_dangling_link_is_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("dotfiles")).unwrap();
        std::os::unix::fs::symlink("second", at("first")).unwrap();
        std::os::unix::fs::symlink("dotfiles/real", at("second")).unwrap();
        write_through(&at("first"), b"new", 0o600).unwrap();
        assert_eq!(std::fs::read_link(at("first")).unwrap(), Path::new("second"));
        assert_eq!(std::fs::read(at("dotfiles/real")).unwrap(), b"new");
        assert_eq!(behind_links(&at("first")).unwrap(), at("dotfiles/real"));
        std::os::unix::fs::symlink("round", at("round")).unwrap();
        assert!(write_through(&at("round"), b"new", 0o600).is_err());
        assert!(std::fs::symlink_metadata(at("round")).unwrap().is_symlink());
    }

    #[test]
    fn leftovers_of_dead_writers_are_swept_and_others_left() {
        let dir = tempfile::tempdir().unwrap();
        let dead = dir.path().join(".f.2147483646.ab.tmp");
        let own = dir.path().join(format!(".f.{}.ab.tmp", std::process::id()));
        std::fs::write(&dead, b"").unwrap();
        std::fs::write(&own, b"").unwrap();
        sweep(dir.path());
        assert!(!dead.exists() && own.exists());
        let name = |pid: u32| dir.path().join(format!("copy-{pid}-ab"));
        let (dead, own, other) =
            (name(2_147_483_646), name(std::process::id()), dir.path().join("copy-x-ab"));
        for path in [&dead, &own, &other] {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("f"), b"").unwrap();
        }
        sweep_directories(dir.path(), "copy");
        assert!(!dead.exists() && own.exists() && other.exists());
    }

    /// C22, WEAK-21: write aside, fsync, rename, fsync of the directory, in that order.
    #[test]
    fn c22_the_order_of_a_write_is_seen_in_a_trace() {
        let dir = tempfile::tempdir().unwrap();
        if std::env::var_os("RESEAT_TRACED_WRITE").is_some() {
            let path = std::env::var("RESEAT_TRACED_WRITE").unwrap();
            write(Path::new(&path), b"x", 0o600).unwrap();
            return;
        }
        let log = dir.path().join("trace");
        let traced = std::process::Command::new("strace")
            .args(["-f", "-e", "trace=openat,write,fsync,rename,renameat,renameat2", "-o"])
            .arg(&log)
            .arg(std::env::current_exe().unwrap())
            .args(["c22_the_order_of_a_write", "--nocapture"])
            .env("RESEAT_TRACED_WRITE", dir.path().join("target"))
            .output();
        let Ok(traced) = traced else {
            println!("SKIPPED c22: strace is not installed");
            return;
        };
        assert!(traced.status.success(), "{}", String::from_utf8_lossy(&traced.stderr));
        let text = std::fs::read_to_string(&log).unwrap();
        let steps: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("target") || line.contains("fsync"))
            .filter_map(|line| ["fsync(", "rename"].into_iter().find(|step| line.contains(step)))
            .collect();
        assert_eq!(steps, ["fsync(", "rename", "fsync("]);
    }
}
