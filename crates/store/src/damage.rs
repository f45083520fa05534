//! Daily copies, and what is done when the store is damaged: moved aside, never removed; the newest copy comes back.

use crate::error::StoreError;
use crate::store::{file, uri_path};
use rusqlite::{Connection, OpenFlags};
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

const DAY: Duration = Duration::from_hours(24);
const COPIES: usize = 3;

fn copies(state: &Path) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = std::fs::read_dir(state.join("daily"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "db"))
        .collect();
    out.sort();
    out
}

/// The newest copy that SQLite calls whole.
pub(crate) fn newest_copy(state: &Path) -> Option<PathBuf> {
    copies(state).into_iter().rev().find(|path| check(path).is_ok())
}

/// Makes a copy when the newest is a day old or there is none; keeps the last three. A copy that cannot be made
/// (full disk) is not worth failing a write for.
pub(crate) fn daily_copy(state: &Path, connection: &Connection) {
    // What a killed copier left is as large as the store.
    reseat_os::atomic::sweep(&state.join("daily"));
    let copies = copies(state);
    let fresh = copies.last().is_some_and(|path| {
        std::fs::metadata(path)
            .and_then(|meta| meta.modified())
            .is_ok_and(|made| made.elapsed().is_ok_and(|age| age < DAY))
    });
    let empty =
        connection.query_row("SELECT count(*) FROM log", [], |row| row.get::<_, i64>(0)).unwrap_or(0) == 0;
    if fresh || empty {
        return;
    }
    let dir = state.join("daily");
    if DirBuilder::new().recursive(true).mode(0o700).create(&dir).is_err() {
        return;
    }
    // Numbered, so that the order does not hang on a clock.
    let number = copies
        .last()
        .and_then(|path| path.file_stem()?.to_str()?.parse::<u64>().ok())
        .map_or(1, |last| last + 1);
    let aside = dir.join(format!(".{number:08}.{}.copy.tmp", std::process::id()));
    let copied = connection.execute("VACUUM INTO ?1", [aside.display().to_string()]).is_ok()
        && std::fs::set_permissions(&aside, std::fs::Permissions::from_mode(0o600)).is_ok()
        && std::fs::File::open(&aside).and_then(|file| file.sync_all()).is_ok()
        && std::fs::rename(&aside, dir.join(format!("{number:08}.db"))).is_ok();
    if !copied {
        let _ = std::fs::remove_file(&aside);
        return;
    }
    for old in copies.iter().rev().skip(COPIES - 1) {
        let _ = std::fs::remove_file(old);
    }
}

/// Asks SQLite whether a store is whole. A store that is not there is.
pub fn check(path: &Path) -> Result<(), StoreError> {
    if !path.exists() {
        return Ok(());
    }
    let sql = |source| StoreError::of_sql(path, source);
    let wal = PathBuf::from(format!("{}-wal", path.display()));
    let connection = if wal.exists() {
        Connection::open(path)
    } else {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(format!("file:{}?immutable=1", uri_path(path)), flags)
    };
    let said: String = connection
        .and_then(|connection| connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)))
        .map_err(sql)?;
    if said == "ok" { Ok(()) } else { Err(StoreError::Damaged { path: path.to_owned(), why: said }) }
}

/// Moves a damaged store aside and brings back what is left: the newest whole copy, then every record of the
/// damaged one that can still be read. The caller holds the writer's lock.
pub(crate) fn bring_back(state: &Path) -> Result<Vec<String>, StoreError> {
    let path = file(state);
    let io = |path: &Path, source| StoreError::Io { path: path.to_owned(), source };
    let dir = state.join("damaged");
    DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(|source| io(&dir, source))?;
    let number = (1..=u32::MAX).find(|number| !dir.join(format!("store-{number}.db")).exists()).unwrap_or(1);
    let aside = dir.join(format!("store-{number}.db"));
    for ending in ["-wal", "-shm"] {
        let side = PathBuf::from(format!("{}{ending}", path.display()));
        if side.exists() {
            let to = PathBuf::from(format!("{}{ending}", aside.display()));
            std::fs::rename(&side, &to).map_err(|source| io(&side, source))?;
        }
    }
    let copy = newest_copy(state);
    let mut done = Vec::new();
    std::fs::rename(&path, &aside).map_err(|source| io(&path, source))?;
    done.push(format!("moved the damaged store to {}", aside.display()));
    if let Some(copy) = copy {
        let bytes = std::fs::read(&copy).map_err(|source| io(&copy, source))?;
        reseat_os::atomic::write(&path, &bytes, 0o600)
            .map_err(|error| StoreError::Io { path: error.path, source: error.source })?;
        done.push(format!("brought back the copy {}", copy.display()));
    } else {
        done.push(
            "there was no copy to bring back; agents that run are learnt again by the next look".into(),
        );
    }
    Ok(done)
}
