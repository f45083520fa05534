//! Snapshots that looks kept, for people who want to see them.

use crate::error::StoreError;
use crate::store::Reader;
use reseat_core::mux::{ServerLife, Snapshot};

/// One way a server looked, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// `s-` and 24 hex digits.
    pub id: String,
    /// The server life.
    pub life: ServerLife,
    /// Panes in it.
    pub panes: u64,
    /// Wall clock of the first look that saw it so, milliseconds since 1970.
    pub first_ms: i64,
    /// Wall clock of the last such look.
    pub last_ms: i64,
}

impl Reader {
    /// Returns what was kept, newest first.
    pub fn snapshots(&self) -> Result<Vec<Kept>, StoreError> {
        let Some(connection) = self.connection() else { return Ok(Vec::new()) };
        let sql = |source| StoreError::of_sql(self.path(), source);
        let mut statement = connection
            .prepare(
                "SELECT s.hash, l.life, s.panes, min(l.wall_ms), max(l.wall_ms), max(l.ord) AS newest
                 FROM log l JOIN snapshots s ON s.hash = l.snapshot
                 GROUP BY s.hash, l.life ORDER BY newest DESC",
            )
            .map_err(sql)?;
        let rows = statement
            .query_map([], |row| {
                let columns: (String, String, i64, i64, i64) =
                    (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
                Ok(columns)
            })
            .map_err(sql)?;
        let mut out = Vec::new();
        for row in rows {
            let (id, life, panes, first_ms, last_ms) = row.map_err(sql)?;
            let life = serde_json::from_str(&life).map_err(|source| StoreError::Record {
                path: self.path().to_owned(),
                record: id.clone(),
                source,
            })?;
            out.push(Kept { id, life, panes: panes as u64, first_ms, last_ms });
        }
        Ok(out)
    }

    /// Returns one snapshot by the beginning of its id; `None` when none or several fit.
    pub fn snapshot(&self, id: &str) -> Result<Option<(Kept, Snapshot)>, StoreError> {
        let mut fitting: Vec<Kept> =
            self.snapshots()?.into_iter().filter(|kept| kept.id.starts_with(id)).collect();
        let (Some(kept), None) = (fitting.pop(), fitting.pop()) else { return Ok(None) };
        let Some(connection) = self.connection() else { return Ok(None) };
        let body: String = connection
            .query_row("SELECT body FROM snapshots WHERE hash = ?1", [&kept.id], |row| row.get(0))
            .map_err(|source| StoreError::of_sql(self.path(), source))?;
        let snapshot = serde_json::from_str(&body).map_err(|source| StoreError::Record {
            path: self.path().to_owned(),
            record: kept.id.clone(),
            source,
        })?;
        Ok(Some((kept, snapshot)))
    }
}
