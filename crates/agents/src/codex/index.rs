//! What Codex keeps beside its rollouts: names of threads, and an index database. Both are looked at, never needed.

use reseat_core::ids::SessionId;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// How much of the name file's end is read.
const TAIL: u64 = 512 * 1024;
/// SQLite's header.
const HEADER: u64 = 100;

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
/// as they are: it is read from a copy. Where no copy can be made nothing is said.
pub(super) fn doubt(home: &Path, id: &SessionId) -> Option<String> {
    let found = match &*index(&newest_state(home)?)? {
        Index::Rollouts(rollouts) => rollouts.get(id.as_str()).is_some_and(|path| Path::new(path).exists()),
        Index::Unreadable => false,
    };
    (!found).then(|| "Codex may refuse: not in its state database".to_owned())
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

/// What a database says.
#[derive(Debug)]
enum Index {
    /// The rollout of each thread.
    Rollouts(BTreeMap<String, String>),
    /// It is none, or none that this version knows.
    Unreadable,
}

/// Which state of a database was read: of it and of its log the size, the time, and the head with its change counter.
type State = (PathBuf, [Option<(u64, SystemTime, Vec<u8>)>; 2]);

/// The database read last: a plan asks for each of many threads.
static LAST: Mutex<Option<(State, Arc<Index>)>> = Mutex::new(None);

/// Returns what a database says now; nothing when it cannot be copied.
fn index(path: &Path) -> Option<Arc<Index>> {
    let wal = PathBuf::from(format!("{}-wal", path.display()));
    let stamp = |path: &Path| {
        let file = std::fs::File::open(path).ok()?;
        let meta = file.metadata().ok()?;
        let mut head = Vec::new();
        file.take(HEADER).read_to_end(&mut head).ok()?;
        Some((meta.len(), meta.modified().ok()?, head))
    };
    let state = (path.to_path_buf(), [stamp(path), stamp(&wal)]);
    if let Ok(last) = LAST.lock()
        && let Some((_, index)) = last.as_ref().filter(|(read, _)| *read == state)
    {
        return Some(Arc::clone(index));
    }
    let copy = Copy::of(path, &wal).ok()?;
    let index = Arc::new(rollouts(&copy.file).map_or(Index::Unreadable, Index::Rollouts));
    if let Ok(mut last) = LAST.lock() {
        *last = Some((state, Arc::clone(&index)));
    }
    Some(index)
}

fn rollouts(copy: &Path) -> rusqlite::Result<BTreeMap<String, String>> {
    // The log is taken into the copy, so it is opened for writing.
    let connection = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mut statement =
        connection.prepare("SELECT id, rollout_path FROM threads WHERE rollout_path IS NOT NULL")?;
    statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// A private copy of a database with its write-ahead log, removed with this.
struct Copy {
    dir: PathBuf,
    file: PathBuf,
}

impl Copy {
    fn of(path: &Path, wal: &Path) -> std::io::Result<Self> {
        let dir = std::env::temp_dir().join(format!("reseat-codex-{:x}", reseat_os::clock::nonce()));
        // It holds what people wrote to the agent.
        std::fs::DirBuilder::new().mode(0o700).create(&dir)?;
        let copy = Self { file: dir.join("state.sqlite"), dir };
        std::fs::copy(path, &copy.file)?;
        if wal.exists() {
            std::fs::copy(wal, copy.dir.join("state.sqlite-wal"))?;
        }
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
