//! Finishes or returns what a killed restore left behind. Runs under the restore lock, so nobody flies meanwhile.

use super::order::Order;
use super::verify::{PATIENCE, Watch};
use super::{Progress, RestoreError, STORE_DEADLINE};
use crate::context::Context;
use reseat_core::ids::EntryId;
use reseat_core::mux::PaneId;
use reseat_store::flights::{Flight, State};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a pane that was made may take to begin.
const BEGIN_PATIENCE: Duration = Duration::from_secs(5);

/// Brings every open flight to its end: entries without a pane return, those with one are verified.
pub(super) fn recover(context: &Context, tell: &mut dyn FnMut(&Progress<'_>)) -> Result<(), RestoreError> {
    let flights = context.reader()?.flights()?;
    for flight in flights.into_iter().filter(|flight| !flight.finished) {
        tell(&Progress::Note("finishing a restore that was interrupted"));
        let panes = panes_of(context, &flight);
        wait_until_begun(context, &flight, &panes)?;
        let flight = current(context, &flight)?;
        let (begun, rest): (Vec<_>, Vec<_>) = flight
            .entries
            .iter()
            .cloned()
            .partition(|entry| entry.state == State::Started && panes.contains_key(&entry.entry));
        let mut writer = context.writer(STORE_DEADLINE)?;
        for entry in rest {
            if let Some((socket, pane)) = panes.get(&entry.entry).filter(|_| entry.state == State::Intended) {
                // It never began, and now it never will.
                let _ = context.tmux_at(socket).kill_pane(*pane);
            }
            let open = [State::Taken, State::Intended, State::Started];
            writer.advance(&flight.flight, &entry.entry, &open, State::Returned, None, &[])?;
        }
        drop(writer);
        let flight = Flight { entries: begun, ..flight };
        let mut watch = Watch::new(context, &flight, PATIENCE, BTreeMap::new(), panes);
        while !watch.open.is_empty() {
            for result in watch.round()? {
                tell(&Progress::Entry(&result));
            }
            if !watch.open.is_empty() {
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        context.writer(STORE_DEADLINE)?.finish(&flight.flight, &[])?;
    }
    Ok(())
}

/// The panes of a flight's entries, found by the entry at the end of the command they were created with.
pub(super) fn panes_of(context: &Context, flight: &Flight) -> BTreeMap<EntryId, (PathBuf, PaneId)> {
    let mut out = BTreeMap::new();
    let orders: Vec<Order> = flight.entries.iter().filter_map(|entry| Order::parse(&entry.body)).collect();
    let mut sockets: Vec<&str> = orders.iter().filter_map(|order| order.surface.socket.as_deref()).collect();
    sockets.sort_unstable();
    sockets.dedup();
    for socket in sockets {
        let tagged = context.tmux_at(Path::new(socket)).tagged_panes().unwrap_or_default();
        for order in &orders {
            let ours = tagged.iter().find(|pane| {
                let words: Vec<&str> = pane.start_command.split(' ').collect();
                words.contains(&"exec")
                    && words.last().is_some_and(|last| last.trim_matches('"') == order.entry.as_str())
            });
            if let Some(pane) = ours.filter(|_| order.surface.socket.as_deref() == Some(socket)) {
                out.insert(order.entry.clone(), (PathBuf::from(socket), pane.pane));
            }
        }
    }
    out
}

fn wait_until_begun(
    context: &Context,
    flight: &Flight,
    panes: &BTreeMap<EntryId, (PathBuf, PaneId)>,
) -> Result<(), RestoreError> {
    let until = Instant::now() + BEGIN_PATIENCE;
    loop {
        let waiting = current(context, flight)?
            .entries
            .iter()
            .any(|entry| entry.state == State::Intended && panes.contains_key(&entry.entry));
        if !waiting || Instant::now() >= until {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn current(context: &Context, flight: &Flight) -> Result<Flight, RestoreError> {
    let flights = context.reader()?.flights()?;
    Ok(flights.into_iter().find(|other| other.flight == flight.flight).unwrap_or_else(|| flight.clone()))
}
