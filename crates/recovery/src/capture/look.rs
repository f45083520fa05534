//! A look: sees what is there and keeps it as facts.
//!
//! Facts are stamped before anything is read, so what a look saw is never newer than its stamp says. They are
//! appended in one transaction; where the store cannot be written they go to the spool, and the next writer takes
//! them in.

use crate::context::Context;
use crate::observe::{Observed, last_sightings, observe, title_emptied};
use reseat_core::ending::{CLOSING_NS, Ending, judge};
use reseat_core::fact::{Body, Fact, Gone, Look, Sighting, Stamp};
use reseat_core::fold::{Folded, fold};
use reseat_core::process::{Liveness, ProcessKey};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a look waits for the store.
const STORE_DEADLINE: Duration = Duration::from_secs(2);

/// Agents this young may not have told their conversation yet.
const YOUNG: Duration = Duration::from_secs(2);

/// What a look did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looked {
    /// Facts kept.
    pub facts: usize,
    /// Servers that answered.
    pub servers: usize,
    /// Something ended politely a moment ago: another look in ten seconds tells closed from lost.
    pub closing: bool,
    /// An agent began a moment ago and nothing names its conversation yet: another look in two seconds will.
    pub young: bool,
    /// The store could not be written; the facts are in the spool.
    pub spooled: bool,
}

/// A look could not keep what it saw.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// Nothing could be written anywhere.
    #[error("cannot keep what was seen")]
    Spool(#[from] reseat_store::facts::SpoolError),
}

/// Looks once and keeps what it saw.
pub fn look(context: &Context) -> Result<Looked, LookError> {
    let stamp = context.stamp();
    let known = context.reader().and_then(|reader| reader.facts()).unwrap_or_default();
    let folded = fold(&known);
    let observed = observe(context, &known, &folded);
    let facts = facts_of(&stamp, &known, &folded, &observed);
    let closing =
        folded.bindings.iter().any(|binding| judge(binding, &folded, &observed.view) == Ending::Closing);
    let young = observed.view.agents.iter().any(|live| {
        let age_ns = stamp.ns.saturating_sub(live.process.since_boot_ms() as u64 * 1_000_000);
        live.pane.is_some() && live.interactive && !live.certain && age_ns < YOUNG.as_nanos() as u64
    });
    let servers = observed.view.servers.len();
    let mut looked = Looked { facts: facts.len(), servers, closing, young, spooled: false };
    if facts.is_empty() {
        return Ok(looked);
    }
    let written = context.writer(STORE_DEADLINE).and_then(|mut writer| writer.append(&facts));
    if written.is_err() {
        looked.spooled = true;
        for fact in &facts {
            context.spool().put(fact)?;
        }
    }
    Ok(looked)
}

/// Turns what was seen into facts. Pure.
pub fn facts_of(stamp: &Stamp, known: &[Fact], folded: &Folded, observed: &Observed) -> Vec<Fact> {
    let mut out = Vec::new();
    let mut nonce = stamp.nonce;
    let mut push = |body: Body| {
        // One moment, several facts: each needs an id of its own, and sightings must come before their look.
        nonce = nonce.wrapping_add(1);
        let stamp = Stamp { nonce, ns: stamp.ns + out.len() as u64, ..stamp.clone() };
        out.push(Fact { stamp, body });
    };
    let before: BTreeMap<ProcessKey, &Sighting> = last_sightings(known);
    for seen in &observed.seen.sightings {
        if before.get(&seen.process).is_none_or(|last| *last != seen) {
            push(Body::Sighting(seen.clone()));
        }
    }
    for binding in &folded.bindings {
        let Some(life) = &binding.life else { continue };
        let Some(snapshot) = observed.view.servers.get(life) else { continue };
        if binding.gone.is_some() || observed.view.processes.get(&binding.process) != Some(&Liveness::Gone) {
            continue;
        }
        let pane_left = binding.pane.is_some_and(|pane| snapshot.pane(pane).is_some());
        let before_that = folded.lives.get(life).and_then(|seen| seen.snapshot.as_ref());
        push(Body::Gone(Gone {
            process: binding.process.clone(),
            life: life.clone(),
            pane_left,
            stood: binding.stood(before_that).filter(|_| !pane_left),
            killed: observed.view.killed.get(&binding.process).cloned().unwrap_or_default(),
            title_emptied: title_emptied(snapshot, binding, before.get(&binding.process).copied()),
        }));
    }
    for (life, snapshot) in &observed.view.servers {
        let mut alive: Vec<(u32, u64)> = observed
            .view
            .agents
            .iter()
            .filter(|live| live.pane.as_ref().is_some_and(|(other, _)| other == life))
            .map(|live| (live.process.pid, live.process.start))
            .collect();
        alive.sort_unstable();
        alive.dedup();
        push(Body::Look(Look {
            life: life.clone(),
            snapshot: Some(snapshot.clone()),
            alive,
            oom_kills: observed.oom_kills.get(life).copied(),
        }));
    }
    out
}

/// How long to wait until a polite end can be told from a loss.
pub const CLOSING_WAIT: Duration = Duration::from_nanos(CLOSING_NS);
