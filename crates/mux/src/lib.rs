//! What is known of each multiplexer: list, snapshot, create, close.
