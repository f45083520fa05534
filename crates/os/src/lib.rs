//! The door to the operating system: one way to read a clock, take a lock, write a file, look at processes.
//!
//! Linux is complete. Elsewhere what has no counterpart answers "cannot tell", and `doctor` says so.

pub mod atomic;
pub mod boot;
pub mod clock;
pub mod dirs;
pub mod env;
pub mod foreground;
pub mod lock;
pub mod pidfd;
pub mod proc;
pub mod spawn;
pub mod tty;
