//! What can go wrong with the store, and what to do about it.

use std::path::PathBuf;

/// The store could not be used. What it held is as it was.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory or a file in it could not be used.
    #[error("cannot use {}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Another process writes.
    #[error(transparent)]
    Busy(#[from] reseat_os::lock::LockError),
    /// A newer version wrote it.
    #[error(
        "{} was written by a newer reseat (it holds {migration:?}); use that version; facts are kept aside meanwhile",
        path.display()
    )]
    Newer {
        /// The store.
        path: PathBuf,
        /// The first migration that this version does not know.
        migration: String,
    },
    /// Its content is not what SQLite wrote.
    #[error("{} is damaged ({why}); `reseat doctor --repair` moves it aside and brings back what can be", path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What SQLite said.
        why: String,
    },
    /// The disk is full.
    #[error("no space left for {}", path.display())]
    Full {
        /// The store.
        path: PathBuf,
    },
    /// SQLite refused.
    #[error("cannot use {}", path.display())]
    Sql {
        /// The store.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// A row is not what this version writes.
    #[error("cannot understand record {record} of {}", path.display())]
    Record {
        /// The store.
        path: PathBuf,
        /// Its id.
        record: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// An open flight is in the way.
    #[error("a restore is running already ({flight}); wait for it, or end it")]
    FlightOpen {
        /// The flight.
        flight: String,
    },
    /// An entry is part of another open flight.
    #[error("entry {entry} is being restored already")]
    EntryTaken {
        /// The entry.
        entry: String,
    },
}

impl StoreError {
    /// Tells damage, a full disk and everything else apart. Only what SQLite itself calls corrupt is damage: an I/O
    /// error or a lock is not.
    pub(crate) fn of_sql(path: &std::path::Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path: path.to_owned(), why: source.to_string() }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path: path.to_owned() },
            _ => Self::Sql { path: path.to_owned(), source },
        }
    }

    /// Whether moving the store aside would help.
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }
}
