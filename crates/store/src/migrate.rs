//! Migrations: one file each, applied as a set by name, all of them in one transaction.

use crate::error::StoreError;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::path::Path;

const ALL: [(&str, &str); 3] = [
    ("0001-log", include_str!("migrations/0001-log.sql")),
    ("0002-flights", include_str!("migrations/0002-flights.sql")),
    ("0003-flights-built", include_str!("migrations/0003-flights-built.sql")),
];

/// Refuses a store that a newer version wrote. Changes nothing.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<BTreeSet<String>, StoreError> {
    let sql = |source| StoreError::of_sql(path, source);
    let exists: bool = connection
        .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'migrations'", [], |row| row.get(0))
        .map_err(sql)?;
    if !exists {
        return Ok(BTreeSet::new());
    }
    let mut statement = connection.prepare("SELECT name FROM migrations ORDER BY name").map_err(sql)?;
    let names = statement.query_map([], |row| row.get::<_, String>(0)).map_err(sql)?;
    let applied: BTreeSet<String> = names.collect::<Result<_, _>>().map_err(sql)?;
    match applied.iter().find(|name| !ALL.iter().any(|(known, _)| known == name)) {
        Some(unknown) => Err(StoreError::Newer { path: path.to_owned(), migration: unknown.clone() }),
        None => Ok(applied),
    }
}

/// Applies what is missing. Killed at any point, either all of it is there or nothing.
pub(crate) fn apply(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let applied = check(connection, path)?;
    if ALL.iter().all(|(name, _)| applied.contains(*name)) {
        return Ok(());
    }
    let sql = |source| StoreError::of_sql(path, source);
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(sql)?;
    transaction
        .execute_batch("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
        .map_err(sql)?;
    for (name, text) in ALL.iter().filter(|(name, _)| !applied.contains(*name)) {
        transaction.execute_batch(text).map_err(sql)?;
        transaction.execute("INSERT INTO migrations (name) VALUES (?1)", [name]).map_err(sql)?;
    }
    transaction.commit().map_err(sql)
}
