//! `reseat find`: the exact id and resume command.

use super::Outcome;
use crate::args::FindArgs;
use crate::exit::{Exit, Failure};
use crate::show;
use reseat_recovery::context::Context;
use reseat_recovery::find::{Match, Query, find};

pub(crate) fn run(context: &Context, args: &FindArgs, json: bool) -> Outcome {
    let agent =
        args.agent.as_deref().map(str::parse).transpose().map_err(|error| {
            Failure::usage("bad-selector", format!("--agent: {error}"), "claude or codex")
        })?;
    let directory = args.cwd.as_ref().and_then(|path| std::path::absolute(path).ok());
    let query = Query {
        words: args.query.clone(),
        agent,
        directory: directory.map(|path| path.display().to_string()),
        limit: args.limit,
    };
    let situation = super::situation(context)?;
    let found = find(context, &situation, &query);
    if json {
        show::json(&found);
    } else {
        for found in &found.matches {
            print(found);
        }
        if found.matches.is_empty() {
            show::err("reseat: no conversation matches; fewer words find more");
        }
    }
    Ok(if found.matches.is_empty() { Exit::Nothing } else { Exit::Done })
}

/// Id and command first: they are what was asked for.
fn print(found: &Match) {
    use reseat_core::text::{plain, shell_word};
    show::out(found.session.as_str());
    if found.argv.is_empty() {
        show::out("  cannot be resumed");
    } else {
        let mut command = String::new();
        if let Some(cwd) = &found.cwd {
            command += &format!("cd {} && ", shell_word(cwd));
        }
        for (name, value) in &found.env {
            command += &format!("{name}={} ", shell_word(value));
        }
        command.push_str(&found.argv.iter().map(|arg| shell_word(arg)).collect::<Vec<_>>().join(" "));
        show::out(&format!("  {}", plain(&command)));
    }
    let place = found.surface.as_ref().map(super::status::place);
    let what = [
        Some(found.agent.title().to_owned()),
        Some(found.state.to_owned()),
        place,
        Some(found.last_active.clone()),
        found.title.as_deref().map(plain),
    ];
    show::out(&format!("  {}", what.into_iter().flatten().collect::<Vec<_>>().join(" · ")));
    for note in &found.notes {
        show::out(&format!("  note: {}", plain(note)));
    }
}
