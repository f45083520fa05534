use super::*;
use crate::Agent as _;
use crate::claude::Claude;
use proptest::prelude::*;
use reseat_core::ids::{AgentKind, SessionKey};
use std::path::Path;

const ID: &str = "11111111-1111-4111-8111-111111111111";
const OTHER: &str = "22222222-2222-4222-8222-222222222222";
const NATIVE: &str = "/h/.local/share/claude/versions/2.1.332";

/// A native build, started by its name.
fn view(argv: &[&str]) -> ProcessView {
    ProcessView {
        comm: "claude".into(),
        exe: Some(NATIVE.into()),
        argv: argv.iter().map(|arg| (*arg).to_owned()).collect(),
        ..ProcessView::default()
    }
}

fn seen(comm: &str, exe: &str, argv: &[&str]) -> ProcessView {
    ProcessView { comm: comm.into(), exe: (!exe.is_empty()).then(|| exe.into()), ..view(argv) }
}

fn kept(argv: &[&str]) -> Vec<String> {
    launch(&view(argv), &BTreeMap::new()).argv
}

fn resumed(launch: &Launch, mode: Option<&str>, carry_dangerous: bool, home: &str) -> ResumeCommand {
    let key = SessionKey { agent: AgentKind::Claude, home: home.into(), id: SessionId::parse(ID).unwrap() };
    resume(&ResumeRequest { key: &key, launch, mode, carry_dangerous, default_home: "/h/.claude" })
}

/// The arguments of a resumed conversation that was started with `argv`.
fn again(argv: &[&str], mode: Option<&str>, carry_dangerous: bool) -> (String, bool, Vec<String>) {
    let out = resumed(&launch(&view(argv), &BTreeMap::new()), mode, carry_dangerous, "/h/.claude");
    (out.argv.join(" "), out.dangerous, out.notes)
}

/// C04: by which names Claude is known, native, under node, under its version's number.
#[test]
fn c04_who_is_claude() {
    let cli = "/x/lib/node_modules/@anthropic-ai/claude-code/cli.js";
    for yes in [
        seen("claude", NATIVE, &["claude"]),
        seen("2.1.34", "/h/.local/share/claude/versions/2.1.34", &["/h/.local/bin/claude"]),
        seen("2.1.34", "", &["/h/.local/bin/claude"]),
        seen(
            "claude.exe",
            "/x/claude-code/bin/claude.exe",
            &["/x/claude-code/bin/claude.exe", "--resume", ID],
        ),
        seen("claude", "/x/claude-code-linux-x64/claude (deleted)", &["claude"]),
        seen("claude", "/usr/bin/node", &["claude", "", "", ""]),
        seen("claude", "/usr/bin/node", &["claude"]),
        seen("node", "/usr/bin/node", &["node", cli, "--model", "opus"]),
        seen("node", "/usr/bin/node", &["node", "--max-old-space-size=8192", "/x/bin/claude"]),
        seen("MainThread", "/usr/bin/node", &["/usr/bin/node", cli]),
        seen("claude", NATIVE, &["claude", "fix the update"]),
        seen("claude", NATIVE, &["claude", "--model", "update"]),
    ] {
        assert!(is_front_end(&yes), "{yes:?}");
    }
    for no in [
        seen("bash", "/bin/bash", &["bash", "-c", "claude"]),
        seen("node", "/usr/bin/node", &["node", "/x/wrapper.js", "claude"]),
        seen("node", "/usr/bin/node", &["node"]),
        seen("2.1.34", "/opt/tool/2.1.34", &["tool"]),
        seen("vim", "/usr/bin/vim", &["vim", "claude"]),
        seen("rg", NATIVE, &["rg", "--no-config", "x"]),
        seen("claude", NATIVE, &["claude", "mcp", "serve"]),
        seen("claude", NATIVE, &["claude", "--model", "opus", "update"]),
        seen("claude", NATIVE, &["claude", "--version"]),
        seen("claude", NATIVE, &["claude", "-h"]),
        seen("claude", NATIVE, &["claude", "daemon", "run"]),
    ] {
        assert!(!is_front_end(&no), "{no:?}");
    }
}

