//! `reseat snapshot`: what tmux looked like.

use super::Outcome;
use crate::args::SnapshotCommand;
use crate::exit::{Exit, Failure};
use crate::show;
use reseat_core::mux::Snapshot;
use reseat_recovery::context::Context;
use reseat_recovery::time::rfc3339;

pub(crate) fn run(context: &Context, command: &SnapshotCommand, json: bool) -> Outcome {
    match command {
        SnapshotCommand::Take => super::look::run(&context.env, false, Some(context.state.as_path()), json),
        SnapshotCommand::List => list(context, json),
        SnapshotCommand::Show { id } => {
            let snapshot = one(context, id)?;
            if json {
                show::json(&snapshot);
            } else {
                for line in lines(&snapshot) {
                    show::out(&line);
                }
            }
            Ok(Exit::Done)
        }
        SnapshotCommand::Diff { from, to } => {
            let (from, to) = (one(context, from)?, one(context, to)?);
            let (from, to) = (lines(&from), lines(&to));
            let gone: Vec<&String> = from.iter().filter(|line| !to.contains(line)).collect();
            let new: Vec<&String> = to.iter().filter(|line| !from.contains(line)).collect();
            if json {
                show::json(
                    &serde_json::json!({ "schema": reseat_core::plan::SCHEMA, "gone": gone, "new": new }),
                );
            } else {
                for (sign, line) in
                    gone.iter().map(|line| ('-', line)).chain(new.iter().map(|line| ('+', line)))
                {
                    show::out(&format!("{sign} {line}"));
                }
            }
            Ok(Exit::Done)
        }
    }
}

fn list(context: &Context, json: bool) -> Outcome {
    let kept = context.reader()?.snapshots()?;
    if json {
        let rows: Vec<serde_json::Value> = kept
            .iter()
            .map(|kept| {
                serde_json::json!({
                    "id": kept.id,
                    "socket": kept.life.socket,
                    "server_pid": kept.life.server.pid,
                    "panes": kept.panes,
                    "first": rfc3339(kept.first_ms),
                    "last": rfc3339(kept.last_ms),
                })
            })
            .collect();
        show::json(&serde_json::json!({ "schema": reseat_core::plan::SCHEMA, "snapshots": rows }));
    } else {
        let rows: Vec<Vec<String>> = kept
            .iter()
            .map(|kept| {
                vec![
                    kept.id.clone(),
                    rfc3339(kept.last_ms),
                    format!("{} panes", kept.panes),
                    kept.life.socket.clone(),
                ]
            })
            .collect();
        show::table(&rows);
    }
    Ok(if kept.is_empty() { Exit::Nothing } else { Exit::Done })
}

fn one(context: &Context, id: &str) -> Result<Snapshot, Failure> {
    match context.reader()?.snapshot(id)? {
        Some((_, snapshot)) => Ok(snapshot),
        None => Err(Failure::usage(
            "unknown-snapshot",
            format!("no one snapshot begins with {id:?}"),
            "`reseat snapshot list` lists them",
        )),
    }
}

/// One line per pane.
fn lines(snapshot: &Snapshot) -> Vec<String> {
    let mut out = Vec::new();
    for session in &snapshot.sessions {
        for link in &session.links {
            let Some(window) = snapshot.windows.iter().find(|window| window.id == link.window) else {
                continue;
            };
            for pane in &window.panes {
                let line = format!(
                    "{}:{}.{} {} {} {} {}",
                    session.name, link.index, pane.index, window.name, pane.id, pane.command, pane.cwd
                );
                out.push(reseat_core::text::plain(&line));
            }
        }
    }
    out
}
