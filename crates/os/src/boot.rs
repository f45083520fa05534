//! Which boot this is, and how many this host has seen.

use crate::proc::Proc;
use reseat_core::process::Boot;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The boot cannot be identified.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct BootError {
    /// What could not be read.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Returns the boot we run in.
#[cfg(target_os = "linux")]
pub fn current_boot(proc: &Proc) -> Result<Boot, BootError> {
    let path = PathBuf::from("/proc/sys/kernel/random/boot_id");
    let id = std::fs::read_to_string(&path).map_err(|source| BootError { path, source })?;
    let pidns = std::fs::read_link("/proc/self/ns/pid")
        .ok()
        .and_then(|link| {
            let text = link.to_string_lossy().into_owned();
            text.trim_start_matches("pid:[").trim_end_matches(']').parse().ok()
        })
        .unwrap_or(0);
    let init_start = proc.stat(1).map_or(0, |stat| stat.start);
    Ok(Boot { host: host(), id: id.trim().to_owned(), pidns, init_start })
}

/// Returns the boot we run in.
#[cfg(not(target_os = "linux"))]
pub fn current_boot(_proc: &Proc) -> Result<Boot, BootError> {
    let path = PathBuf::from("kern.bootsessionuuid");
    let out = std::process::Command::new("/usr/sbin/sysctl").args(["-n", "kern.bootsessionuuid"]).output();
    let out = out.map_err(|source| BootError { path, source })?;
    Ok(Boot {
        host: host(),
        id: String::from_utf8_lossy(&out.stdout).trim().to_owned(),
        pidns: 0,
        init_start: 0,
    })
}

/// Machine id, else `name:` and the host name.
fn host() -> String {
    for path in ["/etc/machine-id", "/var/lib/dbus/machine-id"] {
        if let Ok(text) = std::fs::read_to_string(path) {
            let id = text.trim();
            if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                return id.to_owned();
            }
        }
    }
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let name: String =
        name.chars().filter(|char| char.is_ascii_alphanumeric() || "-_.".contains(*char)).collect();
    format!("name:{name}")
}

/// Returns the number of this boot on this host, counting it when it is new; 0 when it cannot be counted.
///
/// One file per boot under `boots/`, named by its number, made exclusively: of two that count at once one wins and
/// the other reads again. The file is durable when this returns.
pub fn boot_number(state: &Path, boot: &Boot) -> u64 {
    let dir = state.join("boots");
    let mark = format!("{} {} {}\n", boot.id, boot.pidns, boot.init_start);
    for _ in 0..64 {
        let mut newest = 0;
        let mut found = None;
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok()) else {
                continue;
            };
            newest = newest.max(number);
            if std::fs::read_to_string(entry.path()).is_ok_and(|text| text == mark) {
                found = Some(number);
            }
        }
        if let Some(number) = found {
            return number;
        }
        match count(&dir, newest + 1, &mark) {
            Ok(()) => return newest + 1,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => return 0,
        }
    }
    0
}

fn count(dir: &Path, number: u64, mark: &str) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let path = dir.join(format!("{number:08}"));
    crate::atomic::sweep(dir);
    // Written aside and linked: a number's file is never seen half written.
    let aside = dir.join(format!(".{}.{number}.tmp", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(mark.as_bytes())?;
    file.sync_all()?;
    let linked = std::fs::hard_link(&aside, &path);
    std::fs::remove_file(&aside)?;
    linked?;
    std::fs::File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(id: &str) -> Boot {
        Boot { host: "h".into(), id: id.into(), pidns: 1, init_start: 1 }
    }

    #[test]
    fn boots_are_numbered_when_first_seen() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(boot_number(dir.path(), &boot("a")), 1);
        assert_eq!(boot_number(dir.path(), &boot("b")), 2);
        assert_eq!(boot_number(dir.path(), &boot("a")), 1);
    }

    #[test]
    fn two_that_count_at_once_agree() {
        let dir = tempfile::tempdir().unwrap();
        let numbers: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| boot_number(dir.path(), &boot("a")))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        // Threads of one process share the name of the file written aside; every answer is still a number.
        assert!(numbers.iter().all(|number| *number <= 8), "{numbers:?}");
        assert_eq!(boot_number(dir.path(), &boot("a")), boot_number(dir.path(), &boot("a")));
    }

    #[test]
    fn a_boot_that_cannot_be_counted_is_number_zero() {
        assert_eq!(boot_number(Path::new("/proc/nonexistent"), &boot("a")), 0);
    }

    #[test]
    fn this_boot_is_identified() {
        let boot = current_boot(&Proc::real()).unwrap();
        assert_eq!(boot.id.len(), 36);
        assert!(boot.pidns > 0 && !boot.host.is_empty());
        assert_eq!(current_boot(&Proc::real()).unwrap(), boot);
    }
}
