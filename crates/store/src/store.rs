//! The log: one writer at a time, any number of readers that write nothing.
//!
//! A writer holds an operating system's lock on `store.lock` from opening to closing and leaves no write-ahead log
//! behind, so that readers can read the file as it is. Where a killed writer left one, they read a copy.

use crate::damage;
use crate::error::StoreError;
use crate::facts::{Pending, Spool};
use crate::migrate;
use reseat_core::fact::{Body, Fact, count_boots};
use reseat_core::ids::digest;
use reseat_core::mux::Snapshot;
use reseat_os::lock::{Guard, LockFile};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Transaction, TransactionBehavior};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a reader waits for a writer before it reads a copy instead.
const READER_PATIENCE: Duration = Duration::from_millis(500);

/// Opens the store of a state directory.
#[derive(Debug)]
pub struct Store;

/// Reads a store. Writes nothing, anywhere but in a temporary directory.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    connection: Option<Connection>,
    spool: Spool,
    trouble: Vec<String>,
    // Released after the connection is closed.
    copy: Option<Copy>,
    shared: Option<File>,
}

/// Writes a store. While it lives no other process writes.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    // Closed, and so checkpointed, before the lock is released.
    connection: Connection,
    spool: Spool,
    _guard: Guard,
}

/// A private copy of the store's files, removed with this.
#[derive(Debug)]
struct Copy(PathBuf);

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The store's file in a state directory.
pub fn file(state: &Path) -> PathBuf {
    state.join("store.db")
}

/// The lock that a writer holds.
pub fn lock(state: &Path) -> LockFile {
    LockFile::new(state.join("store.lock"))
}

