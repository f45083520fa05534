//! What came of the panes of many worlds, counted.

use super::model::Class;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What became of the panes whose agents one kind of evidence speaks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Row {
    /// The right session is resumed outright.
    pub outright: u64,
    /// A person is asked, with the right one among the candidates.
    pub asked: u64,
    /// Neither, although it could be resumed.
    pub missed: u64,
    /// There was nothing to resume: never prompted, damaged, its directory gone.
    pub nothing: u64,
}

/// The counts of any number of worlds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Worlds.
    pub worlds: u64,
    /// Panes that held a live agent at the crash.
    pub panes: u64,
    /// By the best evidence there can be of an agent's session.
    pub rows: BTreeMap<Class, Row>,
    /// Entries to resume, older losses of the same world among them.
    pub resumed: u64,
    /// Wrong or unwanted resumes because of a change in the last two seconds, which no look had seen: the
    /// documented loss window.
    pub stale: u64,
    /// The same for an older change after which no look was answered: nothing watched, or the server hung.
    pub blind: u64,
    /// Resumes of the conversation before one that left no trace anywhere (opened, never typed in).
    pub traceless: u64,
    /// Resumes of a pane that was closed less than ten seconds before, or that no later look confirmed.
    pub closing: u64,
    /// Why the missed were missed: reason codes, or `no-entry`.
    pub why_missed: BTreeMap<String, u64>,
    /// Why people are asked.
    pub why_asked: BTreeMap<String, u64>,
}

impl Tally {
    /// Adds the counts of other worlds.
    pub fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.panes += other.panes;
        self.resumed += other.resumed;
        self.stale += other.stale;
        self.blind += other.blind;
        self.traceless += other.traceless;
        self.closing += other.closing;
        for (class, row) in &other.rows {
            let mine = self.rows.entry(*class).or_default();
            mine.outright += row.outright;
            mine.asked += row.asked;
            mine.missed += row.missed;
            mine.nothing += row.nothing;
        }
        for (mine, theirs) in
            [(&mut self.why_missed, &other.why_missed), (&mut self.why_asked, &other.why_asked)]
        {
            for (code, count) in theirs {
                *mine.entry(code.clone()).or_default() += count;
            }
        }
    }
}

/// The counts as a table for people.
pub fn table(tally: &Tally) -> String {
    let mut out = format!(
        "{} worlds, {} panes with an agent at the crash, {} entries to resume\n",
        tally.worlds, tally.panes, tally.resumed
    );
    let _ = writeln!(
        out,
        "{:<10} {:>8} {:>8} {:>8} {:>8} {:>9}",
        "evidence", "outright", "asked", "missed", "nothing", "outright%"
    );
    for (class, row) in &tally.rows {
        let name = match class {
            Class::Hook => "hook",
            Class::Registry => "registry",
            Class::OpenFile => "open-file",
            Class::Title => "title",
            Class::Argv => "argv only",
            Class::None => "none",
        };
        let all = row.outright + row.asked + row.missed;
        let share = if all == 0 { 0.0 } else { 100.0 * row.outright as f64 / all as f64 };
        let _ = writeln!(
            out,
            "{name:<10} {:>8} {:>8} {:>8} {:>8} {share:>8.1}%",
            row.outright, row.asked, row.missed, row.nothing
        );
    }
    let _ = writeln!(
        out,
        "outside what could be seen: {} stale (changed in the last 2 s), {} blind (no look answered since), \
         {} traceless (left no trace), {} closing (closed, not yet 10 s)",
        tally.stale, tally.blind, tally.traceless, tally.closing
    );
    let list = |counts: &BTreeMap<String, u64>| {
        counts.iter().map(|(code, count)| format!("{code} {count}")).collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(out, "asked because: {}", list(&tally.why_asked));
    let _ = writeln!(out, "missed because: {}", list(&tally.why_missed));
    out
}
