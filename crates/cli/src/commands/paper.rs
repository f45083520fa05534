//! Completions and man pages, made from the definition of the command line.

use super::Outcome;
use crate::args::Cli;
use crate::exit::{Exit, Failure};
use clap::CommandFactory as _;
use std::path::Path;

#[expect(clippy::unnecessary_wraps, reason = "every command ends in an outcome")]
pub(crate) fn completions(shell: clap_complete::Shell) -> Outcome {
    clap_complete::generate(shell, &mut Cli::command(), "reseat", &mut std::io::stdout().lock());
    Ok(Exit::Done)
}

pub(crate) fn man(directory: &Path) -> Outcome {
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory))
        .map(|()| Exit::Done)
        .map_err(|error| {
            Failure::failed(
                "cannot-write",
                format!("cannot write man pages to {}: {error}", directory.display()),
                "name a directory of your own",
            )
        })
}
