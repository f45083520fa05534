//! Why a tmux call did not answer. Each way to fail is told apart, because each means something else for what is
//! lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// A tmux call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MuxError {
    /// There is no socket.
    #[error("no tmux server at {}", socket.display())]
    NoServer {
        /// The socket.
        socket: PathBuf,
    },
    /// A socket file is there, nobody listens.
    #[error("no tmux server listens at {}", socket.display())]
    StaleSocket {
        /// The socket.
        socket: PathBuf,
    },
    /// The server ended while it was asked.
    #[error("the tmux server at {} ended while it was asked", socket.display())]
    ServerGone {
        /// The socket.
        socket: PathBuf,
    },
    /// The socket is gone, its server lives.
    #[error("the tmux server (pid {pid}) lives, but its socket {} is gone", socket.display())]
    Unreachable {
        /// The socket.
        socket: PathBuf,
        /// The server.
        pid: u32,
    },
    /// Client and server are of versions that do not understand each other.
    #[error("the tmux server at {} speaks another protocol version", socket.display())]
    ProtocolMismatch {
        /// The socket.
        socket: PathBuf,
    },
    /// The server is not ours to ask.
    #[error("no permission to ask the tmux server at {}", socket.display())]
    NoPermission {
        /// The socket.
        socket: PathBuf,
    },
    /// No answer in time.
    #[error("the tmux server at {} did not answer within {} ms", socket.display(), after.as_millis())]
    Timeout {
        /// The socket.
        socket: PathBuf,
        /// The deadline.
        after: Duration,
    },
    /// The answer is not in the form that was asked for. Nothing of it is used.
    #[error("the tmux server at {} answered in a form that cannot be read: {why}", socket.display())]
    Garbled {
        /// The socket.
        socket: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// There is no tmux program.
    #[error("cannot run {}: {why}", program.display())]
    NotInstalled {
        /// The program.
        program: PathBuf,
        /// Why.
        why: String,
    },
    /// tmux refused the command.
    #[error("tmux refused {command}: {why}")]
    Refused {
        /// The tmux command.
        command: String,
        /// tmux's words.
        why: String,
    },
}

impl MuxError {
    /// Reads what tmux wrote on standard error.
    pub(super) fn of_stderr(socket: &Path, command: &str, stderr: &str) -> Self {
        let socket = socket.to_path_buf();
        let says = |text: &str| stderr.contains(text);
        if says("protocol version mismatch") {
            Self::ProtocolMismatch { socket }
        } else if says("Permission denied") || says("access not allowed") {
            Self::NoPermission { socket }
        } else if says("no server running") || says("Connection refused") {
            if socket.exists() { Self::StaleSocket { socket } } else { Self::NoServer { socket } }
        } else if says("error connecting to") {
            Self::NoServer { socket }
        } else if says("lost server") || says("server exited") {
            Self::ServerGone { socket }
        } else {
            let why = stderr.lines().next().unwrap_or("it gave no reason").to_owned();
            Self::Refused { command: command.to_owned(), why }
        }
    }

    /// Whether it is proven that no server is there.
    pub const fn is_no_server(&self) -> bool {
        matches!(self, Self::NoServer { .. } | Self::StaleSocket { .. } | Self::ServerGone { .. })
    }
}
