//! The durable fact log: SQLite and the facts directory.
