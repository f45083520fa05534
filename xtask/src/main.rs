//! `cargo xtask test|e2e|worlds`: one way to run each.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a task tells what it does")]

mod machine;

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        Some("test") => test(),
        Some("e2e") => e2e(&args[1..]),
        Some("worlds") => worlds(args.get(1).map(String::as_str)),
        _ => {
            eprintln!("usage: cargo xtask test|e2e|worlds [COUNT]");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Everything: format, lints, tests with a real tmux, and the real agents where npm is there.
fn test() -> Result<(), String> {
    machine::need_tmux()?;
    machine::want_strace();
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?;
    cargo(&["test", "--workspace"])?;
    if machine::has("npm") {
        e2e(&[])
    } else {
        println!("\n!!! npm is not here: the runs with the real agents were SKIPPED !!!\n");
        Ok(())
    }
}

/// The real Claude Code and Codex in a real tmux, against model APIs on loopback: first the rig by itself, then what
/// `reseat` makes of each crash.
fn e2e(args: &[String]) -> Result<(), String> {
    machine::need_tmux()?;
    if !machine::has("npm") {
        return Err("npm is not here; install Node.js 20 or later with npm".into());
    }
    cargo(&["build", "--release", "--package", "reseat"])?;
    for job in ["selfcheck", "recovery"] {
        let mut words = vec!["run", "--release", "--package", "reseat-e2e", "--", job];
        words.extend(args.iter().map(String::as_str));
        cargo(&words)?;
    }
    Ok(())
}

/// The crash worlds, with the table of what became of each pane by the evidence there was.
fn worlds(count: Option<&str>) -> Result<(), String> {
    let count = count.unwrap_or("2000");
    count.parse::<u64>().map_err(|_| format!("{count} is no number of worlds"))?;
    cargo_with(
        &[("RESEAT_WORLDS", count)],
        &[
            "test",
            "--release",
            "--package",
            "reseat-testkit",
            "--test",
            "worlds",
            "--",
            "--nocapture",
            "no_world",
        ],
    )
}

pub(crate) fn cargo(args: &[&str]) -> Result<(), String> {
    cargo_with(&[], args)
}

fn cargo_with(vars: &[(&str, &str)], args: &[&str]) -> Result<(), String> {
    println!("$ cargo {}", args.join(" "));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let status = Command::new(cargo)
        .args(args)
        .envs(vars.iter().copied())
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} failed", args.join(" "))) }
}
