//! Folds facts to bindings: which session each agent process on each surface held, and what was seen of its end.
//!
//! The fold sorts and deduplicates first, so any order of arrival and any repetition gives the same result.

use crate::fact::{
    AgentEvent, Body, Decision, EndReason, Fact, Gone, Grade, HookEvent, Launch, Look, Order, Outcome,
    PaneClaim, Reading, Recorded, Sighting, Stamp, Was,
};
use crate::ids::{AgentKind, EntryId, FlightId, SessionId, SurfaceId, digest, made_ms};
use crate::mux::{PaneId, Place, ServerLife, Snapshot, Stood};
use crate::process::ProcessKey;
use std::collections::{BTreeMap, BTreeSet};

/// Everything a log of facts says, as of its newest fact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    /// One per top-level agent process on a surface, in the order they were first seen.
    pub bindings: Vec<Binding>,
    /// What was seen of each server life.
    pub lives: BTreeMap<ServerLife, LifeSeen>,
    /// Hook events of nested, headless or pane-less agents; no surface is ever theirs.
    pub unplaced: Vec<(Stamp, HookEvent)>,
    /// Bindings that were told rather than observed, newest last.
    pub recorded: Vec<(Stamp, Recorded)>,
    /// What people and restores decided about entries.
    pub settled: BTreeMap<EntryId, Settled>,
    /// Surfaces whose session a person ended by word.
    pub ended: BTreeSet<(SurfaceId, SessionId)>,
    /// When something was last taken by a restore or dismissed.
    pub last_settled: Option<Order>,
    /// The entries that last decision concerned.
    pub last_settled_entries: BTreeSet<EntryId>,
    /// Panes that carry a surface because a restore put it there.
    pub placed: BTreeMap<(ServerLife, PaneId), (SurfaceId, EntryId)>,
}

/// One agent process on a surface, and the sessions it held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The surface.
    pub surface: SurfaceId,
    /// The process.
    pub process: ProcessKey,
    /// The agent.
    pub agent: AgentKind,
    /// The agent's home.
    pub home: String,
    /// The server life it ran in; `None` for an opaque surface.
    pub life: Option<ServerLife>,
    /// Its pane in that life.
    pub pane: Option<PaneId>,
    /// Where that pane last stood.
    pub place: Option<Place>,
    /// The session it holds by the newest evidence that may act.
    pub current: Option<Held>,
    /// Sessions it held before, oldest first, each with why it changed to the next.
    pub history: Vec<Change>,
    /// Weaker evidence that contradicts `current` and is newer; newest first.
    pub disputed: Vec<Reading>,
    /// The start of a thread's id that stood in its pane's title at the last look.
    pub shown: Option<Shown>,
    /// The session that stood in its arguments.
    pub argv_session: Option<SessionId>,
    /// Sessions a prompt was submitted in.
    pub prompted: BTreeSet<SessionId>,
    /// How it was started.
    pub launch: Launch,
    /// The permission mode last observed.
    pub mode: Option<String>,
    /// What it was doing when last seen.
    pub was: Was,
    /// Its thread lives in a server that several panes share.
    pub shared_server: bool,
    /// Its own last word, if nothing came after it.
    pub end: Option<EndSeen>,
    /// A look that found it gone while the server answered.
    pub gone: Option<(Stamp, Gone)>,
    /// A look saw it, not only its own hooks.
    pub sighted: bool,
    /// When it was first seen.
    pub first_seen: Stamp,
    /// When it was last seen alive.
    pub last_seen: Stamp,
}

/// The start of a thread's id in a pane's title. Which thread it is may be known only later: an agent shows the id of
/// a conversation that nobody wrote in yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The id, whole or cut.
    pub prefix: String,
    /// It was seen to change to this while this very process stood in the pane.
    pub changed: bool,
    /// Newer evidence named another session.
    pub superseded: bool,
}

/// A session held, and by which evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The session.
    pub session: SessionId,
    /// The grade of the newest evidence for it.
    pub grade: Grade,
    /// Every grade that named it, strongest last.
    pub grades: BTreeSet<Grade>,
}

