//! Runs a program in a terminal's foreground, the way a shell does.

use rustix::process::{Pid, WaitOptions, waitpid};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// How a program that was run ended, as far as it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It exited.
    Exited(i32),
    /// A signal ended it.
    Signaled(i32),
    /// It was suspended and is still there.
    Suspended,
}

/// Runs a program in a process group of its own as the terminal's foreground, with exactly this environment, and
/// waits until it ends or is suspended; then takes the terminal back. `program` is the file, `argv[0]` the name it
/// sees. `started` is told the pid.
///
/// A program that cannot be started is an error and leaves the terminal as it was.
pub fn run(
    program: &Path,
    argv: &[String],
    cwd: &Path,
    env: &BTreeMap<String, String>,
    started: &mut dyn FnMut(u32),
) -> io::Result<Ended> {
    let stdin = std::io::stdin();
    let own_group = rustix::process::getpgrp();
    let mut command = Command::new(program);
    if let Some(name) = argv.first() {
        command.arg0(name);
    }
    command.args(argv.get(1..).unwrap_or_default()).current_dir(cwd).env_clear().envs(env).process_group(0);
    let has_terminal = rustix::termios::isatty(&stdin);
    #[expect(unsafe_code, reason = "the group must own the terminal before the program begins")]
    // SAFETY: only async-signal-safe calls (tcsetpgrp, getpid, sigmask) between fork and exec; nothing allocates.
    unsafe {
        command.pre_exec(move || {
            if has_terminal {
                // A background group that sets the foreground is stopped by SIGTTOU unless it is blocked; the
                // parent blocks it, and a blocked mask is inherited until here.
                rustix::termios::tcsetpgrp(rustix::stdio::stdin(), rustix::process::getpid())?;
            }
            unmask_all();
            Ok(())
        });
    }
    let blocked = Blocked::begin()?;
    let child = command.spawn();
    drop(blocked);
    let child = child?;
    started(child.id());
    wait(Pid::from_child(&child), has_terminal, own_group)
}

/// Lets a suspended program go on in the foreground, and waits for it again. `pid` is what `started` was told.
pub fn resume(pid: u32) -> io::Result<Ended> {
    let Some(pid) = Pid::from_raw(pid.cast_signed()) else { return Ok(Ended::Exited(0)) };
    let stdin = std::io::stdin();
    let has_terminal = rustix::termios::isatty(&stdin);
    if has_terminal {
        let _blocked = Blocked::begin()?;
        rustix::termios::tcsetpgrp(&stdin, pid)?;
    }
    rustix::process::kill_process_group(pid, rustix::process::Signal::CONT)?;
    wait(pid, has_terminal, rustix::process::getpgrp())
}

/// Waits until a child ends or is suspended, and takes the terminal back.
fn wait(pid: Pid, has_terminal: bool, own_group: Pid) -> io::Result<Ended> {
    let status = loop {
        match waitpid(Some(pid), WaitOptions::UNTRACED) {
            Ok(Some((_, status))) => break status,
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    if has_terminal {
        let _blocked = Blocked::begin()?;
        // The terminal may be gone with its pane; that is for the shell after us to find out.
        let _ = rustix::termios::tcsetpgrp(std::io::stdin(), own_group);
    }
    Ok(if let Some(code) = status.exit_status() {
        Ended::Exited(code)
    } else if let Some(signal) = status.terminating_signal() {
        Ended::Signaled(signal)
    } else {
        Ended::Suspended
    })
}

/// An agent begins with no signal blocked, whatever its starter had blocked. Async-signal-safe.
#[expect(unsafe_code, reason = "signal masks have no safe door")]
fn unmask_all() {
    // SAFETY: the set is owned by this frame and emptied before use; a null old set is allowed.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// While it lives, SIGTTOU is blocked in this thread, so that a background group may set the foreground.
struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    #[expect(unsafe_code, reason = "signal masks have no safe door")]
    fn begin() -> io::Result<Self> {
        // SAFETY: both sets are owned by this frame and initialised by sigemptyset before they are read.
        let (failed, before) = unsafe {
            let mut set = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGTTOU);
            (libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before), before)
        };
        if failed == 0 { Ok(Self { before }) } else { Err(io::Error::from_raw_os_error(failed)) }
    }

    #[expect(unsafe_code, reason = "signal masks have no safe door")]
    fn end(&self) {
        // SAFETY: the set was filled by pthread_sigmask in `begin`; a null old set is allowed.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        self.end();
    }
}
