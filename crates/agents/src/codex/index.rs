//! What Codex keeps beside its rollouts: names of threads, and an index database. Both are looked at, never needed.

use reseat_core::ids::SessionId;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How much of the name file's end is read.
const TAIL: u64 = 512 * 1024;

/// The name a thread was given last.
pub(super) fn name(home: &Path, id: &SessionId) -> Option<String> {
    let ends = crate::scan::read_ends(&home.join("session_index.jsonl"), 0, TAIL).ok()?;
    ends.lines().rev().find_map(|line| {
        let value: Value = serde_json::from_slice(line).ok()?;
        if value.get("id")?.as_str()? != id.as_str() {
            return None;
        }
        value.get("thread_name")?.as_str().map(str::to_owned)
    })
}

/// A doubt that Codex will find a thread by its own index, as a sentence. The database and its side files are left
/// as they are: it is read from a copy.
pub(super) fn doubt(home: &Path, id: &SessionId) -> Option<String> {
    let path = newest_state(home)?;
    let refuses = || Some("Codex may refuse: not in its state database".to_owned());
    let Some(row) = row(&path, id) else { return refuses() };
    if row.is_some_and(|rollout| Path::new(&rollout).exists()) { None } else { refuses() }
}

/// `state_N.sqlite` with the highest number.
fn newest_state(home: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(home).ok()?.flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number: u32 = name.strip_prefix("state_")?.strip_suffix(".sqlite")?.parse().ok()?;
            Some((number, entry.path()))
        })
        .max()
        .map(|(_, path)| path)
}

/// The rollout path of a thread's row.
#[expect(
    clippy::option_option,
    reason = "`None` when the database cannot be read, `Some(None)` when it has no row"
)]
fn row(path: &Path, id: &SessionId) -> Option<Option<String>> {
    let copy = Copy::of(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(&copy.file, flags).ok()?;
    let mut statement = connection.prepare("SELECT rollout_path FROM threads WHERE id = ?1").ok()?;
    let mut rows = statement.query([id.as_str()]).ok()?;
    match rows.next() {
        Ok(Some(row)) => Some(row.get(0).ok()),
        Ok(None) => Some(None),
        Err(_) => None,
    }
}

/// A private copy of a database with its write-ahead log, removed with this.
struct Copy {
    dir: PathBuf,
    file: PathBuf,
}

impl Copy {
    fn of(path: &Path) -> Option<Self> {
        let dir = std::env::temp_dir().join(format!("reseat-codex-{:x}", reseat_os::clock::nonce()));
        std::fs::create_dir(&dir).ok()?;
        let copy = Self { file: dir.join("state.sqlite"), dir };
        std::fs::copy(path, &copy.file).ok()?;
        let wal = PathBuf::from(format!("{}-wal", path.display()));
        if wal.exists() {
            std::fs::copy(wal, copy.dir.join("state.sqlite-wal")).ok()?;
        }
        Some(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
