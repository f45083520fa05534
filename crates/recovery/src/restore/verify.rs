//! Verify: an entry is restored only when its agent lives and reports the very session that was asked for.

use super::build::Built;
use super::order::{Effect, Order};
use super::report::EntryResult;
use super::{Progress, Report, Request, RestoreError, STORE_DEADLINE, shared_server};
use crate::capture::sight::{Pass, Seen};
use crate::context::Context;
use reseat_agents::agent;
use reseat_core::fact::{Body, Decision, Fact, Grade, Outcome, Sighting};
use reseat_core::ids::EntryId;
use reseat_core::mux::{PaneId, ServerLife, Snapshot};
use reseat_core::plan::{Plan, Reason, Verdict};
use reseat_core::process::ProcessKey;
use reseat_store::flights::{Flight, FlightEntry, State};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a started agent may take to report its session.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a pane's `exec` may take to begin.
const BEGIN_PATIENCE: Duration = Duration::from_secs(20);
/// How long another session than the wanted one must be reported before it counts: some versions show a throwaway
/// id first.
const OTHER_PATIENCE: Duration = Duration::from_secs(6);
/// From when on a dialog on the screen is looked for.
const DIALOG_AFTER: Duration = Duration::from_secs(4);
const PAUSE: Duration = Duration::from_millis(150);

