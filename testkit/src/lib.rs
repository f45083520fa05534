//! Crash worlds for the tests. Never shipped.

#![allow(
    clippy::needless_pass_by_value,
    clippy::match_same_arms,
    reason = "a world hands its values on, and its odds read as a table"
)]

pub mod worlds;
