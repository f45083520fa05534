//! Stub agents, fake model APIs and crash worlds for the tests. Never shipped.

pub mod worlds;
