//! Compares a plan to the truth. Every wrong resume is a panic with all there is to know of it.

use super::model::{Agent, Class, File, How, SECOND, World};
use super::tally::Tally;
use reseat_core::ending::{LiveAgent, LiveView};
use reseat_core::fact::{Body, Fact};
use reseat_core::fold::{Binding, Folded, entry_of, fold};
use reseat_core::ids::{AgentKind, EntryId, SessionId, SessionKey};
use reseat_core::plan::{Entry, Plan, Policy, Verdict, compute};
use reseat_core::process::Liveness;
use std::collections::{BTreeMap, BTreeSet};

/// The documented loss window.
const WINDOW: u64 = 2 * SECOND;
/// A polite end counts as the user's after this time; the facts of one look are stamped some nanoseconds apart.
const CLOSING: u64 = 10 * SECOND + 1_000;

/// Why a resume that differs from the truth is no violation.
enum Excuse {
    Stale,
    Blind,
    Traceless,
    Closing,
}

/// Plans for a world that lived, and compares.
pub(super) fn judge(world: &mut World) -> Tally {
    let (folded, plan) = planned(world, &world.facts);
    if world.seed.is_multiple_of(10) {
        let mut facts = world.facts.clone();
        for at in 0..facts.len() {
            if world.rng.chance(30) {
                facts.push(facts[at].clone());
            }
        }
        world.rng.shuffle(&mut facts);
        let (_, other) = planned(world, &facts);
        assert!(plan == other, "seed {}: the order of arrival of facts changes the plan", world.seed);
    }
    let oracle = Oracle { world, folded: &folded, plan: &plan };
    let mut tally = Tally { worlds: 1, ..Tally::default() };
    oracle.resumes(&mut tally);
    oracle.panes(&mut tally);
    tally
}

fn planned(world: &World, facts: &[Fact]) -> (Folded, Plan) {
    let folded = fold(facts);
    let mut view = world.view();
    add_held(&folded, &mut view);
    let plan = compute(&folded, &view, world, &Policy::default());
    (folded, plan)
}

/// What the log says of living processes counts as held.
fn add_held(folded: &Folded, view: &mut LiveView) {
    for binding in &folded.bindings {
        if view.processes.get(&binding.process) != Some(&Liveness::Alive) {
            continue;
        }
        let Some(held) = &binding.current else { continue };
        let living: Option<&mut LiveAgent> =
            view.agents.iter_mut().find(|live| live.process == binding.process);
        if let Some(live) = living {
            live.certain = true;
            if !live.sessions.contains(&held.session) {
                live.sessions.push(held.session.clone());
            }
        }
    }
}

struct Oracle<'a> {
    world: &'a World,
    folded: &'a Folded,
    plan: &'a Plan,
}