/// One change of session within a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The session held until then.
    pub from: SessionId,
    /// Why it changed: clear, resume, fork, startup, or how the new one was read.
    pub reason: String,
    /// When.
    pub at: Stamp,
}

/// An agent's word that its session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndSeen {
    /// The reason it gave.
    pub reason: EndReason,
    /// When.
    pub at: Stamp,
}

/// What was seen of one server life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LifeSeen {
    /// The newest look that answered.
    pub last_look: Option<Stamp>,
    /// The newest snapshot that was kept.
    pub snapshot: Option<Snapshot>,
    /// Agent processes alive at the newest look.
    pub alive: BTreeSet<(u32, u64)>,
    /// Out-of-memory kills counted at the newest look.
    pub oom_kills: Option<u64>,
}

/// What was decided about one entry of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// A person dismissed it.
    pub dismissed: bool,
    /// The flight that took it last.
    pub flight: Option<FlightId>,
    /// How it last came out.
    pub outcome: Option<(Outcome, String, String)>,
    /// The reason codes of its failures, oldest first; a success clears them.
    pub failures: Vec<String>,
    /// The process that came up.
    pub process: Option<ProcessKey>,
}

impl Settled {
    /// Whether nothing is left to offer.
    pub fn is_done(&self) -> bool {
        self.dismissed || matches!(self.outcome, Some((Outcome::Restored | Outcome::Started, ..)))
    }
}

impl Binding {
    /// Returns the id of the plan entry that a loss of this binding gives.
    pub fn entry(&self) -> EntryId {
        entry_of(&self.surface, &self.process)
    }

    /// Returns every session it held, newest first, without repetition.
    pub fn sessions(&self) -> Vec<SessionId> {
        let mut out: Vec<SessionId> = self.current.iter().map(|held| held.session.clone()).collect();
        for change in self.history.iter().rev() {
            if !out.contains(&change.from) {
                out.push(change.from.clone());
            }
        }
        out
    }

    /// Returns when its process began by the wall clock that first saw it, milliseconds since 1970.
    ///
    /// Only for comparing with times that others wrote by a wall clock, and only to ask where one would resume.
    pub fn began_ms(&self) -> i64 {
        let first = &self.first_seen;
        let age_ms = (first.ns / 1_000_000) as i64 - self.process.since_boot_ms();
        first.wall_ms - age_ms
    }

    /// Returns the start of the id that its own title showed last, where that is proof: it must have been written by
    /// this very process, and nothing newer names another session.
    pub fn title_proof(&self) -> Option<&str> {
        let shown = self.shown.as_ref().filter(|shown| !shown.superseded)?;
        let made_since = made_ms(&shown.prefix).is_some_and(|made| made + 1_000 >= self.began_ms());
        let named = self.argv_session.as_ref().is_some_and(|id| id.as_str().starts_with(&shown.prefix));
        (shown.changed || made_since || named).then_some(shown.prefix.as_str())
    }
}

/// Returns the entry id of a process on a surface.
pub fn entry_of(surface: &SurfaceId, process: &ProcessKey) -> EntryId {
    let boot = &process.boot;
    EntryId(digest(
        "e-",
        12,
        &[
            surface.as_str(),
            &boot.host,
            &boot.id,
            &boot.pidns.to_string(),
            &process.pid.to_string(),
            &process.start.to_string(),
        ],
    ))
}

/// Folds facts, whatever their order and however often each is given.
pub fn fold(facts: &[Fact]) -> Folded {
    let mut sorted: Vec<&Fact> = facts.iter().collect();
    sorted.sort_by_cached_key(|fact| fact.stamp.order());
    sorted.dedup_by(|a, b| a.stamp == b.stamp);
    let mut fold = Fold::default();
    for fact in sorted {
        fold.take(fact);
    }
    let Fold { mut out, undone, failed_starts, .. } = fold;
    // What a restore made and took back, or its user did, is no loss and hides none.
    out.bindings.retain(|binding| {
        !undone.contains(&binding.process) && !failed_starts.iter().any(|start| start.made(binding))
    });
    for binding in &mut out.bindings {
        let shown = binding.life.as_ref().and_then(|life| out.lives.get(life)?.snapshot.as_ref());
        if let Some(stood) = binding.stood(shown) {
            binding.place = Some(stood.place);
        }
    }
    out
}

