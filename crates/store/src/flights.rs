//! Flights: who restores which entries now, and how far each has come. The invariants stand in the schema.

use crate::error::StoreError;
use crate::store::{Reader, Writer, insert_all};
use reseat_core::fact::Fact;
use reseat_core::ids::{EntryId, FlightId, PlanId};
use reseat_core::process::ProcessKey;
use rusqlite::{Connection, OptionalExtension as _};
use std::path::Path;

/// How far an entry of a flight has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Ours to restore; nothing was made.
    Taken,
    /// Its pane may exist.
    Intended,
    /// Its `exec` began.
    Started,
    /// Its outcome is in the log.
    Done,
    /// Nothing of it is left.
    Returned,
}

impl State {
    const ALL: [Self; 5] = [Self::Taken, Self::Intended, Self::Started, Self::Done, Self::Returned];

    const fn name(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Intended => "intended",
            Self::Started => "started",
            Self::Done => "done",
            Self::Returned => "returned",
        }
    }

    fn parse(text: &str) -> Self {
        // The schema allows no other word.
        Self::ALL.into_iter().find(|state| state.name() == text).unwrap_or(Self::Returned)
    }
}

/// A flight as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flight {
    /// Its id.
    pub flight: FlightId,
    /// The plan it spends.
    pub plan: PlanId,
    /// Who asked: one flight per caller is open at most.
    pub caller: String,
    /// The process that flies it.
    pub process: ProcessKey,
    /// Whether it is over.
    pub finished: bool,
    /// Whether all its windows were made, in their place and shape.
    pub built: bool,
    /// Its entries.
    pub entries: Vec<FlightEntry>,
}

/// One entry of a flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlightEntry {
    /// The entry.
    pub entry: EntryId,
    /// How far it has come.
    pub state: State,
    /// All that its start needs, as JSON: its own copy, so that it needs no plan.
    pub body: String,
    /// What was made for it, as JSON.
    pub effect: Option<String>,
}

impl Writer {
    /// Takes entries into a new flight and appends facts, in one transaction: all of it or nothing. Refused while
    /// the caller has an open flight, or one of the entries is in the air.
    pub fn take(&mut self, flight: &Flight, ord: &str, facts: &[Fact]) -> Result<(), StoreError> {
        self.transact(|transaction, path| {
            let sql = |source| StoreError::of_sql(path, source);
            let open: Option<String> = transaction
                .query_row("SELECT flight FROM flights WHERE caller = ?1 AND finished = 0", [&flight.caller], |row| {
                    row.get(0)
                })
                .optional()
                .map_err(sql)?;
            if let Some(open) = open {
                return Err(StoreError::FlightOpen { flight: open });
            }
            let process = serde_json::to_string(&flight.process).unwrap_or_default();
            transaction
                .execute(
                    "INSERT INTO flights (flight, plan, caller, process, ord) VALUES (?1, ?2, ?3, ?4, ?5)",
                    (flight.flight.as_str(), flight.plan.as_str(), &flight.caller, process, ord),
                )
                .map_err(sql)?;
            for entry in &flight.entries {
                let inserted = transaction.execute(
                    "INSERT INTO flight_entries (flight, entry, state, body, effect) VALUES (?1, ?2, ?3, ?4, ?5)",
                    (flight.flight.as_str(), entry.entry.as_str(), entry.state.name(), &entry.body, &entry.effect),
                );
                match inserted {
                    Ok(_) => {}
                    Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
                        return Err(StoreError::EntryTaken { entry: entry.entry.to_string() });
                    }
                    Err(error) => return Err(sql(error)),
                }
            }
            insert_all(transaction, path, facts)
        })
    }

    /// Says of all entries of a flight that their panes may exist from now on. Durable on return; written before the
    /// first pane is made.
    pub fn intend(&mut self, flight: &FlightId) -> Result<(), StoreError> {
        self.transact(|transaction, path| {
            transaction
                .execute(
                    "UPDATE flight_entries SET state = 'intended' WHERE flight = ?1 AND state = 'taken'",
                    [flight.as_str()],
                )
                .map(drop)
                .map_err(|source| StoreError::of_sql(path, source))
        })
    }

    /// Moves an entry from one of some states to another and appends facts, in one transaction. Returns whether it
    /// was in one of them; if not, nothing happened. Of two processes that try, one wins.
    pub fn advance(
        &mut self,
        flight: &FlightId,
        entry: &EntryId,
        from: &[State],
        to: State,
        effect: Option<&str>,
        facts: &[Fact],
    ) -> Result<bool, StoreError> {
        self.transact(|transaction, path| {
            let sql = |source| StoreError::of_sql(path, source);
            let names: Vec<&str> = from.iter().map(|state| state.name()).collect();
            let names = serde_json::to_string(&names).unwrap_or_default();
            let moved = transaction
                .execute(
                    "UPDATE flight_entries SET state = ?3, effect = coalesce(?4, effect)
                     WHERE flight = ?1 AND entry = ?2 AND state IN (SELECT value FROM json_each(?5))",
                    (flight.as_str(), entry.as_str(), to.name(), effect, names),
                )
                .map_err(sql)?;
            if moved == 1 {
                insert_all(transaction, path, facts)?;
            }
            Ok(moved == 1)
        })
    }

    /// Says of a flight that all its windows were made. Durable on return; written after the last of them.
    pub fn built(&mut self, flight: &FlightId) -> Result<(), StoreError> {
        self.transact(|transaction, path| {
            transaction
                .execute("UPDATE flights SET built = 1 WHERE flight = ?1", [flight.as_str()])
                .map(drop)
                .map_err(|source| StoreError::of_sql(path, source))
        })
    }

    /// Ends a flight, and appends facts. What it had taken and not begun is returned.
    pub fn finish(&mut self, flight: &FlightId, facts: &[Fact]) -> Result<(), StoreError> {
        self.transact(|transaction, path| {
            let sql = |source| StoreError::of_sql(path, source);
            transaction
                .execute(
                    "UPDATE flight_entries SET state = 'returned' WHERE flight = ?1 AND state = 'taken'",
                    [flight.as_str()],
                )
                .map_err(sql)?;
            transaction
                .execute("UPDATE flights SET finished = 1 WHERE flight = ?1", [flight.as_str()])
                .map_err(sql)?;
            insert_all(transaction, path, facts)
        })
    }

    /// Returns the flights, oldest first.
    pub fn flights(&self) -> Result<Vec<Flight>, StoreError> {
        read(self.connection(), self.path())
    }
}

