//! How many agents start at once: each start holds one of a few locks until its agent is ready.

use crate::context::Context;
use reseat_os::lock::{Guard, LockFile};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::time::{Duration, Instant};

/// Agents started at once unless the configuration says otherwise.
pub(super) const PARALLEL: usize = 4;

/// Waits for a slot. After `patience` it goes on without one: a pane never hangs for ever.
pub(super) fn wait(context: &Context, patience: Duration) -> Option<Guard> {
    let dir = context.state.join("slots");
    DirBuilder::new().recursive(true).mode(0o700).create(&dir).ok()?;
    let count = context.config.parallel.unwrap_or(PARALLEL).max(1);
    let until = Instant::now() + patience;
    loop {
        for number in 0..count {
            if let Ok(Some(guard)) = LockFile::new(dir.join(format!("{number}.lock"))).try_lock() {
                return Some(guard);
            }
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
}