#[derive(Default)]
struct Fold {
    out: Folded,
    by_process: BTreeMap<ProcessKey, usize>,
    undone: BTreeSet<ProcessKey>,
    /// When each pane was given to an entry.
    placed_at: BTreeMap<(ServerLife, PaneId), (EntryId, u64)>,
    failed_starts: Vec<FailedStart>,
}

/// A start in a pane that failed: an agent that began there meanwhile was made by it, also where whoever started it
/// died before noting its pid.
struct FailedStart {
    life: ServerLife,
    pane: PaneId,
    /// CLOCK_BOOTTIME in nanoseconds.
    from_ns: u64,
    until_ns: u64,
}

impl FailedStart {
    fn made(&self, binding: &Binding) -> bool {
        let began = binding.process.start.saturating_mul(TICK_NS);
        binding.life.as_ref() == Some(&self.life)
            && binding.pane == Some(self.pane)
            && began.saturating_add(TICK_NS) > self.from_ns
            && began <= self.until_ns
    }
}

/// One tick of a process's start time.
const TICK_NS: u64 = 10_000_000;

impl Fold {
    fn take(&mut self, fact: &Fact) {
        let at = &fact.stamp;
        match &fact.body {
            Body::Hook(event) => self.hook(at, event),
            Body::Sighting(seen) => self.sighting(at, seen),
            Body::Gone(gone) => self.gone(at, gone),
            Body::Look(look) => self.look(at, look),
            Body::Recorded(recorded) => self.out.recorded.push((at.clone(), recorded.clone())),
            Body::Decision(decision) => self.decision(at, decision),
        }
    }

    /// A process belongs to the surface its pane carried when the process was first seen.
    fn surface(&self, life: &ServerLife, pane: PaneId) -> SurfaceId {
        self.out
            .placed
            .get(&(life.clone(), pane))
            .map_or_else(|| life.surface(&pane), |(surface, _)| surface.clone())
    }

    fn hook(&mut self, at: &Stamp, event: &HookEvent) {
        let (Some(process), Some(pane)) = (&event.process, &event.pane) else {
            self.out.unplaced.push((at.clone(), event.clone()));
            return;
        };
        if event.nested || !terminal_agrees(pane) {
            self.out.unplaced.push((at.clone(), event.clone()));
            return;
        }
        let index = self.binding(at, process, event.agent, &event.home, &pane.life, pane.pane);
        let binding = &mut self.out.bindings[index];
        merge_launch(&mut binding.launch, &event.launch);
        if event.mode.is_some() {
            binding.mode.clone_from(&event.mode);
        }
        match &event.event {
            AgentEvent::Start { source } => {
                binding.hold(at, Grade::Hook, &event.session, source);
                binding.end = None;
                binding.last_seen = at.clone();
            }
            AgentEvent::Prompt => {
                binding.hold(at, Grade::Hook, &event.session, "prompt");
                binding.prompted.insert(event.session.clone());
                binding.end = None;
                binding.was = Was::MidTurn;
                binding.last_seen = at.clone();
            }
            AgentEvent::End { reason } => {
                let about_current = binding.current.as_ref().is_none_or(|held| held.session == event.session);
                if about_current && *reason != EndReason::Replaced {
                    binding.end = Some(EndSeen { reason: reason.clone(), at: at.clone() });
                }
            }
        }
    }

