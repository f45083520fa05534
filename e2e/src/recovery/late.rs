//! Agents that ran before `reseat install`, or that nobody ever installed anything for.

use super::Step;
use super::cast::place_of;
use super::reseat::Reseat;
use crate::install::Installed;
use crate::{Agent, Error, Kind, Pane, Result, Rig, Turn, wait_until};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const NOTED: Duration = Duration::from_secs(30);

/// Two Claude and two Codex in one directory, one turn each.
fn four(rig: &Rig) -> Result<Vec<(Agent, Turn)>> {
    let dir = rig.project("proj");
    let one = rig.new_session("main", &dir)?;
    let two = rig.split(&one, &dir)?;
    let three = rig.new_window("main", &dir)?;
    let four = rig.split(&three, &dir)?;
    let parts = [
        (Kind::Claude, one, "alder is one"),
        (Kind::Codex, two, "birch is two"),
        (Kind::Claude, three, "cedar is three"),
        (Kind::Codex, four, "dogwood is four"),
    ];
    parts
        .into_iter()
        .map(|(kind, pane, prompt)| {
            let agent = rig.start(kind, &pane, &[])?;
            let turn = rig.turn(&agent, prompt)?;
            Ok((agent, turn))
        })
        .collect()
}

const PLACES: [&str; 4] = ["main:0.0", "main:0.1", "main:1.0", "main:1.1"];
const WORDS: [&str; 4] = ["alder", "birch", "cedar", "dogwood"];

/// Entries of the plan for the four places, in that order.
fn entries(plan: &Value) -> Result<Vec<Value>> {
    let all = plan["entries"].as_array().cloned().unwrap_or_default();
    PLACES
        .iter()
        .map(|place| {
            let found =
                all.iter().find(|entry| place_of(&entry["surface"]) == *place && !entry["agent"].is_null());
            found.cloned().ok_or_else(|| Error::new(format!("no entry for {place} in {plan:#}")))
        })
        .collect()
}

fn candidates(entry: &Value) -> Vec<String> {
    let all = entry["candidates"].as_array().cloned().unwrap_or_default();
    all.iter().filter_map(|candidate| candidate["session"].as_str().map(str::to_owned)).collect()
}

/// One more turn; its request carries the first word of its own conversation and of no other.
fn goes_on(rig: &Rig, at: usize, kind: Kind, pane: &Pane, first: &Turn, word: &str) -> Result<()> {
    let agent = rig.attach(kind, pane, Some(&first.session))?;
    let turn = rig.turn(&agent, &format!("{word} goes on"))?;
    let strangers = WORDS.iter().enumerate().filter(|(other, _)| *other != at);
    let request = rig.api().last_with(word).ok_or_else(|| Error::new("no request"))?;
    let foreign = strangers.map(|(_, stranger)| stranger).find(|stranger| request.contains(stranger));
    if turn.session != first.session || rig.api().carries(word, WORDS[at]) != Some(true) || foreign.is_some()
    {
        return Err(Error::new(format!(
            "{} went on as {} with {:?}",
            PLACES[at], turn.session, request.texts
        )));
    }
    Ok(())
}

fn pane_of(report: &Value, session: &str) -> Result<Pane> {
    let results = report["results"].as_array().cloned().unwrap_or_default();
    let result =
        results.iter().find(|result| result["session"] == session && result["outcome"] == "restored");
    let pane = result.and_then(|result| result["pane"].as_str());
    pane.map(|pane| Pane(pane.to_owned()))
        .ok_or_else(|| Error::new(format!("{session} was not restored: {report:#}")))
}

