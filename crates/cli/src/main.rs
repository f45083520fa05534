//! `reseat`: puts every coding-agent session back in its pane after a crash.

mod args;
mod commands;
mod exit;
mod show;

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let raw: Vec<std::ffi::OsString> = std::env::args_os().collect();
    // A hook runs at every turn of every agent: nothing of the rest is even set up for it.
    if raw.get(1).is_some_and(|word| word == "hook") {
        commands::hook::run(raw.get(2).and_then(|word| word.to_str()).unwrap_or_default());
        return ExitCode::SUCCESS;
    }
    match args::Cli::try_parse_from(&raw) {
        Ok(cli) => commands::run(cli),
        Err(error) => {
            let wanted = !error.use_stderr();
            let _ = error.print();
            if wanted { ExitCode::SUCCESS } else { exit::Exit::Usage.into() }
        }
    }
}