    fn sighting(&mut self, at: &Stamp, seen: &Sighting) {
        let index = self.binding(at, &seen.process, seen.agent, &seen.home, &seen.life, seen.pane);
        let binding = &mut self.out.bindings[index];
        merge_launch(&mut binding.launch, &seen.launch);
        binding.home.clone_from(&seen.home);
        binding.pane = Some(seen.pane);
        if seen.place.is_some() {
            binding.place.clone_from(&seen.place);
        }
        if seen.mode.is_some() {
            binding.mode.clone_from(&seen.mode);
        }
        binding.was = seen.was;
        binding.shared_server = seen.shared_server;
        binding.last_seen = at.clone();
        if let Some(prefix) = &seen.title_id
            && binding.shown.as_ref().is_none_or(|shown| shown.prefix != *prefix)
        {
            binding.shown =
                Some(Shown { prefix: prefix.clone(), changed: binding.sighted, superseded: false });
        }
        binding.sighted = true;
        let mut readings: Vec<&Reading> = seen.readings.iter().collect();
        readings.sort_by_key(|reading| (reading.grade, reading.session.clone()));
        for reading in readings {
            binding.read(at, reading);
        }
    }

    fn gone(&mut self, at: &Stamp, gone: &Gone) {
        if let Some(&index) = self.by_process.get(&gone.process) {
            let seen = &mut self.out.bindings[index].gone;
            if seen.is_none() {
                *seen = Some((at.clone(), gone.clone()));
            }
        }
    }

    fn look(&mut self, at: &Stamp, look: &Look) {
        let life = self.out.lives.entry(look.life.clone()).or_insert_with(|| LifeSeen {
            last_look: None,
            snapshot: None,
            alive: BTreeSet::new(),
            oom_kills: None,
        });
        life.last_look = Some(at.clone());
        life.alive = look.alive.iter().copied().collect();
        if look.oom_kills.is_some() {
            life.oom_kills = look.oom_kills;
        }
        if let Some(snapshot) = look.snapshot.as_ref().filter(|snapshot| !snapshot.is_empty()) {
            life.snapshot = Some(snapshot.clone());
        }
        let boot = look.life.boot();
        for &(pid, start) in &look.alive {
            let key = ProcessKey { boot: boot.clone(), pid, start };
            if let Some(&index) = self.by_process.get(&key) {
                self.out.bindings[index].last_seen = at.clone();
            }
        }
    }

    fn decision(&mut self, at: &Stamp, decision: &Decision) {
        let out = &mut self.out;
        match decision {
            Decision::Ended { surface, session } => {
                out.ended.insert((surface.clone(), session.clone()));
            }
            // Nothing was decided: doctor's round trip.
            Decision::Dismissed { entries } if entries.is_empty() => {}
            Decision::Dismissed { entries } => {
                for entry in entries {
                    out.settled.entry(entry.clone()).or_default().dismissed = true;
                }
                out.last_settled = Some(at.order());
                out.last_settled_entries = entries.iter().cloned().collect();
            }
            Decision::Taken { flight, entries, .. } => {
                for entry in entries {
                    out.settled.entry(entry.clone()).or_default().flight = Some(flight.clone());
                }
                out.last_settled = Some(at.order());
                out.last_settled_entries = entries.iter().cloned().collect();
            }
            Decision::Placed { surface, entry, life, pane } => {
                self.placed_at.insert((life.clone(), *pane), (entry.clone(), at.ns));
                out.placed.insert((life.clone(), *pane), (surface.clone(), entry.clone()));
            }
            Decision::Outcome { entry, outcome, code, text, process, .. } => {
                let settled = out.settled.entry(entry.clone()).or_default();
                match outcome {
                    Outcome::Failed => {
                        settled.failures.push(code.clone());
                        self.undone.extend(process.clone());
                        self.placed_at.retain(|(life, pane), (placed, from_ns)| {
                            let fails = placed == entry;
                            if fails {
                                self.failed_starts.push(FailedStart {
                                    life: life.clone(),
                                    pane: *pane,
                                    from_ns: *from_ns,
                                    until_ns: at.ns,
                                });
                            }
                            !fails
                        });
                    }
                    Outcome::Restored => settled.failures.clear(),
                    _ => {}
                }
                if let Some(process) = process.as_ref().filter(|_| *outcome != Outcome::Failed) {
                    // An undo that could not close the pane says the outcome again.
                    self.undone.remove(process);
                }
                settled.outcome = Some((*outcome, code.clone(), text.clone()));
                settled.process.clone_from(process);
            }
            Decision::Undone { entries, .. } => {
                for entry in entries {
                    let settled = out.settled.entry(entry.clone()).or_default();
                    settled.outcome = None;
                    self.undone.extend(settled.process.take());
                }
            }
        }
    }

