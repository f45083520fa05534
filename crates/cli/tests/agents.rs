//! What agents keep decides what a plan says: continued, removed, and elsewhere.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::World;
use serde_json::{Value, json};
use std::path::PathBuf;

fn entries(world: &World) -> Vec<Value> {
    let plan = world.json(&["plan"]);
    plan["entries"].as_array().unwrap().iter().filter(|entry| !entry["agent"].is_null()).cloned().collect()
}

fn transcript(world: &World, home: &str, id: &str) -> PathBuf {
    let projects = world.home().join(home).join("projects");
    let found = std::fs::read_dir(projects)
        .unwrap()
        .map(|folder| folder.unwrap().path().join(format!("{id}.jsonl")))
        .find(|path| path.exists());
    found.unwrap()
}

fn judged(entry: &Value) -> (&str, &str) {
    (entry["verdict"].as_str().unwrap(), entry["reason"]["code"].as_str().unwrap())
}

/// C15: removed by the agent's own retention: said, and never a blank conversation under the old id.
#[test]
fn c15_a_removed_transcript_is_never_begun_anew() {
    let world = World::new();
    world.session("work", "shop");
    let id = world.start("work:0.0", "claude", "soon forgotten");
    world.look();
    world.crash();
    let path = transcript(&world, ".claude", &id);
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir_all(path.with_extension("").join("tool-results")).unwrap();
    let entry = entries(&world).remove(0);
    assert_eq!(judged(&entry), ("blocked", "transcript-removed"));
    assert_eq!((&entry["session"], &entry["argv"]), (&json!(id), &json!([])));
    assert!(entry["reason"]["text"].as_str().unwrap().contains("the agent's own retention"), "{entry}");
    let out = world.reseat(&["restore", "--yes", "--json"]);
    assert!(!out.stdout.contains("--session-id"), "{out:?}");
    assert!(!path.exists());
}

/// C16: another home is carried for its own pane only; once it is gone nothing runs under the default one.
#[test]
fn c16_another_home_is_carried_for_its_pane_only() {
    let world = World::new();
    world.session("work", "shop");
    world.split("work:0.0", "shop");
    let second = world.home().join("c2").display().to_string();
    let own = world.start("work:0.0", "claude", "in the default home");
    let other = world.start("work:0.1", &format!("CLAUDE_CONFIG_DIR={second} claude"), "in the other home");
    world.look();
    world.crash();
    let before = entries(&world);
    assert_eq!([judged(&before[0]), judged(&before[1])], [("resume", "proof"); 2]);
    assert_eq!([&before[0]["session"], &before[1]["session"]], [&json!(own), &json!(other)]);
    assert_eq!([&before[0]["env"], &before[1]["env"]], [&json!({}), &json!({ "CLAUDE_CONFIG_DIR": second })]);
    std::fs::rename(&second, world.home().join("gone")).unwrap();
    let after = entries(&world);
    assert_eq!([judged(&after[0]), judged(&after[1])], [("resume", "proof"), ("blocked", "home-missing")]);
    assert_eq!(after[1]["argv"], json!([]));
}

/// C12: the transcript says that it was continued in another: asked, the newer one first, and none started by itself.
#[test]
fn c12_a_continued_conversation_is_a_question() {
    let world = World::new();
    world.session("work", "shop");
    let id = world.start("work:0.0", "claude", "the first part");
    world.look();
    world.crash();
    let next = "22222222-2222-4222-8222-222222222222";
    let path = transcript(&world, ".claude", &id);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path.with_file_name(format!("{next}.jsonl")), text.clone() + &text.replace(&id, next))
        .unwrap();
    let onward = json!({ "type": "continued-in", "continuedInSessionId": next });
    std::fs::write(&path, format!("{text}{onward}\n")).unwrap();
    let entry = entries(&world).remove(0);
    assert_eq!(judged(&entry), ("choose", "continued-elsewhere"));
    let candidates: Vec<&Value> =
        entry["candidates"].as_array().unwrap().iter().map(|candidate| &candidate["session"]).collect();
    assert_eq!(candidates, [&json!(next), &json!(id)]);
    assert_eq!(world.reseat(&["restore", "--yes"]).code, 5);
    assert!(world.running().is_empty());
}
