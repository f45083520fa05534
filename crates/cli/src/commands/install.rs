//! `reseat install` and `reseat uninstall`.

use super::Outcome;
use crate::args::InstallArgs;
use crate::exit::{Exit, Failure, sentence};
use crate::show;
use reseat_core::ids::AgentKind;
use reseat_recovery::context::Context;
pub(crate) use reseat_recovery::install::Direction;
use reseat_recovery::install::{self, Change, InstallError};
use similar::{ChangeTag, TextDiff};
use std::path::PathBuf;

pub(crate) fn run(context: &Context, args: &InstallArgs, direction: Direction, json: bool) -> Outcome {
    if direction == Direction::In {
        install::check_program(&context.program).map_err(|error| failure(&error))?;
    }
    let named = args.agent_home.iter().map(|text| agent_home(text)).collect::<Result<Vec<_>, _>>()?;
    let facts = context.reader().and_then(|reader| reader.facts()).unwrap_or_default();
    let folded = reseat_core::fold::fold(&facts);
    let changes = install::changes(context, &folded, &named, direction).map_err(|error| failure(&error))?;
    if args.dry_run {
        if json {
            show::json(&serde_json::json!({
                "schema": reseat_core::plan::SCHEMA,
                "dry_run": true,
                "changed": paths(&changes),
            }));
            return Ok(Exit::Done);
        }
        for change in &changes {
            show_change(change);
        }
        if changes.is_empty() {
            show::out("nothing would change");
        }
        return Ok(Exit::Done);
    }
    if direction == Direction::In {
        reseat_os::dirs::ensure_private(&context.env, &context.state)?;
    }
    install::apply(&changes).map_err(|error| failure(&error))?;
    let servers = install::servers(context, direction);
    let failed = servers.iter().filter(|(_, done)| done.is_err()).count();
    if json {
        show::json(&serde_json::json!({
            "schema": reseat_core::plan::SCHEMA,
            "changed": paths(&changes),
            "servers": servers.iter().map(|(socket, done)| serde_json::json!({
                "socket": socket.display().to_string(),
                "done": done.is_ok(),
            })).collect::<Vec<_>>(),
        }));
    } else {
        for change in &changes {
            let what = match (&change.before, &change.after) {
                (None, _) => "made",
                (_, Some(_)) => "changed",
                (_, None) => "removed",
            };
            show::out(&format!("{what} {}", change.path.display()));
        }
        for (socket, done) in &servers {
            match done {
                Ok(()) => show::out(&format!("tmux server at {}: done", socket.display())),
                Err(error) => show::err(&format!("tmux server at {}: {error}", socket.display())),
            }
        }
        if changes.is_empty() && servers.is_empty() {
            show::out("nothing to change");
        }
        if direction == Direction::In {
            show::out("agents that run already are seen by weaker evidence until their next prompt or start");
            show::out("next: `reseat doctor` proves the chain");
        }
    }
    if direction == Direction::In {
        // What runs already is noted at once.
        let _ = reseat_recovery::capture::look::look(context);
    }
    Ok(if failed > 0 { Exit::Some } else { Exit::Done })
}

/// Whether any hook of ours stands anywhere.
pub(super) fn anything_installed(context: &Context) -> bool {
    let home = context.home.join(".claude/settings.json");
    let text = std::fs::read_to_string(home).unwrap_or_default();
    matches!(
        reseat_agents::claude::settings::installed(&text),
        reseat_agents::claude::settings::Installed::Ours(_)
    ) || reseat_agents::codex::config::installed(
        &std::fs::read_to_string(context.home.join(".codex/config.toml")).unwrap_or_default(),
    )
}

fn agent_home(text: &str) -> Result<(AgentKind, PathBuf), Failure> {
    let bad = |why: &str| {
        Failure::usage("bad-agent-home", format!("--agent-home {text}: {why}"), "use claude=DIR or codex=DIR")
    };
    let (agent, dir) = text.split_once('=').ok_or_else(|| bad("there is no `=`"))?;
    let agent = agent.parse().map_err(|_| bad("unknown agent"))?;
    let dir = std::path::absolute(dir).map_err(|_| bad("not a directory"))?;
    if dir.is_dir() { Ok((agent, dir)) } else { Err(bad("there is no such directory")) }
}

fn paths(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| change.path.display().to_string()).collect()
}

fn show_change(change: &Change) {
    let (before, after) =
        (change.before.as_deref().unwrap_or_default(), change.after.as_deref().unwrap_or_default());
    show::out(&format!("{}:", change.path.display()));
    for line in TextDiff::from_lines(before, after).iter_all_changes() {
        let mark = match line.tag() {
            ChangeTag::Insert => "+",
            ChangeTag::Delete => "-",
            ChangeTag::Equal => continue,
        };
        show::out(&format!(
            "{mark} {}",
            reseat_core::text::plain(line.value().trim_end_matches(['\n', '\r']))
        ));
    }
}

fn failure(error: &InstallError) -> Failure {
    let text = sentence(error);
    match error {
        InstallError::BuildDirectory { program } => Failure::failed(
            "build-directory",
            text,
            format!("copy it first: install -D {} ~/.local/bin/reseat", program.display()),
        ),
        InstallError::NotText { .. } => {
            Failure::failed("program-path", text, "install it below a directory with a plain name")
        }
        InstallError::Meanwhile { .. } => {
            Failure::failed("changed-meanwhile", text, "nothing was changed; try again")
        }
        InstallError::Form { .. } => {
            Failure::failed("cannot-parse", text, "nothing was changed; correct the file and try again")
        }
        InstallError::Read { .. } | InstallError::Write { .. } => {
            Failure::failed("cannot-write", text, "nothing was changed; check who owns the file and its mode")
        }
    }
}
