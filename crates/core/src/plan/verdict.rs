//! One verdict per lost surface.

use super::knowledge::{Conversation, Directory, Kind, Knowledge, Known, WALL_TOLERANCE_MS};
use super::types::{Candidate, Entry, Evidence, Plan, Reason, SurfaceView, Verdict};
use super::{PickError, Policy};
use crate::ending::{Ending, LifeNow, LiveView, life_now};
use crate::fact::{Grade, Was};
use crate::fold::{Binding, Folded};
use crate::ids::{EntryId, SessionId, SessionKey, SurfaceId};
use crate::process::Liveness;
use crate::select::{Subject, is_below};
use crate::text::short;
use std::collections::{BTreeMap, BTreeSet};

/// What every judgement looks at.
struct Judge<'a> {
    folded: &'a Folded,
    /// One per binding; empty when a person has answered.
    endings: &'a [Ending],
    view: &'a LiveView,
    know: &'a dyn Knowledge,
    policy: &'a Policy,
}

/// Returns one entry for each binding that is lost, ended without a known cause, or cannot be observed, as far as
/// it is in scope and selected.
pub(super) fn entries(
    folded: &Folded,
    endings: &[Ending],
    view: &LiveView,
    know: &dyn Knowledge,
    policy: &Policy,
    in_scope: &BTreeMap<EntryId, String>,
) -> Vec<Entry> {
    let judge = Judge { folded, endings, view, know, policy };
    let mut out = Vec::new();
    for (index, (binding, ending)) in folded.bindings.iter().zip(endings).enumerate() {
        let id = binding.entry();
        let named = !policy.selection.ids.is_empty();
        let silent = match binding.life.as_ref().map(|life| life_now(life, view)) {
            Some(LifeNow::Silent(code, text)) => Some((code, text)),
            _ => None,
        };
        let mut entry = skeleton(binding);
        match ending {
            Ending::Lost(_) | Ending::EndedUnknown(_) => {
                let Some(incident) = in_scope.get(&id) else { continue };
                entry.incident = Some(incident.clone());
            }
            Ending::Unknown(..) => {}
            Ending::Live if silent.is_some() => {}
            Ending::Live | Ending::EndedByUser(_) | Ending::Closing if named => {}
            Ending::Live | Ending::EndedByUser(_) | Ending::Closing => continue,
        }
        if !judge.selected(binding, &entry) {
            continue;
        }
        if let Some(settled) = folded.settled.get(&id).filter(|settled| settled.is_done()) {
            let came_back = settled.process.as_ref().is_some_and(|process| {
                view.processes.get(process) == Some(&Liveness::Gone)
                    && !folded.bindings.iter().any(|other| other.process == *process)
            });
            if settled.dismissed && !named {
                if policy.selection.older {
                    entry.verdict = Verdict::Skip;
                    entry.reason = Reason::new("dismissed", "you dismissed it");
                    out.push(entry);
                }
                continue;
            }
            if !settled.dismissed && !came_back {
                if named {
                    entry.verdict = Verdict::Skip;
                    entry.reason = Reason::new("already-restored", "it was restored already");
                    out.push(entry);
                }
                continue;
            }
        }
        match (ending, silent) {
            // Lost or not: where its server does not answer, nothing can be made for it.
            (_, Some((code, text))) => {
                entry.verdict = Verdict::Unknown;
                entry.reason = Reason::new(code, text);
            }
            (Ending::Live, _) => {
                entry.verdict = Verdict::Skip;
                entry.reason =
                    Reason::new("already-open", format!("it is running as pid {}", binding.process.pid));
            }
            (Ending::EndedByUser(how), _) => {
                entry.verdict = Verdict::Skip;
                entry.reason = Reason::new("ended-by-user", *how);
            }
            (Ending::Closing, _) => {
                entry.verdict = Verdict::Skip;
                entry.reason = Reason::new("closing", ending.text());
            }
            (Ending::Unknown(code, text), _) if !policy.force => {
                entry.verdict = Verdict::Unknown;
                entry.reason = Reason::new(code, text.clone());
            }
            _ => judge.lost(index, binding, ending, &mut entry),
        }
        out.push(entry);
    }
    out
}