/// Installed while they ran. Claude's own live record is proof; a Codex that was started without the id in its title
/// says nothing of itself, so its conversation is a question that has the right answer among its candidates.
pub(super) fn installed_late(agents: &Installed, binary: &Path, step: Step<'_>) -> Result<()> {
    let rig = Rig::untitled(agents, &["proj"])?;
    let mut cast = four(&rig)?;
    let reseat = Reseat::copied(&rig, binary)?;
    reseat.done(&["install"])?;
    step("installed while 2 Claude and 2 Codex ran");
    for (at, prompt) in [(0, "elm comes after"), (1, "fir comes after")] {
        let turn = rig.turn(&cast[at].0, prompt)?;
        cast[at].1 = turn;
    }
    for at in [0, 2] {
        let session = cast[at].1.session.clone();
        wait_until(&format!("reseat to note {session}"), NOTED, || reseat.succeeds(&["log", &session]))?;
    }
    rig.crash_host()?;
    let plan = reseat.json(&["plan"], 0)?;
    let found = entries(&plan)?;
    for at in [0, 2] {
        let session = cast[at].1.session.as_str();
        if found[at]["verdict"] != "resume" || found[at]["session"] != session {
            return Err(Error::new(format!(
                "{} is not resumed by its live record: {:#}",
                PLACES[at], found[at]
            )));
        }
    }
    for at in [1, 3] {
        let right = cast[at].1.session.clone();
        if found[at]["verdict"] != "choose" || !candidates(&found[at]).contains(&right) {
            return Err(Error::new(format!("{} is no question with {right}: {:#}", PLACES[at], found[at])));
        }
    }
    step("planned: Claude by its live record, Codex as questions");
    let picks: Vec<String> = [1, 3]
        .iter()
        .map(|at| {
            format!("{}={}", found[*at]["surface"]["id"].as_str().unwrap_or_default(), cast[*at].1.session)
        })
        .collect();
    let mut words = vec!["restore", "--yes"];
    for pick in &picks {
        words.extend(["--pick", pick]);
    }
    let report = reseat.json(&words, 0)?;
    for (at, word) in ["gorse", "hazel", "ivy", "juniper"].into_iter().enumerate() {
        let (agent, turn) = &cast[at];
        goes_on(&rig, at, agent.kind, &pane_of(&report, &turn.session)?, turn, word)?;
    }
    reseat.json(&["restore", "--yes"], 4)?;
    step("restored with two answers; each went on with its own conversation");
    Ok(())
}

/// Nothing was installed: what the agents left on disk is listed, nothing starts without a choice.
pub(super) fn not_installed(agents: &Installed, binary: &Path, step: Step<'_>) -> Result<()> {
    let rig = Rig::untitled(agents, &["proj"])?;
    let cast = four(&rig)?;
    rig.crash_host()?;
    step("everything killed, nothing ever installed");
    let reseat = Reseat::copied(&rig, binary)?;
    let plan = reseat.json(&["plan"], 5)?;
    let all = plan["entries"].as_array().cloned().unwrap_or_default();
    for (agent, turn) in &cast {
        let asked = all.iter().any(|entry| {
            entry["verdict"] == "choose"
                && entry["agent"] == agent.kind.program()
                && candidates(entry).contains(&turn.session)
        });
        if !asked {
            return Err(Error::new(format!("{} is not offered: {plan:#}", turn.session)));
        }
    }
    reseat.json(&["restore", "--yes"], 5)?;
    if rig.server().is_some() {
        return Err(Error::new("something was started without a choice"));
    }
    step("listed as questions; nothing starts by itself");
    let mut words = vec!["restore".to_owned(), "--yes".to_owned()];
    for (agent, turn) in &cast {
        let entry = all.iter().find(|entry| {
            entry["agent"] == agent.kind.program() && candidates(entry).first() == Some(&turn.session)
        });
        let entry = entry
            .ok_or_else(|| Error::new(format!("no question of its own for {}: {plan:#}", turn.session)))?;
        words.extend([
            "--pick".into(),
            format!("{}={}", entry["surface"]["id"].as_str().unwrap_or_default(), turn.session),
        ]);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let report = reseat.json(&words, 0)?;
    for (at, word) in ["gorse", "hazel", "ivy", "juniper"].into_iter().enumerate() {
        let (agent, turn) = &cast[at];
        goes_on(&rig, at, agent.kind, &pane_of(&report, &turn.session)?, turn, word)?;
    }
    step("picked; each went on with its own conversation");
    Ok(())
}
