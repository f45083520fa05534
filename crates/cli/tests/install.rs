//! C36: install and uninstall touch what is ours in the files of others, and nothing else.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Out, World, wait_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A world whose `reseat` lies where people put it: hooks never call one in a build directory.
struct Installed {
    world: World,
    program: PathBuf,
}

impl Installed {
    fn new() -> Self {
        let world = World::new();
        let program = world.home().join(".local/bin/reseat");
        // By another process: a child that a test beside this one starts must not hold the file open for writing.
        let copied = world.command("cp").arg(env!("CARGO_BIN_EXE_reseat")).arg(&program).status().unwrap();
        assert!(copied.success());
        Self { world, program }
    }

    fn run(&self, args: &[&str]) -> Out {
        let output = self.world.command(self.program.to_str().unwrap()).args(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Out {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn done(&self, args: &[&str]) -> Out {
        let out = self.run(args);
        assert_eq!(out.code, 0, "{args:?}: {out:?}");
        out
    }

    fn put(&self, below: &str, text: &str) -> PathBuf {
        let path = self.world.home().join(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn text(&self, below: &str) -> String {
        std::fs::read_to_string(self.world.home().join(below)).unwrap()
    }

    /// Every file, link, directory and mode of the home: whole values to compare.
    fn tree(&self) -> BTreeMap<String, (u32, String)> {
        let mut out = BTreeMap::new();
        tree(&self.world.home(), &self.world.home(), &mut out);
        out
    }

    fn warnings(&self) -> Vec<String> {
        let out = self.run(&["doctor", "--json"]).json();
        out["checks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|check| check["state"] != "ok")
            .map(|check| format!("{}: {}", check["name"].as_str().unwrap(), check["text"].as_str().unwrap()))
            .collect()
    }
}

fn tree(top: &Path, dir: &Path, out: &mut BTreeMap<String, (u32, String)>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(top).unwrap().display().to_string();
        let content = if meta.is_symlink() {
            format!("-> {}", std::fs::read_link(&path).unwrap().display())
        } else if meta.is_dir() {
            tree(top, &path, out);
            "directory".into()
        } else if name.ends_with("bin/reseat") {
            "program".into()
        } else {
            String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()
        };
        out.insert(name, (meta.permissions().mode(), content));
    }
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

const SETTINGS: &str = r#"{
  "model": "opus",
  "hooks": {
    "SessionStart": [
      { "matcher": "compact", "hooks": [{ "type": "command", "command": "mine" }], "later": 1 }
    ]
  },
  "unknownKey": {}
}
"#;
const CONFIG: &str =
    "model = \"x\"\r\n\r\n[tui]\r\nterminal_title = [\"run-state\", \"project-name\"] # mine\r\n";
const TMUX_CONF: &str = "set -g mouse on\nset-hook -g 'pane-exited[0]' 'display-message mine'";

/// Files of every kind: linked ones, private ones, several homes, one that is not there, one that leads nowhere.
fn furnished() -> Installed {
    let here = Installed::new();
    let settings = here.put("dotfiles/claude.json", SETTINGS);
    mode(&settings, 0o600);
    std::fs::create_dir(here.world.home().join(".claude")).unwrap();
    symlink("../dotfiles/claude.json", here.world.home().join(".claude/settings.json")).unwrap();
    mode(&here.put("c2/settings.json", "{}"), 0o640);
    std::fs::create_dir(here.world.home().join("c3")).unwrap();
    std::fs::create_dir(here.world.home().join("c4")).unwrap();
    symlink("../dotfiles/later.json", here.world.home().join("c4/settings.json")).unwrap();
    mode(&here.put(".codex/config.toml", CONFIG), 0o644);
    here.put("codex-b/config.toml", "");
    here.put("dotfiles/tmux.conf", TMUX_CONF);
    symlink("dotfiles/tmux.conf", here.world.home().join(".tmux.conf")).unwrap();
    let home = here.world.home().display().to_string();
    here.put(
        ".config/reseat/config.toml",
        &format!("[[agent_home]]\nagent = \"claude\"\npath = \"{home}/c2\"\n[[agent_home]]\nagent = \"codex\"\npath = \"{home}/codex-b\"\n"),
    );
    here
}

fn with_homes<'a>(command: &'a str, homes: &'a [String]) -> Vec<&'a str> {
    let mut args = vec![command];
    for home in homes {
        args.extend(["--agent-home", home]);
    }
    args
}

/// Everything goes in once and comes out to the byte; links and modes stay, what we made is gone.
#[test]
fn c36_every_file_comes_back_as_it_was() {
    let here = furnished();
    let home = here.world.home().display().to_string();
    let homes = [format!("claude={home}/c3"), format!("claude={home}/c4")];
    let before = here.tree();
    let out = here.done(&with_homes("install", &homes));
    let said: Vec<&str> = out.stdout.lines().take(7).collect();
    assert_eq!(
        said,
        [
            format!("changed {home}/.claude/settings.json"),
            format!("changed {home}/c2/settings.json"),
            format!("made {home}/c3/settings.json"),
            format!("made {home}/c4/settings.json"),
            format!("changed {home}/.codex/config.toml"),
            format!("changed {home}/codex-b/config.toml"),
            format!("changed {home}/.tmux.conf"),
        ]
    );
    let installed = here.tree();
    let differing: Vec<&String> =
        installed.iter().filter(|(name, now)| before.get(*name) != Some(now)).map(|(name, _)| name).collect();
    assert_eq!(
        differing,
        [
            ".codex/config.toml",
            "c2/settings.json",
            "c3/settings.json",
            "codex-b/config.toml",
            "dotfiles/claude.json",
            "dotfiles/later.json",
            "dotfiles/tmux.conf",
        ]
    );
    for (name, (bits, _)) in &before {
        assert_eq!(installed[name].0, *bits, "{name}");
    }
    let hooks: Value = serde_json::from_str(&here.text("dotfiles/claude.json")).unwrap();
    let program = here.program.display();
    let ours = json!({ "matcher": "", "hooks": [{
        "type": "command", "timeout": 5,
        "command": format!("[ -x '{program}' ] && exec '{program}' hook claude; exit 0"),
    }] });
    assert_eq!(hooks["hooks"]["SessionStart"][1], ours);
    assert_eq!(hooks["hooks"]["SessionEnd"], json!([ours]));
    assert_eq!(hooks["hooks"]["UserPromptSubmit"], json!([ours]));
    assert_eq!(hooks["hooks"].as_object().unwrap().len(), 3, "no other event");
    assert!(here.text(".codex/config.toml").contains(
        "terminal_title = [\"run-state\", \"project-name\", \"thread-id\"] # reseat: thread-id # mine\r\n"
    ));
    let again = here.done(&with_homes("install", &homes));
    assert!(again.stdout.starts_with("nothing to change"), "{again:?}");
    assert_eq!(here.tree(), installed);
    here.done(&with_homes("uninstall", &homes));
    assert_eq!(here.tree(), before);
    here.done(&with_homes("uninstall", &homes));
    assert_eq!(here.tree(), before);
}

/// Where there was nothing, nothing is left; homes of agents that are not there are not made.
#[test]
fn c36_what_we_made_is_gone() {
    let here = Installed::new();
    std::fs::create_dir(here.world.home().join(".claude")).unwrap();
    let before = here.tree();
    here.done(&["install"]);
    assert!(here.world.home().join(".claude/settings.json").exists());
    assert!(here.world.home().join(".tmux.conf").exists());
    assert!(!here.world.home().join(".codex").exists());
    here.done(&["uninstall"]);
    assert_eq!(here.tree(), before);
}

/// The difference is shown, in words or as JSON, and nothing is changed: not even a state directory is made.
#[test]
fn c36_a_dry_run_changes_nothing() {
    let here = furnished();
    std::fs::remove_dir(here.world.state()).unwrap();
    let before = here.tree();
    let out = here.done(&["install", "--dry-run"]);
    let program = here.program.display();
    for line in [
        "+   { \"matcher\": \"\"".to_owned(),
        "- terminal_title = [\"run-state\", \"project-name\"] # mine".into(),
        "+ terminal_title = [\"run-state\", \"project-name\", \"thread-id\"] # reseat: thread-id # mine"
            .into(),
        format!("{}/.tmux.conf:", here.world.home().display()),
        "+ # reseat: begin".into(),
        format!("[ -x '{program}' ] && '{program}' hook tmux"),
    ] {
        let line = line.trim_start_matches("+  ").trim();
        assert!(out.stdout.contains(line), "{line}\nis not in\n{}", out.stdout);
    }
    let value = here.done(&["install", "--dry-run", "--json"]).json();
    assert_eq!(value["dry_run"], json!(true));
    assert_eq!(value["changed"].as_array().unwrap().len(), 5);
    assert_eq!(here.tree(), before);
    assert!(!here.world.state().exists());
    here.done(&["install"]);
    let installed = here.tree();
    assert_eq!(here.done(&["install", "--dry-run"]).stdout, "nothing would change\n");
    assert!(here.done(&["uninstall", "--dry-run"]).stdout.contains("- # reseat: begin"));
    assert_eq!(here.tree(), installed);
}

/// One file that is not understood refuses the whole: which one, where, and nothing is touched.
#[test]
fn c36_a_file_that_is_not_understood_refuses_the_whole() {
    for (file, text, why) in [
        (".claude/settings.json", "[]", "line 1: the whole text is not an object"),
        (".claude/settings.json", "null", "line 1: the whole text is not an object"),
        (".claude/settings.json", "{\n  \"model\": \"op", "line 2: cannot parse it"),
        (".claude/settings.json", "// mine\n{}", "line 1: cannot parse it"),
        (".claude/settings.json", "{\"hooks\": []}", "line 1: hooks is not an object"),
        ("c2/settings.json", "{,}", "line 1: cannot parse it"),
        (".codex/config.toml", "a = 1\n[tui\n", "line 2: cannot parse it"),
        (".codex/config.toml", "[tui]\nterminal_title = 7\n", "line 2: tui.terminal_title is not a list"),
        ("codex-b/config.toml", "tui = 1\n", "line 1: tui is not a table"),
    ] {
        let here = furnished();
        let path = here.put(file, text);
        let before = here.tree();
        for args in [&["install"][..], &["install", "--dry-run"]] {
            let out = here.run(args);
            assert_eq!((out.code, out.stdout.as_str()), (1, ""), "{text:?}: {out:?}");
            let want = format!("reseat: cannot edit {}: {why}", path.display());
            assert!(out.stderr.starts_with(&want), "{want}\n{out:?}");
            assert!(out.stderr.contains("nothing was changed"), "{out:?}");
        }
        let value = here.run(&["install", "--json"]).json();
        assert_eq!(value["error"]["code"], "cannot-parse");
        assert_eq!(here.tree(), before, "{text:?}");
    }
    let here = furnished();
    let path = here.world.home().join("dotfiles/tmux.conf");
    std::fs::write(&path, b"set -g status-left \xff\n").unwrap();
    let before = here.tree();
    let out = here.run(&["install"]);
    assert_eq!(out.code, 1);
    assert!(out.stderr.contains("it is no UTF-8 text"), "{out:?}");
    assert_eq!(here.tree(), before);
    assert_eq!(std::fs::read(&path).unwrap(), b"set -g status-left \xff\n");
}

/// What cannot be parsed on the way out is refused too, and the rest stays in.
#[test]
fn c36_uninstall_refuses_what_is_not_understood() {
    let here = furnished();
    here.done(&["install"]);
    here.put("c2/settings.json", "{");
    let before = here.tree();
    let out = here.run(&["uninstall"]);
    assert_eq!((out.code, out.stdout.as_str()), (1, ""), "{out:?}");
    assert_eq!(here.tree(), before);
}

/// A program that the next build replaces is no program for hooks; bad homes are usage errors.
#[test]
fn a_program_in_a_build_directory_is_refused() {
    let world = World::new();
    std::fs::create_dir(world.home().join(".claude")).unwrap();
    let out = world.reseat(&["install", "--json"]);
    assert_eq!(out.code, 1, "{out:?}");
    let error = &out.json()["error"];
    assert_eq!(error["code"], "build-directory");
    assert!(error["hint"].as_str().unwrap().starts_with("copy it first: install -D "), "{error}");
    assert!(!world.home().join(".claude/settings.json").exists());
    assert!(!world.home().join(".tmux.conf").exists());
    let here = Installed::new();
    for bad in ["claude", "gemini=/tmp", "claude=/nonexistent/home"] {
        let out = here.run(&["install", "--agent-home", bad, "--json"]);
        assert_eq!((out.code, out.json()["error"]["code"].as_str()), (2, Some("bad-agent-home")), "{bad}");
    }
    assert!(!here.world.home().join(".tmux.conf").exists());
}

/// Runs a command string as agents and tmux do, with an event on standard input.
fn sh(here: &Installed, command: &str) -> (Option<i32>, String) {
    let mut child = here
        .world
        .command("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let event = r#"{"session_id":"11111111-1111-4111-8111-111111111111","hook_event_name":"SessionStart","source":"startup"}"#;
    // One that reads nothing may be gone already.
    let _ = child.stdin.take().unwrap().write_all(event.as_bytes());
    let out = child.wait_with_output().unwrap();
    (out.status.code(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
}

/// "Never in the way": the very strings that were installed say nothing and fail nothing, with the program and
/// without it, whatever its path.
#[test]
fn installed_commands_are_silent_without_the_program() {
    let mut here = Installed::new();
    let odd = here.world.home().join("it's $(touch PWNED) \"#{x}\"");
    std::fs::create_dir(&odd).unwrap();
    std::fs::rename(&here.program, odd.join("reseat")).unwrap();
    here.program = odd.join("reseat");
    std::fs::create_dir(here.world.home().join(".claude")).unwrap();
    here.done(&["install"]);
    let settings: Value = serde_json::from_str(&here.text(".claude/settings.json")).unwrap();
    let mut commands: Vec<String> = ["SessionStart", "SessionEnd", "UserPromptSubmit"]
        .iter()
        .map(|event| settings["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap().to_owned())
        .collect();
    commands.push(reseat_recovery::install::tmux_command(&here.program));
    for command in &commands {
        assert_eq!(sh(&here, command), (Some(0), String::new()), "{command}");
    }
    let log = here.done(&["log", "--json"]).json();
    assert!(
        log["lines"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| { line["session"] == "11111111-1111-4111-8111-111111111111" })
    );
    // Not to be run, then gone.
    mode(&here.program, 0o644);
    for command in &commands {
        assert_eq!(sh(&here, command), (Some(0), String::new()), "{command}");
    }
    std::fs::remove_file(&here.program).unwrap();
    for command in &commands {
        assert_eq!(sh(&here, command), (Some(0), String::new()), "{command}");
    }
    assert!(!here.world.root().join("PWNED").exists());
}

/// Our hooks stand in the running server and in the next one, at an index of their own; those of others stay.
#[test]
fn tmux_hooks_of_this_server_and_of_the_next() {
    let here = furnished();
    here.world.session("work", "shop");
    here.world.tmux(&["set-hook", "-g", "pane-exited[0]", "display-message mine"]);
    here.world.tmux(&["set-hook", "-g", "pane-exited[3]", "display-message also"]);
    let hooks = || here.world.tmux(&["show-hooks", "-g"]) + &here.world.tmux(&["show-hooks", "-gw"]);
    let before = hooks();
    let out = here.done(&["install"]);
    assert!(
        out.stdout.contains(&format!("tmux server at {}: done", here.world.socket().display())),
        "{out:?}"
    );
    let with = hooks();
    let ours: Vec<&str> = with.lines().filter(|line| line.contains("[7373]")).collect();
    let names = [
        "pane-exited",
        "pane-died",
        "window-unlinked",
        "session-closed",
        "window-linked",
        "after-split-window",
        "pane-title-changed",
    ];
    for name in names {
        let line = ours.iter().find(|line| line.starts_with(&format!("{name}[7373] ")));
        let line = line.unwrap_or_else(|| panic!("{name} is not in {ours:?}"));
        assert!(line.contains("run-shell -b"), "{line}");
        assert!(name != "pane-title-changed" || line.contains("if-shell -F"), "filtered within tmux: {line}");
    }
    assert_eq!(ours.len(), names.len());
    here.done(&["install"]);
    assert_eq!(hooks(), with);
    // A server that starts now reads them from the file, as it is.
    let conf = here.world.home().join(".tmux.conf").display().to_string();
    let next = |args: &[&str]| {
        let all = [&["-u", "-L", "next", "-f", conf.as_str()], args].concat();
        let out = here.world.command("tmux").args(all).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    next(&["new-session", "-d", "-x", "80", "-y", "24", "sleep 300"]);
    let read: Vec<String> = (next(&["show-hooks", "-g"]) + &next(&["show-hooks", "-gw"]))
        .lines()
        .filter(|line| line.contains("[7373]"))
        .map(str::to_owned)
        .collect();
    assert_eq!(read, ours);
    assert_eq!(next(&["show-options", "-gv", "mouse"]), "on\n", "the user's own lines are read too");
    assert!(here.warnings().iter().all(|text| !text.contains("tmux server")), "{:?}", here.warnings());
    next(&["kill-server"]);
    here.done(&["uninstall"]);
    assert_eq!(hooks(), before);
    assert_eq!(here.text(".tmux.conf"), TMUX_CONF);
}

/// A pane whose title changes calls the program that was installed, and one that spins does not.
#[test]
fn a_title_with_a_new_thread_id_is_noted_once() {
    let here = furnished();
    here.world.session("work", "shop");
    here.done(&["install"]);
    let log = here.world.root().join("calls");
    let script = format!("#!/bin/sh\necho \"$*\" >> {}\n", log.display());
    std::fs::remove_file(&here.program).unwrap();
    here.world.script("reseat", &script);
    let title = |text: &str| {
        here.world.tmux(&["select-pane", "-t", "work:0.0", "-T", text]);
    };
    let calls = || std::fs::read_to_string(&log).unwrap_or_default();
    let id = "01900000-0000-7000-8000-00000";
    for spin in 0..50 {
        title(&format!("{spin} | Working"));
    }
    title(&format!("Ready | {id}1..."));
    for spin in 0..50 {
        title(&format!("{spin} | {id}1..."));
    }
    wait_for("the thread id", || !calls().is_empty());
    title("");
    wait_for("the emptied title", || calls().lines().count() > 1);
    assert_eq!(calls(), "hook tmux\nhook tmux\n");
}

/// The doctor proves the way of a fact, says what a crash may lose, and names what is missing, by home.
#[test]
fn doctor_names_what_is_missing() {
    let here = furnished();
    let home = here.world.home().display().to_string();
    let all = here.run(&["doctor", "--json"]);
    assert_eq!(all.code, 0, "{all:?}");
    let checks = all.json()["checks"].clone();
    let check = |name: &str| {
        let found = checks.as_array().unwrap().iter().find(|check| check["name"] == name);
        found.map(|check| {
            (check["state"].as_str().unwrap().to_owned(), check["text"].as_str().unwrap().to_owned())
        })
    };
    let ok = |text: &str| Some(("ok".to_owned(), text.to_owned()));
    assert_eq!(check("round trip"), ok("a fact was spooled, taken into the log and read back"));
    assert_eq!(check("loss window"), ok("a crash loses at most what happened in the last 2 s"));
    let missing = [
        format!("hooks: no hooks in the Claude Code home {home}/.claude"),
        format!("hooks: no hooks in the Claude Code home {home}/c2"),
        format!("hooks: no thread id in the titles of the Codex home {home}/.codex"),
        format!("hooks: no thread id in the titles of the Codex home {home}/codex-b"),
        format!("hooks: {home}/.tmux.conf does not set the hooks for the next tmux server"),
    ];
    assert_eq!(here.warnings(), missing);
    here.done(&["install"]);
    assert_eq!(here.warnings(), [] as [&str; 0]);
    here.put(
        "c2/settings.json",
        &here.text("c2/settings.json").replacen('{', "{\"disableAllHooks\": true, ", 1),
    );
    here.put("dotfiles/claude.json", "// mine\n{}");
    here.put("codex-b/config.toml", "[tui]\nterminal_title = [\"a\"]\n");
    here.put(".codex/config.toml", "= =\n");
    let said = here.warnings();
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(
        said[0].contains(".claude/settings.json cannot be used, and so Claude Code may ignore it: line 1"),
        "{said:?}"
    );
    assert_eq!(said[1], format!("hooks: hooks are disabled in the Claude Code home {home}/c2"));
    assert!(said[2].contains("/.codex/config.toml cannot be used by Codex: line 1"), "{said:?}");
    assert_eq!(said[3], format!("hooks: no thread id in the titles of the Codex home {home}/codex-b"));
}

/// A moved program is named by its hooks' homes and by running servers.
#[test]
fn doctor_names_hooks_of_another_program() {
    let mut here = furnished();
    here.world.session("work", "shop");
    here.done(&["install"]);
    let old = here.program.display().to_string();
    let moved = here.world.home().join("elsewhere");
    std::fs::rename(&here.program, &moved).unwrap();
    here.program = moved;
    let home = here.world.home().display().to_string();
    let want = [
        format!("hooks: the hooks in {home}/.claude call another program: {old}"),
        format!("hooks: the hooks in {home}/c2 call another program: {old}"),
        format!("hooks: {home}/.tmux.conf does not set the hooks for the next tmux server"),
        format!(
            "hooks: the hooks in the tmux server at {} call another program",
            here.world.socket().display()
        ),
    ];
    assert_eq!(here.warnings(), want);
    here.done(&["install"]);
    assert_eq!(here.warnings(), [] as [&str; 0]);
}

/// A server that was started from inside an agent hands its markers to every pane: said, and unset when asked to.
#[test]
fn doctor_finds_agent_markers_and_unsets_them() {
    let here = Installed::new();
    here.world.session("work", "shop");
    here.done(&["install"]);
    for name in ["CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CODEX_THREAD_ID", "KEPT"] {
        here.world.tmux(&["set-environment", "-g", name, "1"]);
    }
    let socket = here.world.socket().display().to_string();
    let markers = "CLAUDECODE, CLAUDE_CODE_CHILD_SESSION, CODEX_THREAD_ID";
    let want = format!(
        "markers: {socket} hands agent markers to every new pane ({markers}): agents there may save nothing; --fix unsets them"
    );
    assert_eq!(here.warnings(), std::slice::from_ref(&want));
    assert_eq!(here.warnings(), [want], "nothing is changed unasked");
    let fixed = here.run(&["doctor", "--fix", "--json"]).json();
    let said = fixed["checks"].as_array().unwrap().iter().find(|check| check["name"] == "markers").unwrap();
    assert_eq!(said["text"], format!("unset at {socket}: {markers}"));
    assert_eq!(here.warnings(), [] as [&str; 0]);
    let left = here.world.tmux(&["show-environment", "-g"]);
    assert!(left.lines().any(|line| line == "KEPT=1"), "{left}");
    assert!(!left.contains("CLAUDE") && !left.contains("CODEX"), "{left}");
}