/// Programs run it with `-p` or as a stream; a prompt that mentions them is a prompt.
#[test]
fn c03_who_runs_without_a_person() {
    for yes in [
        &["claude", "-p", "hi"][..],
        &["claude", "--print"],
        &["claude", "-pc"],
        &["claude", "--output-format", "stream-json"],
        &["claude", "--input-format=stream-json"],
    ] {
        assert!(is_headless(&view(yes)), "{yes:?}");
    }
    for no in [
        &["claude"][..],
        &["claude", "explain -p"],
        &["claude", "--", "-p"],
        &["claude", "--append-system-prompt", "-p"],
        &["claude", "--output-format", "text"],
    ] {
        assert!(!is_headless(&view(no)), "{no:?}");
    }
    assert!(!is_headless(&seen("claude", "/usr/bin/node", &["claude", "", ""])), "wiped: not known");
}

/// The conversation that stands in the arguments; a fork's is not its parent's.
#[test]
fn the_session_in_the_arguments() {
    let id = |argv: &[&str]| argv_session(&view(argv)).map(|id| id.to_string());
    for yes in [
        &["claude", "--resume", ID][..],
        &["claude", "-r", ID],
        &["claude", "--resume=11111111-1111-4111-8111-111111111111"],
        &["claude", "-r11111111-1111-4111-8111-111111111111"],
        &["claude", "--session-id", ID],
        &["claude", "--model", "opus", "--resume", ID, "and go on"],
        &["claude", "--resume", OTHER, "--resume", ID],
        &["claude", "--resume", OTHER, "--fork-session", "--session-id", ID],
    ] {
        assert_eq!(id(yes).as_deref(), Some(ID), "{yes:?}");
    }
    for no in [
        &["claude"][..],
        &["claude", "--resume"],
        &["claude", "--resume", "my name"],
        &["claude", "--resume", ID, "--fork-session"],
        &["claude", "--fork-session", "-r", ID],
        &["claude", ID],
        &["claude", "--", "--resume", ID],
        &["claude", "--append-system-prompt", "--resume", ID],
        &["claude", "--resume", "11111111-1111-4111-8111-111111111111; touch PWNED"],
        &["claude", "-c"],
    ] {
        assert_eq!(id(no), None, "{no:?}");
    }
}

/// What is carried to a resumed process, as it was given.
#[test]
fn flags_worth_carrying() {
    for same in [
        &["--model", "opus"][..],
        &["--model=opus"],
        &["--permission-mode", "plan"],
        &["--effort", "high"],
        &["--append-system-prompt", "be brief; $(touch PWNED)"],
        &["--system-prompt", "-- x"],
        &["--add-dir", "/a b", "/c", "--verbose"],
        &["--mcp-config", "a.json", "b.json", "--strict-mcp-config"],
        &["--settings", "/x/settings.json"],
        &["--plugin-dir", "/p", "--plugin-dir", "/q"],
        &["--setting-sources", "user"],
        &["--agent", "reviewer"],
        &["--allowedTools", "Bash(git:*)", "Edit", "--disallowedTools", "Web"],
        &["--allowed-tools", "Edit"],
        &["--tools", ""],
        &["--ide", "--chrome"],
        &["--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"],
    ] {
        let argv = [&["claude"], same].concat();
        assert_eq!(kept(&argv), argv);
    }
}