impl Reader {
    /// Returns the flights, oldest first.
    pub fn flights(&self) -> Result<Vec<Flight>, StoreError> {
        self.connection().map_or_else(|| Ok(Vec::new()), |connection| read(connection, self.path()))
    }
}

fn read(connection: &Connection, path: &Path) -> Result<Vec<Flight>, StoreError> {
    let sql = |source| StoreError::of_sql(path, source);
    let there: Option<i64> = connection
        .query_row("SELECT 1 FROM sqlite_schema WHERE name = 'flights'", [], |row| row.get(0))
        .optional()
        .map_err(sql)?;
    if there.is_none() {
        return Ok(Vec::new());
    }
    let mut statement = connection
        .prepare("SELECT flight, plan, caller, process, finished, built FROM flights ORDER BY ord")
        .map_err(sql)?;
    let rows = statement
        .query_map([], |row| {
            let columns: (String, String, String, String, bool, bool) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?);
            Ok(columns)
        })
        .map_err(sql)?;
    let mut out = Vec::new();
    for row in rows {
        let (flight, plan, caller, process, finished, built) = row.map_err(sql)?;
        let process = serde_json::from_str(&process).map_err(|source| StoreError::Record {
            path: path.to_owned(),
            record: flight.clone(),
            source,
        })?;
        let mut entries = connection
            .prepare_cached(
                "SELECT entry, state, body, effect FROM flight_entries WHERE flight = ?1 ORDER BY rowid",
            )
            .map_err(sql)?;
        let entries = entries
            .query_map([&flight], |row| {
                Ok(FlightEntry {
                    entry: EntryId(row.get(0)?),
                    state: State::parse(&row.get::<_, String>(1)?),
                    body: row.get(2)?,
                    effect: row.get(3)?,
                })
            })
            .map_err(sql)?
            .collect::<Result<_, _>>()
            .map_err(sql)?;
        out.push(Flight {
            flight: FlightId(flight),
            plan: PlanId(plan),
            caller,
            process,
            finished,
            built,
            entries,
        });
    }
    Ok(out)
}
