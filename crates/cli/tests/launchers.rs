//! Agents that are started through something, and agents that cannot be brought back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{World, wait_for};
use serde_json::{Value, json};

/// The notes and arguments of the only entry with an agent.
fn entry(world: &World) -> Value {
    let plan = world.json(&["plan"]);
    let agents: Vec<&Value> =
        plan["entries"].as_array().unwrap().iter().filter(|entry| !entry["agent"].is_null()).collect();
    assert_eq!(agents.len(), 1, "{plan}");
    agents[0].clone()
}

fn has_note(entry: &Value, note: &str) -> bool {
    entry["notes"].as_array().unwrap().iter().any(|other| other == note)
}

/// A company's launcher is recorded by its name; configured, it is what resumes, and the session comes back by it.
#[test]
fn a_configured_launcher_resumes() {
    let world = World::new();
    let log = world.root().join("launched");
    let script =
        format!("#!/bin/sh\necho \"$@\" >> {}\nclaude --model opus \"$@\"\nexit $?\n", log.display());
    world.script("corp-claude", &script);
    world.session("work", "shop");
    let id = world.start("work:0.0", "corp-claude", "through the launcher");
    world.look();
    world.crash();
    // Not configured: the agent itself is resumed, and who had started it is said.
    let plain = entry(&world);
    assert_eq!(plain["verdict"], "resume", "{plain}");
    assert_eq!(
        plain["argv"],
        json!(["claude", "--model", "opus", "--permission-mode", "default", "--resume", id])
    );
    assert!(has_note(&plain, "started through corp-claude"), "{plain}");
    let dir = world.home().join(".config/reseat");
    std::fs::create_dir_all(&dir).unwrap();
    let config = |argv: &str| {
        let text = format!("[[launcher]]\nmatch = \"corp-claude\"\nargv = {argv}\n");
        std::fs::write(dir.join("config.toml"), text).unwrap();
    };
    config("[\"corp-gone\", \"--resume={session}\"]");
    let gone = entry(&world);
    assert_eq!(
        (&gone["verdict"], &gone["reason"]["code"]),
        (&json!("blocked"), &json!("agent-not-installed"))
    );
    config("[\"corp-claude\", \"--resume\", \"{session}\"]");
    let by_launcher = entry(&world);
    assert_eq!(by_launcher["argv"], json!(["corp-claude", "--resume", id]));
    let out = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(out.code, 0, "{out:?}");
    let pane = world.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]).trim().to_owned();
    world.asks(&pane, "through the launcher");
    assert_eq!(world.running().get(&id), Some(&1));
    let launched = std::fs::read_to_string(&log).unwrap();
    assert_eq!(launched.lines().last(), Some(format!("--resume {id}").as_str()));
}

/// An alias is what the shell made of it: its flags are carried, and no launcher is made up.
#[test]
fn an_alias_is_its_flags() {
    let world = World::new();
    world.session("work", "shop");
    world.types("work:0.0", "alias cc='claude --model opus'");
    let id = world.start("work:0.0", "cc", "through an alias");
    world.look();
    world.crash();
    let entry = entry(&world);
    assert_eq!(
        entry["argv"],
        json!(["claude", "--model", "opus", "--permission-mode", "default", "--resume", id])
    );
    assert!(!entry["notes"].to_string().contains("started through"), "{entry}");
}

/// Started through something that is the only way to it: blocked, with what to write where.
#[test]
fn an_agent_that_only_its_launcher_finds_is_blocked_with_a_way_out() {
    let world = World::new();
    let hidden = world.home().join("corp");
    std::fs::create_dir(&hidden).unwrap();
    std::fs::rename(world.home().join(".local/bin/claude"), hidden.join("claude")).unwrap();
    let script = format!("#!/bin/sh\nPATH=\"{}:$PATH\"\nclaude \"$@\"\nexit $?\n", hidden.display());
    world.script("corp-claude", &script);
    world.session("work", "shop");
    world.start("work:0.0", "corp-claude", "hidden away");
    world.look();
    world.crash();
    let entry = entry(&world);
    assert_eq!(
        (&entry["verdict"], &entry["reason"]["code"]),
        (&json!("blocked"), &json!("agent-not-installed"))
    );
    let way = "a [[launcher]] with match = \"corp-claude\" in the configuration can say how it resumes";
    assert!(has_note(&entry, way) && has_note(&entry, "started through corp-claude"), "{entry}");
}

/// RBT-26, RBT-27, GAP-01: agents without an adapter, on other hosts and in containers are named with the reason,
/// and planned for nothing.
#[test]
fn rbt_26_rbt_27_what_cannot_be_brought_back_is_named() {
    let world = World::new();
    let stand_in = "#!/bin/sh\necho up\nexec 3>&1\nwhile :; do sleep 1; done\n";
    for name in ["aider", "ssh", "docker"] {
        world.script(name, stand_in);
    }
    world.session("work", "shop");
    world.split("work:0.0", "shop");
    world.split("work:0.1", "shop");
    for (pane, typed) in
        ["aider", "ssh -t box 'claude --resume x'", "docker exec -it dev codex"].iter().enumerate()
    {
        let pane = format!("work:0.{pane}");
        world.types(&pane, typed);
        wait_for(typed, || world.screen(&pane).lines().any(|line| line == "up"));
    }
    let status = world.json(&["status"]);
    let named: Vec<(String, String, String)> = status["unsupported"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            let text = |key: &str| item[key].as_str().unwrap().to_owned();
            (text("pane_id"), text("name"), text("reason"))
        })
        .collect();
    let row = |pane: &str, name: &str, reason: &str| (pane.to_owned(), name.to_owned(), reason.to_owned());
    assert_eq!(
        named,
        [
            row("%0", "aider", "how it resumes is not known here"),
            row("%1", "Claude Code", "it runs on another host (ssh), which may not be up"),
            row("%2", "Codex", "it runs in a container (docker), which may not be up"),
        ]
    );
    let shown = world.reseat(&["status"]).stdout;
    let socket = world.socket().display().to_string();
    assert!(
        shown.contains(&format!(
            "not supported: aider in pane %0 of {socket}: how it resumes is not known here\n"
        )),
        "{shown}"
    );
    world.look();
    world.crash();
    let plan = world.reseat(&["plan", "--json"]);
    assert!(
        plan.json()["entries"].as_array().unwrap().iter().all(|entry| entry["agent"].is_null()),
        "{plan:?}"
    );
}