/// Never carried: prompts, ids, forks, worktrees, headless flags, secrets; and never a value without its flag.
#[test]
fn flags_never_carried() {
    for dropped in [
        &["fix the bug"][..],
        &["-p", "hi"],
        &["--print"],
        &["-c"],
        &["--continue"],
        &["-r", ID],
        &["--resume"],
        &["--resume", ID],
        &["--session-id", ID],
        &["--fork-session"],
        &["-w", "feature"],
        &["--worktree=feature"],
        &["-n", "my name"],
        &["--name", "my name"],
        &["--output-format", "json"],
        &["--max-turns", "3"],
        &["--debug", "api"],
        &["--agents", r#"{"x":{}}"#],
        &["--settings", r#"{"env":{"KEY":"sk-1"}}"#],
        &["--settings", " [1]"],
        &["--mcp-config", r#"{"mcpServers":{}}"#],
        &["--teleport"],
        &["--from-pr", "12"],
        &["--file", "a", "b"],
        &["--unknown=7"],
        &["--unknown"],
        &["-Z"],
        &["--", "--model", "x"],
        &["-"],
    ] {
        let argv = [&["claude", "--model", "opus"], dropped].concat();
        assert_eq!(kept(&argv), ["claude", "--model", "opus"], "{dropped:?}");
    }
    assert_eq!(
        kept(&["claude", "--mcp-config", "a.json", "{}", "b.json"]),
        ["claude", "--mcp-config", "a.json", "b.json"]
    );
    assert_eq!(kept(&["claude", "-pr", ID, "--effort", "low"]), ["claude", "--effort", "low"]);
}

/// 2.1.112 and older wipe their arguments; what stands there then is not known, and not taken for nothing.
#[test]
fn wiped_arguments_are_unknown() {
    let launch_of = |view: &ProcessView| launch(view, &BTreeMap::new());
    for wiped in [
        seen("claude", "/usr/bin/node", &["claude", "", "", ""]),
        seen("claude", "/usr/bin/node", &["claude"]),
        seen("claude", "/usr/bin/node", &[""]),
        seen("claude", "/usr/bin/node", &[]),
    ] {
        let launch = launch_of(&wiped);
        assert_eq!((launch.argv.as_slice(), launch.flags_unknown), (&[] as &[String], true), "{wiped:?}");
        assert_eq!(resumed(&launch, None, false, "/h/.claude").argv, ["claude", "--resume", ID]);
    }
    let plain = launch_of(&view(&["claude"]));
    assert_eq!((plain.argv.as_slice(), plain.flags_unknown), (&["claude".to_owned()][..], false));
}

/// The program's name stays what was typed; a path only where it will still mean the same.
#[test]
fn the_program_is_found_again() {
    let program = |view: &ProcessView| {
        resumed(&launch(view, &BTreeMap::new()), None, false, "/h/.claude").argv.first().cloned().unwrap()
    };
    let cli = "/x/lib/node_modules/@anthropic-ai/claude-code/cli.js";
    assert_eq!(program(&view(&["claude"])), "claude");
    assert_eq!(program(&view(&["/opt/bin/claude"])), "/opt/bin/claude");
    assert_eq!(program(&view(&["./claude"])), "claude");
    assert_eq!(program(&view(&[NATIVE])), "claude", "an update removes it");
    assert_eq!(program(&seen("node", "/usr/bin/node", &["node", cli])), "claude");
    assert_eq!(launch(&view(&["claude"]), &BTreeMap::new()).version.as_deref(), Some("2.1.332"));
}

/// C34: (a) started dangerous, later in default mode; (b) plain, later in bypass; (c) dangerous, no later word.
#[test]
fn c34_never_more_power_than_last_observed() {
    let hint = "--dangerously-skip-permissions not carried: it was in bypass mode, turn that on by hand";
    let with = |rest: &str| format!("claude {rest}--resume {ID}");
    for carry in [false, true] {
        let a = again(&["claude", SKIP], Some("default"), carry);
        assert_eq!(a, (with("--permission-mode default "), false, vec![]), "a");
    }
    assert_eq!(again(&["claude"], Some(BYPASS), false), (with(""), false, vec![hint.to_owned()]), "b");
    assert_eq!(
        again(&["claude"], Some(BYPASS), true),
        (with(&format!("{SKIP} ")), true, vec![]),
        "b, allowed"
    );
    let c = ["claude", "--model", "opus", SKIP];
    assert_eq!(again(&c, None, false), (with("--model opus "), false, vec![hint.to_owned()]), "c");
    assert_eq!(again(&c, None, true), (with(&format!("--model opus {SKIP} ")), true, vec![]), "c, allowed");
    // The flag that only makes bypass reachable is dangerous too.
    let (argv, dangerous, notes) = again(&["claude", ALLOW_SKIP], None, false);
    assert_eq!((argv, dangerous, notes), (with(""), false, vec![format!("{ALLOW_SKIP} not carried")]));
    assert_eq!(again(&["claude", ALLOW_SKIP], None, true), (with(&format!("{ALLOW_SKIP} ")), true, vec![]));
    // Modes by name.
    for mode in ["default", "acceptEdits", "plan", "auto", "dontAsk"] {
        let want = (with(&format!("--permission-mode {mode} ")), false, vec![]);
        assert_eq!(again(&["claude", "--permission-mode", "bypassPermissions"], Some(mode), true), want);
        assert_eq!(again(&["claude", "--permission-mode", mode], None, false), want);
    }
    assert_eq!(again(&["claude"], Some("manual"), false).0, with("--permission-mode default "));
    let (argv, dangerous, notes) = again(&["claude"], Some("yolo\u{1b}[2J"), true);
    assert_eq!((argv, dangerous), (with("--permission-mode default "), false));
    assert_eq!(notes, ["permission mode yolo[2J is not known here, starts in default"]);
    let asked = ["claude", "--permission-mode", "plan", "--permission-mode", BYPASS];
    assert_eq!(again(&asked, None, false), (with(""), false, vec![hint.to_owned()]), "the last of two");
}

/// C16: another home is said by its variable, for that pane only; secrets stay out, other kept variables stay in.
#[test]
fn c16_the_home_and_the_environment_of_a_start() {
    let env: BTreeMap<String, String> = [
        ("CLAUDE_CONFIG_DIR", "/h/c2"),
        ("IS_SANDBOX", "1"),
        ("ANTHROPIC_MODEL", "opus"),
        ("ANTHROPIC_API_KEY", "sk-secret"),
        ("AWS_SESSION_TOKEN", "secret"),
        ("ANTHROPIC_BASE_URL", "https://user:pass@proxy/"),
        ("CLAUDE_CODE_CHILD_SESSION", "1"),
        ("PATH", "/bin"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let launch = launch(&view(&["claude"]), &env);
    assert_eq!(launch.env.keys().collect::<Vec<_>>(), ["ANTHROPIC_MODEL", "CLAUDE_CONFIG_DIR", "IS_SANDBOX"]);
    assert_eq!(launch.env_names, ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "AWS_SESSION_TOKEN"]);
    let text = serde_json::to_string(&launch).unwrap();
    assert!(!text.contains("secret") && !text.contains("pass"), "{text}");
    let env = |home: &str| resumed(&launch, None, false, home).env;
    assert_eq!(env("/h/c2").get("CLAUDE_CONFIG_DIR").map(String::as_str), Some("/h/c2"));
    assert_eq!(env("/h/.claude").keys().collect::<Vec<_>>(), ["ANTHROPIC_MODEL", "IS_SANDBOX"]);
    let edited = Launch { env: [("LD_PRELOAD".into(), "/x.so".into())].into(), ..Launch::default() };
    assert!(
        resumed(&edited, None, false, "/h/.claude").env.is_empty(),
        "what was stored may have been edited"
    );
    let plain = [("ANTHROPIC_BASE_URL".to_owned(), "http://127.0.0.1:9".to_owned())].into();
    assert_eq!(super::launch(&view(&["claude"]), &plain).env, plain);
}

/// Where Claude looks: its variable, from the directory it was started in.
#[test]
fn c16_which_home_a_process_uses() {
    let home = |rows: &[(&str, &str)]| {
        let env = rows.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Claude.home_of(&env, Path::new("/h")).display().to_string()
    };
    assert_eq!(home(&[]), "/h/.claude");
    assert_eq!(home(&[("CLAUDE_CONFIG_DIR", "")]), "/h/.claude");
    assert_eq!(home(&[("CLAUDE_CONFIG_DIR", "/c2"), ("PWD", "/w")]), "/c2");
    assert_eq!(home(&[("CLAUDE_CONFIG_DIR", "c2"), ("PWD", "/w")]), "/w/c2");
    assert_eq!(home(&[("CLAUDE_CONFIG_DIR", "c2")]), "/h/c2");
}

/// Only a word that a person causes ends a session for good.
#[test]
fn c33_end_reasons() {
    use reseat_core::fact::EndReason::{Other, Replaced, User};
    for (word, want) in [
        ("prompt_input_exit", User),
        ("logout", User),
        ("clear", Replaced),
        ("resume", Replaced),
        ("fork", Replaced),
        ("other", Other),
        ("", Other),
        ("later-word", Other),
    ] {
        assert_eq!(Claude.end_reason(word), want, "{word}");
    }
}

/// Dialogs are named by their words, however a narrow pane wraps them; a conversation about them is none.
#[test]
fn c31_dialogs_are_named() {
    for (screen, want) in [
        ("│ Do you trust the files in\n│ this folder?  │\n❯ 1. Yes, proceed", Some("trust dialog")),
        ("Detected a custom API key in your environment", Some("api key dialog")),
        (
            "Claude Code running in Bypass Permissions mode\n 1. No, exit\n 2. Yes, I accept",
            Some("bypass warning"),
        ),
        ("Settings Error\n x", Some("settings warning")),
        ("  Resume session\n  hello", Some("resume picker")),
        ("> tell me how Resume session works\n❯", None),
        ("❯ ", None),
    ] {
        assert_eq!(Claude.blocked_by(screen), want, "{screen}");
    }
}

/// Arguments as people and tools give them, sensible or not.
fn arguments() -> impl Strategy<Value = Vec<String>> {
    let names: Vec<String> = flags::names().map(str::to_owned).collect();
    let name = prop::sample::select(names);
    let word = prop_oneof![
        Just(ID.to_owned()),
        Just("--".to_owned()),
        Just("bypassPermissions".to_owned()),
        "[a-z{'$(;)\n -]{0,8}",
    ];
    let arg = prop_oneof![
        3 => name.clone(),
        3 => word.clone(),
        1 => (name, word).prop_map(|(name, word)| format!("{name}={word}")),
        1 => "-[a-z]{1,3}",
    ];
    prop::collection::vec(arg, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// C34, C15, C35: whatever it was started with, the resumed command continues that very conversation, asks
    /// nothing, lifts no safety unasked, and read again it gives the same flags.
    #[test]
    fn c34_any_start_is_continued_and_nothing_else(args in arguments(), allowed in any::<bool>()) {
        let argv: Vec<&str> = ["claude"].into_iter().chain(args.iter().map(String::as_str)).collect();
        let first = launch(&view(&argv), &BTreeMap::new());
        let out = resumed(&first, None, allowed, "/h/.claude");
        let again: Vec<&str> = out.argv.iter().map(String::as_str).collect();
        prop_assert!(out.argv.ends_with(&["--resume".to_owned(), ID.to_owned()]), "{:?}", again);
        let parsed = flags::parse(&again[1..]);
        let never = [
            "-p", "--print", "-c", "--continue", "-r", "--session-id", "--fork-session", "-w", "--worktree", "-n",
            "--name", "--teleport", "--remote", "--from-pr", "--prefill", "--output-format", "--input-format",
        ];
        for arg in &parsed {
            match arg {
                Arg::Word(word) => prop_assert!(false, "a prompt: {word:?} in {again:?}"),
                Arg::Flag(flag) => {
                    prop_assert!(!flag.is(&never), "{again:?}");
                    prop_assert!(allowed || !flag.is(&[SKIP, ALLOW_SKIP]), "{again:?}");
                    prop_assert!(allowed || flag.value() != Some(BYPASS) || !flag.is(&["--permission-mode"]));
                }
            }
        }
        prop_assert_eq!(argv_session(&view(&again)).map(|id| id.to_string()), Some(ID.to_owned()));
        prop_assert_eq!(out.dangerous, again.contains(&SKIP) || again.contains(&ALLOW_SKIP), "{:?}", again);
        let second = launch(&view(&again), &BTreeMap::new());
        prop_assert_eq!(resumed(&second, None, allowed, "/h/.claude").argv, out.argv.clone());
    }
}
