//! `reseat doctor`: proves the chain, and says what is missing.

use super::Outcome;
use crate::exit::{Exit, sentence};
use crate::show;
use reseat_core::fact::{Body, Decision, Fact};
use reseat_core::ids::AgentKind;
use reseat_recovery::context::Context;
use reseat_recovery::install;
use reseat_store::store::Store;
use serde::Serialize;
use std::time::Duration;

/// One thing that was checked.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    state: State,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Bad,
}

pub(crate) fn run(context: &Context, repair: bool, fix: bool, json: bool) -> Outcome {
    let mut checks = Vec::new();
    let mut add = |name, state, text: String| checks.push(Check { name, state, text });
    if cfg!(not(target_os = "linux")) {
        add("platform", State::Warning, "open files, locks, foreground groups and out-of-memory records of other processes are read on Linux only".into());
    }
    match reseat_os::dirs::ensure_private(&context.env, &context.state) {
        Ok(()) => add("state directory", State::Ok, context.state.display().to_string()),
        Err(error) => add("state directory", State::Bad, sentence(&error)),
    }
    if repair {
        match Store::open_repairing(&context.state, context.spool(), Duration::from_secs(10)) {
            Ok((_, done)) if done.is_empty() => add("repair", State::Ok, "the store is not damaged".into()),
            Ok((_, done)) => done.into_iter().for_each(|sentence| add("repair", State::Warning, sentence)),
            Err(error) => add("repair", State::Bad, sentence(&error)),
        }
    }
    match round_trip(context) {
        Ok(()) => add("round trip", State::Ok, "a fact was spooled, taken into the log and read back".into()),
        Err(why) => add("round trip", State::Bad, why),
    }
    match context.reader() {
        Ok(reader) => reader.trouble().into_iter().for_each(|text| add("store", State::Warning, text)),
        Err(error) => add("store", State::Bad, sentence(&error)),
    }
    let situation = super::situation(context)?;
    let servers = situation.view().servers.len();
    let installed = reseat_recovery::knowledge::find_program(
        &context.tmux.display().to_string(),
        &context.env,
        &context.home,
    );
    match installed {
        Some(path) => add("tmux", State::Ok, format!("{} · {servers} servers answer", path.display())),
        None => add("tmux", State::Bad, format!("{} was not found", context.tmux.display())),
    }
    for text in install::missing(context, &situation.folded) {
        add("hooks", State::Warning, text);
    }
    for seen in &situation.observed.seen.sightings {
        let strong = situation.folded.bindings.iter().any(|binding| {
            binding.process == seen.process
                && binding.current.as_ref().is_some_and(|held| held.grade.may_act())
        });
        if !strong {
            let place = seen.place.as_ref().map_or_else(|| seen.pane.to_string(), ToString::to_string);
            let text = format!(
                "{} in {place} (pid {}) is known by weaker evidence only",
                seen.agent.title(),
                seen.process.pid
            );
            add("live agents", State::Warning, text);
        }
    }
    for life in situation.view().servers.keys() {
        let tmux = context.tmux_at(std::path::Path::new(&life.socket));
        let markers: Vec<&str> = AgentKind::ALL
            .into_iter()
            .flat_map(|kind| reseat_agents::agent(kind).marker_variables())
            .copied()
            .collect();
        let Ok(names) = tmux.global_names() else { continue };
        let found: Vec<&str> =
            markers.into_iter().filter(|marker| names.iter().any(|name| name == marker)).collect();
        if found.is_empty() {
            continue;
        }
        if fix && tmux.unset_global(&found).is_ok() {
            add("markers", State::Ok, format!("unset at {}: {}", life.socket, found.join(", ")));
        } else {
            let text = format!(
                "{} hands agent markers to every new pane ({}): agents there may save nothing; --fix unsets them",
                life.socket,
                found.join(", ")
            );
            add("markers", State::Warning, text);
        }
    }
    add("loss window", State::Ok, "a crash loses at most what happened in the last 2 s".into());
    let bad = checks.iter().any(|check| check.state == State::Bad);
    if json {
        show::json(&serde_json::json!({ "schema": reseat_core::plan::SCHEMA, "checks": checks }));
    } else {
        for check in &checks {
            let mark = match check.state {
                State::Ok => "ok     ",
                State::Warning => "warning",
                State::Bad => "BAD    ",
            };
            show::out(&format!("{mark} {}: {}", check.name, reseat_core::text::plain(&check.text)));
        }
    }
    Ok(if bad { Exit::Failed } else { Exit::Done })
}

/// Sends a fact that says nothing the way of all facts.
fn round_trip(context: &Context) -> Result<(), String> {
    let stamp = context.stamp();
    let fact = Fact { stamp, body: Body::Decision(Decision::Dismissed { entries: Vec::new() }) };
    let path = context.spool().put(&fact).map_err(|error| sentence(&error))?;
    let read = |what: &str| -> Result<(), String> {
        let facts = context
            .reader()
            .and_then(|reader| reader.facts())
            .map_err(|error| format!("{what}: {}", sentence(&error)))?;
        if facts.iter().any(|other| other.stamp.id() == fact.stamp.id()) {
            Ok(())
        } else {
            Err(format!("{what}: the fact is not there"))
        }
    };
    read("spooled")?;
    context
        .writer(Duration::from_secs(5))
        .and_then(|mut writer| writer.append(&[]))
        .map_err(|error| sentence(&error))?;
    if path.exists() {
        return Err(format!("{} was not taken in", path.display()));
    }
    read("taken in")
}
