//! Walks along all points at which a process can be killed.

use crate::points::Crashed;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Kills at one point of a crashed world, and checks it; returns whether the point was reached.
type TryPoint = dyn Fn(&Crashed, usize) -> bool + Sync;

/// One way to kill, tried at one point after another.
pub(crate) struct Walk {
    what: String,
    least: usize,
    try_point: Box<TryPoint>,
    next: AtomicUsize,
    end: AtomicUsize,
}

impl Walk {
    /// At least `least` points must be reached.
    pub(crate) fn new(
        what: impl Into<String>,
        least: usize,
        try_point: impl Fn(&Crashed, usize) -> bool + Sync + 'static,
    ) -> Self {
        let (next, end) = (AtomicUsize::new(1), AtomicUsize::new(usize::MAX));
        Self { what: what.into(), least, try_point: Box::new(try_point), next, end }
    }

    /// Tries points until one is not reached; returns those that failed.
    fn go(&self, crashed: &Crashed) -> Vec<String> {
        let mut failed = Vec::new();
        loop {
            let at = self.next.fetch_add(1, Ordering::SeqCst);
            if at >= self.end.load(Ordering::SeqCst) {
                return failed;
            }
            crashed.set_back();
            match catch_unwind(AssertUnwindSafe(|| (self.try_point)(crashed, at))) {
                Ok(true) => {}
                Ok(false) => {
                    self.end.fetch_min(at, Ordering::SeqCst);
                }
                Err(why) => {
                    let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
                    failed.push(format!("{} {at}: {why}", self.what));
                }
            }
        }
    }
}

/// Walks in two worlds at a time, and tells all points that failed.
pub(crate) fn walk(walks: &[Walk]) {
    let go = || {
        let crashed = Crashed::new();
        walks.iter().flat_map(|walk| walk.go(&crashed)).collect::<Vec<_>>()
    };
    let failed: Vec<String> = std::thread::scope(|scope| {
        let workers = [scope.spawn(go), scope.spawn(go)];
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{} points failed:\n{}", failed.len(), failed.join("\n\n"));
    for walk in walks {
        let tried = walk.end.load(Ordering::SeqCst) - 1;
        assert!(tried >= walk.least, "only {tried} points of {} were reached", walk.what);
        say(&format!("{}: {tried} points", walk.what));
    }
}

/// Says it past the capture of the test runner, which hides what passing tests print.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Whether strace is there; says so loudly when it is not.
pub(crate) fn has_strace() -> bool {
    let there = Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success());
    if !there {
        say("\n!!! SKIPPED: strace is not installed; kills at kernel calls were not tried !!!\n");
    }
    there
}
