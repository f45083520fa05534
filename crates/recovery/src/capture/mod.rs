//! Capture: turns what hooks say and what a look sees into facts.

pub mod hook;
pub mod look;
pub mod request;
pub mod sight;