/// Returns an entry without a verdict.
fn skeleton(binding: &Binding) -> Entry {
    Entry {
        entry: binding.entry(),
        verdict: Verdict::Unknown,
        reason: Reason::new("", ""),
        agent: Some(binding.agent),
        session: binding.current.as_ref().map(|held| held.session.clone()),
        home: Some(binding.home.clone()),
        surface: surface_of(binding),
        cwd: binding.launch.cwd.clone(),
        argv: Vec::new(),
        env: BTreeMap::new(),
        was: binding.was,
        label: None,
        evidence: evidence_of(binding),
        candidates: Vec::new(),
        preselected: None,
        notes: Vec::new(),
        incident: None,
    }
}

/// Returns where a binding stood.
pub fn surface_of(binding: &Binding) -> SurfaceView {
    let place = binding.place.as_ref();
    SurfaceView {
        id: binding.surface.clone(),
        mux: if binding.life.is_some() { "tmux" } else { "none" }.into(),
        socket: binding.life.as_ref().map(|life| life.socket.clone()),
        session: place.map(|place| place.session.clone()),
        window: place.map(|place| place.window),
        window_name: place.map(|place| place.window_name.clone()),
        pane: place.map(|place| place.pane),
        pane_id: None,
    }
}

/// Returns what speaks for the session a binding holds, strongest first.
pub fn evidence_of(binding: &Binding) -> Vec<Evidence> {
    let mut grades: Vec<Grade> =
        binding.current.iter().flat_map(|held| held.grades.iter().copied()).collect();
    if binding.current.is_none() && binding.argv_session.is_some() {
        grades.push(Grade::Argv);
    }
    grades.reverse();
    grades.into_iter().map(|grade| Evidence { grade, source: source(grade).into() }).collect()
}

const fn source(grade: Grade) -> &'static str {
    match grade {
        Grade::Hook => "the agent's hook",
        Grade::Registry => "the agent's live record",
        Grade::OpenFile => "an open transcript or its lock",
        Grade::Title => "the pane's title",
        Grade::Recorded => "index record",
        Grade::Argv => "the command line",
        Grade::Imported => "an imported save",
        Grade::Guess => "same directory",
    }
}

