//! `reseat demo`: the main job from beginning to end, on a private tmux server with stand-in agents.

mod stage;

use super::Outcome;
use crate::exit::{Exit, Failure};
use crate::show;
use stage::Stage;
use std::time::Instant;

/// An agent on the stage: what it was told first proves which conversation it holds.
struct Actor {
    command: &'static str,
    told: &'static str,
    place: &'static str,
}

const ACTORS: [Actor; 3] = [
    Actor { command: "claude", told: "fix the checkout bug", place: "work:0.0" },
    Actor { command: "claude", told: "write the price tests", place: "work:0.1" },
    Actor { command: "codex", told: "draft the release notes", place: "work:1.0" },
];

pub(crate) fn run(keep: bool) -> Outcome {
    let begun = Instant::now();
    let stage = Stage::new(keep)?;
    say("1. three agents in tmux, two of them in one directory; a fourth that its user leaves again");
    open(&stage)?;
    show::out(&stage.tmux(&[
        "list-panes",
        "-a",
        "-F",
        "   #{session_name}:#{window_index}.#{pane_index} #{pane_current_command} #{pane_current_path}",
    ])?);
    say("2. the tmux server and everything in it is killed");
    stage.crash()?;
    let (_, overview, _) = stage.reseat(&[])?;
    show::out(&indent(&overview));
    say("3. reseat plan");
    let (code, plan, _) = stage.reseat(&["plan"])?;
    show::out(&indent(&plan));
    if code != 0 {
        return Err(failed(&format!("plan ended with {code}")));
    }
    say("4. reseat restore --yes");
    let (code, report, talk) = stage.reseat(&["restore", "--yes"])?;
    show::out(&indent(&talk));
    show::out(&indent(&report));
    if code != 0 {
        return Err(failed(&format!("restore ended with {code}")));
    }
    say("5. each agent is asked what it was told first");
    for actor in &ACTORS {
        stage.types(actor.place, "who")?;
        let want = format!("I AM {}", actor.told);
        Stage::wait(&format!("{} to say {want:?}", actor.place), || {
            Ok(stage.screen(actor.place)?.contains(&want))
        })?;
        show::out(&format!("   {} {}: {:?}", actor.place, actor.command, actor.told));
    }
    say("6. a second restore changes nothing");
    let (code, _, _) = stage.reseat(&["restore", "--yes"])?;
    if code != Exit::Nothing as i32 {
        return Err(failed(&format!("the second restore ended with {code}")));
    }
    show::out("   nothing to restore; what its user left is not back");
    say(&format!("every conversation is in its pane again · {:.1} s", begun.elapsed().as_secs_f32()));
    if stage.keep() {
        show::out(&format!("left to look at:\n{}\ntmux attach", stage.how_to_look()));
    }
    Ok(Exit::Done)
}

fn open(stage: &Stage) -> Result<(), Failure> {
    let (shop, notes) = (stage.dir("shop"), stage.dir("notes"));
    stage.tmux(&["new-session", "-d", "-s", "work", "-n", "shop", "-x", "120", "-y", "40", "-c", &shop])?;
    stage.tmux(&["split-window", "-d", "-t", "work:0.0", "-c", &shop])?;
    stage.tmux(&["new-window", "-d", "-t", "work:1", "-n", "notes", "-c", &notes])?;
    stage.tmux(&["new-window", "-d", "-t", "work:2", "-n", "done", "-c", &notes])?;
    for actor in &ACTORS {
        stage.types(actor.place, &format!("{} '{}'", actor.command, actor.told))?;
    }
    stage.types("work:2.0", "claude 'a question that is answered'")?;
    for place in ["work:0.0", "work:0.1", "work:1.0", "work:2.0"] {
        Stage::wait(&format!("the agent in {place}"), || {
            Ok(stage.screen(place)?.contains("stand-in ready"))
        })?;
    }
    stage.types("work:2.0", "/exit")?;
    // The hooks asked for looks; the crash comes once all of it was seen.
    Stage::wait("all of it to be noted", || {
        let (_, status, _) = stage.reseat(&["status", "--json"])?;
        let status: serde_json::Value = serde_json::from_str(&status).unwrap_or_default();
        let noted = status["live"].as_array().map_or(0, |live| {
            live.iter().filter(|item| item["evidence"].as_array().is_some_and(|all| !all.is_empty())).count()
        });
        let left = status["ended"].as_array().is_some_and(|ended| !ended.is_empty());
        let (_, kept, _) = stage.reseat(&["snapshot", "list", "--json"])?;
        let kept: serde_json::Value = serde_json::from_str(&kept).unwrap_or_default();
        Ok(noted == ACTORS.len() && left && kept["snapshots"][0]["panes"] == 4)
    })
}

fn say(text: &str) {
    show::out(&format!("\n{text}"));
}

fn indent(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("   {line}")).collect::<Vec<_>>().join("\n")
}

fn failed(text: &str) -> Failure {
    Failure::failed("demo-failed", text, "reseat demo --keep leaves it to look at")
}
