//! Ten agents in one directory, who said what in which pane, and what must become of each.

use super::Step;
use super::reseat::Reseat;
use crate::processes::Process;
use crate::{Agent, Error, Kind, Pane, Result, Rig, wait_until};
use serde_json::Value;
use std::time::Duration;

/// How an agent was left before the crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lot {
    /// It holds a conversation.
    Talks,
    /// It was opened and never prompted.
    Silent,
    /// Its user left it.
    Left,
}

/// An agent and where it sits.
pub(super) struct Member {
    kind: Kind,
    place: &'static str,
    lot: Lot,
    /// Its pane now.
    pub(super) pane: Pane,
    agent: Option<Agent>,
    session: String,
    /// First words of its prompts, oldest first, and of those of conversations it left by /clear or /new.
    said: Vec<String>,
    earlier: Vec<String>,
}

/// All of them.
pub(super) struct Cast<'a> {
    pub(super) rig: &'a Rig,
    pub(super) members: Vec<Member>,
    words: u32,
}

/// Kind, place, how it is left, whether it switches to a fresh conversation after its first turn.
const PARTS: [(Kind, &str, Lot, bool); 10] = [
    (Kind::Claude, "main:0.0", Lot::Talks, false),
    (Kind::Codex, "main:0.1", Lot::Talks, false),
    (Kind::Claude, "main:1.0", Lot::Talks, false),
    (Kind::Codex, "main:1.1", Lot::Talks, false),
    (Kind::Claude, "main:2.0", Lot::Talks, true),
    (Kind::Codex, "main:2.1", Lot::Talks, true),
    (Kind::Claude, "side:0.0", Lot::Silent, false),
    (Kind::Codex, "side:0.1", Lot::Silent, false),
    (Kind::Claude, "side:1.0", Lot::Left, false),
    (Kind::Codex, "side:1.1", Lot::Left, false),
];

const NOTED: Duration = Duration::from_secs(30);

impl<'a> Cast<'a> {
    /// Starts every agent and brings it to where it is to be.
    pub(super) fn start(rig: &'a Rig, step: Step<'_>) -> Result<Self> {
        let dir = rig.project("proj");
        let mut panes: Vec<Pane> = Vec::new();
        for (_, place, ..) in PARTS {
            let session = session_of(place);
            let pane = match place.split_once(':') {
                Some((_, "0.0")) => rig.new_session(session, &dir)?,
                Some((_, rest)) if rest.ends_with(".0") => rig.new_window(session, &dir)?,
                _ => rig.split(panes.last().ok_or_else(|| Error::new("no pane to split"))?, &dir)?,
            };
            panes.push(pane);
        }
        let mut cast = Self { rig, members: Vec::new(), words: 0 };
        for ((kind, place, lot, fresh), pane) in PARTS.into_iter().zip(panes) {
            let agent = rig.start(kind, &pane, &[])?;
            cast.members.push(Member {
                kind,
                place,
                lot,
                pane,
                agent: Some(agent),
                session: String::new(),
                said: Vec::new(),
                earlier: Vec::new(),
            });
            let at = cast.members.len() - 1;
            if lot != Lot::Silent {
                cast.turn(at)?;
            }
            if fresh {
                cast.begin_anew(at)?;
                cast.turn(at)?;
            }
        }
        for at in 0..cast.members.len() {
            if cast.members[at].lot == Lot::Left {
                cast.leave(at)?;
            }
        }
        step("10 agents in one directory: talking, after /clear and /new, never prompted, left");
        Ok(cast)
    }

    /// One turn; its request must hold what was said before in this conversation and nothing of another.
    fn turn(&mut self, at: usize) -> Result<()> {
        self.words += 1;
        let word = marker(self.words);
        let member = &self.members[at];
        let agent =
            member.agent.as_ref().ok_or_else(|| Error::new(format!("no agent in {}", member.place)))?;
        let turn = self.rig.turn(agent, &format!("{word} is my word"))?;
        let told =
            |text: String| Err(Error::new(format!("{} {}: {text}", member.place, member.kind.program())));
        if !member.session.is_empty() && turn.session != member.session {
            return told(format!("went on as {}, not {}", turn.session, member.session));
        }
        for earlier in &member.said {
            if self.rig.api().carries(&word, earlier) != Some(true) {
                return told(format!("the request with {word} does not carry {earlier}"));
            }
        }
        let others = self.members.iter().enumerate().filter(|(other, _)| *other != at);
        let strangers = others.flat_map(|(_, other)| other.said.iter().chain(&other.earlier));
        for stranger in strangers.chain(&member.earlier) {
            if self.rig.api().last_with(&word).is_some_and(|request| request.contains(stranger)) {
                return told(format!("the request with {word} carries {stranger} of another conversation"));
            }
        }
        let member = &mut self.members[at];
        member.session = turn.session;
        member.said.push(word);
        Ok(())
    }