impl Oracle<'_> {
    fn by_entry(&self) -> BTreeMap<EntryId, usize> {
        let mut out = BTreeMap::new();
        for (at, agent) in self.world.agents.iter().enumerate() {
            if let Some(pane) = agent.pane {
                let surface = self.world.life_of(pane).surface(&self.world.panes[pane].id);
                out.insert(entry_of(&surface, &agent.process), at);
            }
        }
        out
    }

    /// Every entry that is to be resumed names what truly ran there.
    fn resumes(&self, tally: &mut Tally) {
        let agents = self.by_entry();
        let mut planned: BTreeSet<(AgentKind, String, SessionId)> = BTreeSet::new();
        for entry in self.plan.entries.iter().filter(|entry| entry.verdict == Verdict::Resume) {
            tally.resumed += 1;
            let Some(&at) = agents.get(&entry.entry) else {
                self.violation("an entry of an agent that never was", entry, None)
            };
            let agent = &self.world.agents[at];
            let Some(session) = entry.session.clone() else {
                self.violation("a resume without a session", entry, Some(at))
            };
            if entry.agent != Some(agent.kind) || entry.home.as_deref() != Some(&agent.home) {
                self.violation("another agent or home", entry, Some(at));
            }
            if !planned.insert((agent.kind, agent.home.clone(), session.clone())) {
                self.violation("a session planned twice", entry, Some(at));
            }
            if self.plan.builds.iter().filter(|build| build.carries(&entry.entry)).count() != 1 {
                self.violation("not exactly one pane is made for it", entry, Some(at));
            }
            if agent.lives() {
                self.violation("its process runs", entry, Some(at));
            }
            let excuse = self.excuse(at, entry, &session);
            match excuse {
                None => {}
                Some(Excuse::Stale) => tally.stale += 1,
                Some(Excuse::Blind) => tally.blind += 1,
                Some(Excuse::Traceless) => tally.traceless += 1,
                Some(Excuse::Closing) => tally.closing += 1,
            }
        }
    }

    /// Judges one resume: `None` when it is right.
    fn excuse(&self, at: usize, entry: &Entry, session: &SessionId) -> Option<Excuse> {
        let world = self.world;
        let agent = &world.agents[at];
        let key = SessionKey { id: session.clone(), ..agent.key() };
        self.running_elsewhere(at, entry, &key);
        let directory = world.disk.get(&key).map(|talk| match agent.kind {
            AgentKind::Claude => &talk.project,
            AgentKind::Codex => &talk.current,
        });
        if entry.cwd.as_ref() != directory || directory.is_none_or(|path| world.gone_dirs.contains(path)) {
            self.violation("another start directory", entry, Some(at));
        }
        if matches!(agent.how, How::UserWord | How::UserClosed) {
            return Some(self.unseen_end(at).unwrap_or_else(|| {
                self.violation("the user ended it", entry, Some(at));
            }));
        }
        if *session != agent.session {
            return Some(self.unseen_change(agent).unwrap_or_else(|| {
                self.violation("another session than the one that ran there", entry, Some(at));
            }));
        }
        // The same conversation may have been resumed elsewhere later, and ended there by the user.
        let later = (0..world.agents.len()).filter(|other| {
            let other = &world.agents[*other];
            other.key() == key && Self::after(other, agent) && other.bound
        });
        for other in later {
            if matches!(world.agents[other].how, How::UserWord | How::UserClosed) {
                // Unseen when it ended there, or that it was ever there.
                let unseen = self.unseen_end(other).or_else(|| self.unseen_change(&world.agents[other]));
                return Some(unseen.unwrap_or_else(|| {
                    self.violation("the user resumed it elsewhere and ended it there", entry, Some(at));
                }));
            }
        }
        None
    }

    fn after(other: &Agent, agent: &Agent) -> bool {
        let boot = |agent: &Agent| agent.process.boot.id[1..].parse::<u64>().unwrap_or(0);
        (boot(other), other.began) > (boot(agent), agent.ended)
    }

    fn running_elsewhere(&self, at: usize, entry: &Entry, key: &SessionKey) {
        let living = self.world.agents.iter().any(|agent| {
            if !agent.lives() || agent.key() != *key {
                return false;
            }
            let hidden = matches!(agent.class(), Class::Argv | Class::None)
                && agent.argv.as_ref() != Some(&agent.session);
            // A live record shows a throwaway id for its first moments.
            let young = self.world.now - agent.began < WINDOW && agent.argv.is_none();
            !hidden && !young
        });
        if living {
            self.violation("it runs elsewhere", entry, Some(at));
        }
    }

    /// Answered looks of the server an agent ran in.
    fn looks(&self, agent: &Agent) -> &[u64] {
        agent.pane.map_or(&[], |pane| &self.world.servers[self.world.panes[pane].server].looks)
    }

    /// Nobody looked between a change and the moment until which it could be seen.
    fn late(&self, agent: &Agent, changed: u64, until: u64) -> Option<Excuse> {
        if self.looks(agent).iter().any(|look| *look >= changed && *look < until) {
            return None;
        }
        Some(if until.saturating_sub(changed) <= WINDOW { Excuse::Stale } else { Excuse::Blind })
    }

    /// The session changed, and nobody could have noticed.
    fn unseen_change(&self, agent: &Agent) -> Option<Excuse> {
        if agent.hooks {
            return None;
        }
        // A live record shows a throwaway id for its first moments.
        let shown = if agent.registry { agent.since().max(agent.began + WINDOW) } else { agent.since() };
        if let Some(excuse) = self.late(agent, shown, agent.ended) {
            return Some(excuse);
        }
        let talk = self.world.disk.get(&agent.key())?;
        let base = self.world.wall.get(&agent.process.boot.id).copied().unwrap_or(0);
        let since = base + (agent.since() / 1_000_000) as i64;
        let silent = match agent.class() {
            Class::Argv | Class::None => talk.file == File::Missing || talk.written_ms < since,
            Class::Hook | Class::Registry | Class::OpenFile | Class::Title => false,
        };
        silent.then_some(Excuse::Traceless)
    }

    /// The user ended it, and nobody could have noticed or been sure.
    fn unseen_end(&self, at: usize) -> Option<Excuse> {
        let agent = &self.world.agents[at];
        if agent.word_kept {
            return None;
        }
        let died = agent.pane.and_then(|pane| self.world.servers[self.world.panes[pane].server].died);
        let until = died.unwrap_or(self.world.now);
        if let Some(excuse) = self.late(agent, agent.ended, until).filter(|_| agent.other_end.is_none()) {
            return Some(excuse);
        }
        let (gone, pane_left) = agent.gone.unzip();
        let noticed = [agent.other_end, gone].into_iter().flatten().min()?;
        let confirmed = self.looks(agent).iter().any(|look| *look >= noticed + CLOSING);
        (pane_left != Some(true) && !confirmed).then_some(Excuse::Closing)
    }

    /// What became of every pane that held a living agent at the crash.
    fn panes(&self, tally: &mut Tally) {
        let agents = self.by_entry();
        for &at in &self.world.lost {
            tally.panes += 1;
            let agent = &self.world.agents[at];
            let row = tally.rows.entry(agent.class()).or_default();
            let resumable = self.world.disk.get(&agent.key()).is_some_and(|talk| {
                let start = if agent.kind == AgentKind::Claude { &talk.project } else { &talk.current };
                talk.file == File::Yes && !self.world.gone_dirs.contains(start)
            });
            let entry = self.plan.entries.iter().find(|entry| agents.get(&entry.entry) == Some(&at));
            let asked = |entry: &&Entry| {
                entry.verdict == Verdict::Choose
                    && entry.candidates.iter().any(|candidate| candidate.session == agent.session)
            };
            // Resumed by hand since, or planned for another pane: the conversation does come back.
            let elsewhere = self
                .world
                .agents
                .iter()
                .any(|other| other.key() == agent.key() && (other.lives() || Self::after(other, agent)))
                || self.plan.entries.iter().any(|other| {
                    other.verdict == Verdict::Resume
                        && other.session.as_ref() == Some(&agent.session)
                        && other.home.as_deref() == Some(&agent.home)
                        && entry.is_none_or(|entry| entry.entry != other.entry)
                });
            if !resumable || elsewhere {
                row.nothing += 1;
            } else if entry.is_some_and(|entry| {
                entry.verdict == Verdict::Resume && entry.session.as_ref() == Some(&agent.session)
            }) {
                row.outright += 1;
            } else if let Some(entry) = entry.filter(asked) {
                row.asked += 1;
                *tally.why_asked.entry(entry.reason.code.clone()).or_default() += 1;
            } else {
                row.missed += 1;
                let none = if agent.bound { "no-entry" } else { "never-seen" };
                let why = entry.map_or(none, |entry| entry.reason.code.as_str());
                *tally.why_missed.entry(why.to_owned()).or_default() += 1;
            }
        }
    }

    fn violation(&self, what: &str, entry: &Entry, at: Option<usize>) -> ! {
        let mut out = format!("seed {}: {what}\n\nentry: {entry:#?}\n", self.world.seed);
        if let Some(agent) = at.map(|at| &self.world.agents[at]) {
            out += &format!("\ntruth: agent {at:?} {agent:#?}\n\nfacts of its process:\n");
            for fact in &self.world.facts {
                let of_it = match &fact.body {
                    Body::Hook(event) => event.process.as_ref() == Some(&agent.process),
                    Body::Sighting(seen) => seen.process == agent.process,
                    Body::Gone(gone) => gone.process == agent.process,
                    _ => false,
                };
                if of_it {
                    out += &format!("{}\n", serde_json::to_string(fact).unwrap_or_default());
                }
            }
            out += &format!("\nlooks its server answered: {:?}\n", self.looks(agent));
            let binding: Option<&Binding> =
                self.folded.bindings.iter().find(|binding| binding.process == agent.process);
            out += &format!("\nbinding: {binding:#?}\n");
        }
        let session = entry.session.as_ref().map(ToString::to_string).unwrap_or_default();
        out += &format!("\nhistory (crash at {}, plan at {}):\n", self.world.crashed, self.world.now);
        let holders: Vec<usize> = (0..self.world.agents.len())
            .filter(|other| {
                let agent = &self.world.agents[*other];
                Some(*other) == at || agent.held.iter().any(|(_, held, _)| held.as_str() == session)
            })
            .collect();
        for (boot, ns, agent, text) in &self.world.history {
            if agent.is_none_or(|agent| holders.contains(&agent)) {
                out += &format!("{boot} {:.3} {text}\n", *ns as f64 / 1e9);
            }
        }
        panic!("{out}")
    }
}
