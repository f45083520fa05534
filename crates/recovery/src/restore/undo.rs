//! Undo: closes the panes that the last restore made, and nothing else. Records stay; the losses are offered again.

use super::recover::panes_of;
use super::{Order, RestoreError, STORE_DEADLINE, begin, decide};
use crate::context::Context;
use reseat_core::fact::Decision;
use reseat_core::ids::{EntryId, FlightId};
use reseat_store::flights::State;
use serde::Serialize;

/// `reseat undo --json`.
#[derive(Debug, Clone, Serialize)]
pub struct UndoReport {
    /// Version of this JSON.
    pub schema: u32,
    /// The flight that was taken back.
    pub flight: Option<FlightId>,
    /// Entries whose panes were closed.
    pub undone: Vec<EntryId>,
    /// Entries that were left alone, and why.
    pub left: Vec<(EntryId, String)>,
}

/// Takes the last restore back. An agent in its panes is ended with them: its conversation stays on disk.
pub fn undo(context: &Context) -> Result<UndoReport, RestoreError> {
    let _running = begin(context)?;
    let flights = context.reader()?.flights()?;
    let mut report =
        UndoReport { schema: reseat_core::plan::SCHEMA, flight: None, undone: Vec::new(), left: Vec::new() };
    let Some(flight) = flights.into_iter().next_back() else { return Ok(report) };
    let panes = panes_of(context, &flight);
    report.flight = Some(flight.flight.clone());
    let table = context.proc.table().unwrap_or_default();
    for entry in flight.entries.iter().rev().filter(|entry| entry.state == State::Done) {
        let Some((socket, pane)) = panes.get(&entry.entry) else { continue };
        let order = Order::parse(&entry.body);
        if order.is_some_and(|order| order.respawn) {
            report.left.push((entry.entry.clone(), "its pane was there before".into()));
            continue;
        }
        let tmux = context.tmux_at(socket);
        let shell_is_busy = tmux.pane_pid(*pane).ok().is_some_and(|pid| {
            // After the agent's end the pane's own process is the user's shell; what it runs is the user's.
            let name = context.proc.stat(pid).map(|stat| stat.comm).unwrap_or_default();
            name != "reseat" && table.iter().any(|stat| stat.ppid == pid)
        });
        if shell_is_busy {
            report.left.push((entry.entry.clone(), "something else runs in its pane".into()));
            continue;
        }
        match tmux.kill_pane(*pane) {
            Ok(()) => report.undone.push(entry.entry.clone()),
            Err(error) => report.left.push((entry.entry.clone(), error.to_string())),
        }
    }
    if !report.undone.is_empty() {
        let undone = Decision::Undone { flight: flight.flight.clone(), entries: report.undone.clone() };
        decide(context, &mut context.writer(STORE_DEADLINE)?, undone)?;
    }
    Ok(report)
}