    fn begin_anew(&mut self, at: usize) -> Result<()> {
        let member = &mut self.members[at];
        self.rig.type_line(&member.pane, if member.kind == Kind::Claude { "/clear" } else { "/new" })?;
        member.earlier.append(&mut member.said);
        let before = std::mem::take(&mut member.session);
        let (rig, pane, kind) = (self.rig, member.pane.clone(), member.kind);
        let agent = member.agent.clone();
        wait_until("a fresh conversation", NOTED, || match kind {
            Kind::Claude => agent.as_ref().is_some_and(|agent| {
                rig.claude_entry(agent.process.pid).is_some_and(|entry| entry["sessionId"] != before.as_str())
            }),
            Kind::Codex => rig.format(&pane, "#{pane_title}").is_ok_and(|title| {
                let shown = title.trim_start_matches("Ready | ").trim_end_matches('.');
                title.starts_with("Ready | ") && !before.starts_with(shown)
            }),
        })
    }

    fn leave(&mut self, at: usize) -> Result<()> {
        let member = &mut self.members[at];
        self.rig.type_line(&member.pane, if member.kind == Kind::Claude { "/exit" } else { "/quit" })?;
        let agent = member.agent.take();
        self.rig
            .wait_screen(&member.pane, "the shell again", NOTED, |screen| screen.trim_end().ends_with('$'))?;
        wait_until("the agent's end", NOTED, || {
            agent.as_ref().is_none_or(|agent| !crate::processes::alive(&agent.process))
        })
    }

    /// The agents' processes that run now.
    pub(super) fn running(&self) -> Vec<Process> {
        self.members.iter().filter_map(|member| Some(member.agent.as_ref()?.process.clone())).collect()
    }

    /// The agent of a member that talks, by its place.
    pub(super) fn agent_at(&self, place: &str) -> Result<&Agent> {
        let member = self.members.iter().find(|member| member.place == place);
        member
            .and_then(|member| member.agent.as_ref())
            .ok_or_else(|| Error::new(format!("no agent in {place}")))
    }

    /// Waits until `reseat` has kept, by its own hooks and looks, which conversation each pane holds.
    pub(super) fn wait_until_noted(&self, reseat: &Reseat<'_>) -> Result<()> {
        for member in self.members.iter().filter(|member| member.lot == Lot::Talks) {
            let what = format!("reseat to note {} of {}", member.session, member.place);
            wait_until(&what, NOTED, || {
                let words = ["log", &member.session, "--json"];
                reseat.succeeds(&words)
                    && reseat.json(&["status"], 0).is_ok_and(|status| {
                        status["live"].as_array().is_some_and(|live| {
                            live.iter().any(|item| {
                                item["session"] == member.session.as_str()
                                    && place_of(&item["surface"]) == member.place
                            })
                        })
                    })
            })?;
        }
        for member in self.members.iter().filter(|member| member.lot == Lot::Left) {
            wait_until(&format!("reseat to note the end in {}", member.place), NOTED, || {
                reseat.json(&["log", member.place], 0).is_ok_and(|story| {
                    story["lines"].as_array().is_some_and(|all| all.iter().any(|line| line["kind"] == "gone"))
                })
            })?;
        }
        Ok(())
    }

    /// The panes of every session that holds a running agent, with their sizes and directories. A session of nothing
    /// but shells is nothing that a restore misses.
    pub(super) fn layout(&self) -> Result<Vec<String>> {
        let held = |session: &str| {
            self.members.iter().any(|member| member.agent.is_some() && session_of(member.place) == session)
        };
        let all = self.panes()?;
        Ok(all.into_iter().filter(|line| held(session_of(line))).collect())
    }

    /// The same panes in the same places again.
    pub(super) fn check_layout(&self, before: &[String]) -> Result<()> {
        let sessions: Vec<&str> = before.iter().map(|line| session_of(line)).collect();
        let mut now = self.panes()?;
        now.retain(|line| sessions.contains(&session_of(line)));
        if now == before {
            return Ok(());
        }
        Err(Error::new(format!("the panes were\n{}\nand are\n{}", before.join("\n"), now.join("\n"))))
    }

