//! One command, one file. Commands ask the library and show its answer; they decide nothing.

mod demo;
mod dismiss;
mod doctor;
mod end;
pub(crate) mod exec;
mod find;
pub(crate) mod hook;
mod install;
mod log;
mod look;
mod overview;
mod paper;
mod plan;
mod restore;
mod select;
mod snapshot;
mod status;
mod undo;

use crate::args::{Cli, Command};
use crate::exit::{Exit, Failure};
use reseat_os::env::Env;
use reseat_recovery::context::Context;
use reseat_recovery::situation::Situation;
use std::path::PathBuf;
use std::process::ExitCode;

type Outcome = Result<Exit, Failure>;

/// Runs a command and turns how it ended into an exit code.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let json = cli.json;
    let outcome = match cli.command {
        None => gather(&Env::of_process()).and_then(|context| overview::run(&context, json)),
        Some(command) => dispatch(command, json),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => failure.tell(json),
    }
}

fn dispatch(command: Command, json: bool) -> Outcome {
    let env = Env::of_process();
    match command {
        Command::Completions { shell } => return paper::completions(shell),
        Command::Man { directory } => return paper::man(&directory),
        Command::Hook { source } => {
            hook::run(&source);
            return Ok(Exit::Done);
        }
        Command::Exec { state, config, flight, entry } => {
            return exec::run(&env, &state, config.as_deref(), flight, entry);
        }
        Command::Look { detached, state } => return look::run(&env, detached, state.as_deref(), json),
        Command::Demo { keep } => return demo::run(keep),
        _ => {}
    }
    let context = gather(&env)?;
    match command {
        Command::Status => status::run(&context, json),
        Command::Find(args) => find::run(&context, &args, json),
        Command::Plan(args) => plan::run(&context, &args, json),
        Command::Restore(args) => restore::run(&context, &args, json),
        Command::Undo { yes } => undo::run(&context, yes, json),
        Command::Dismiss { select } => dismiss::run(&context, &select, json),
        Command::End { id } => end::run(&context, &id, json),
        Command::Log { names, lines } => log::run(&context, &names, lines, json),
        Command::Snapshot(command) => snapshot::run(&context, &command, json),
        Command::Install(args) => install::run(&context, &args, install::Direction::In, json),
        Command::Uninstall(args) => install::run(&context, &args, install::Direction::Out, json),
        Command::Doctor { repair, fix } => doctor::run(&context, repair, fix, json),
        Command::Completions { .. }
        | Command::Man { .. }
        | Command::Hook { .. }
        | Command::Exec { .. }
        | Command::Look { .. }
        | Command::Demo { .. } => Ok(Exit::Done),
    }
}

/// The program that hooks and panes are to run: this one.
pub(crate) fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("reseat"))
}

pub(crate) fn gather(env: &Env) -> Result<Context, Failure> {
    Ok(Context::gather(env.clone(), program())?)
}

/// Reads the log and looks, or says why nothing could be observed.
pub(crate) fn situation(context: &Context) -> Result<Situation, Failure> {
    reseat_os::dirs::check(&context.env, &context.state)?;
    let situation = Situation::read(context)?;
    if situation.blind() {
        return Err(Failure {
            exit: Exit::Blind,
            code: "blind",
            text: "the process table cannot be read, so nothing can be told".into(),
            hint: "is /proc mounted and readable?".into(),
        });
    }
    for sentence in &situation.trouble {
        crate::show::err(&format!("reseat: {}", reseat_core::text::plain(sentence)));
    }
    Ok(situation)
}
