//! Starts a program that nobody waits for, holding nothing of its starter.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts a program in a session of its own, with standard streams on /dev/null and every other descriptor closed,
/// and does not wait for it. It inherits no pipe of an agent and no terminal.
pub fn detached(program: &Path, args: &[&str]) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(args).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[expect(unsafe_code, reason = "a session of its own needs a step between fork and exec")]
    // SAFETY: between fork and exec only the async-signal-safe calls setsid and fcntl are made; nothing allocates.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            close_on_exec_from(3);
            Ok(())
        });
    }
    command.spawn().map(drop)
}

/// Makes a command run in a session of its own, without a terminal: it can neither read from ours nor be stopped by
/// it. Its process group has its pid, so [`end_group`] ends it with all it started.
pub fn without_terminal(command: &mut Command) -> &mut Command {
    #[expect(unsafe_code, reason = "a session of its own needs a step between fork and exec")]
    // SAFETY: between fork and exec only the async-signal-safe call setsid is made; nothing allocates.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into))
    }
}

/// Marks every descriptor from `first` on as closed at exec. The kernel stops at the first unused run; 256 is more
/// than any hook holds.
fn close_on_exec_from(first: i32) {
    for fd in first..256 {
        #[expect(unsafe_code, reason = "a descriptor number is all there is here")]
        // SAFETY: the borrow lives for one fcntl; a number that is not open makes it fail with EBADF.
        let fd = unsafe { rustix::fd::BorrowedFd::borrow_raw(fd) };
        let _ = rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC);
    }
}

/// Ends a process group that we started, at once.
pub fn end_group(leader: u32) {
    if let Some(group) = rustix::process::Pid::from_raw(leader.cast_signed()) {
        // Gone already is what was wanted.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Ends a process at once.
pub fn end_process(pid: u32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid.cast_signed()) {
        // Gone already is what was wanted.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
