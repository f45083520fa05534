//! Waiting: always for a condition, always with a deadline.

use crate::{Error, Result};
use std::thread::sleep;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(30);

/// Waits until `cond` holds; after `deadline` an error that names `what`.
pub fn wait_until(what: &str, deadline: Duration, mut cond: impl FnMut() -> bool) -> Result<()> {
    wait_for(what, deadline, || cond().then_some(()))
}

/// Waits until `look` finds something; after `deadline` an error that names `what`.
pub fn wait_for<T>(what: &str, deadline: Duration, mut look: impl FnMut() -> Option<T>) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if start.elapsed() >= deadline {
            return Err(Error::new(format!("no {what} within {} s", deadline.as_secs_f32())));
        }
        sleep(POLL);
    }
}
