//! Which session a binding is taken to hold, and who else may hold it.

use super::judge::{Judge, key};
use super::knowledge::{Conversation, Kind, Known, WALL_TOLERANCE_MS};
use super::types::{Entry, Reason, Verdict};
use crate::ending::Ending;
use crate::fold::Binding;
use crate::ids::SessionId;
use std::collections::BTreeSet;

/// What the thread id in a pane's title says.
#[derive(PartialEq, Eq)]
pub(super) enum Title {
    /// Nothing that is proof, or nothing new.
    Silent,
    /// A thread that nobody wrote in.
    Fresh,
    /// This one.
    One(SessionId),
}

impl Judge<'_> {
    /// What its own title says, where that is newer than what it is known to hold.
    pub(super) fn by_title(&self, binding: &Binding) -> Title {
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
    pub(super) fn held(&self, binding: &Binding) -> Option<(SessionId, Known)> {
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
    pub(super) fn ended_elsewhere(&self, index: usize, binding: &Binding, session: &SessionId) -> bool {
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
    pub(super) fn perhaps_held(&self, index: usize, binding: &Binding, known: &Known) -> Option<u32> {
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

    pub(super) fn has_conversation(&self, binding: &Binding, session: &SessionId) -> bool {
        let known = self.know.transcript(&key(binding, session));
        known.conversation == Conversation::Yes && known.kind == Kind::Interactive
    }

    /// An agent of which no session was ever read: a guess is a question.
    ///
    /// `fresh`: its title showed a thread that nobody wrote in; what it held before can be resumed.
    pub(super) fn without_session(&self, index: usize, binding: &Binding, entry: &mut Entry, fresh: bool) {
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
            entry.judged(
                Verdict::Skip,
                Reason::new(
                    "superseded",
                    "no session was read, and another agent was started in this pane afterwards",
                ),
            );
        } else if candidates.is_empty() && fresh {
            entry.judged(Verdict::Shell, Reason::new("never-prompted", "it was opened and never prompted"));
        } else if fresh {
            entry.judged(
                Verdict::Choose,
                Reason::new(
                    "no-conversation-yet",
                    "its title showed a thread without a conversation; the one before it can be resumed",
                ),
            );
            self.offer(binding, entry, candidates);
        } else if candidates.is_empty() {
            entry.judged(
                Verdict::Shell,
                Reason::new(
                    "no-session",
                    "no session of this agent was ever read, and none fits its directory",
                ),
            );
        } else {
            entry.judged(
                Verdict::Choose,
                Reason::new(
                    "session-unknown",
                    "which conversation ran here is not known; these fit its directory",
                ),
            );
            self.offer(binding, entry, candidates);
        }
    }
}