/// Verifies every entry of a flight, writes each outcome to the log as it becomes known, and closes the panes of
/// those that failed.
pub(super) fn verify(
    context: &Context,
    plan: &Plan,
    flight: &Flight,
    built: Built,
    request: &Request,
    report: &mut Report,
    tell: &mut dyn FnMut(&Progress<'_>),
) -> Result<(), RestoreError> {
    let before = report.notes.len() + built.notes.len();
    report.notes.extend(built.notes.iter().cloned());
    let loud = watch(context, flight, built, request.patience, &mut |result| report.add(result, tell))?;
    report.notes.extend(loud);
    // Those of the building were told as they came.
    for note in &report.notes[before..] {
        tell(&Progress::Note(note));
    }
    let order: Vec<&EntryId> = plan.entries.iter().map(|entry| &entry.entry).collect();
    report.results.sort_by_key(|result| order.iter().position(|id| **id == result.entry));
    Ok(())
}

/// Watches the entries of a flight until each has its outcome; returns what must not go unsaid.
pub(super) fn watch(
    context: &Context,
    flight: &Flight,
    built: Built,
    patience: Option<Duration>,
    add: &mut dyn FnMut(EntryResult),
) -> Result<BTreeSet<String>, RestoreError> {
    let patience = patience.unwrap_or(PATIENCE);
    let mut watch = Watch::new(context, flight, patience, built.failed, built.panes);
    while !watch.open.is_empty() {
        watch.round()?.into_iter().for_each(&mut *add);
        if !watch.open.is_empty() {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(watch.loud)
}

/// Watches the open entries of one flight.
struct Watch<'a> {
    context: &'a Context,
    flight: &'a Flight,
    patience: Duration,
    failed: BTreeMap<EntryId, Reason>,
    panes: BTreeMap<EntryId, (PathBuf, PaneId)>,
    /// Entries without an outcome.
    open: BTreeMap<EntryId, Order>,
    /// What must not go unsaid.
    loud: BTreeSet<String>,
    begun: Instant,
    started: BTreeMap<EntryId, Instant>,
    other: BTreeMap<EntryId, Instant>,
    titles: BTreeMap<ProcessKey, Option<String>>,
}

/// What one round found of an entry.
enum Finding {
    Wait,
    Settle(Outcome, Reason, Option<ProcessKey>),
}

impl<'a> Watch<'a> {
    fn new(
        context: &'a Context,
        flight: &'a Flight,
        patience: Duration,
        failed: BTreeMap<EntryId, Reason>,
        panes: BTreeMap<EntryId, (PathBuf, PaneId)>,
    ) -> Self {
        let open = flight
            .entries
            .iter()
            .filter_map(|entry| Some((entry.entry.clone(), Order::parse(&entry.body)?)))
            .collect();
        Self {
            context,
            flight,
            patience,
            failed,
            panes,
            open,
            loud: BTreeSet::new(),
            begun: Instant::now(),
            started: BTreeMap::new(),
            other: BTreeMap::new(),
            titles: BTreeMap::new(),
        }
    }

    /// Looks once at the flight and at the machine, and settles what can be settled.
    fn round(&mut self) -> Result<Vec<EntryResult>, RestoreError> {
        let flights = self.context.reader()?.flights()?;
        let now = flights.into_iter().find(|other| other.flight == self.flight.flight);
        let entries: BTreeMap<EntryId, FlightEntry> = now
            .map(|flight| flight.entries.into_iter().map(|entry| (entry.entry.clone(), entry)).collect())
            .unwrap_or_default();
        let (seen, servers) = self.look();
        let mut out = Vec::new();
        for order in self.open.values().cloned().collect::<Vec<_>>() {
            let entry = entries.get(&order.entry);
            let effect = Effect::parse(entry.and_then(|entry| entry.effect.as_deref()));
            let state = entry.map_or(State::Returned, |entry| entry.state);
            let found = self.judge(&order, state, &effect, &seen, &servers);
            if let Finding::Settle(outcome, reason, process) = found {
                let pane = effect.pane.or_else(|| self.panes.get(&order.entry).map(|(_, pane)| *pane));
                out.push(self.settle(&order, pane, outcome, reason, process)?);
            }
        }
        for seen in seen.sightings {
            self.titles.insert(seen.process, seen.title_id);
        }
        Ok(out)
    }

    fn look(&self) -> (Seen, BTreeMap<ServerLife, Snapshot>) {
        let sockets: BTreeSet<&PathBuf> = self.panes.values().map(|(socket, _)| socket).collect();
        let servers: BTreeMap<ServerLife, Snapshot> = sockets
            .into_iter()
            .filter_map(|socket| {
                let tmux = self.context.tmux_at(socket);
                let deadline = crate::observe::TMUX_DEADLINE;
                reseat_mux::tmux::look(&tmux, &self.context.proc, &self.context.boot, deadline).ok()
            })
            .map(|found| (found.life, found.snapshot))
            .collect();
        let pass = Pass {
            proc: &self.context.proc,
            boot: &self.context.boot,
            user_home: &self.context.home,
            servers: &servers,
            titles: &self.titles,
            now_ns: reseat_os::clock::boottime_ns(),
            wall_ms: reseat_os::clock::wall_ms(),
        };
        let seen = pass.run().unwrap_or_default();
        (seen, servers)
    }

    fn judge(
        &mut self,
        order: &Order,
        state: State,
        effect: &Effect,
        seen: &Seen,
        servers: &BTreeMap<ServerLife, Snapshot>,
    ) -> Finding {
        if let Some(reason) = self.failed.get(&order.entry) {
            return Finding::Settle(Outcome::Failed, reason.clone(), None);
        }
        if let Some(ended) = &effect.ended {
            return Finding::Settle(
                Outcome::Failed,
                self.with_last_line(order, ended),
                effect.process.clone(),
            );
        }
        if state != State::Started {
            let lost = self.pane_lost(order, servers);
            if lost || self.begun.elapsed() > BEGIN_PATIENCE {
                let text = if lost { "its pane is gone" } else { "nothing began in its pane" };
                return Finding::Settle(Outcome::Failed, Reason::new("not-begun", text), None);
            }
            return Finding::Wait;
        }
        let Some(key) = order.key() else {
            return Finding::Settle(
                if order.verdict == Verdict::Shell { Outcome::Restored } else { Outcome::Skipped },
                order.reason.clone(),
                None,
            );
        };
        if self.pane_lost(order, servers) {
            let process = effect.process.clone();
            return Finding::Settle(Outcome::Failed, Reason::new("pane-lost", "its pane is gone"), process);
        }
        if effect.process.is_none() {
            // It waits for a slot, for the user's shell or for the agent's server.
            return Finding::Wait;
        }
        let since = *self.started.entry(order.entry.clone()).or_insert_with(Instant::now);
        let sighting = self.sighting(order, effect, seen);
        let acting = sighting.and_then(|seen| {
            seen.readings.iter().filter(|reading| reading.grade.may_act()).max_by_key(|r| r.grade)
        });
        let process = sighting.map(|seen| seen.process.clone());
        match acting {
            Some(reading) if reading.session == key.id => {
                let twin = seen.agents.iter().find(|live| {
                    live.agent == key.agent
                        && live.home == key.home
                        && live.sessions.contains(&key.id)
                        && process.as_ref() != Some(&live.process)
                        && effect.process.as_ref() != Some(&live.process)
                });
                if let Some(twin) = twin {
                    let pid = twin.process.pid;
                    self.loud
                        .insert(format!("WARNING: {} is also open in pid {pid}; close one of them", key.id));
                }
                let text = format!("it reports {}", key.id);
                Finding::Settle(Outcome::Restored, Reason::new("verified", text), process)
            }
            Some(reading) => {
                let first = *self.other.entry(order.entry.clone()).or_insert_with(Instant::now);
                if first.elapsed() < OTHER_PATIENCE {
                    return Finding::Wait;
                }
                let text = format!("it came up as {} and not as {}", reading.session, key.id);
                Finding::Settle(Outcome::Failed, Reason::new("other-session", text), process)
            }
            None => {
                self.other.remove(&order.entry);
                // Without the id in its title Codex says nothing of itself. That its server took the lock of the very
                // thread it was started on, which nobody held before, says it all the same.
                let named = sighting.is_some_and(|seen| {
                    seen.readings
                        .iter()
                        .any(|reading| reading.grade == Grade::Argv && reading.session == key.id)
                });
                if named
                    && !effect.server_held
                    && since.elapsed() >= OTHER_PATIENCE
                    && shared_server::holder(self.context, &key).is_some()
                {
                    let text = format!("Codex's shared server opened {} for it", key.id);
                    return Finding::Settle(Outcome::Restored, Reason::new("verified", text), process);
                }
                if since.elapsed() > DIALOG_AFTER
                    && let Some(dialog) = self.dialog(order)
                {
                    let text = format!("a question waits for you in its pane: {dialog}");
                    return Finding::Settle(Outcome::Started, Reason::new("dialog", text), process);
                }
                if since.elapsed() < self.patience {
                    return Finding::Wait;
                }
                let text = "it runs and has not reported which conversation it holds";
                Finding::Settle(Outcome::Started, Reason::new("unverified", text), process)
            }
        }
    }

    /// The agent in an entry's pane.
    fn sighting<'s>(&self, order: &Order, effect: &Effect, seen: &'s Seen) -> Option<&'s Sighting> {
        let (_, pane) = self.panes.get(&order.entry)?;
        seen.sightings.iter().find(|seen| {
            seen.pane == *pane
                && effect.life.as_ref().is_none_or(|life| *life == seen.life)
                && Some(seen.agent) == order.agent
        })
    }

    fn pane_lost(&self, order: &Order, servers: &BTreeMap<ServerLife, Snapshot>) -> bool {
        let Some((socket, pane)) = self.panes.get(&order.entry) else { return true };
        let answered: Vec<&Snapshot> = servers
            .iter()
            .filter(|(life, _)| Path::new(&life.socket) == socket)
            .map(|(_, snapshot)| snapshot)
            .collect();
        // A server that does not answer proves nothing.
        let stands = |snapshot: &&Snapshot| snapshot.pane(*pane).is_some_and(|(_, pane)| !pane.dead);
        !answered.is_empty() && !answered.iter().any(stands)
    }

    fn dialog(&self, order: &Order) -> Option<&'static str> {
        let (socket, pane) = self.panes.get(&order.entry)?;
        let screen = self.context.tmux_at(socket).capture_tail(*pane, 60).ok()?.join("\n");
        agent(order.agent?).blocked_by(&screen)
    }

    /// The reason with the last line that the agent printed.
    fn with_last_line(&self, order: &Order, reason: &Reason) -> Reason {
        let lines = self
            .panes
            .get(&order.entry)
            .and_then(|(socket, pane)| self.context.tmux_at(socket).capture_tail(*pane, 20).ok())
            .unwrap_or_default();
        let said = lines.iter().rev().find(|line| !line.starts_with("reseat: ") && line.trim().len() > 3);
        let text = said.map_or_else(
            || reason.text.clone(),
            |line| format!("{}: {}", reason.text, reseat_core::text::short(line, 160)),
        );
        Reason { code: reason.code.clone(), text }
    }

    /// Writes an outcome. A failed entry's pane is closed first, so that a death in between leaves an entry that
    /// the next run finds without a pane.
    fn settle(
        &mut self,
        order: &Order,
        pane: Option<PaneId>,
        outcome: Outcome,
        reason: Reason,
        process: Option<ProcessKey>,
    ) -> Result<EntryResult, RestoreError> {
        let failed = outcome == Outcome::Failed;
        if failed
            && !order.respawn
            && let Some((socket, pane)) = self.panes.get(&order.entry)
        {
            // One that cannot be closed is found by its command next time.
            let _ = self.context.tmux_at(socket).kill_pane(*pane);
        }
        let fact = Fact {
            stamp: self.context.stamp(),
            body: Body::Decision(Decision::Outcome {
                flight: self.flight.flight.clone(),
                entry: order.entry.clone(),
                surface: order.surface.id.clone(),
                session: order.session.clone(),
                outcome,
                code: reason.code.clone(),
                text: reason.text.clone(),
                process: process.clone(),
            }),
        };
        let to = if failed { State::Returned } else { State::Done };
        let open = [State::Taken, State::Intended, State::Started];
        self.context.writer(STORE_DEADLINE)?.advance(
            &self.flight.flight,
            &order.entry,
            &open,
            to,
            None,
            &[fact],
        )?;
        self.open.remove(&order.entry);
        Ok(EntryResult {
            entry: order.entry.clone(),
            outcome,
            reason,
            agent: order.agent,
            session: order.session.clone(),
            surface: order.surface.clone(),
            pane: pane.filter(|_| !failed),
            pid: process.filter(|_| !failed).map(|process| process.pid),
        })
    }
}
