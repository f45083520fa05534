//! The environment, read once at the edge and handed on as a value.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Names of the variables that are read, each with what it decides.
pub mod names {
    /// Where our state lies, in place of `$XDG_STATE_HOME/reseat/HOST`.
    pub const RESEAT_STATE_DIR: &str = "RESEAT_STATE_DIR";
    /// The configuration file, in place of `$XDG_CONFIG_HOME/reseat/config.toml`.
    pub const RESEAT_CONFIG: &str = "RESEAT_CONFIG";
    /// Base of the state directory; `~/.local/state` when unset.
    pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
    /// Base of the configuration; `~/.config` when unset.
    pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
    /// Where facts go when the state directory cannot be written.
    pub const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
    /// The user's home.
    pub const HOME: &str = "HOME";
    /// The tmux server and session a process runs below.
    pub const TMUX: &str = "TMUX";
    /// The pane a process was started in.
    pub const TMUX_PANE: &str = "TMUX_PANE";
    /// Where tmux keeps its sockets; `/tmp` when unset.
    pub const TMUX_TMPDIR: &str = "TMUX_TMPDIR";
    /// Where programs are looked for.
    pub const PATH: &str = "PATH";
    /// The user's shell.
    pub const SHELL: &str = "SHELL";
}

/// An environment as a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Env {
    vars: BTreeMap<String, String>,
}

/// The environment lacks something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvError {
    /// HOME is not set.
    #[error("HOME is not set; set it to your home directory")]
    NoHome,
}

impl Env {
    /// Reads the environment of this process. Bytes that are no UTF-8 are replaced.
    pub fn of_process() -> Self {
        Self::from_pairs(
            std::env::vars_os().map(|(name, value)| {
                (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
            }),
        )
    }

    /// Builds an environment.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { vars: pairs.into_iter().collect() }
    }

    /// Returns a variable. An empty one counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns all variables.
    pub const fn vars(&self) -> &BTreeMap<String, String> {
        &self.vars
    }

    /// Returns the user's home directory.
    pub fn home(&self) -> Result<PathBuf, EnvError> {
        self.get(names::HOME).map(PathBuf::from).ok_or(EnvError::NoHome)
    }
}
