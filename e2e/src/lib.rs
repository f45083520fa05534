//! The real-agent rig: real Claude Code and Codex in a private tmux, against fake model APIs.
//!
//! A test makes a [`Rig`], types into panes, crashes things, and asks [`api::Api`] what the agents sent:
//!
//! ```no_run
//! # fn main() -> reseat_e2e::Result<()> {
//! use reseat_e2e::{Kind, Rig, install};
//! let agents = install::install("target/e2e/npm".as_ref(), install::CURRENT)?;
//! let rig = Rig::new(&agents, &["proj"])?;
//! let pane = rig.new_session("main", &rig.project("proj"))?;
//! let claude = rig.start(Kind::Claude, &pane, &[])?;
//! let turn = rig.turn(&claude, "apple please")?;
//! rig.crash_host()?;
//! let pane = rig.new_session("main", &rig.project("proj"))?;
//! let again = rig.start(Kind::Claude, &pane, &["--resume", &turn.session])?;
//! rig.turn(&again, "banana please")?;
//! assert_eq!(rig.api().carries("banana", "apple"), Some(true));
//! # Ok(())
//! # }
//! ```
//!
//! Nothing outside the rig's temporary root is touched, and processes are ended by pid only.

pub mod api;
pub mod install;
pub mod processes;
pub mod recovery;
pub mod rig;
mod wait;

pub use rig::{Agent, Kind, Pane, Rig, Turn};
pub use wait::{wait_for, wait_until};

use std::fmt;

/// What went wrong, as text for a person: test code has nobody else to tell.
#[derive(Debug, Clone)]
pub struct Error(String);

/// Result of everything here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Adds what was being done to an error.
pub(crate) trait Doing<T> {
    /// `what: error`
    fn doing(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Doing<T> for std::result::Result<T, E> {
    fn doing(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Error(format!("{what}: {error}")))
    }
}
