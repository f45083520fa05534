//! Whether a session can be resumed at all, and in which directory.

use super::judge::Judge;
use super::knowledge::{Conversation, Directory, Kind, Known};
use super::types::{Entry, Reason};
use crate::fact::Grade;
use crate::fold::Binding;
use crate::ids::SessionId;
use crate::text::short;

/// Why a session is not resumed.
pub(super) enum Block {
    /// This one cannot; one held before may.
    Previous(Reason),
    /// It cannot.
    Final(Reason),
    /// A person must say.
    Ask(Reason, Vec<SessionId>),
}

impl Judge<'_> {
    /// Whether a session can be resumed at all, and where.
    pub(super) fn usable(
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
}
