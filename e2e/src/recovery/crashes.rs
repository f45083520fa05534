//! The ways in which it all ends.

use super::cast::Cast;
use crate::processes::{self, Process};
use crate::{Result, Rig, wait_until};
use rustix::process::Signal;
use std::time::{Duration, Instant};

const END: Duration = Duration::from_secs(20);

/// A crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// SIGKILL of the server and everything in it, at once.
    Host,
    /// SIGKILL of the server alone: the agents get SIGHUP.
    Server,
    /// `tmux kill-server`.
    KillServer,
    /// SIGKILL of single agents: one below a shell, one that is its pane's own process, one Codex.
    Agents,
    /// SIGTERM to everything below the server, to the server 0.2 s later.
    Shutdown,
}

impl Crash {
    /// Each once; those that leave the server's panes come last but one, when all were restored before.
    pub const ALL: [Self; 5] = [Self::Host, Self::Server, Self::KillServer, Self::Agents, Self::Shutdown];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "everything killed",
            Self::Server => "server killed",
            Self::KillServer => "kill-server",
            Self::Agents => "single agents killed",
            Self::Shutdown => "orderly shutdown",
        }
    }

    /// What a person adds to `restore`: where a shell stands in the pane, it may be used.
    pub(super) fn restore_words(self) -> &'static [&'static str] {
        if self == Self::Agents { &["--into-idle"] } else { &[] }
    }

    /// Makes it happen and waits for its end.
    pub(super) fn happen(self, rig: &Rig, cast: &mut Cast<'_>) -> Result<()> {
        let running = cast.running();
        match self {
            Self::Host => rig.crash_host()?,
            Self::Server => drop(rig.crash_server()?),
            Self::KillServer => drop(rig.kill_server()?),
            Self::Agents => {
                let killed: Vec<Process> = ["main:0.0", "main:0.1", "main:1.0"]
                    .iter()
                    .map(|place| cast.agent_at(place).map(|agent| agent.process.clone()))
                    .collect::<Result<_>>()?;
                return processes::kill(&killed);
            }
            Self::Shutdown => shut_down(rig)?,
        }
        wait_until("the agents' end", END, || !running.iter().any(processes::alive))
    }
}

/// As an init system does it: all get SIGTERM, the server a moment later, and Codex's shared server with them.
fn shut_down(rig: &Rig) -> Result<()> {
    let Some(server) = rig.server() else { return Err(crate::Error::new("no tmux server")) };
    let mut all = processes::below(server.pid);
    all.extend(rig.codex_daemons());
    for process in &all {
        processes::signal(process, Signal::TERM);
    }
    let told = Instant::now();
    wait_until("0.2 s", END, || told.elapsed() >= Duration::from_millis(200))?;
    processes::signal(&server, Signal::TERM);
    wait_until("the server's end", END, || !processes::alive(&server))?;
    // Interactive shells ignore SIGTERM and end with their terminal.
    wait_until("the end of all", END, || !all.iter().any(processes::alive))
}