    /// Without the names of windows: where the user gave none they follow the program.
    fn panes(&self) -> Result<Vec<String>> {
        let format =
            "#{session_name}:#{window_index}.#{pane_index} #{pane_width}x#{pane_height} #{pane_current_path}";
        let listed = self.rig.tmux(&["list-panes", "-a", "-F", format])?;
        Ok(listed.lines().map(str::to_owned).collect())
    }

    /// Every member of the plan: its verdict and session; nothing of those that were left.
    pub(super) fn check_plan(&self, plan: &Value) -> Result<()> {
        let entries = plan["entries"].as_array().cloned().unwrap_or_default();
        let lost = |member: &Member| {
            member.agent.as_ref().is_some_and(|agent| !crate::processes::alive(&agent.process))
        };
        for member in &self.members {
            let of_it: Vec<&Value> = entries
                .iter()
                .filter(|entry| place_of(&entry["surface"]) == member.place && !entry["agent"].is_null())
                .collect();
            let right = match (member.lot, lost(member)) {
                (Lot::Talks, true) => {
                    of_it.len() == 1
                        && of_it[0]["verdict"] == "resume"
                        && of_it[0]["session"] == member.session.as_str()
                }
                // What is left of a silent one is a shell after the first restore.
                (Lot::Silent, true) => of_it.len() == 1 && of_it[0]["verdict"] == "shell",
                (Lot::Left, _) | (_, false) => of_it.iter().all(|entry| entry["verdict"] == "skip"),
            };
            if !right {
                return Err(Error::new(format!(
                    "the plan for {} ({:?}, {}) is wrong: {of_it:#?}",
                    member.place, member.lot, member.session
                )));
            }
        }
        Ok(())
    }

    /// Every lost conversation came up as itself; the members' panes are where it says.
    pub(super) fn check_report(&mut self, report: &Value) -> Result<()> {
        let rig = self.rig;
        let results = report["results"].as_array().cloned().unwrap_or_default();
        for member in &mut self.members {
            let lost = member.agent.as_ref().is_some_and(|agent| !crate::processes::alive(&agent.process));
            if !lost {
                continue;
            }
            if member.lot == Lot::Silent {
                member.agent = None;
                continue;
            }
            let result = results.iter().find(|result| result["session"] == member.session.as_str());
            let restored = result.filter(|result| {
                result["outcome"] == "restored" && place_of(&result["surface"]) == member.place
            });
            let Some(pane) = restored.and_then(|result| result["pane"].as_str()) else {
                return Err(Error::new(format!(
                    "{} {} was not restored: {report:#}",
                    member.place, member.session
                )));
            };
            member.pane = Pane(pane.to_owned());
            member.agent = Some(rig.attach(member.kind, &member.pane, Some(&member.session))?);
        }
        Ok(())
    }

    /// One more turn in each pane that talks.
    pub(super) fn turn_each(&mut self) -> Result<()> {
        for at in 0..self.members.len() {
            if self.members[at].lot == Lot::Talks {
                self.turn(at)?;
            }
        }
        Ok(())
    }

    /// Ends a member's agent as [`Cast::agent_at`] finds it and starts its conversation as the pane's own process.
    pub(super) fn exec_in(&mut self, place: &str) -> Result<()> {
        let rig = self.rig;
        let member = self.members.iter_mut().find(|member| member.place == place);
        let member = member.ok_or_else(|| Error::new(format!("nobody in {place}")))?;
        rig.type_line(&member.pane, "/exit")?;
        let pane = member.pane.clone();
        rig.wait_screen(&pane, "the shell again", NOTED, |screen| screen.trim_end().ends_with('$'))?;
        rig.type_line(&pane, &format!("exec claude --permission-mode default --resume {}", member.session))?;
        member.agent = Some(rig.attach(member.kind, &pane, Some(&member.session))?);
        Ok(())
    }
}

/// `main:0.1`, from a surface in JSON.
pub(super) fn place_of(surface: &Value) -> String {
    format!("{}:{}.{}", surface["session"].as_str().unwrap_or_default(), surface["window"], surface["pane"])
}

fn session_of(place: &str) -> &str {
    place.split(':').next().unwrap_or_default()
}

/// A word that is part of no other: the rig looks for markers as bare text.
fn marker(number: u32) -> String {
    let letters: String =
        format!("{number:03}").bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
    format!("zq{letters}qz")
}
