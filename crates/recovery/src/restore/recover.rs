//! Finishes what a killed restore left behind, or gives it back. Runs under the restore lock, so nobody flies meanwhile.
//!
//! Where nothing was made everything is given back: the plan that follows makes it. Where a pane stands, the windows
//! of that flight are finished as they were meant, with every agent that today's plan would start just the same; all
//! others are given back, for that plan to judge.

use super::build::{self, Built};
use super::order::Order;
use super::report::EntryResult;
use super::verify::watch;
use super::{Progress, Request, RestoreError, STORE_DEADLINE};
use crate::context::Context;
use crate::situation::Situation;
use reseat_core::ids::EntryId;
use reseat_core::mux::PaneId;
use reseat_core::plan::{Plan, WindowBuild};
use reseat_store::flights::{Flight, State};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Panes by entry, each with its server.
pub(super) type Panes = BTreeMap<EntryId, (PathBuf, PaneId)>;

const OPEN: [State; 3] = [State::Taken, State::Intended, State::Started];

/// Brings every open flight to its end. Returns how the entries came out that had a pane. Without a request nothing
/// more is made.
pub(super) fn recover(
    context: &Context,
    request: Option<&Request>,
    tell: &mut dyn FnMut(&Progress<'_>),
) -> Result<Vec<EntryResult>, RestoreError> {
    let mut out = Vec::new();
    let flights = context.reader()?.flights()?;
    for flight in flights.into_iter().filter(|flight| !flight.finished) {
        tell(&Progress::Note("finishing a restore that was interrupted"));
        let panes = panes_of(context, &flight);
        let more = request.filter(|_| !flight.built && !panes.is_empty());
        let built = if let Some(request) = more {
            finish(context, request, &flight, panes, tell)?
        } else {
            give_back(context, &flight, |entry| panes.contains_key(entry))?;
            Built { panes, ..Built::default() }
        };
        let open = current(context, &flight)?.entries.into_iter().filter(|entry| OPEN.contains(&entry.state));
        let open = Flight { entries: open.collect(), ..flight.clone() };
        let patience = request.and_then(|request| request.patience);
        let loud = watch(context, &open, built, patience, &mut |result| {
            tell(&Progress::Entry(&result));
            out.push(result);
        })?;
        for note in &loud {
            tell(&Progress::Note(note));
        }
        context.writer(STORE_DEADLINE)?.finish(&flight.flight, &[])?;
    }
    Ok(out)
}

/// Makes the rest of the windows.
fn finish(
    context: &Context,
    request: &Request,
    flight: &Flight,
    panes: Panes,
    tell: &mut dyn FnMut(&Progress<'_>),
) -> Result<Built, RestoreError> {
    let situation = Situation::read(context)?;
    if situation.blind() {
        return Err(RestoreError::Blind);
    }
    let plan = situation.plan(&situation.disk(context, request.carry_dangerous), &request.policy);
    let wanted = still_wanted(flight, &panes, &plan);
    let windows: Vec<WindowBuild> = orders(flight).filter_map(|order| order.window).collect();
    give_back(context, flight, |entry| panes.contains_key(entry) || wanted.contains(entry))?;
    build::finish(context, &situation, &flight.flight, &windows, panes, &wanted, tell)
}

/// The entries without a pane that are still to be made: agents that today's plan starts just the same, and the
/// other panes of sessions that were begun. One that began and has no pane is not: its pane was closed.
fn still_wanted(flight: &Flight, panes: &Panes, plan: &Plan) -> BTreeSet<EntryId> {
    let orders: Vec<Order> = orders(flight).collect();
    let waits = |id: &EntryId| {
        let entry = flight.entries.iter().find(|entry| entry.entry == *id);
        !panes.contains_key(id)
            && entry.is_some_and(|entry| matches!(entry.state, State::Taken | State::Intended))
    };
    let same = |order: &Order| {
        plan.entry(&order.entry).is_some_and(|now| {
            now.verdict == order.verdict
                && now.session == order.session
                && now.argv == order.argv
                && now.env == order.env
                && now.cwd == order.cwd
        })
    };
    let windows: Vec<&WindowBuild> = orders.iter().filter_map(|order| order.window.as_ref()).collect();
    let carried: BTreeSet<&EntryId> =
        windows.iter().flat_map(|window| &window.panes).map(|pane| &pane.entry).collect();
    let mut out: BTreeSet<EntryId> = orders
        .iter()
        .filter(|order| {
            order.agent.is_some() && carried.contains(&order.entry) && waits(&order.entry) && same(order)
        })
        .map(|order| order.entry.clone())
        .collect();
    let begun: BTreeSet<(&str, &str)> = windows
        .iter()
        .filter(|window| {
            window.panes.iter().any(|pane| panes.contains_key(&pane.entry) || out.contains(&pane.entry))
        })
        .map(|window| (window.socket.as_str(), window.session.as_str()))
        .collect();
    let shells: BTreeSet<EntryId> = windows
        .iter()
        .filter(|window| begun.contains(&(window.socket.as_str(), window.session.as_str())))
        .flat_map(|window| &window.panes)
        .filter(|pane| waits(&pane.entry))
        .filter(|pane| orders.iter().any(|order| order.entry == pane.entry && order.agent.is_none()))
        .map(|pane| pane.entry.clone())
        .collect();
    out.extend(shells);
    out
}

/// Gives every entry back that is not kept. Its `exec`, should one come late, finds it spent.
fn give_back(
    context: &Context,
    flight: &Flight,
    keep: impl Fn(&EntryId) -> bool,
) -> Result<(), RestoreError> {
    let mut writer = context.writer(STORE_DEADLINE)?;
    for entry in flight.entries.iter().filter(|entry| !keep(&entry.entry)) {
        writer.advance(&flight.flight, &entry.entry, &OPEN, State::Returned, None, &[])?;
    }
    Ok(())
}

fn orders(flight: &Flight) -> impl Iterator<Item = Order> {
    flight.entries.iter().filter_map(|entry| Order::parse(&entry.body))
}

/// The living panes of a flight's entries, found by flight and entry at the end of the command they were created
/// with. Dead ones, which tmux keeps when told to, are closed.
pub(super) fn panes_of(context: &Context, flight: &Flight) -> Panes {
    let mut out = BTreeMap::new();
    let orders: Vec<Order> = orders(flight).collect();
    let sockets: BTreeSet<&str> = orders.iter().filter_map(|order| order.surface.socket.as_deref()).collect();
    for socket in sockets {
        let tmux = context.tmux_at(Path::new(socket));
        for pane in tmux.tagged_panes().unwrap_or_default() {
            let mut words = pane.start_command.split(' ').rev();
            let (entry, of) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let order = orders.iter().find(|order| {
                order.surface.socket.as_deref() == Some(socket)
                    && order.entry.as_str() == entry.trim_matches('"')
                    && flight.flight.as_str() == of.trim_matches('"')
            });
            match order {
                Some(order) if pane.dead && !order.respawn => {
                    // One that cannot be closed is found again next time.
                    let _ = tmux.kill_pane(pane.pane);
                }
                Some(order) if !pane.dead => {
                    out.entry(order.entry.clone()).or_insert((PathBuf::from(socket), pane.pane));
                }
                _ => {}
            }
        }
    }
    out
}

fn current(context: &Context, flight: &Flight) -> Result<Flight, RestoreError> {
    let flights = context.reader()?.flights()?;
    Ok(flights.into_iter().find(|other| other.flight == flight.flight).unwrap_or_else(|| flight.clone()))
}