    fn binding(
        &mut self,
        at: &Stamp,
        process: &ProcessKey,
        agent: AgentKind,
        home: &str,
        life: &ServerLife,
        pane: PaneId,
    ) -> usize {
        if let Some(&index) = self.by_process.get(process) {
            return index;
        }
        let index = self.out.bindings.len();
        self.out.bindings.push(Binding {
            surface: self.surface(life, pane),
            process: process.clone(),
            agent,
            home: home.to_owned(),
            life: Some(life.clone()),
            pane: Some(pane),
            place: None,
            current: None,
            history: Vec::new(),
            disputed: Vec::new(),
            shown: None,
            sighted: false,
            argv_session: None,
            prompted: BTreeSet::new(),
            launch: Launch::default(),
            mode: None,
            was: Was::Unknown,
            shared_server: false,
            end: None,
            gone: None,
            first_seen: at.clone(),
            last_seen: at.clone(),
        });
        self.by_process.insert(process.clone(), index);
        index
    }
}

impl Binding {
    /// Where its pane stands in the newest snapshot of its life, or stood when it was last there.
    pub fn stood(&self, newest: Option<&Snapshot>) -> Option<Stood> {
        let shown = newest.and_then(|snapshot| snapshot.stood(self.pane?));
        shown.or_else(|| self.gone.as_ref()?.1.stood.clone())
    }

    /// Takes one reading of a look.
    fn read(&mut self, at: &Stamp, reading: &Reading) {
        if reading.grade == Grade::Argv {
            // Stale after /clear or /new: it fills a gap and never contradicts.
            self.argv_session = Some(reading.session.clone());
        } else if reading.grade.may_act() {
            self.hold(at, reading.grade, &reading.session, reading.grade.name());
        } else if self.current.as_ref().is_none_or(|held| held.session != reading.session) {
            self.disputed.retain(|other| other.session != reading.session);
            self.disputed.insert(0, reading.clone());
        }
    }

    /// The newest evidence that may act wins, whatever its grade.
    fn hold(&mut self, at: &Stamp, grade: Grade, session: &SessionId, reason: &str) {
        if let Some(shown) = &mut self.shown {
            shown.superseded = !session.as_str().starts_with(&shown.prefix);
        }
        match &mut self.current {
            Some(held) if held.session == *session => {
                held.grade = grade;
                held.grades.insert(grade);
                self.disputed.clear();
            }
            current => {
                let next = Held { session: session.clone(), grade, grades: BTreeSet::from([grade]) };
                if let Some(before) = current.replace(next) {
                    self.history.push(Change {
                        from: before.session,
                        reason: reason.to_owned(),
                        at: at.clone(),
                    });
                }
                self.disputed.clear();
            }
        }
    }
}

/// A pane named by the environment counts only when the agent has that pane's terminal: inherited variables of a
/// background process or of a server shared between panes name a stranger's pane.
fn terminal_agrees(claim: &PaneClaim) -> bool {
    claim.tty != 0 && claim.descends
}

fn merge_launch(into: &mut Launch, from: &Launch) {
    if from.cwd.is_some() {
        into.cwd.clone_from(&from.cwd);
    }
    if !from.argv.is_empty() {
        into.argv.clone_from(&from.argv);
        into.flags_unknown = from.flags_unknown;
    } else if into.argv.is_empty() {
        into.flags_unknown |= from.flags_unknown;
    }
    if from.through.is_some() {
        into.through.clone_from(&from.through);
    }
    if !from.env.is_empty() {
        into.env.clone_from(&from.env);
    }
    if !from.env_names.is_empty() {
        into.env_names.clone_from(&from.env_names);
    }
    if from.version.is_some() {
        into.version.clone_from(&from.version);
    }
}
