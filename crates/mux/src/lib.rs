//! What is known of each multiplexer, one module per multiplexer: list, snapshot, create, close.
//!
//! Nothing here decides; nothing here types a key into a pane.

pub mod tmux;
