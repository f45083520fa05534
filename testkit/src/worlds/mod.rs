//! Seeded crash worlds that measure matching: which lost session is put back in which pane.
//!
//! A world is a small simulation of tmux servers, panes, agents, transcripts and the people who use them. It is
//! independent of the code under test and keeps its truth aside. While it lives it emits the facts that hooks and
//! looks would have kept. Then something crashes, a plan is computed from the facts alone, and the plan is held
//! against the truth. A wrong resume is a panic that shows the seed, the facts and the true history.
//!
//! What nobody could have known is counted, not hidden: changes of the last two seconds, servers that no look
//! reached, conversations that left no trace.

mod actions;
mod crash;
mod disk;
mod model;
mod oracle;
mod rng;
mod sight;
mod tally;

pub use model::Class;
pub use tally::{Row, Tally, table};

/// Lives through the world of a seed, plans, compares, and counts.
///
/// # Panics
/// When the plan resumes anything wrong.
pub fn run(seed: u64) -> Tally {
    oracle::judge(&mut model::World::live(seed))
}
