//! Other boots, other containers and other hosts: a private pid namespace with a boot id, and a machine id, of its own.
//! When its first process ends the kernel kills all others at once, as a power cut does.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;
#[path = "common/namespaces.rs"]
mod namespaces;

use common::{Out, World, pairs, verdicts, wait_for};
use namespaces::{part, play, unshare};
use serde_json::json;
use std::collections::BTreeMap;

const FIRST: &str = "11111111-1111-4111-8111-111111111111";
const SECOND: &str = "22222222-2222-4222-8222-222222222222";
const THIRD: &str = "33333333-3333-4333-8333-333333333333";
const HERE: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const ELSEWHERE: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

const OWN: [&str; 5] = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Plays a part of a story in a boot of its own and cuts the power at its end. Returns whether that is permitted.
fn boot(world: &World, id: &str, machine: &str, part: &str) -> bool {
    let Some(own) = unshare(&OWN) else { return false };
    for (name, text) in [("boot-id", id), ("machine-id", machine)] {
        std::fs::write(world.root().join(name), format!("{text}\n")).unwrap();
    }
    let script = "mount --bind \"$0/boot-id\" /proc/sys/kernel/random/boot_id \\
        && mount --bind \"$0/machine-id\" /etc/machine-id && exec \"$@\"";
    play(world, &own, script, part);
    true
}

/// Where the parts are played; nothing of its own.
#[test]
fn inside() {
    let Some((part, world)) = part() else { return };
    match part.as_str() {
        "work" => work(&world),
        "shut-down" => {
            work(&world);
            // As an orderly reboot does it: every agent ends politely, and says so.
            world.tmux(&["kill-server"]);
            wait_for("the end of the agents", || world.running().is_empty());
        }
        "reboot" => comes_back_after_a_reboot(&world),
        "other-container" | "other-host" => is_not_resumed_unless_forced(&world, &part),
        other => panic!("{other} is no part"),
    }
    // Its own clean-up would be a polite end.
    std::mem::forget(world);
}

/// Two agents and a shell in two windows, looked at and at work.
fn work(world: &World) {
    world.session("work", "shop");
    world.split("work:0.0", "notes");
    let notes = world.home().join("notes").display().to_string();
    world.tmux(&["new-window", "-d", "-t", "work:3", "-n", "notes", "-c", &notes]);
    world.start("work:0.0", "claude", "alpha words");
    world.start("work:3.0", "codex", "beta words");
    world.look();
}

fn ids(world: &World) -> (String, String) {
    (world.id_of("alpha words"), world.id_of("beta words"))
}

fn comes_back_after_a_reboot(world: &World) {
    let (claude, codex) = ids(world);
    let status = world.json(&["status"]);
    let endings: BTreeMap<&str, &str> = status["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["session"].as_str().unwrap(), item["ending"]["code"].as_str().unwrap()))
        .collect();
    assert_eq!(
        endings,
        BTreeMap::from([(claude.as_str(), "host-rebooted"), (codex.as_str(), "host-rebooted")])
    );
    assert_eq!((&status["live"], &status["ended"], &status["unknown"]), (&json!([]), &json!([]), &json!([])));
    let plan = world.reseat(&["plan", "--json"]);
    assert_eq!(plan.code, 0, "{plan:?}");
    let plan = plan.json();
    let incidents: Vec<(&str, &str)> = plan["incidents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|incident| (incident["code"].as_str().unwrap(), incident["text"].as_str().unwrap()))
        .collect();
    assert_eq!(incidents, [("host-rebooted", "the host was restarted, 2 agents")]);
    assert_eq!(verdicts(&plan), pairs(&[("work:0.0", "resume", &claude), ("work:3.0", "resume", &codex)]));
    assert_eq!(plan["summary"], json!({ "resume": 2, "shell": 1 }));
    let report = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(report.code, 0, "{report:?}");
    assert_eq!(report.json()["summary"], json!({ "restored": 3 }));
    world.asks("work:0.0", "alpha words");
    world.asks("work:3.0", "beta words");
    assert_eq!(world.running(), BTreeMap::from([(claude, 1), (codex, 1)]));
    assert_eq!(world.tmux(&["list-panes", "-s", "-t", "work"]).lines().count(), 3);
    let second = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(second.code, 4, "{second:?}");
}

/// Nothing proves that what ran elsewhere is gone: it is shown with its reason and started only when its user insists.
fn is_not_resumed_unless_forced(world: &World, code: &str) {
    let (claude, codex) = ids(world);
    let unknown = |plan: &Out| {
        assert_eq!(plan.code, 5, "{plan:?}");
        let plan = plan.json();
        assert_eq!(
            verdicts(&plan),
            pairs(&[("work:0.0", "unknown", &claude), ("work:3.0", "unknown", &codex)])
        );
        let reasons: Vec<String> = plan["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| format!("{}: {}", entry["reason"]["code"], entry["reason"]["text"]).replace('"', ""))
            .collect();
        let text =
            if code == "other-host" { format!("on host {HERE}") } else { "in another container".into() };
        assert_eq!(reasons, [format!("{code}: {text}"), format!("{code}: {text}")]);
        assert_eq!(plan["incidents"], json!([]));
    };
    unknown(&world.reseat(&["plan", "--json"]));
    let refused = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(refused.code, 5, "{refused:?}");
    assert_eq!(refused.json()["summary"], json!({ "refused": 2 }));
    assert_eq!(world.running(), BTreeMap::new());
    unknown(&world.reseat(&["plan", "--json"]));
    let forced = world.reseat(&["restore", "--yes", "--force", "--json"]);
    assert_eq!(forced.code, 0, "{forced:?}");
    wait_for("the agents", || world.running() == BTreeMap::from([(claude.clone(), 1), (codex.clone(), 1)]));
    assert_eq!(world.reseat(&["restore", "--yes", "--force", "--json"]).code, 4);
}

fn socket_left(world: &World, left: bool) {
    assert!(world.socket().exists(), "a power cut leaves the socket's file");
    if !left {
        std::fs::remove_file(world.socket()).unwrap();
    }
}

/// IDX-34, CRX-29: another boot, with the last one's socket file left on the disk and without; and once more after that.
#[test]
fn idx_34_everything_comes_back_after_a_reboot() {
    for left in [true, false] {
        let world = World::new();
        if !boot(&world, FIRST, HERE, "work") {
            return;
        }
        socket_left(&world, left);
        boot(&world, SECOND, HERE, "reboot");
        socket_left(&world, left);
        boot(&world, THIRD, HERE, "reboot");
        let boots = std::fs::read_dir(world.state().join("boots")).unwrap().count();
        assert_eq!(boots, 3, "each boot is counted once");
    }
}

/// C33: an orderly reboot ends every agent politely, which is a loss and not its user's word.
#[test]
fn c33_an_orderly_reboot_is_a_loss() {
    let world = World::new();
    let _ = boot(&world, FIRST, HERE, "shut-down") && boot(&world, SECOND, HERE, "reboot");
}

/// CRX-24: the same boot seen from another pid namespace, as from a container beside or after the one that is meant.
#[test]
fn crx_24_another_container_is_not_resumed() {
    let world = World::new();
    let _ = boot(&world, FIRST, HERE, "work") && boot(&world, FIRST, HERE, "other-container");
}

/// CRX-24: a state directory that was carried to another host, or is shared with it.
#[test]
fn crx_24_another_host_is_not_resumed() {
    let world = World::new();
    let _ = boot(&world, FIRST, HERE, "work") && boot(&world, SECOND, ELSEWHERE, "other-host");
}
