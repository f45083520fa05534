//! Which processes below a pane are its agent, judged from the process table alone.

use std::collections::BTreeMap;

/// One row of the process table, as far as a pane's tree needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Pid.
    pub pid: u32,
    /// Parent.
    pub ppid: u32,
    /// Process group.
    pub pgrp: u32,
    /// Controlling terminal's device; 0 when there is none.
    pub tty: u64,
    /// The terminal's foreground process group as this process sees it; -1 when there is none.
    pub foreground: i32,
}

/// How an agent process stands to a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The pane's own agent.
    TopLevel {
        /// It is in the terminal's foreground group.
        foreground: bool,
    },
    /// Below another agent, left behind by the pane's processes, or without the pane's terminal.
    Nested,
}

/// A process table, indexed for walks.
#[derive(Debug, Default)]
pub struct Tree {
    rows: BTreeMap<u32, Row>,
    children: BTreeMap<u32, Vec<u32>>,
}

impl Tree {
    /// Builds the index.
    pub fn new(rows: impl IntoIterator<Item = Row>) -> Self {
        let mut tree = Self::default();
        for row in rows {
            tree.children.entry(row.ppid).or_default().push(row.pid);
            tree.rows.insert(row.pid, row);
        }
        tree
    }

    /// Returns the row of a pid.
    pub fn row(&self, pid: u32) -> Option<&Row> {
        self.rows.get(&pid)
    }

    /// Returns the ancestors of a pid, nearest first, at most as many as there are processes.
    pub fn ancestors(&self, pid: u32) -> Vec<u32> {
        let mut out = Vec::new();
        let mut at = pid;
        while let Some(row) = self.rows.get(&at) {
            if row.ppid == 0 || row.ppid == at || out.contains(&row.ppid) {
                break;
            }
            out.push(row.ppid);
            at = row.ppid;
        }
        out
    }

    /// Returns all descendants of a pid, itself first, parents before children.
    pub fn below(&self, pid: u32) -> Vec<u32> {
        let mut out = vec![pid];
        let mut next = 0;
        while next < out.len() {
            if let Some(children) = self.children.get(&out[next]) {
                for child in children {
                    if !out.contains(child) {
                        out.push(*child);
                    }
                }
            }
            next += 1;
        }
        out
    }

    /// Judges an agent process of the pane whose first process is `root` and whose terminal is `tty`.
    ///
    /// `is_agent` says whether a pid is an agent's front end.
    pub fn standing(&self, pid: u32, root: u32, tty: u64, is_agent: impl Fn(u32) -> bool) -> Standing {
        let Some(row) = self.rows.get(&pid) else { return Standing::Nested };
        if row.tty == 0 || row.tty != tty {
            return Standing::Nested;
        }
        let above = self.ancestors(pid);
        if (pid != root && !above.contains(&root)) || above.into_iter().any(is_agent) {
            return Standing::Nested;
        }
        Standing::TopLevel { foreground: row.foreground > 0 && row.foreground.cast_unsigned() == row.pgrp }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: u32, ppid: u32, pgrp: u32, tty: u64) -> Row {
        Row { pid, ppid, pgrp, tty, foreground: 500 }
    }

    /// C03: a headless child agent below the pane's agent is nested, whatever its variables say.
    #[test]
    fn c03_an_agent_below_an_agent_is_nested() {
        let tree = Tree::new([
            row(400, 1, 400, 7),
            row(500, 400, 500, 7),
            row(510, 500, 500, 7),
            row(520, 510, 500, 7),
        ]);
        let agent = |pid| pid == 500 || pid == 520;
        assert_eq!(tree.standing(500, 400, 7, agent), Standing::TopLevel { foreground: true });
        assert_eq!(tree.standing(520, 400, 7, agent), Standing::Nested);
    }

    /// A helper process of an agent that ended keeps the terminal and belongs to nobody in the pane any more. An agent
    /// that is the pane's first process has nobody above it there.
    #[test]
    fn a_process_that_was_left_behind_is_nested() {
        let tree = Tree::new([row(400, 1, 400, 7), row(500, 1, 500, 7), row(510, 400, 510, 7)]);
        assert_eq!(tree.standing(500, 400, 7, |pid| pid == 500), Standing::Nested);
        assert_eq!(tree.standing(510, 400, 7, |pid| pid >= 500), Standing::TopLevel { foreground: false });
        assert_eq!(tree.standing(400, 400, 7, |pid| pid == 400), Standing::TopLevel { foreground: false });
    }

    #[test]
    fn a_process_without_the_panes_terminal_is_nested() {
        let tree = Tree::new([
            row(400, 1, 400, 7),
            row(500, 400, 500, 0),
            row(501, 400, 501, 8),
            row(502, 400, 502, 7),
        ]);
        let agent = |pid| pid >= 500;
        assert_eq!(tree.standing(500, 400, 7, agent), Standing::Nested);
        assert_eq!(tree.standing(501, 400, 7, agent), Standing::Nested);
        assert_eq!(tree.standing(502, 400, 7, agent), Standing::TopLevel { foreground: false });
    }

    #[test]
    fn walks_end_on_cyclic_tables() {
        let tree = Tree::new([row(5, 6, 5, 1), row(6, 5, 6, 1)]);
        assert_eq!(tree.ancestors(5), vec![6, 5]);
        assert_eq!(tree.below(5), vec![5, 6]);
    }
}
