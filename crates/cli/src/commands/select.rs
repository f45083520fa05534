//! Turns selectors and permissions into a policy, and refuses selectors that name nothing.

use crate::args::{AllowArgs, SelectArgs};
use crate::exit::Failure;
use reseat_core::fold::Binding;
use reseat_core::ids::{SessionId, SurfaceId};
use reseat_core::plan::{Policy, surface_of};
use reseat_core::select::{Selection, Subject};
use reseat_recovery::context::Context;
use reseat_recovery::situation::Situation;

pub(crate) fn policy(context: &Context, select: &SelectArgs, allow: &AllowArgs) -> Result<Policy, Failure> {
    Ok(Policy {
        selection: selection(select)?,
        into_idle: allow.into_idle,
        force: allow.force,
        capacity: allow.capacity.or(context.config.capacity),
        exclude_directories: context.config.exclude.directories.clone(),
        exclude_sessions: context.config.exclude.sessions.clone(),
    })
}

pub(crate) fn selection(args: &SelectArgs) -> Result<Selection, Failure> {
    let bad = |text: String| Failure::usage("bad-selector", text, "see `reseat plan --help`");
    let mut out = Selection { all: args.all, older: args.older, ..Selection::default() };
    out.sessions.clone_from(&args.session);
    for text in &args.window {
        out.windows.push(text.parse().map_err(|error| bad(format!("--window {text}: {error}")))?);
    }
    for text in &args.pane {
        out.panes.push(text.parse().map_err(|error| bad(format!("--pane {text}: {error}")))?);
    }
    for text in &args.agent {
        out.agents.push(text.parse().map_err(|error| bad(format!("--agent {text}: {error}")))?);
    }
    for path in &args.cwd {
        let whole =
            std::path::absolute(path).map_err(|error| bad(format!("--cwd {}: {error}", path.display())))?;
        out.directories.push(whole.display().to_string());
    }
    out.ids.extend(args.entry.iter().chain(&args.ids).cloned());
    Ok(out)
}

/// Refuses a selector that no binding we know matches: a slip of the pen must not read as "nothing was lost".
pub(crate) fn check(selection: &Selection, situation: &Situation) -> Result<(), Failure> {
    let alone = |part: Selection| situation.folded.bindings.iter().any(|binding| matches(&part, binding));
    let unknown = |what: &str, name: String| {
        Err(Failure::usage(
            "unknown-selector",
            format!("no {what} {name:?} is known"),
            "`reseat status` lists what is known",
        ))
    };
    for name in &selection.sessions {
        if !alone(Selection { sessions: vec![name.clone()], ..Selection::default() }) {
            return unknown("tmux session", name.clone());
        }
    }
    for window in &selection.windows {
        if !alone(Selection { windows: vec![window.clone()], ..Selection::default() }) {
            return unknown("window", format!("{}:{}", window.session, window.window));
        }
    }
    for pane in &selection.panes {
        if !alone(Selection { panes: vec![pane.clone()], ..Selection::default() }) {
            return unknown("pane", format!("{}:{}.{}", pane.window.session, pane.window.window, pane.pane));
        }
    }
    for id in &selection.ids {
        if !alone(Selection { ids: vec![id.clone()], ..Selection::default() }) {
            return unknown("entry, surface or session", id.clone());
        }
    }
    Ok(())
}

fn matches(selection: &Selection, binding: &Binding) -> bool {
    let surface = surface_of(binding);
    let mut sessions: Vec<String> = binding.sessions().into_iter().map(String::from).collect();
    sessions.extend(binding.argv_session.iter().map(|id| id.as_str().to_owned()));
    sessions.extend(binding.disputed.iter().map(|reading| reading.session.as_str().to_owned()));
    selection.matches(&Subject {
        entry: &binding.entry(),
        surface: surface.id.as_str(),
        agent: Some(binding.agent),
        sessions: &sessions,
        mux_session: surface.session.as_deref(),
        window: surface.window,
        window_name: surface.window_name.as_deref(),
        pane: surface.pane,
        cwd: binding.launch.cwd.as_deref(),
    })
}

/// Reads `SURFACE=SESSION`.
pub(crate) fn pick(text: &str) -> Result<(SurfaceId, SessionId), Failure> {
    let bad =
        |why: String| Failure::usage("bad-pick", format!("--pick {text}: {why}"), "use SURFACE=SESSION");
    let (surface, session) = text.split_once('=').ok_or_else(|| bad("there is no `=`".into()))?;
    let session = SessionId::parse(session).map_err(|error| bad(error.to_string()))?;
    Ok((SurfaceId(surface.to_owned()), session))
}