impl Judge<'_> {
    fn selected(&self, binding: &Binding, entry: &Entry) -> bool {
        let mut sessions: Vec<String> = binding.sessions().into_iter().map(String::from).collect();
        sessions.extend(binding.argv_session.iter().map(|id| id.as_str().to_owned()));
        self.policy.selection.matches(&Subject {
            entry: &entry.entry,
            surface: entry.surface.id.as_str(),
            agent: entry.agent,
            sessions: &sessions,
            mux_session: entry.surface.session.as_deref(),
            window: entry.surface.window,
            window_name: entry.surface.window_name.as_deref(),
            pane: entry.surface.pane,
            cwd: entry.cwd.as_deref(),
        })
    }

    /// Judges a binding whose process is proven gone and that no one ended by word.
    fn lost(&self, index: usize, binding: &Binding, ending: &Ending, entry: &mut Entry) {
        if let Some(reason) = self.excluded(entry) {
            entry.verdict = Verdict::Skip;
            entry.reason = reason;
            return;
        }
        if let Some(failures) = self.failed_twice(&entry.entry) {
            entry.verdict = Verdict::Blocked;
            entry.reason = Reason::new(
                "failed-twice",
                format!("it failed twice the same way ({failures}); --force tries again"),
            );
            return;
        }
        if let Some(through) = &binding.launch.through {
            entry.notes.push(format!("started through {}", short(&through.join(" "), 60)));
        }
        if binding.launch.flags_unknown {
            entry.notes.push("flags unknown: the program hides its arguments".into());
        }
        let title = self.by_title(binding);
        let held = match &title {
            Title::Silent => self.held(binding),
            Title::One(session) => {
                entry
                    .evidence
                    .insert(0, Evidence { grade: Grade::Title, source: source(Grade::Title).into() });
                Some((session.clone(), self.know.transcript(&key(binding, session))))
            }
            Title::Fresh => None,
        };
        let Some((session, known)) = held else {
            self.without_session(index, binding, entry, title == Title::Fresh);
            return;
        };
        entry.session = Some(session.clone());
        describe(entry, &known);
        if let Some(pid) = self.running(binding, &session) {
            entry.verdict = Verdict::Skip;
            entry.reason = Reason::new("already-open", format!("{session} is running as pid {pid}"));
            return;
        }
        let later = self.folded.bindings[index + 1..].iter().find(|other| other.surface == binding.surface);
        if let Some(later) = later {
            let same = later.sessions().contains(&session);
            entry.verdict = if same { Verdict::Skip } else { Verdict::Choose };
            entry.reason = if same {
                Reason::new("resumed-later", "the same conversation was resumed in this pane afterwards")
            } else {
                Reason::new("superseded", "another agent was started in this pane afterwards")
            };
            if !same {
                self.offer(binding, entry, vec![session]);
            }
            return;
        }
        if self.ended_elsewhere(index, binding, &session) {
            entry.verdict = Verdict::Choose;
            entry.reason = Reason::new(
                "ended-elsewhere",
                "it was also opened in another pane afterwards, and ended there",
            );
            self.offer(binding, entry, vec![session]);
            return;
        }
        if let Some(pid) = self.perhaps_held(index, binding, &known) {
            entry.verdict = Verdict::Choose;
            entry.reason = Reason::new(
                "perhaps-continued",
                format!(
                    "it was written after pid {pid} began, an agent whose conversation could not be read: \
                     it may have been continued there"
                ),
            );
            self.offer(binding, entry, vec![session]);
            return;
        }
        if let Err(block) = self.usable(binding, &session, &known, entry) {
            match block {
                Block::Previous(reason) => {
                    let earlier: Vec<SessionId> = binding
                        .sessions()
                        .into_iter()
                        .filter(|other| *other != session && self.has_conversation(binding, other))
                        .collect();
                    if earlier.is_empty() {
                        entry.verdict =
                            if reason.code == "never-prompted" { Verdict::Shell } else { Verdict::Blocked };
                        entry.reason = reason;
                    } else {
                        entry.verdict = Verdict::Choose;
                        entry.reason = Reason::new(
                            "no-conversation-yet",
                            format!("{session} holds no conversation; the one before it can be resumed"),
                        );
                        self.offer(binding, entry, earlier);
                    }
                }
                Block::Final(reason) => {
                    entry.verdict = Verdict::Blocked;
                    entry.reason = reason;
                }
                Block::Ask(reason, candidates) => {
                    entry.verdict = Verdict::Choose;
                    entry.reason = reason;
                    self.offer(binding, entry, candidates);
                }
            }
            return;
        }
        if let Ending::EndedUnknown(why) = ending {
            entry.verdict = Verdict::Choose;
            entry.reason = Reason::new("ended-unknown", *why);
            self.offer(binding, entry, vec![session]);
            return;
        }
        if binding.disputed.iter().any(|reading| reading.session != session) {
            let mut sessions: Vec<SessionId> =
                binding.disputed.iter().map(|reading| reading.session.clone()).collect();
            sessions.push(session);
            entry.verdict = Verdict::Choose;
            entry.reason = Reason::new("disputed", "weaker but newer evidence names another conversation");
            self.offer(binding, entry, sessions);
            return;
        }
        if title == Title::Silent
            && binding.current.is_none()
            && self.know.others_written_since(binding, &session)
        {
            entry.verdict = Verdict::Choose;
            entry.reason = Reason::new(
                "argv-stale",
                "only the command line names it, and another conversation of that directory was written since",
            );
            self.offer(binding, entry, vec![session]);
            return;
        }
        self.resume(binding, &session, &known, entry);
    }

    /// What its own title says, where that is newer than what it is known to hold.
    fn by_title(&self, binding: &Binding) -> Title {
        let Some(prefix) = binding.title_proof() else { return Title::Silent };
        if binding.current.as_ref().is_some_and(|held| held.session.as_str().starts_with(prefix)) {
            return Title::Silent;
        }
        match self.know.starting_with(binding.agent, &binding.home, prefix).as_slice() {
            [] => Title::Fresh,
            [one] => Title::One(one.clone()),
            _ => Title::Silent,
        }
    }

    /// The session a binding is taken to hold, and what is known of it: the newest in its history that a person
    /// could type into, for a sub-agent's thread is never a pane's.
    fn held(&self, binding: &Binding) -> Option<(SessionId, Known)> {
        let mut sessions = binding.sessions();
        if binding.current.is_none() {
            sessions.extend(binding.argv_session.clone());
        }
        let mut first = None;
        for session in sessions {
            let known = self.know.transcript(&key(binding, &session));
            if known.kind == Kind::Interactive {
                return Some((session, known));
            }
            first = first.or(Some((session, known)));
        }
        first
    }

    /// Whether an agent that began later, in another pane, held the same conversation and was left, or ended without a loss.
    fn ended_elsewhere(&self, index: usize, binding: &Binding, session: &SessionId) -> bool {
        self.folded.bindings.iter().zip(self.endings).skip(index + 1).any(|(other, ending)| {
            matches!(ending, Ending::EndedByUser(_) | Ending::EndedUnknown(_) | Ending::Closing)
                && other.agent == binding.agent
                && other.home == binding.home
                && other.surface != binding.surface
                && (other.sessions().contains(session)
                    || other.argv_session.as_ref() == Some(session)
                    || other.disputed.iter().any(|reading| reading.session == *session))
        })
    }

    /// The pid of an agent that began after this one was last seen, of which no evidence that may act names a
    /// conversation, when this one was written since it began: then it may have been resumed there.
    fn perhaps_held(&self, index: usize, binding: &Binding, known: &Known) -> Option<u32> {
        let written_since = |began_ms: i64| known.last_activity_ms + WALL_TOLERANCE_MS >= began_ms;
        let later = self.folded.bindings.iter().skip(index + 1).find(|other| {
            other.current.is_none()
                && other.agent == binding.agent
                && other.home == binding.home
                && other.first_seen.order() > binding.last_seen.order()
                && written_since(other.began_ms())
        });
        let living = || {
            self.view.agents.iter().find(|live| {
                !live.certain
                    && live.agent == binding.agent
                    && live.home == binding.home
                    && live.interactive
                    && live.began_ms > binding.last_seen.wall_ms - WALL_TOLERANCE_MS
                    && written_since(live.began_ms)
            })
        };
        later.map(|other| other.process.pid).or_else(|| living().map(|live| live.process.pid))
    }

    fn has_conversation(&self, binding: &Binding, session: &SessionId) -> bool {
        let known = self.know.transcript(&key(binding, session));
        known.conversation == Conversation::Yes && known.kind == Kind::Interactive
    }

    /// An agent of which no session was ever read: a guess is a question.
    ///
    /// `fresh`: its title showed a thread that nobody wrote in; what it held before can be resumed.
    fn without_session(&self, index: usize, binding: &Binding, entry: &mut Entry, fresh: bool) {
        let claimed: BTreeSet<SessionId> = self
            .folded
            .bindings
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index)
            .flat_map(|(_, other)| other.sessions().into_iter().chain(other.argv_session.clone()))
            .collect();
        let mut candidates: Vec<SessionId> = if fresh {
            binding.sessions().into_iter().filter(|session| self.has_conversation(binding, session)).collect()
        } else {
            binding.disputed.iter().map(|reading| reading.session.clone()).collect()
        };
        if let Some(cwd) = binding.launch.cwd.as_ref().filter(|_| !fresh) {
            for session in self.know.candidates(binding.agent, &binding.home, cwd) {
                if !candidates.contains(&session) {
                    candidates.push(session);
                }
            }
        }
        candidates.retain(|session| !claimed.contains(session) && self.running(binding, session).is_none());
        if self.folded.bindings[index + 1..].iter().any(|other| other.surface == binding.surface) {
            entry.verdict = Verdict::Skip;
            entry.reason = Reason::new(
                "superseded",
                "no session was read, and another agent was started in this pane afterwards",
            );
        } else if candidates.is_empty() && fresh {
            entry.verdict = Verdict::Shell;
            entry.reason = Reason::new("never-prompted", "it was opened and never prompted");
        } else if fresh {
            entry.verdict = Verdict::Choose;
            entry.reason = Reason::new(
                "no-conversation-yet",
                "its title showed a thread without a conversation; the one before it can be resumed",
            );
            self.offer(binding, entry, candidates);
        } else if candidates.is_empty() {
            entry.verdict = Verdict::Shell;
            entry.reason = Reason::new(
                "no-session",
                "no session of this agent was ever read, and none fits its directory",
            );
        } else {
            entry.verdict = Verdict::Choose;
            entry.reason = Reason::new(
                "session-unknown",
                "which conversation ran here is not known; these fit its directory",
            );
            self.offer(binding, entry, candidates);
        }
    }

    fn excluded(&self, entry: &Entry) -> Option<Reason> {
        let cwd = entry.cwd.as_deref();
        if self.policy.exclude_directories.iter().any(|above| cwd.is_some_and(|cwd| is_below(cwd, above))) {
            return Some(Reason::new("excluded", "its directory is excluded in the configuration"));
        }
        if self.policy.exclude_sessions.iter().any(|name| entry.surface.session.as_deref() == Some(name)) {
            return Some(Reason::new("excluded", "its tmux session is excluded in the configuration"));
        }
        None
    }

    fn failed_twice(&self, entry: &EntryId) -> Option<String> {
        let failures = &self.folded.settled.get(entry)?.failures;
        let [.., before, last] = failures.as_slice() else { return None };
        (before == last && !self.policy.force).then(|| last.clone())
    }

    /// The pid of a process anywhere that holds a session, whoever started it.
    fn running(&self, binding: &Binding, session: &SessionId) -> Option<u32> {
        self.view
            .agents
            .iter()
            .find(|live| {
                live.agent == binding.agent && live.home == binding.home && live.sessions.contains(session)
            })
            .map(|live| live.process.pid)
    }

    /// Whether a session can be resumed at all, and where.
    fn usable(
        &self,
        binding: &Binding,
        session: &SessionId,
        known: &Known,
        entry: &mut Entry,
    ) -> Result<(), Block> {
        if !self.know.home_exists(&binding.home) {
            return Err(Block::Final(Reason::new(
                "home-missing",
                format!("the agent's home {} is gone", short(&binding.home, 80)),
            )));
        }
        match &known.conversation {
            Conversation::Yes => {}
            Conversation::Missing { side_files: true } => {
                return Err(Block::Final(Reason::new(
                    "transcript-removed",
                    format!("the transcript of {session} is gone, probably by the agent's own retention"),
                )));
            }
            Conversation::Missing { side_files: false } => {
                let told = binding.prompted.contains(session)
                    || binding.current.as_ref().is_none_or(|held| !held.grades.contains(&Grade::Hook));
                return Err(Block::Previous(if told {
                    Reason::new("no-transcript", format!("no transcript for {session}"))
                } else {
                    Reason::new("never-prompted", "it was opened and never prompted")
                }));
            }
            Conversation::Empty | Conversation::None => {
                return Err(Block::Previous(Reason::new(
                    "no-conversation",
                    format!("no conversation in {session}"),
                )));
            }
            Conversation::Unreadable(why) => {
                return Err(Block::Final(Reason::new(
                    "transcript-unreadable",
                    format!("the transcript of {session} cannot be read: {}", short(why, 120)),
                )));
            }
        }
        match known.kind {
            Kind::Interactive => {}
            Kind::SubAgent => {
                return Err(Block::Final(Reason::new(
                    "sub-agent",
                    format!("{session} belongs to a sub-agent"),
                )));
            }
            Kind::Headless => {
                return Err(Block::Final(Reason::new("headless", format!("{session} was run by a program"))));
            }
            Kind::Unknown => {
                return Err(Block::Final(Reason::new(
                    "kind-unknown",
                    format!("{session} is of a kind this version does not know"),
                )));
            }
        }
        if let Some(base) = &known.missing_base {
            return Err(Block::Final(Reason::new(
                "parent-missing",
                format!("{session} was forked from {base}, whose transcript is gone"),
            )));
        }
        if let Some(next) = &known.continued_in {
            return Err(Block::Ask(
                Reason::new(
                    "continued-elsewhere",
                    format!("the transcript says that it was continued in {next}"),
                ),
                vec![next.clone(), session.clone()],
            ));
        }
        if known.archived {
            return Err(Block::Ask(
                Reason::new("archived", "it was archived; the agent asks before it resumes"),
                vec![session.clone()],
            ));
        }
        let Some(start) = self.know.start_directory(binding, known) else {
            return Err(Block::Final(Reason::new("directory-unknown", "its directory was never read")));
        };
        entry.cwd = Some(start.clone());
        match self.know.directory(&start) {
            Directory::There => {}
            Directory::Unreachable => {
                return Err(Block::Final(Reason::new(
                    "directory-unreachable",
                    format!("directory not reachable: {}", short(&start, 200)),
                )));
            }
            Directory::Forbidden => {
                return Err(Block::Final(Reason::new(
                    "forbidden",
                    format!("the directory may not be entered: {}", short(&start, 200)),
                )));
            }
            Directory::Missing(hint) => {
                let other = [&known.current, &known.project, &binding.launch.cwd]
                    .into_iter()
                    .flatten()
                    .find(|other| **other != start && self.know.directory(other) == Directory::There);
                if let Some(other) = other {
                    entry.notes.push(format!(
                        "its start directory {} is gone; its transcript names {}",
                        short(&start, 120),
                        short(other, 120)
                    ));
                    entry.cwd = Some(other.clone());
                    return Err(Block::Ask(
                        Reason::new(
                            "directory-moved",
                            "its start directory is gone and its transcript names another",
                        ),
                        vec![session.clone()],
                    ));
                }
                if let Some(hint) = hint {
                    entry.notes.push(hint);
                }
                return Err(Block::Final(Reason::new(
                    "directory-missing",
                    format!("directory missing: {}", short(&start, 200)),
                )));
            }
        }
        Ok(())
    }

    fn resume(&self, binding: &Binding, session: &SessionId, known: &Known, entry: &mut Entry) {
        let command = self.know.command(binding, &key(binding, session), known);
        entry.notes.extend(command.notes);
        if let Some(program) = command.missing_program {
            entry.verdict = Verdict::Blocked;
            entry.reason =
                Reason::new("agent-not-installed", format!("{} was not found", short(&program, 120)));
            return;
        }
        entry.verdict = Verdict::Resume;
        entry.reason = Reason::new("proof", proof(binding, session));
        entry.argv = command.argv;
        entry.env = command.env;
    }

    /// Fills the candidates; the first is preselected only when an import named it.
    fn offer(&self, binding: &Binding, entry: &mut Entry, sessions: Vec<SessionId>) {
        let imported = binding.disputed.iter().find(|reading| reading.grade == Grade::Imported);
        entry.preselected = imported.map(|reading| reading.session.clone());
        entry.candidates = sessions
            .into_iter()
            .map(|session| {
                let known = self.know.transcript(&key(binding, &session));
                Candidate {
                    cwd: known.project.clone().or_else(|| known.current.clone()),
                    title: known
                        .title
                        .as_deref()
                        .or(known.last_prompt.as_deref())
                        .map(|text| short(text, 80)),
                    last_active_ms: known.last_activity_ms,
                    session,
                }
            })
            .collect();
    }
}

