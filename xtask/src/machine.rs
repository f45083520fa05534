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
    if has("tmux") {
        return Ok(());
    }
    println!("tmux is not here; installing it with apt-get");
    for args in [&["update"][..], &["install", "-y", "--no-install-recommends", "tmux"]] {
        let done = Command::new("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive").status();
        if !done.is_ok_and(|status| status.success()) {
            break;
        }
    }
    if has("tmux") {
        Ok(())
    } else {
        Err("tmux could not be installed; install tmux 3.2 or later and try again".into())
    }
}
