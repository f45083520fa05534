//! What is kept, and how: a log of facts in SQLite, and a directory of facts that no writer has taken in yet.
//!
//! Hooks only add files to the directory ([`facts`]). The log ([`store`]) has one writer at a time, held by an
//! operating system's lock; readers write nothing at all. Everything that is shown or decided is a fold of the log.

pub mod claim;
pub mod damage;
pub mod error;
pub mod facts;
pub mod flights;
mod migrate;
pub mod snapshots;
pub mod store;