/// What the thread id in a pane's title says.
#[derive(PartialEq, Eq)]
enum Title {
    /// Nothing that is proof, or nothing new.
    Silent,
    /// A thread that nobody wrote in.
    Fresh,
    /// This one.
    One(SessionId),
}

/// Why a session is not resumed.
enum Block {
    /// This one cannot; one held before may.
    Previous(Reason),
    /// It cannot.
    Final(Reason),
    /// A person must say.
    Ask(Reason, Vec<SessionId>),
}

fn key(binding: &Binding, session: &SessionId) -> SessionKey {
    SessionKey { agent: binding.agent, home: binding.home.clone(), id: session.clone() }
}

fn describe(entry: &mut Entry, known: &Known) {
    entry.label = known.last_prompt.as_deref().or(known.title.as_deref()).map(|text| short(text, 80));
    entry.notes.extend(known.notes.iter().cloned());
    if entry.was == Was::Unknown || known.was == Was::MidTurn {
        entry.was = known.was;
    }
}

fn proof(binding: &Binding, session: &SessionId) -> String {
    match &binding.current {
        _ if binding.title_proof().is_some_and(|prefix| session.as_str().starts_with(prefix)) => {
            format!("{} named this conversation last", source(Grade::Title))
        }
        Some(held) => format!("{} named this conversation last", source(held.grade)),
        None => {
            "the command line names it, and no other conversation of that directory was written since".into()
        }
    }
}

