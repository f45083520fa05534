//! Everything an act needs to know about where it runs, gathered once at the process edge.

use crate::config::{Config, ConfigError};
use reseat_core::fact::Stamp;
use reseat_core::process::Boot;
use reseat_os::env::Env;
use reseat_os::proc::Proc;
use reseat_store::error::StoreError;
use reseat_store::store::{Reader, Store, Writer};
use std::path::PathBuf;
use std::time::Duration;

/// Where we run: environment, process table, boot, state directory, configuration.
#[derive(Debug, Clone)]
pub struct Context {
    /// The environment we were started with.
    pub env: Env,
    /// The process table.
    pub proc: Proc,
    /// The boot we run in.
    pub boot: Boot,
    /// The user's home directory.
    pub home: PathBuf,
    /// Our state directory for this host.
    pub state: PathBuf,
    /// The configuration.
    pub config: Config,
    /// The `tmux` program.
    pub tmux: PathBuf,
    /// The `reseat` program that panes and hooks are to run.
    pub program: PathBuf,
}

/// The context could not be gathered.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// No home directory.
    #[error("cannot find your home directory")]
    Home(#[source] reseat_os::env::EnvError),
    /// The boot could not be identified.
    #[error("cannot identify this boot")]
    Boot(#[source] reseat_os::boot::BootError),
    /// The state directory is not usable.
    #[error("cannot use the state directory")]
    State(#[source] reseat_os::dirs::DirError),
    /// The configuration is not readable.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Context {
    /// Gathers the context; creates nothing.
    pub fn gather(env: Env, program: PathBuf) -> Result<Self, ContextError> {
        let home = env.home().map_err(ContextError::Home)?;
        let proc = Proc::real();
        let boot = reseat_os::boot::current_boot(&proc).map_err(ContextError::Boot)?;
        let state = reseat_os::dirs::state_dir(&env, &boot.host).map_err(ContextError::State)?;
        let config = Config::load(&Config::path(&env, &home))?;
        let tmux = config.tmux.clone().unwrap_or_else(|| PathBuf::from("tmux"));
        Ok(Self { env, proc, boot, home, state, config, tmux, program })
    }

    /// Returns a stamp of this moment. Counts the boot if it is new, so a directory may be made; where that is
    /// not possible the boot's number is 0.
    pub fn stamp(&self) -> Stamp {
        let number = reseat_os::boot::boot_number(&self.state, &self.boot);
        reseat_os::clock::stamp(&self.boot, number)
    }

    /// Where hooks put facts, and where they put them when that is not writable.
    pub fn spool(&self) -> reseat_store::facts::Spool {
        let fallback = reseat_os::dirs::runtime_dir(&self.env).map(|dir| dir.join("reseat").join("facts"));
        reseat_store::facts::Spool::new(self.state.join("facts"), fallback)
    }

    /// Opens the store for writing, making the state directory if it is not there.
    pub fn writer(&self, deadline: Duration) -> Result<Writer, StoreError> {
        if !self.state.exists() {
            reseat_os::dirs::ensure_private(&self.env, &self.state).map_err(|error| StoreError::Io {
                path: self.state.clone(),
                source: std::io::Error::other(error),
            })?;
        }
        Store::open_write(&self.state, self.spool(), deadline)
    }

    /// Opens the store for reading.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Store::open_read(&self.state, self.spool())
    }
}