impl Store {
    /// Opens for reading. A store that is not there yet reads as empty; a damaged one as its last daily copy, which
    /// [`Reader::trouble`] says.
    pub fn open_read(state: &Path, spool: Spool) -> Result<Reader, StoreError> {
        let path = file(state);
        let shared = lock(state).shared(READER_PATIENCE);
        let mut reader =
            Reader { path: path.clone(), connection: None, spool, trouble: Vec::new(), copy: None, shared };
        if !path.exists() {
            return Ok(reader);
        }
        match reader.open(&path) {
            Ok(()) => Ok(reader),
            Err(error) if error.is_damage() => {
                reader.trouble.push(error.to_string());
                reader.connection = None;
                if let Some(copy) = damage::newest_copy(state) {
                    reader.trouble.push(format!("reading the copy {} instead", copy.display()));
                    reader.open(&copy)?;
                }
                Ok(reader)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens for writing, waiting at most `deadline` for another writer. Makes the store where there is none and
    /// brings it to this version. The directory must be there.
    pub fn open_write(state: &Path, spool: Spool, deadline: Duration) -> Result<Writer, StoreError> {
        let guard = lock(state).lock(deadline, "the store")?;
        Self::open_locked(state, spool, guard)
    }

    /// Opens for writing; a damaged store is first moved aside and brought back from what is left. Only for acts
    /// that a person asked for. Returns what was done, in sentences.
    pub fn open_repairing(
        state: &Path,
        spool: Spool,
        deadline: Duration,
    ) -> Result<(Writer, Vec<String>), StoreError> {
        let guard = lock(state).lock(deadline, "the store")?;
        let done = match damage::check(&file(state)) {
            Err(error) if error.is_damage() => damage::bring_back(state)?,
            Err(error) => return Err(error),
            Ok(()) => Vec::new(),
        };
        Ok((Self::open_locked(state, spool, guard)?, done))
    }

    fn open_locked(state: &Path, spool: Spool, guard: Guard) -> Result<Writer, StoreError> {
        let path = file(state);
        if !path.exists() {
            // SQLite gives its side files the mode of this one.
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)
                .map_err(|source| StoreError::Io { path: path.clone(), source })?;
        }
        let sql = |source| StoreError::of_sql(&path, source);
        let mut connection = Connection::open(&path).map_err(sql)?;
        connection.busy_timeout(Duration::from_secs(2)).map_err(sql)?;
        migrate::check(&connection, &path)?;
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
            .map_err(sql)?;
        migrate::apply(&mut connection, &path)?;
        damage::daily_copy(state, &connection);
        Ok(Writer { path, connection, spool, _guard: guard })
    }
}

impl Reader {
    fn open(&mut self, path: &Path) -> Result<(), StoreError> {
        let sql = |source| StoreError::of_sql(path, source);
        let wal = PathBuf::from(format!("{}-wal", path.display()));
        let still = std::fs::metadata(&wal).map_or(0, |meta| meta.len()) == 0;
        let no_writer =
            self.shared.is_some() || !lock(path.parent().unwrap_or(Path::new("."))).path().exists();
        let connection = if still && no_writer {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(format!("file:{}?immutable=1", uri_path(path)), flags).map_err(sql)?
        } else {
            let copy = copy_of(path, &wal)?;
            let connection = Connection::open(copy.0.join("store.db")).map_err(sql)?;
            self.copy = Some(copy);
            connection
        };
        migrate::check(&connection, path)?;
        // Reads the first page of the log: what is no database says so here.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(sql)?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Returns all facts, pending ones included, in no particular order. Of looks that saw the same agents only the
    /// newest is returned, and of each server life only the newest snapshot that shows something.
    pub fn facts(&self) -> Result<Vec<Fact>, StoreError> {
        let mut facts = match &self.connection {
            Some(connection) => read_facts(connection, &self.path)?,
            None => Vec::new(),
        };
        facts.extend(self.spool.read().facts.into_iter().map(|(_, fact)| fact));
        count_boots(&mut facts);
        Ok(facts)
    }

    /// What is wrong with what is kept, in sentences for people.
    pub fn trouble(&self) -> Vec<String> {
        let mut out = self.trouble.clone();
        out.extend(trouble_of(&self.spool));
        out
    }

    pub(crate) fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Writer {
    /// Appends facts, and takes in all that are pending; durable on return. A fact that is there already changes
    /// nothing. Pending files are removed only after the commit.
    pub fn append(&mut self, facts: &[Fact]) -> Result<(), StoreError> {
        self.transact(|transaction, path| insert_all(transaction, path, facts))
    }

    /// Runs one transaction in which pending facts are taken in too.
    pub(crate) fn transact<T>(
        &mut self,
        act: impl FnOnce(&Transaction<'_>, &Path) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let path = self.path.clone();
        let sql = |source| StoreError::of_sql(&path, source);
        let pending: Pending = self.spool.read();
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        for (_, fact) in &pending.facts {
            insert(&transaction, &path, fact)?;
        }
        let out = act(&transaction, &path)?;
        transaction.commit().map_err(sql)?;
        self.spool.settle(&pending);
        Ok(out)
    }

    /// Returns all facts, as [`Reader::facts`] does.
    pub fn facts(&self) -> Result<Vec<Fact>, StoreError> {
        let mut facts = read_facts(&self.connection, &self.path)?;
        facts.extend(self.spool.read().facts.into_iter().map(|(_, fact)| fact));
        count_boots(&mut facts);
        Ok(facts)
    }

    /// What is wrong with what is kept, in sentences for people.
    pub fn trouble(&self) -> Vec<String> {
        trouble_of(&self.spool)
    }

    pub(crate) const fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn trouble_of(spool: &Spool) -> Vec<String> {
    let mut out = Vec::new();
    let pending = spool.read();
    let mut files: Vec<PathBuf> = pending.damaged.clone();
    files.extend(spool.set_aside());
    for path in files {
        out.push(format!("damaged fact file kept at {}", path.display()));
    }
    for path in pending.newer {
        out.push(format!("{} was written by a newer reseat", path.display()));
    }
    if pending.in_fallback > 0 {
        out.push(format!(
            "{} facts could not be kept in the state directory; is the disk full?",
            pending.in_fallback
        ));
    }
    out
}

pub(crate) fn insert_all(
    transaction: &Transaction<'_>,
    path: &Path,
    facts: &[Fact],
) -> Result<(), StoreError> {
    facts.iter().try_for_each(|fact| insert(transaction, path, fact))
}

fn insert(transaction: &Transaction<'_>, path: &Path, fact: &Fact) -> Result<(), StoreError> {
    let sql = |source| StoreError::of_sql(path, source);
    let id = fact.stamp.id();
    let record = |source| StoreError::Record { path: path.to_owned(), record: id.clone(), source };
    let mut kept = fact.clone();
    let (mut life, mut same, mut hash) = (None, None, None);
    if let Body::Look(look) = &mut kept.body {
        life = Some(serde_json::to_string(&look.life).map_err(record)?);
        same = Some(digest("", 16, &[&format!("{:?} {:?}", look.alive, look.oom_kills)]));
        if let Some(snapshot) = look.snapshot.take() {
            hash = Some(keep_snapshot(transaction, path, &snapshot, &id)?);
        }
    }
    let text = serde_json::to_string(&kept).map_err(record)?;
    transaction
        .prepare_cached(
            "INSERT INTO log (id, ord, kind, life, same, snapshot, wall_ms, fact)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING",
        )
        .and_then(|mut statement| {
            let ord = ord_of(fact);
            let kind = kind_of(&fact.body);
            statement.execute((&id, ord, kind, life, same, hash, fact.stamp.wall_ms, text))
        })
        .map_err(sql)?;
    Ok(())
}

fn keep_snapshot(
    transaction: &Transaction<'_>,
    path: &Path,
    snapshot: &Snapshot,
    record: &str,
) -> Result<String, StoreError> {
    let body = serde_json::to_string(snapshot).map_err(|source| StoreError::Record {
        path: path.to_owned(),
        record: record.to_owned(),
        source,
    })?;
    let hash = digest("s-", 24, &[&body]);
    transaction
        .prepare_cached(
            "INSERT INTO snapshots (hash, panes, body) VALUES (?1, ?2, ?3) ON CONFLICT (hash) DO NOTHING",
        )
        .and_then(|mut statement| statement.execute((&hash, snapshot.panes().count() as i64, body)))
        .map_err(|source| StoreError::of_sql(path, source))?;
    Ok(hash)
}

/// The order of facts as text that sorts the same way.
pub fn ord_of(fact: &Fact) -> String {
    let stamp = &fact.stamp;
    format!(
        "{:020}/{}/{:020}/{:010}/{:020}",
        stamp.boot_number, stamp.boot.id, stamp.ns, stamp.pid, stamp.nonce
    )
}

pub(crate) const fn kind_of(body: &Body) -> &'static str {
    match body {
        Body::Hook(_) => "hook",
        Body::Sighting(_) => "sighting",
        Body::Gone(_) => "gone",
        Body::Look(_) => "look",
        Body::Recorded(_) => "recorded",
        Body::Decision(_) => "decision",
    }
}

fn read_facts(connection: &Connection, path: &Path) -> Result<Vec<Fact>, StoreError> {
    let sql = |source| StoreError::of_sql(path, source);
    let has_log: Option<i64> = connection
        .query_row("SELECT 1 FROM sqlite_schema WHERE name = 'log'", [], |row| row.get(0))
        .optional()
        .map_err(sql)?;
    if has_log.is_none() {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    let mut newest: BTreeMap<String, (String, String)> = BTreeMap::new();
    {
        let mut statement = connection
            .prepare(
                "SELECT l.life, l.snapshot, max(l.ord) FROM log l JOIN snapshots s ON s.hash = l.snapshot
                 WHERE l.kind = 'look' AND s.panes > 0 GROUP BY l.life",
            )
            .map_err(sql)?;
        let rows = statement
            .query_map([], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
            })
            .map_err(sql)?;
        for row in rows {
            let (life, hash, ord) = row.map_err(sql)?;
            newest.insert(life, (ord, hash));
        }
    }
    let mut statement = connection
        .prepare(
            "SELECT id, ord, life, fact FROM log WHERE kind <> 'look'
             UNION ALL SELECT id, max(ord), life, fact FROM log WHERE kind = 'look' GROUP BY life, same
             UNION ALL SELECT l.id, l.ord, l.life, l.fact FROM log l WHERE l.ord IN (
                 SELECT max(x.ord) FROM log x JOIN snapshots s ON s.hash = x.snapshot
                 WHERE x.kind = 'look' AND s.panes > 0 GROUP BY x.life)",
        )
        .map_err(sql)?;
    let rows = statement
        .query_map([], |row| {
            let columns: (String, String, Option<String>, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok(columns)
        })
        .map_err(sql)?;
    for row in rows {
        let (id, ord, life, text) = row.map_err(sql)?;
        let record = |source| StoreError::Record { path: path.to_owned(), record: id.clone(), source };
        let mut fact: Fact = serde_json::from_str(&text).map_err(record)?;
        if let (Body::Look(look), Some(life)) = (&mut fact.body, life)
            && let Some((_, hash)) = newest.get(&life).filter(|(newest, _)| *newest == ord)
        {
            let body: String = connection
                .query_row("SELECT body FROM snapshots WHERE hash = ?1", [hash], |row| row.get(0))
                .map_err(sql)?;
            look.snapshot = Some(serde_json::from_str(&body).map_err(record)?);
        }
        out.push(fact);
    }
    Ok(out)
}

/// A path as SQLite's URIs want it.
pub(crate) fn uri_path(path: &Path) -> String {
    let mut out = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(*byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(*byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

fn copy_of(path: &Path, wal: &Path) -> Result<Copy, StoreError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let temporary = std::env::temp_dir();
    // A reader that was killed could not remove its own.
    reseat_os::atomic::sweep_directories(&temporary, "reseat-copy");
    let dir = temporary.join(format!("reseat-copy-{}-{:x}", std::process::id(), reseat_os::clock::nonce()));
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Io { path, source }
    };
    std::fs::DirBuilder::new().mode(0o700).create(&dir).map_err(io(&dir))?;
    let copy = Copy(dir);
    // The log before the store: a checkpoint in between is then in both.
    let log = std::fs::read(wal).unwrap_or_default();
    std::fs::copy(path, copy.0.join("store.db")).map_err(io(path))?;
    if !log.is_empty() {
        std::fs::write(copy.0.join("store.db-wal"), log).map_err(io(wal))?;
    }
    Ok(copy)
}

#[cfg(test)]
mod tests;
