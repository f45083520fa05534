//! Puts every coding-agent session back in its pane after a crash.
fn main() {}
