//! Bad input has a message that says what and what to do, a documented exit code, and loses nothing.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{World, verdicts, wait_for};

/// A call that cannot begin prints one error object.
fn refused(world: &World, args: &[&str], code: i32, error: &str) {
    let mut all = args.to_vec();
    all.push("--json");
    let out = world.reseat(&all);
    assert_eq!(out.code, code, "{args:?}: {out:?}");
    let value = out.json();
    assert_eq!(value["error"]["code"], error, "{args:?}: {value}");
    assert!(!value["error"]["text"].as_str().unwrap().is_empty());
    assert!(!value["error"]["hint"].as_str().unwrap().is_empty());
}

#[test]
fn unknown_names_are_usage_errors() {
    let world = World::new();
    world.session("work", "shop");
    world.start("work:0.0", "claude", "something");
    world.look();
    world.crash();
    let before = world.json(&["plan"]);
    refused(&world, &["plan", "--session", "wor"], 2, "unknown-selector");
    refused(&world, &["plan", "--pane", "work:0.9"], 2, "unknown-selector");
    refused(&world, &["plan", "--pane", "nonsense"], 2, "bad-selector");
    refused(&world, &["plan", "--window", "work"], 2, "bad-selector");
    refused(&world, &["plan", "--agent", "gemini"], 2, "bad-selector");
    refused(&world, &["plan", "e-nothing"], 2, "unknown-selector");
    refused(&world, &["restore", "--yes", "--entry", "e-nothing"], 2, "unknown-selector");
    refused(&world, &["restore", "--yes", "--pick", "nonsense"], 2, "bad-pick");
    refused(&world, &["restore", "--yes", "--pick", "p-1=U1; touch PWNED"], 2, "bad-pick");
    refused(&world, &["restore", "--yes", "--plan", "plan-0000000000000000"], 5, "plan-changed");
    refused(&world, &["end", "nobody"], 2, "unknown-id");
    refused(&world, &["snapshot", "show", "s-nothing"], 2, "unknown-snapshot");
    assert_eq!(world.reseat(&["nonsense"]).code, 2);
    assert_eq!(world.reseat(&["find", "no such words anywhere"]).code, 4);
    assert_eq!(world.json(&["plan"]), before);
}

#[test]
fn a_configuration_that_cannot_be_understood_is_named() {
    let world = World::new();
    let dir = world.home().join(".config/reseat");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("config.toml"), "parrallel = 3\n").unwrap();
    let out = world.reseat(&["plan"]);
    assert_eq!(out.code, 2);
    assert!(out.stderr.contains("config.toml") && out.stderr.contains("parrallel"), "{out:?}");
}

/// C13, C08: transcripts that are directories, empty, or hold no conversation.
#[test]
fn c13_transcripts_of_every_wrong_kind() {
    let world = World::new();
    world.session("work", "shop");
    for _ in 0..3 {
        world.split("work:0.0", "shop");
    }
    let words = ["good words", "directory words", "empty words", "torn words"];
    let ids: Vec<String> = words
        .iter()
        .enumerate()
        .map(|(at, words)| world.start(&format!("work:0.{at}"), "claude", words))
        .collect();
    world.look();
    world.crash();
    let folder =
        std::fs::read_dir(world.home().join(".claude/projects")).unwrap().next().unwrap().unwrap().path();
    let file = |at: usize| folder.join(format!("{}.jsonl", ids[at]));
    std::fs::remove_file(file(1)).unwrap();
    std::fs::create_dir(file(1)).unwrap();
    std::fs::write(file(2), "").unwrap();
    let torn = [std::fs::read(file(3)).unwrap(), b"{\"type\":\"assistant\",\"mess".to_vec()].concat();
    std::fs::write(file(3), &torn).unwrap();
    let plan = world.json(&["plan"]);
    let found: Vec<(String, String)> = verdicts(&plan).into_values().collect();
    let want = |verdict: &str, at: usize| (verdict.to_owned(), ids[at].clone());
    assert_eq!(found, [want("resume", 0), want("blocked", 1), want("blocked", 2), want("resume", 3)]);
    let notes = plan["entries"][3]["notes"].to_string();
    assert!(notes.contains("tail damaged, 25 bytes ignored"), "{notes}");
    assert_eq!(std::fs::read(file(3)).unwrap(), torn);
}

