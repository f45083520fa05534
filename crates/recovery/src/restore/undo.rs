//! Undo: closes the panes that the last restore made, and nothing else. Records stay; the losses are offered again.
//!
//! That they were taken back is written before the first pane is closed: killed in between, no closed pane looks as if
//! its user had closed it, and an agent that still runs is neither started again nor hidden from the next undo.

use super::recover::{panes_of, recover};
use super::{Order, RestoreError, STORE_DEADLINE, begin, decide};
use crate::context::Context;
use reseat_core::fact::Decision;
use reseat_core::fold::{Folded, fold};
use reseat_core::ids::{EntryId, FlightId};
use reseat_store::flights::{Flight, State};
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
    recover(context, None, &mut |_| {})?;
    let flights = context.reader()?.flights()?;
    let mut report =
        UndoReport { schema: reseat_core::plan::SCHEMA, flight: None, undone: Vec::new(), left: Vec::new() };
    let Some(flight) = flights.into_iter().next_back() else { return Ok(report) };
    let panes = panes_of(context, &flight);
    report.flight = Some(flight.flight.clone());
    let table = context.proc.table().unwrap_or_default();
    let mut doomed = Vec::new();
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
        doomed.push((entry.entry.clone(), tmux, *pane));
    }
    if doomed.is_empty() {
        return Ok(report);
    }
    let folded = fold(&context.reader()?.facts()?);
    let entries: Vec<EntryId> = doomed.iter().map(|(entry, ..)| entry.clone()).collect();
    let undone = Decision::Undone { flight: flight.flight.clone(), entries };
    decide(context, &mut context.writer(STORE_DEADLINE)?, undone)?;
    for (entry, tmux, pane) in doomed {
        match tmux.kill_pane(pane) {
            Ok(()) => report.undone.push(entry),
            // The last pane took its server along.
            Err(error) if error.is_no_server() => report.undone.push(entry),
            Err(error) => {
                if let Some(outcome) = outcome_again(&flight, &entry, &folded) {
                    decide(context, &mut context.writer(STORE_DEADLINE)?, outcome)?;
                }
                report.left.push((entry, error.to_string()));
            }
        }
    }
    Ok(report)
}

/// How an entry had come out, to be said again of one whose pane could not be closed.
fn outcome_again(flight: &Flight, entry: &EntryId, folded: &Folded) -> Option<Decision> {
    let order = flight.entries.iter().find(|other| other.entry == *entry)?;
    let order = Order::parse(&order.body)?;
    let settled = folded.settled.get(entry)?;
    let (outcome, code, text) = settled.outcome.clone()?;
    Some(Decision::Outcome {
        flight: flight.flight.clone(),
        entry: entry.clone(),
        surface: order.surface.id,
        session: order.session,
        outcome,
        code,
        text,
        process: settled.process.clone(),
    })
}
