//! `reseat status`: how everything stands.

use super::Outcome;
use crate::exit::Exit;
use crate::show;
use reseat_recovery::assess::{Item, Status};
use reseat_recovery::context::Context;

pub(crate) fn run(context: &Context, json: bool) -> Outcome {
    let situation = super::situation(context)?;
    let status = situation.status(context);
    if json {
        show::json(&status);
    } else {
        print(context, &status);
    }
    Ok(Exit::Done)
}

pub(super) fn print(context: &Context, status: &Status) {
    let now = reseat_os::clock::wall_ms();
    let groups: [(&str, &[Item]); 4] = [
        ("live", &status.live),
        ("lost", &status.lost),
        ("ended", &status.ended),
        ("unknown", &status.unknown),
    ];
    for (name, items) in groups.iter().filter(|(_, items)| !items.is_empty()) {
        show::out(&format!("{name} ({})", items.len()));
        let rows: Vec<Vec<String>> = items.iter().map(|item| row(context, item, now)).collect();
        show::table(&rows);
    }
    for other in &status.unsupported {
        show::out(&format!(
            "not supported: {} in pane {} of {}: {}",
            other.name, other.pane_id, other.socket, other.reason
        ));
    }
    if groups.iter().all(|(_, items)| items.is_empty()) {
        show::out(
            "no agent is known; `reseat install` sets up the hooks, `reseat find` searches conversations",
        );
    }
}

fn row(context: &Context, item: &Item, now: i64) -> Vec<String> {
    let place = place(&item.surface);
    let age = reseat_recovery::time::ago(item.last_seen_ms, now);
    vec![
        format!("  {place}"),
        item.agent.clone(),
        item.session.as_deref().map_or_else(|| "no session read".into(), short_id),
        age,
        item.ending.text.clone(),
        item.label.clone().unwrap_or_default(),
        item.cwd.as_deref().map(|cwd| show::directory(cwd, &context.home)).unwrap_or_default(),
    ]
}

pub(super) fn place(surface: &reseat_core::plan::SurfaceView) -> String {
    match (&surface.session, surface.window, surface.pane) {
        (Some(session), Some(window), Some(pane)) => format!("{session}:{window}.{pane}"),
        _ => surface.id.to_string(),
    }
}

/// The first part of an id: enough to tell two apart at a glance.
pub(super) fn short_id(id: &str) -> String {
    id.chars().take(8).collect()
}
