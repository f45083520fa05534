//! Pure decisions of `reseat`: ids, facts, folding, assessment, plan, flight states.
//!
//! Nothing here does I/O, reads a clock or an environment. Everything is a function of its arguments, so that
//! every decision can be tested as a table and replayed from the log.
//!
//! Data flows one way: facts ([`fact`]) are folded to bindings ([`fold`]), bindings are judged ([`assess`]),
//! losses become a [`plan`], and what a restore does to an entry is a state machine ([`flight`]).

pub mod ending;
pub mod fact;
pub mod fold;
pub mod ids;
pub mod mux;
pub mod plan;
pub mod process;
pub mod select;
pub mod text;
pub mod tree;
