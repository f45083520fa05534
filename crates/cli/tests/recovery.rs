//! Crashes of every kind, with stand-in agents in a real tmux: what was lost, what comes back, where.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{World, pairs, verdicts, wait_for};
use std::collections::BTreeMap;

/// Two agents in one directory, one of them after `/clear`, one Codex; the server and all below it is killed.
#[test]
fn c01_c02_c28_the_server_is_killed_with_everything_in_it() {
    let world = World::new();
    world.session("work", "shop");
    world.split("work:0.0", "shop");
    world.tmux(&[
        "new-window",
        "-d",
        "-t",
        "work:3",
        "-n",
        "notes",
        "-c",
        world.home().join("notes").to_str().unwrap(),
    ]);
    let one = world.start("work:0.0", "claude", "alpha words");
    world.start("work:0.1", "claude", "beta words");
    let codex = world.start("work:3.0", "codex", "gamma words");
    world.types("work:0.1", "/clear");
    wait_for("the clear", || world.screen("work:0.1").contains("cleared"));
    world.types("work:0.1", "delta words");
    wait_for("the answer", || world.screen("work:0.1").contains("noted: delta"));
    let two = world.id_of("delta words");
    world.look();
    world.crash();

    let plan = world.json(&["plan"]);
    assert_eq!(
        verdicts(&plan),
        pairs(&[("work:0.0", "resume", &one), ("work:0.1", "resume", &two), ("work:3.0", "resume", &codex)])
    );
    assert_eq!(plan["incidents"].as_array().unwrap().len(), 1);
    assert_eq!(plan["incidents"][0]["code"], "server-died");
    for entry in plan["entries"].as_array().unwrap() {
        let argv: Vec<&str> =
            entry["argv"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        assert!(!argv.iter().any(|arg| matches!(*arg, "--continue" | "--last" | "-c")), "{argv:?}");
    }
    let again = world.json(&["plan"]);
    assert_eq!(plan["plan"], again["plan"], "the same world gives the same plan");

    let report = world.reseat(&["restore", "--yes", "--json", "--plan", plan["plan"].as_str().unwrap()]);
    assert_eq!(report.code, 0, "{report:?}");
    assert_eq!(report.json()["summary"], serde_json::json!({ "restored": 3 }));
    world.asks("work:0.0", "alpha words");
    world.asks("work:0.1", "delta words");
    world.asks("work:3.0", "gamma words");
    let windows =
        world.tmux(&["list-windows", "-t", "work", "-F", "#{window_index} #{window_name} #{window_panes}"]);
    assert_eq!(windows.lines().count(), 2, "{windows}");
    assert!(windows.lines().any(|line| line == "3 notes 1"), "{windows}");
    let second = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(second.code, 4, "{second:?}");
    assert_eq!(
        world.running().values().copied().collect::<Vec<_>>(),
        [1, 1, 1],
        "{}",
        world.json(&["status"])
    );
}

/// RBT-20, C33: a polite end of everything is a loss, one that its user left is not; windows come back whole.
#[test]
fn c33_kill_server_is_a_loss_and_an_exit_is_not() {
    let world = World::new();
    world.session("work", "shop");
    world.split("work:0.0", "notes");
    let kept = world.start("work:0.0", "claude", "stay here");
    world.start("work:0.1", "claude", "leave me");
    world.types("work:0.1", "/exit");
    wait_for("the exit", || world.running().len() == 1);
    world.look();
    world.tmux(&["kill-server"]);
    wait_for("the end of the agent", || world.running().is_empty());
    let plan = world.json(&["plan"]);
    assert_eq!(verdicts(&plan), pairs(&[("work:0.0", "resume", &kept)]));
    let report = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(report.code, 0, "{report:?}");
    world.asks("work:0.0", "stay here");
    let panes = world.tmux(&["list-panes", "-t", "work:0", "-F", "#{pane_current_path}"]);
    let want = format!("{}\n{}\n", world.home().join("shop").display(), world.home().join("notes").display());
    assert_eq!(panes, want);
    let status = world.json(&["status"]);
    assert_eq!(status["ended"].as_array().map(Vec::len), Some(1), "{status}");
}

/// One agent is killed in a server that lives; its pane and its neighbour stay as they are.
#[test]
fn a_killed_agent_comes_back_beside_its_neighbours() {
    let world = World::new();
    world.session("work", "shop");
    world.split("work:0.0", "shop");
    let lost = world.start("work:0.0", "claude", "the lost one");
    let kept = world.start("work:0.1", "claude", "the kept one");
    world.look();
    let pid = world.agent_pid("work:0.0");
    world.kill(&world.below(pid));
    let plan = world.json(&["plan"]);
    assert_eq!(verdicts(&plan), pairs(&[("work:0.0", "resume", &lost)]));
    assert_eq!(plan["incidents"][0]["code"], "killed");
    let dry = world.json(&["plan", "--into-idle"]);
    assert_eq!(dry["builds"][0]["how"], "respawn", "{dry}");
    let report = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(report.code, 0, "{report:?}");
    world.asks("work:1.0", "the lost one");
    world.asks("work:0.1", "the kept one");
    let running = world.running();
    assert_eq!((running.get(&lost), running.get(&kept)), (Some(&1), Some(&1)));
}

/// The same with agents as the panes' own processes, killed one after the other: their panes are gone with them, and
/// the window becomes what it was, each in its place and all in their sizes.
#[test]
fn agents_that_were_the_panes_own_processes_come_back_in_their_places() {
    let world = World::new();
    world.session("work", "shop");
    let dir = world.home().join("shop");
    for _ in 0..3 {
        world.tmux(&["split-window", "-h", "-t", "work:0", "-c", dir.to_str().unwrap()]);
        world.tmux(&["select-layout", "-t", "work:0", "main-vertical"]);
    }
    world.tmux(&["resize-pane", "-t", "work:0.0", "-x", "33"]);
    let told = ["first", "second", "third"];
    let mut at = 0;
    let ids = told.map(|told| {
        at += 1;
        let pane = format!("work:0.{at}");
        world.types(&pane, &format!("exec claude '{told}'"));
        wait_for("the agent", || world.screen(&pane).contains("stand-in ready"));
        world.id_of(told)
    });
    let format = "#{pane_index} #{pane_left},#{pane_top} #{pane_width}x#{pane_height}";
    let whole = world.tmux(&["list-panes", "-t", "work:0", "-F", format]);
    world.look();
    // The second, then the third, which stands second by now, then the first.
    for pane in ["work:0.2", "work:0.2", "work:0.1"] {
        let pid = world.pane_pid(pane);
        world.kill(&world.below(pid));
        world.look();
    }
    assert_eq!(world.tmux(&["list-panes", "-t", "work:0", "-F", "#{pane_index}"]), "0\n");
    let plan = world.json(&["plan"]);
    let places: BTreeMap<&str, u64> = plan["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["session"].as_str().unwrap(), entry["surface"]["pane"].as_u64().unwrap()))
        .collect();
    assert_eq!(places, BTreeMap::from([(&*ids[0], 1), (&*ids[1], 2), (&*ids[2], 2)]));
    let report = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(report.code, 0, "{report:?}");
    assert_eq!(report.json()["notes"], serde_json::json!([]));
    for (at, told) in told.into_iter().enumerate() {
        world.asks(&format!("work:0.{}", at + 1), told);
    }
    assert_eq!(world.tmux(&["list-panes", "-t", "work:0", "-F", format]), whole);
}

/// A window without room for another pane takes the lost one all the same.
#[test]
fn a_window_without_room_takes_its_agent_back() {
    let world = World::new();
    world.session("work", "shop");
    world.split("work:0.0", "shop");
    world.types("work:0.1", "exec claude 'no room'");
    wait_for("the agent", || world.screen("work:0.1").contains("stand-in ready"));
    world.look();
    let pid = world.pane_pid("work:0.1");
    world.kill(&world.below(pid));
    let dir = world.home().join("shop");
    let split = ["split-window", "-d", "-t", "work:0.0", "-c", dir.to_str().unwrap()];
    while world.command("tmux").args(split).output().unwrap().status.success() {}
    let before = world.tmux(&["list-panes", "-t", "work:0"]).lines().count();
    let report = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(report.code, 0, "{report:?}");
    world.asks("work:0.1", "no room");
    assert_eq!(world.tmux(&["list-panes", "-t", "work:0"]).lines().count(), before + 1);
}

/// `--into-idle`: the idle shell that the killed agent left is used.
#[test]
fn into_idle_uses_the_shell_that_was_left() {
    let world = World::new();
    world.session("work", "shop");
    world.start("work:0.0", "claude", "in place");
    world.look();
    let pid = world.agent_pid("work:0.0");
    world.kill(&world.below(pid));
    let report = world.reseat(&["restore", "--yes", "--json", "--into-idle"]);
    assert_eq!(report.code, 0, "{report:?}");
    world.asks("work:0.0", "in place");
    assert_eq!(world.tmux(&["list-panes", "-a"]).lines().count(), 1);
}

/// `undo` closes what the restore made and nothing else; the losses are offered again and come back once more.
#[test]
fn undo_takes_back_and_a_restore_brings_again() {
    let world = World::new();
    world.session("work", "shop");
    world.split("work:0.0", "notes");
    let id = world.start("work:0.0", "claude", "there and back");
    world.look();
    world.crash();
    world.session("other", "notes");
    assert_eq!(world.reseat(&["restore", "--yes"]).code, 0);
    world.asks("work:0.0", "there and back");
    let undone = world.reseat(&["undo", "--yes", "--json"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(undone.json()["undone"].as_array().unwrap().len(), 2);
    assert_eq!(world.tmux(&["list-sessions", "-F", "#{session_name}"]), "other\n");
    wait_for("the end of the agent", || world.running().is_empty());
    assert_eq!(verdicts(&world.json(&["plan"])), pairs(&[("work:0.0", "resume", &id)]));
    assert_eq!(world.reseat(&["restore", "--yes"]).code, 0);
    world.asks("work:0.0", "there and back");
    assert_eq!(world.running().get(&id), Some(&1));
}

/// C30: a directory that is gone starts nothing elsewhere; the pane says why, the rest comes back.
#[test]
fn c30_a_missing_directory_starts_no_agent() {
    let world = World::new();
    let gone = world.home().join("gone");
    std::fs::create_dir(&gone).unwrap();
    world.session("work", "shop");
    world.split("work:0.0", "gone");
    let kept = world.start("work:0.0", "claude", "still here");
    let lost = world.start("work:0.1", "claude", "nowhere to go");
    world.look();
    world.crash();
    std::fs::remove_dir(&gone).unwrap();
    let plan = world.json(&["plan"]);
    assert_eq!(verdicts(&plan), pairs(&[("work:0.0", "resume", &kept), ("work:0.1", "blocked", &lost)]));
    let report = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(report.code, 3, "{report:?}");
    world.asks("work:0.0", "still here");
    wait_for("the reason", || world.screen("work:0.1").contains("directory-missing"));
    // The shell that waits for it is not made twice, and the conversation comes back once the directory does.
    let again = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(again.code, 5, "{again:?}");
    std::fs::create_dir(&gone).unwrap();
    let report = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(report.code, 0, "{report:?}");
    world.asks("work:0.1", "nowhere to go");
    assert_eq!(world.tmux(&["list-panes", "-a"]).lines().count(), 2);
}

/// C32, C24: one that fails at each start stops no other, keeps its binding, and is blocked after two equal failures.
#[test]
fn c24_c32_a_poisoned_session_is_blocked_after_two_failures() {
    let world = World::new();
    world.session("work", "shop");
    world.split("work:0.0", "shop");
    let good = world.start("work:0.0", "claude", "good one");
    let bad = world.start("work:0.1", "claude", "bad one");
    world.look();
    world.crash();
    world.claude_with(&format!("[ \"$id\" = {bad} ] && {{ echo 'cannot go on: poisoned'; exit 137; }}"));
    let first = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(first.code, 3, "{first:?}");
    let failed = first.json()["results"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["outcome"] == "failed")
        .unwrap()
        .clone();
    assert_eq!(
        (failed["session"].as_str(), failed["reason"]["code"].as_str()),
        (Some(bad.as_str()), Some("exited"))
    );
    assert!(failed["reason"]["text"].as_str().unwrap().contains("poisoned"), "{failed}");
    world.asks("work:0.0", "good one");
    let second = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(second.code, 1, "{second:?}");
    let plan = world.json(&["plan"]);
    assert_eq!(verdicts(&plan), pairs(&[("work:0.1", "blocked", &bad)]));
    assert_eq!(plan["entries"][0]["reason"]["code"], "failed-twice");
    assert_eq!(world.reseat(&["restore", "--yes", "--json"]).code, 5);
    assert_eq!(world.running().get(&good), Some(&1));
    world.script(
        "claude",
        &std::fs::read_to_string(world.home().join(".local/bin/claude")).unwrap().replace(&bad, "nobody"),
    );
    assert_eq!(world.reseat(&["restore", "--yes", "--force"]).code, 0);
    assert_eq!(world.running().get(&bad), Some(&1));
}

/// C28: what runs elsewhere already is skipped, and nothing is killed.
#[test]
fn c28_what_runs_elsewhere_is_not_started_again() {
    let world = World::new();
    world.session("work", "shop");
    let id = world.start("work:0.0", "claude", "only once");
    world.look();
    world.crash();
    world.session("hand", "shop");
    world.types("hand:0.0", &format!("claude --resume {id}"));
    wait_for("the agent", || world.screen("hand:0.0").contains("stand-in ready"));
    let pid = world.agent_pid("hand:0.0");
    let plan = world.json(&["plan"]);
    assert_eq!(verdicts(&plan), pairs(&[("work:0.0", "skip", &id)]));
    assert!(plan["entries"][0]["reason"]["text"].as_str().unwrap().contains(&format!("pid {pid}")), "{plan}");
    assert_eq!(world.reseat(&["restore", "--yes"]).code, 4);
    assert_eq!(world.running().get(&id), Some(&1));
}

/// C07, C29: a busy pane at the same place is left alone; the agent gets a window of its own.
#[test]
fn c07_c29_a_busy_place_is_left_alone() {
    let world = World::new();
    world.session("work", "shop");
    let id = world.start("work:0.0", "claude", "was here first");
    world.look();
    world.crash();
    world.session("work", "shop");
    world.types("work:0.0", "sleep 600");
    wait_for("the sleep", || {
        world.tmux(&["display-message", "-p", "-t", "work:0.0", "#{pane_current_command}"]).trim() == "sleep"
    });
    assert_eq!(verdicts(&world.json(&["plan"])), pairs(&[("work:0.0", "resume", &id)]));
    let report = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(report.code, 0, "{report:?}");
    world.asks("work:1.0", "was here first");
    assert_eq!(
        world.tmux(&["display-message", "-p", "-t", "work:0.0", "#{pane_current_command}"]).trim(),
        "sleep"
    );
    assert_eq!(world.reseat(&["restore", "--yes"]).code, 4);
}

/// C27: the socket is gone, the server lives: nothing is lost and nothing is started.
#[test]
fn c27_a_missing_socket_is_not_a_loss() {
    let world = World::new();
    world.session("work", "shop");
    let id = world.start("work:0.0", "claude", "alive behind it");
    world.look();
    let server = world.server();
    std::fs::rename(world.socket(), world.root().join("away")).unwrap();
    let plan = world.reseat(&["plan", "--json"]);
    assert_eq!(plan.code, 5, "{plan:?}");
    assert_eq!(verdicts(&plan.json()), pairs(&[("work:0.0", "unknown", &id)]));
    assert!(plan.stdout.contains(&format!("kill -USR1 {server}")), "{plan:?}");
    assert_eq!(world.reseat(&["restore", "--yes"]).code, 5);
    std::fs::rename(world.root().join("away"), world.socket()).unwrap();
    assert_eq!(world.reseat(&["plan"]).code, 4);
}

/// C37: layout, zoom and the active pane come back; groups too.
#[test]
fn c37_layouts_zoom_and_groups_come_back() {
    let world = World::new();
    world.session("work", "shop");
    for _ in 0..3 {
        world.split("work:0.0", "shop");
    }
    world.tmux(&["select-layout", "-t", "work:0", "main-vertical"]);
    world.tmux(&["new-session", "-d", "-s", "twin", "-t", "work"]);
    world.start("work:0.2", "claude", "in the third pane");
    world.tmux(&["select-pane", "-t", "work:0.2"]);
    world.tmux(&["resize-pane", "-Z", "-t", "work:0.2"]);
    let format = "#{window_panes} #{window_zoomed_flag} #{pane_index} #{session_group}";
    let before = world.tmux(&["display-message", "-p", "-t", "work:0", format]);
    let geometry = |world: &World| {
        let zoomed = world.tmux(&["display-message", "-p", "-t", "work:0", "#{window_zoomed_flag}"]);
        if zoomed.trim() == "1" {
            world.tmux(&["resize-pane", "-Z", "-t", "work:0.2"]);
        }
        world.tmux(&[
            "list-panes",
            "-t",
            "work:0",
            "-F",
            "#{pane_index} #{pane_left},#{pane_top} #{pane_width}x#{pane_height}",
        ])
    };
    world.look();
    let panes = geometry(&world);
    world.crash();
    assert_eq!(world.reseat(&["restore", "--yes"]).code, 0);
    world.asks("work:0.2", "in the third pane");
    assert_eq!(world.tmux(&["display-message", "-p", "-t", "work:0", format]), before);
    assert_eq!(geometry(&world), panes);
    assert_eq!(world.tmux(&["list-sessions", "-F", "#{session_name}"]), "twin\nwork\n");
}

/// C31: no key is ever sent: a menu still waits, a slow shell does not matter, and a shell stays after the agent.
#[test]
fn c31_menus_wait_and_a_shell_remains() {
    let world = World::new();
    std::fs::write(
        world.home().join(".profile"),
        "PATH=\"$HOME/.local/bin:/usr/bin:/bin\"\nPS1='$ '\nsleep 1\necho welcome\n",
    )
    .unwrap();
    world.session("work", "shop");
    world.start("work:0.0", "claude", "menu first");
    world.look();
    world.crash();
    world.claude_with(
        "if [ $source = resume ]; then printf '1. yes 2. no: '; read -r key; echo \"GOT[$key]\"; fi",
    );
    let report = world.reseat(&["restore", "--yes", "--json", "--wait", "3"]);
    assert_eq!(report.code, 0, "{report:?}");
    assert_eq!(report.json()["results"][0]["outcome"], "started");
    assert!(!world.screen("work:0.0").contains("GOT["), "{}", world.screen("work:0.0"));
    world.types("work:0.0", "2");
    wait_for("the answer", || world.screen("work:0.0").contains("GOT[2]"));
    wait_for("the agent", || world.screen("work:0.0").contains("stand-in ready"));
    world.types("work:0.0", "/exit");
    wait_for("a shell", || {
        world.tmux(&["display-message", "-p", "-t", "work:0.0", "#{pane_current_command}"]).trim() == "sh"
    });
    world.types("work:0.0", "echo sh''ell");
    wait_for("its answer", || world.screen("work:0.0").contains("shell"));
}

/// An agent that comes up as another session than asked is failed and its pane is closed again.
#[test]
fn another_session_than_asked_is_a_failure() {
    let world = World::new();
    world.session("work", "shop");
    let id = world.start("work:0.0", "claude", "the right one");
    world.look();
    world.crash();
    world.session("other", "notes");
    world.claude_with("[ $source = resume ] && { cp \"$home\"/projects/*/$id.jsonl /tmp/x.$$ 2>/dev/null; id=99999999-9999-4999-8999-999999999999; mkdir -p \"$home/projects/x\"; mv /tmp/x.$$ \"$home/projects/$(printf %s \"$cwd\" | tr -c 'A-Za-z0-9' '-')/$id.jsonl\"; }");
    let report = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(report.code, 1, "{report:?}");
    let row = &report.json()["results"][0];
    assert_eq!(
        (row["outcome"].as_str(), row["reason"]["code"].as_str()),
        (Some("failed"), Some("other-session"))
    );
    assert_eq!(world.tmux(&["list-panes", "-a"]).lines().count(), 1);
    assert_eq!(verdicts(&world.json(&["plan"])), pairs(&[("work:0.0", "resume", &id)]));
}

/// Never prompted: a shell comes back, not a blank conversation.
#[test]
fn never_prompted_comes_back_as_a_shell() {
    let world = World::new();
    world.session("work", "shop");
    world.split("work:0.0", "shop");
    let id = world.start("work:0.0", "claude", "prompted");
    world.types("work:0.1", "claude");
    wait_for("the agent", || world.screen("work:0.1").contains("stand-in ready"));
    world.look();
    world.crash();
    let plan = world.json(&["plan"]);
    let found = verdicts(&plan);
    assert_eq!(found["work:0.0"], ("resume".into(), id));
    assert_eq!(found["work:0.1"].0, "shell");
    assert_eq!(world.reseat(&["restore", "--yes"]).code, 0);
    wait_for("the shell", || world.screen("work:0.1").contains("never-prompted"));
    assert_eq!(world.running().len(), 1);
}

/// The user's shell is asked for its environment away from the pane's terminal: an interactive one would stop itself
/// there, and every agent would wait ten seconds for nothing.
#[test]
fn c31_the_users_shell_answers_in_a_pane() {
    let world = World::new();
    world.session("work", "shop");
    world.start("work:0.0", "claude", "asked at once");
    world.look();
    world.crash();
    let report = world.reseat(&["restore", "--yes", "--json"]);
    assert_eq!(report.code, 0, "{report:?}");
    let spool = reseat_store::facts::Spool::new(world.state().join("facts"), None);
    let flights = reseat_store::store::Store::open_read(&world.state(), spool).unwrap().flights().unwrap();
    let effects: Vec<serde_json::Value> = flights
        .iter()
        .flat_map(|flight| &flight.entries)
        .map(|entry| serde_json::from_str(entry.effect.as_deref().unwrap()).unwrap())
        .collect();
    assert_eq!(effects.iter().map(|effect| &effect["notes"]).collect::<Vec<_>>(), [&serde_json::json!([])]);
}
