//! What the tests need of a machine, and how to get it.

use std::process::{Command, Stdio};

/// Whether a program can be started.
pub(crate) fn has(program: &str) -> bool {
    let flag = if program == "tmux" { "-V" } else { "--version" };
    Command::new(program)
        .arg(flag)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Installs tmux where it is missing and apt can.
pub(crate) fn need_tmux() -> Result<(), String> {
    if installed("tmux") {
        Ok(())
    } else {
        Err("tmux could not be installed; install tmux 3.2 or later and try again".into())
    }
}

/// Installs strace, which kills processes at chosen calls of the kernel. Without it those tests skip themselves.
pub(crate) fn want_strace() {
    if !installed("strace") {
        println!("\n!!! strace could not be installed: kills at kernel calls will be SKIPPED !!!\n");
    }
}

/// Whether a program is here, after having apt install its package where it was not.
fn installed(program: &str) -> bool {
    if has(program) {
        return true;
    }
    println!("{program} is not here; installing it with apt-get");
    for args in [&["update"][..], &["install", "-y", "--no-install-recommends", program]] {
        let done = Command::new("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive").status();
        if !done.is_ok_and(|status| status.success()) {
            break;
        }
    }
    has(program)
}