/// A hanging tmux and one that prints nonsense: nothing is judged by it, and nothing is recorded as gone.
#[test]
fn c21_a_tmux_that_hangs_or_lies_changes_nothing() {
    let world = World::new();
    world.session("work", "shop");
    let id = world.start("work:0.0", "claude", "still there");
    world.look();
    let real = ["/usr/bin/tmux", "/usr/local/bin/tmux", "/bin/tmux"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists());
    for script in ["exec sleep 60", "exit 1", "exit 0", "printf 'a_%%0_8378\\n'; exit 0"] {
        world.script("tmux", &format!("#!/bin/sh\n{script}\n"));
        let plan = world.reseat(&["plan", "--json"]);
        assert_eq!(plan.code, 5, "{script}: {plan:?}");
        assert_eq!(
            verdicts(&plan.json()).into_values().next(),
            Some(("unknown".into(), id.clone())),
            "{script}"
        );
        assert_eq!(world.reseat(&["snapshot", "take"]).code, 4, "{script}");
    }
    std::fs::remove_file(world.home().join(".local/bin/tmux")).unwrap();
    assert!(real.is_some());
    wait_for("the agent to be live again", || world.running().get(&id) == Some(&1));
    assert_eq!(world.reseat(&["plan"]).code, 4);
}

/// Nothing a terminal acts on reaches it (C35), and a directory of any name is used as it is.
#[test]
fn c35_names_from_outside_are_shown_plain_and_used_literally() {
    let world = World::new();
    let odd = world.home().join("a'$(touch PWNED)'b #{pane_pid}");
    std::fs::create_dir(&odd).unwrap();
    world.tmux(&[
        "new-session",
        "-d",
        "-s",
        "-t x",
        "-n",
        ";kill-server",
        "-c",
        &odd.to_str().unwrap().replace('#', "##"),
    ]);
    let pane = world.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]).trim().to_owned();
    world.start(&pane, "claude", "hostile words");
    let folder =
        std::fs::read_dir(world.home().join(".claude/projects")).unwrap().next().unwrap().unwrap().path();
    let id = world.id_of("hostile words");
    let path = folder.join(format!("{id}.jsonl"));
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"type\":\"custom-title\",\"customTitle\":\"x\\u001b[2J\\u001b]0;y\\u0007\\r\\u202ez\",\"sessionId\":\"");
    text.push_str(&format!("{id}\"}}\n{{\"type\":\"last-prompt\",\"lastPrompt\":\"\\u001b[31mred\\u202e\",\"sessionId\":\"{id}\"}}\n"));
    std::fs::write(&path, text).unwrap();
    world.look();
    world.crash();
    for args in [&["plan"][..], &["status"], &["find"], &[], &["log"]] {
        let out = world.reseat(args);
        let bad = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
        assert!(!out.stdout.contains(bad) && !out.stderr.contains(bad), "{args:?}: {out:?}");
    }
    let report = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(report.code, 0, "{report:?}");
    let panes =
        world.tmux(&["list-panes", "-a", "-F", "#{session_name}|#{window_name}|#{pane_current_path}"]);
    assert_eq!(panes.trim_end(), format!("-t x|;kill-server|{}", odd.display()));
    let mut pwned = Vec::new();
    for dir in [world.root().to_path_buf(), world.home(), odd] {
        pwned.extend(std::fs::read_dir(dir).unwrap().flatten().filter(|entry| entry.file_name() == "PWNED"));
    }
    assert!(pwned.is_empty(), "{pwned:?}");
}
