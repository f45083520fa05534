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
    let plain = reseat_core::text::plain;
    show::out(found.session.as_str());
    if found.argv.is_empty() {
        show::out("  cannot be resumed");
    } else {
        let mut command = String::new();
        if let Some(cwd) = &found.cwd {
            command += &format!("cd {} && ", quote(cwd));
        }
        for (name, value) in &found.env {
            command += &format!("{name}={} ", quote(value));
        }
        command.push_str(&found.argv.iter().map(|arg| quote(arg)).collect::<Vec<_>>().join(" "));
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

/// Quotes a word for a POSIX shell.
pub(super) fn quote(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:@%+,".contains(&byte);
    // zsh expands a word that begins with `=`.
    if !word.is_empty() && !word.starts_with('=') && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C35: what is shown to be pasted into a shell is one word each.
    #[test]
    fn c35_words_are_quoted() {
        assert_eq!(quote("/w/a'$(touch PWNED)'b"), r"'/w/a'\''$(touch PWNED)'\''b'");
        assert_eq!(quote("--resume"), "--resume");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("=work"), "'=work'");
    }
}
