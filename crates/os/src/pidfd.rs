//! Waits for the end of processes that are not our children.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::time::Duration;

/// Waits until a process has ended, at most `deadline`; returns whether it has. `start` guards against a pid that
/// was used again before it could be watched.
pub fn wait_gone(proc: &crate::proc::Proc, pid: u32, start: u64, deadline: Duration) -> io::Result<bool> {
    let Some(raw) = Pid::from_raw(pid.cast_signed()) else { return Ok(true) };
    let watched = match pidfd_open(raw, PidfdFlags::empty()) {
        Ok(watched) => watched,
        Err(rustix::io::Errno::SRCH) => return Ok(true),
        Err(error) => return Err(error.into()),
    };
    if proc.stat(pid).is_none_or(|stat| stat.start != start) {
        return Ok(true);
    }
    let mut fds = [PollFd::new(&watched, PollFlags::IN)];
    let time = Timespec { tv_sec: deadline.as_secs() as i64, tv_nsec: i64::from(deadline.subsec_nanos()) };
    Ok(poll(&mut fds, Some(&time))? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::Proc;

    #[test]
    fn an_end_is_noticed_and_a_life_is_waited_out() {
        let proc = Proc::real();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let start = proc.stat(child.id()).unwrap().start;
        assert!(!wait_gone(&proc, child.id(), start, Duration::from_millis(20)).unwrap());
        assert!(wait_gone(&proc, child.id(), start + 1, Duration::from_secs(5)).unwrap());
        child.kill().unwrap();
        assert!(wait_gone(&proc, child.id(), start, Duration::from_secs(5)).unwrap());
        child.wait().unwrap();
    }
}
