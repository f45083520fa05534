//! One verdict for a lost surface.

use super::Policy;
use super::entries::source;
use super::held::Title;
use super::knowledge::{Knowledge, Known};
use super::types::{Candidate, Entry, Evidence, Reason, Verdict};
use super::usable::Block;
use crate::ending::{Ending, LiveView};
use crate::fact::{Grade, Was};
use crate::fold::{Binding, Folded};
use crate::ids::{EntryId, SessionId, SessionKey};
use crate::select::is_below;
use crate::text::short;

/// What every judgement looks at.
pub(super) struct Judge<'a> {
    pub(super) folded: &'a Folded,
    /// One per binding; empty when a person has answered.
    pub(super) endings: &'a [Ending],
    pub(super) view: &'a LiveView,
    pub(super) know: &'a dyn Knowledge,
    pub(super) policy: &'a Policy,
}

impl Judge<'_> {
    /// Judges a binding whose process is proven gone and that no one ended by word.
    pub(super) fn lost(&self, index: usize, binding: &Binding, ending: &Ending, entry: &mut Entry) {
        if let Some(reason) = self.excluded(entry) {
            entry.judged(Verdict::Skip, reason);
            return;
        }
        if let Some(failures) = self.failed_twice(&entry.entry) {
            entry.judged(
                Verdict::Blocked,
                Reason::new(
                    "failed-twice",
                    format!("it failed twice the same way ({failures}); --force tries again"),
                ),
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
            entry.judged(
                Verdict::Skip,
                Reason::new("already-open", format!("{session} is running as pid {pid}")),
            );
            return;
        }
        let later = self.folded.bindings[index + 1..].iter().find(|other| other.surface == binding.surface);
        if let Some(later) = later {
            if later.sessions().contains(&session) {
                entry.judged(
                    Verdict::Skip,
                    Reason::new("resumed-later", "the same conversation was resumed in this pane afterwards"),
                );
            } else {
                entry.judged(
                    Verdict::Choose,
                    Reason::new("superseded", "another agent was started in this pane afterwards"),
                );
                self.offer(binding, entry, vec![session]);
            }
            return;
        }
        if self.ended_elsewhere(index, binding, &session) {
            entry.judged(
                Verdict::Choose,
                Reason::new(
                    "ended-elsewhere",
                    "it was also opened in another pane afterwards, and ended there",
                ),
            );
            self.offer(binding, entry, vec![session]);
            return;
        }
        if let Some(pid) = self.perhaps_held(index, binding, &known) {
            entry.judged(Verdict::Choose, Reason::new(
                "perhaps-continued",
                format!(
                    "it was written after pid {pid} began, an agent whose conversation could not be read: \
                     it may have been continued there"
                ),
            ));
            self.offer(binding, entry, vec![session]);
            return;
        }
        if let Err(block) = self.usable(binding, &session, &known, entry) {
            self.blocked(binding, &session, block, entry);
            return;
        }
        if let Ending::EndedUnknown(why) = ending {
            entry.judged(Verdict::Choose, Reason::new("ended-unknown", *why));
            self.offer(binding, entry, vec![session]);
            return;
        }
        if binding.disputed.iter().any(|reading| reading.session != session) {
            let mut sessions: Vec<SessionId> =
                binding.disputed.iter().map(|reading| reading.session.clone()).collect();
            sessions.push(session);
            entry.judged(
                Verdict::Choose,
                Reason::new("disputed", "weaker but newer evidence names another conversation"),
            );
            self.offer(binding, entry, sessions);
            return;
        }
        if title == Title::Silent
            && binding.current.is_none()
            && self.know.others_written_since(binding, &session)
        {
            entry.judged(Verdict::Choose, Reason::new(
                "argv-stale",
                "only the command line names it, and another conversation of that directory was written since",
            ));
            self.offer(binding, entry, vec![session]);
            return;
        }
        self.resume(binding, &session, &known, entry);
    }

    /// A session that cannot simply be resumed: what is offered in its place.
    fn blocked(&self, binding: &Binding, session: &SessionId, block: Block, entry: &mut Entry) {
        match block {
            Block::Previous(reason) => {
                let earlier: Vec<SessionId> = binding
                    .sessions()
                    .into_iter()
                    .filter(|other| other != session && self.has_conversation(binding, other))
                    .collect();
                if earlier.is_empty() {
                    entry.judged(
                        if reason.code == "never-prompted" { Verdict::Shell } else { Verdict::Blocked },
                        reason,
                    );
                } else {
                    entry.judged(
                        Verdict::Choose,
                        Reason::new(
                            "no-conversation-yet",
                            format!("{session} holds no conversation; the one before it can be resumed"),
                        ),
                    );
                    self.offer(binding, entry, earlier);
                }
            }
            Block::Final(reason) => entry.judged(Verdict::Blocked, reason),
            Block::Ask(reason, candidates) => {
                entry.judged(Verdict::Choose, reason);
                self.offer(binding, entry, candidates);
            }
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
    pub(super) fn running(&self, binding: &Binding, session: &SessionId) -> Option<u32> {
        self.view
            .agents
            .iter()
            .find(|live| {
                live.agent == binding.agent && live.home == binding.home && live.sessions.contains(session)
            })
            .map(|live| live.process.pid)
    }

    pub(super) fn resume(&self, binding: &Binding, session: &SessionId, known: &Known, entry: &mut Entry) {
        let command = self.know.command(binding, &key(binding, session), known);
        entry.notes.extend(command.notes);
        if let Some(program) = command.missing_program {
            entry.judged(
                Verdict::Blocked,
                Reason::new("agent-not-installed", format!("{} was not found", short(&program, 120))),
            );
            return;
        }
        entry.judged(Verdict::Resume, Reason::new("proof", proof(binding, session)));
        entry.argv = command.argv;
        entry.env = command.env;
    }

    /// Fills the candidates; the first is preselected only when an import named it.
    pub(super) fn offer(&self, binding: &Binding, entry: &mut Entry, sessions: Vec<SessionId>) {
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

pub(super) fn key(binding: &Binding, session: &SessionId) -> SessionKey {
    SessionKey { agent: binding.agent, home: binding.home.clone(), id: session.clone() }
}

pub(super) fn describe(entry: &mut Entry, known: &Known) {
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
