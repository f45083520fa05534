//! Codex of several panes in one directory whose threads only their writer locks name.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::World;
use std::fs::{DirBuilder, File, FileTimes};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Before all agents of a test, and after them.
const FAR: Duration = Duration::from_mins(10);

/// The stand-in as a front end of a shared server started before the id was in its title: it holds nothing open.
fn untitled(world: &World) {
    let path = world.home().join(".local/bin/codex");
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = text
        .replace("exec 9>> \"$file\"\n", "")
        .replace(">&9", ">> \"$file\"")
        .replace("printf '\\033]2;Ready", ": '");
    assert_eq!(changed.matches("&9").count() + changed.matches("2;Ready").count(), 0, "{changed}");
    world.script("codex", &changed);
}

/// The writer lock of a thread.
fn lock(world: &World, thread: &str) -> PathBuf {
    let locks = world.home().join(".codex/thread-writer-locks");
    DirBuilder::new().recursive(true).create(&locks).unwrap();
    let path = locks.join(format!("{thread}.lock"));
    std::fs::write(&path, "").unwrap();
    path
}

/// Surfaces of the plan's entries and the sessions each could be, sorted.
fn questions(world: &World) -> Vec<(String, Vec<String>)> {
    let plan = world.json(&["plan"]);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut out: Vec<(String, Vec<String>)> = plan["entries"]
        .as_array()
        .unwrap()
        .iter()
        .inspect(|entry| assert_eq!(entry["verdict"], "choose", "{plan:#}"))
        .map(|entry| {
            let surface = &entry["surface"];
            let place = match surface["session"].as_str() {
                Some(session) => format!("{session}:{}.{}", surface["window"], surface["pane"]),
                None => "none".to_owned(),
            };
            let candidates = entry["candidates"].as_array().unwrap();
            let mut sessions: Vec<String> = candidates.iter().map(|one| text(&one["session"])).collect();
            sessions.sort();
            (place, sessions)
        })
        .collect();
    out.sort();
    out
}

/// Nothing was watched before the crash: the writer lock that Codex left says which thread was open. Its pane is not
/// known, so it is a question. A thread without a lock was closed.
#[test]
fn a_codex_lock_left_behind_is_a_question() {
    let world = World::new();
    world.session("work", "shop");
    world.split("work:0.0", "shop");
    let left = world.start("work:0.0", "codex", "left behind");
    world.start("work:0.1", "codex", "quit before");
    world.crash();
    std::fs::remove_dir_all(world.state()).unwrap();
    let nothing = world.json(&["plan"]);
    assert_eq!(nothing["entries"], serde_json::json!([]));
    let locks = world.home().join(".codex/thread-writer-locks");
    std::fs::create_dir_all(&locks).unwrap();
    std::fs::write(locks.join(format!("{left}.lock")), "").unwrap();
    let plan = world.json(&["plan"]);
    let [entry] = &plan["entries"].as_array().unwrap()[..] else { panic!("{plan}") };
    assert_eq!(
        (&entry["verdict"], &entry["agent"], &entry["preselected"], &entry["surface"]["session"]),
        (&"choose".into(), &"codex".into(), &left.as_str().into(), &serde_json::Value::Null)
    );
    assert_eq!(world.reseat(&["restore", "--yes"]).code, 5);
    let pick = format!("{}={left}", entry["surface"]["id"].as_str().unwrap());
    let report = world.reseat(&["restore", "--yes", "--pick", &pick]);
    assert_eq!(report.code, 0, "{report:?}");
    world.asks("reseat:0.0", "left behind");
    assert_eq!(world.reseat(&["restore", "--yes"]).code, 4);
}

/// Looks see every pane: a lock made while one of a directory's agents ran and was seen is that of an agent seen, or of
/// a conversation left by `/new`. Only an older or newer one, or one of another directory, asks for itself.
#[test]
fn a_lock_that_an_agent_seen_accounts_for_is_no_question_of_its_own() {
    let world = World::new();
    untitled(&world);
    world.session("work", "shop");
    world.split("work:0.0", "shop");
    let one = world.start("work:0.0", "codex", "first words");
    let two = world.start("work:0.1", "codex", "second words");
    let old = lock(&world, &one);
    lock(&world, &two);
    let elsewhere = world.home().join("notes");
    let output = world.command("codex").arg("third words").current_dir(elsewhere).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let three = world.id_of("third words");
    lock(&world, &three);
    world.look();
    world.crash();
    let both: Vec<String> = vec![one.clone(), two.clone()];
    let own = ("none".to_owned(), vec![three]);
    let seen = [("work:0.0".to_owned(), both.clone()), ("work:0.1".to_owned(), both)];
    let [first, second] = seen.clone();
    assert_eq!(questions(&world), [own.clone(), first, second]);
    for made in [SystemTime::now() - FAR, SystemTime::now() + FAR] {
        File::options()
            .write(true)
            .open(&old)
            .unwrap()
            .set_times(FileTimes::new().set_modified(made))
            .unwrap();
        let mut asked = questions(&world);
        asked.retain(|question| *question != own);
        let another = asked.remove(0);
        assert_eq!((another.0.as_str(), another.1.contains(&one)), ("none", true));
        assert_eq!(asked, seen);
    }
}

/// A lock that the shared server holds is that of a thread in use.
#[test]
fn a_lock_held_by_the_shared_server_is_no_question() {
    let world = World::new();
    world.session("work", "shop");
    let thread = world.start("work:0.0", "codex", "in use");
    world.crash();
    std::fs::remove_dir_all(world.state()).unwrap();
    let file = File::options().write(true).open(lock(&world, &thread)).unwrap();
    assert_eq!(questions(&world), [("none".to_owned(), vec![thread])]);
    // This process plays the server.
    file.lock().unwrap();
    let daemon = world.home().join(".codex/app-server-daemon");
    DirBuilder::new().create(&daemon).unwrap();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let start = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    let record = serde_json::json!({ "pid": std::process::id(), "processIdentity": { "startTicks": start } });
    std::fs::write(daemon.join("daemon.pid"), record.to_string()).unwrap();
    assert_eq!(questions(&world), []);
    drop(file);
    assert_eq!(questions(&world).len(), 1);
}
