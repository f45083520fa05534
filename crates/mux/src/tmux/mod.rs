//! tmux, 3.2 and later.
//!
//! Every call goes through [`Tmux::call`]: a UTF-8 client, a deadline, an absolute socket and targets by id. Names
//! and paths from outside are escaped there against tmux's own formats and separators, and read back by length, so
//! that no name can be taken for another field.

mod build;
mod error;
mod hooks;
mod look;
mod rows;
mod run;
mod server;
mod sockets;

pub use build::{NewPane, Program};
pub use error::MuxError;
pub use hooks::{HOOKS, HookState, config_lines};
pub use look::{Found, TaggedPane, look};
pub use run::Tmux;
pub use server::NewServer;
pub use sockets::{default_socket, listening, sockets};
