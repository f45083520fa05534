//! Decisions as tables: facts in, bindings and plans out. No tmux, no files, no clock.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::many_single_char_names, reason = "the letters of a case's fixtures")]

mod capture;
mod endings;
mod fixture;
mod oracle;
mod order;
mod perhaps_held;
mod plans;
mod titles;
mod undone;