/// A session is planned at most once: the surface seen last keeps it, the others ask.
pub(super) fn once_each(entries: &mut [Entry]) {
    let mut planned = BTreeSet::new();
    for entry in entries.iter_mut().rev().filter(|entry| entry.verdict == Verdict::Resume) {
        let Some(session) = entry.session.clone() else { continue };
        if !planned.insert((entry.agent, entry.home.clone(), session.clone())) {
            entry.verdict = Verdict::Choose;
            entry.reason = Reason::new("planned-elsewhere", format!("{session} is planned for another pane"));
            entry.argv = Vec::new();
            entry.env = BTreeMap::new();
            entry.candidates.clear();
        }
    }
}

/// Blocks what goes beyond the capacity, in the order of the plan.
pub(super) fn limit(entries: &mut [Entry], capacity: Option<usize>) {
    let Some(capacity) = capacity else { return };
    for entry in entries.iter_mut().filter(|entry| entry.verdict == Verdict::Resume).skip(capacity) {
        entry.verdict = Verdict::Blocked;
        entry.reason = Reason::new(
            "over-capacity",
            format!("more than {capacity} sessions at once; restore it afterwards"),
        );
        entry.argv = Vec::new();
        entry.env = BTreeMap::new();
    }
}

/// Follows a person's answer.
pub(super) fn pick(
    plan: &mut Plan,
    surface: &SurfaceId,
    session: &SessionId,
    know: &dyn Knowledge,
    folded: &Folded,
    view: &LiveView,
) -> Result<(), PickError> {
    let policy = Policy { force: true, ..Policy::default() };
    let judge = Judge { folded, endings: &[], view, know, policy: &policy };
    let entry = plan
        .entries
        .iter_mut()
        .find(|entry| entry.surface.id == *surface || entry.entry.as_str() == surface.as_str())
        .ok_or_else(|| PickError::UnknownSurface(surface.clone()))?;
    if !entry.candidates.iter().any(|candidate| candidate.session == *session) {
        return Err(PickError::NotACandidate { surface: surface.clone(), session: session.clone() });
    }
    let binding = folded
        .bindings
        .iter()
        .find(|binding| binding.entry() == entry.entry)
        .ok_or_else(|| PickError::UnknownSurface(surface.clone()))?;
    let blocked = |reason: &Reason| PickError::Blocked {
        session: session.clone(),
        code: reason.code.clone(),
        text: reason.text.clone(),
    };
    if let Some(pid) = judge.running(binding, session) {
        return Err(blocked(&Reason::new("already-open", format!("running as pid {pid}"))));
    }
    let known = know.transcript(&key(binding, session));
    match judge.usable(binding, session, &known, entry) {
        // Archived, continued or moved is what the person was asked about.
        Ok(()) | Err(Block::Ask(..)) => {}
        Err(Block::Previous(reason) | Block::Final(reason)) => return Err(blocked(&reason)),
    }
    entry.session = Some(session.clone());
    entry.notes.clear();
    describe(entry, &known);
    judge.resume(binding, session, &known, entry);
    if entry.verdict != Verdict::Resume {
        return Err(blocked(&entry.reason));
    }
    entry.reason = Reason::new("picked", "you picked it");
    entry.candidates.clear();
    entry.preselected = None;
    let id = entry.entry.clone();
    if !plan.builds.iter().any(|build| build.carries(&id)) {
        let build = super::target::build_of_pick(folded, view, know, binding, &mut plan.entries);
        plan.builds.extend(build);
    }
    let duplicate = plan
        .entries
        .iter()
        .filter(|other| other.verdict == Verdict::Resume && other.session.as_ref() == Some(session))
        .count()
        > 1;
    if duplicate {
        once_each(&mut plan.entries);
    }
    Ok(())
}
