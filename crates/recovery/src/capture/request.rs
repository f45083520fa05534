//! Asks for a look and runs looks one at a time.
//!
//! An event is a reason to look. Whoever has one marks the look as pending and starts a detached `reseat look`
//! unless one was pending already; that process looks until nothing is pending. At most one look runs, at most one
//! begins in two seconds, and none runs while a restore builds.

use super::look::{CLOSING_WAIT, look};
use crate::context::Context;
use reseat_os::clock::boottime_ns;
use reseat_os::lock::LockFile;
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Looks are at least this far apart.
const APART: Duration = Duration::from_secs(2);
/// A mark older than this was left by a process that died.
const STALE: Duration = Duration::from_secs(30);
/// How long a restore may put a look off.
const RESTORE_PATIENCE: Duration = Duration::from_mins(10);
const PAUSE: Duration = Duration::from_millis(100);

fn mark(state: &Path) -> PathBuf {
    state.join("look.pending")
}

fn last(state: &Path) -> PathBuf {
    state.join("look.last")
}

fn lock(state: &Path) -> LockFile {
    LockFile::new(state.join("look.lock"))
}

/// Marks a look as pending, and starts one unless it was marked before. Never waits, never fails its caller.
pub fn ask(state: &Path, program: &Path) {
    if mark_pending(state) {
        let state = state.display().to_string();
        let _ = reseat_os::spawn::detached(program, &["look", "--detached", "--state", &state]);
    }
}

/// Returns whether it was not marked before, or only by something long dead.
fn mark_pending(state: &Path) -> bool {
    let path = mark(state);
    let fresh = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    match fresh {
        Ok(mut file) => {
            let _ = write!(file, "{}", boottime_ns());
            true
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let marked = std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u64>().ok());
            let now = boottime_ns();
            // A mark of another boot may lie ahead of now.
            let stale = marked.is_none_or(|at| at > now || now - at > STALE.as_nanos() as u64);
            if stale {
                let _ = std::fs::remove_file(&path);
                return OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(&path)
                    .is_ok_and(|mut file| write!(file, "{now}").is_ok());
            }
            false
        }
        // Where nothing can be written a look could keep nothing either.
        Err(_) => false,
    }
}

/// Looks until nothing is pending, closing or too young to be read. Returns at once when another process does it
/// already.
pub fn run(context: &Context) {
    loop {
        let Ok(Some(guard)) = lock(&context.state).try_lock() else { return };
        loop {
            put_off(context);
            let before = std::fs::read_to_string(last(&context.state))
                .ok()
                .and_then(|text| text.trim().parse::<u64>().ok())
                .unwrap_or(0);
            let since = boottime_ns().saturating_sub(before);
            if before > 0 && before < boottime_ns() {
                std::thread::sleep(APART.saturating_sub(Duration::from_nanos(since)));
            }
            let _ = std::fs::remove_file(mark(&context.state));
            // Lost at a kill: the next look then comes sooner.
            let _ = std::fs::write(last(&context.state), boottime_ns().to_string());
            let looked = look(context).unwrap_or_default();
            if looked.young {
                // The next one waits until it is two seconds apart.
                continue;
            }
            if looked.closing {
                wait_for_mark(context, CLOSING_WAIT + Duration::from_millis(200));
                continue;
            }
            if !mark(&context.state).exists() {
                break;
            }
        }
        drop(guard);
        // Whoever marked it between the check and the release saw the lock held and left it to us.
        if !mark(&context.state).exists() {
            return;
        }
    }
}

/// Waits while a restore builds: a half-built server is never kept as what was.
fn put_off(context: &Context) {
    let restoring = crate::restore::lock(context);
    let until = std::time::Instant::now() + RESTORE_PATIENCE;
    while restoring.is_held() && std::time::Instant::now() < until {
        std::thread::sleep(PAUSE);
    }
}

fn wait_for_mark(context: &Context, at_most: Duration) {
    let until = std::time::Instant::now() + at_most;
    while std::time::Instant::now() < until && !mark(&context.state).exists() {
        std::thread::sleep(PAUSE);
    }
}

/// Reads a hook's input: at most `limit` bytes, for at most `deadline`. An agent may hold the pipe open for ever.
pub fn read_input(limit: u64, deadline: Duration) -> Vec<u8> {
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = std::io::stdin().lock().take(limit).read_to_end(&mut bytes);
        let _ = done.send(bytes);
    });
    wait.recv_timeout(deadline).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_events_starts_a_look() {
        let dir = tempfile::tempdir().unwrap();
        assert!(mark_pending(dir.path()));
        assert!(!mark_pending(dir.path()));
        for left in ["", "x", "18446744073709551615", "1"] {
            std::fs::write(mark(dir.path()), left).unwrap();
            assert!(mark_pending(dir.path()), "{left:?} was left by something dead");
            assert!(!mark_pending(dir.path()));
        }
    }
}
