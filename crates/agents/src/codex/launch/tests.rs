use super::*;
use proptest::prelude::*;
use reseat_core::ids::{AgentKind, SessionKey};

const ID: &str = "01900000-0000-7000-8000-000000000001";

fn view(argv: &[&str]) -> ProcessView {
    ProcessView {
        comm: "codex".into(),
        argv: argv.iter().map(|arg| (*arg).to_owned()).collect(),
        ..ProcessView::default()
    }
}

fn resumed(argv: &[&str], mode: Option<&str>, carry_dangerous: bool) -> (Vec<String>, bool, usize) {
    let launch = launch(&view(argv), &BTreeMap::new());
    let key =
        SessionKey { agent: AgentKind::Codex, home: "/h/.codex".into(), id: SessionId::parse(ID).unwrap() };
    let request =
        ResumeRequest { key: &key, launch: &launch, mode, carry_dangerous, default_home: "/h/.codex" };
    let out = resume(&request);
    (out.argv, out.dangerous, out.notes.len())
}

#[test]
fn who_is_a_front_end() {
    for yes in [
        &["codex"][..],
        &["codex", "-m", "gpt", "do it"],
        &["/usr/bin/codex", "resume", ID],
        &["node", "/x/bin/codex.js"],
        &["node", "--flag", "/x/bin/codex"],
        &["/bin/sh", "/x/codex"],
    ] {
        assert!(is_front_end(&view(yes)), "{yes:?}");
    }
    for no in [
        &["codex", "app-server", "--listen", "unix://"][..],
        &["codex", "-c", "a=b", "app-server"],
        &["codex", "mcp"],
        &["codex", "--version"],
        &["bash"],
        &["node", "/x/other.js", "codex"],
    ] {
        assert!(!is_front_end(&view(no)), "{no:?}");
    }
    assert!(is_headless(&view(&["codex", "-m", "x", "exec", "hello"])));
    assert!(!is_headless(&view(&["codex", "execute order"])));
}

#[test]
fn the_thread_in_the_arguments() {
    assert_eq!(argv_session(&view(&["codex", "resume", "-m", "x", ID])).unwrap().as_str(), ID);
    assert_eq!(argv_session(&view(&["codex", ID])), None);
    assert_eq!(argv_session(&view(&["codex", "resume", "--last"])), None);
}

#[test]
fn flags_are_carried_and_prompts_and_secrets_are_not() {
    let argv = [
        "codex",
        "-m",
        "gpt-x",
        "--add-dir",
        "/a b",
        "-c",
        "api_key=1",
        "-c",
        "x=y",
        "-i",
        "p.png",
        "--search",
        "fix the",
        "bug",
    ];
    assert_eq!(
        launch(&view(&argv), &BTreeMap::new()).argv,
        ["codex", "-m", "gpt-x", "--add-dir", "/a b", "-c", "x=y", "--search"]
    );
    assert!(needs_own_process(&["codex".into(), "--search".into()]));
    assert!(!needs_own_process(&["codex".into(), "-m".into(), "x".into()]));
}

/// C34, for Codex: never more than the last observed mode, and full access never by itself.
#[test]
fn c34_power_is_never_more_than_last_observed() {
    let tail = |argv: &[&str], mode, carry| {
        let (argv, dangerous, notes) = resumed(argv, mode, carry);
        assert_eq!(&argv[..2], ["codex", "resume"]);
        (argv[2..argv.len() - 1].join(" "), dangerous, notes)
    };
    let yolo = ["codex", "--yolo", "-m", "x"];
    assert_eq!(tail(&yolo, None, false), ("-m x -s workspace-write -a on-request".into(), false, 1));
    assert_eq!(
        tail(&yolo, Some("never/danger-full-access"), true),
        ("-m x --dangerously-bypass-approvals-and-sandbox".into(), true, 0)
    );
    assert_eq!(
        tail(&yolo, Some("on-request/read-only"), true),
        ("-m x -s read-only -a on-request".into(), false, 0)
    );
    assert_eq!(
        tail(&["codex"], Some("never/danger-full-access"), false),
        ("-s workspace-write -a on-request".into(), false, 1)
    );
    assert_eq!(
        tail(&["codex"], Some("granular/workspace-write"), false),
        ("-s workspace-write".into(), false, 0)
    );
    assert_eq!(tail(&["codex", "-s", "read-only"], None, false), ("-s read-only".into(), false, 0));
    assert_eq!(tail(&["codex"], None, true), (String::new(), false, 0));
}

/// Prompts, ids, pictures, other directories and machines are never carried; a flag without its value neither.
#[test]
fn what_is_never_carried() {
    for dropped in [
        &["fix it"][..],
        &["resume", ID],
        &["resume", "--last"],
        &["fork", ID],
        &["-C", "/elsewhere"],
        &["--cd=/elsewhere"],
        &["-i", "a.png"],
        &["--remote", "ws://x"],
        &["--dangerously-bypass-hook-trust"],
        &["--unknown", "x"],
        &["-c"],
        &["--", "--search"],
        &["-c", "model_providers.x.api_key=sk-1"],
        &["--config=mcp.headers.a=b"],
    ] {
        let argv = [&["codex", "-m", "gpt"], dropped].concat();
        assert_eq!(launch(&view(&argv), &BTreeMap::new()).argv, ["codex", "-m", "gpt"], "{dropped:?}");
    }
}

/// C34: configuration on the command line that decides about power goes the way of the flags for it.
#[test]
fn c34_power_by_configuration_is_not_carried_either() {
    for value in [
        "sandbox_mode=\"danger-full-access\"",
        "approval_policy=never",
        "sandbox_workspace_write.network_access=true",
        "profiles.x.sandbox_mode=danger-full-access",
        "default_permissions=x",
        "permissions.x.y=1",
    ] {
        for carry in [false, true] {
            let (argv, dangerous, notes) = resumed(&["codex", "-c", value, "-c", "x=y"], None, carry);
            assert_eq!(argv, ["codex", "resume", "-c", "x=y", ID], "{value}");
            assert_eq!((dangerous, notes), (false, 1));
        }
    }
    let asked = ["codex", "--approve-for-me"];
    assert_eq!(resumed(&asked, None, false), (vec!["codex".into(), "resume".into(), ID.into()], false, 1));
    let want = ["codex", "resume", "--approve-for-me", ID].map(str::to_owned).to_vec();
    assert_eq!(resumed(&asked, None, true), (want, true, 0));
}

/// C16: another home is said by its variable, for that pane only; secrets stay out.
#[test]
fn c16_the_home_and_the_environment_of_a_start() {
    let env: BTreeMap<String, String> = [
        ("CODEX_HOME", "/h/codex-b"),
        ("OPENAI_API_KEY", "sk-secret"),
        ("OPENAI_BASE_URL", "https://u:secret@x"),
        ("CODEX_THREAD_ID", "x"),
        ("PATH", "/bin"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let launch = launch(&view(&["codex"]), &env);
    assert_eq!(launch.env, [("CODEX_HOME".to_owned(), "/h/codex-b".to_owned())].into());
    assert_eq!(launch.env_names, ["OPENAI_API_KEY"]);
    let resumed = |home: &str| {
        let key =
            SessionKey { agent: AgentKind::Codex, home: home.into(), id: SessionId::parse(ID).unwrap() };
        resume(&ResumeRequest {
            key: &key,
            launch: &launch,
            mode: None,
            carry_dangerous: false,
            default_home: "/h/.codex",
        })
    };
    assert_eq!(resumed("/h/codex-b").env, launch.env);
    assert_eq!(resumed("/h/codex-b").argv, ["codex", "resume", ID]);
    assert!(resumed("/h/.codex").env.is_empty());
}

/// The program's name stays what was typed; a path only where it will still mean the same.
#[test]
fn the_program_is_found_again() {
    let program = |argv: &[&str]| launch(&view(argv), &BTreeMap::new()).argv.first().cloned();
    assert_eq!(program(&["codex"]).as_deref(), Some("codex"));
    assert_eq!(program(&["/opt/bin/codex"]).as_deref(), Some("/opt/bin/codex"));
    assert_eq!(program(&["node", "/x/bin/codex.js"]).as_deref(), Some("codex"));
    assert_eq!(program(&["/x/node_modules/.bin/codex"]).as_deref(), Some("codex"));
    assert_eq!(program(&[]), None);
    assert!(launch(&view(&[]), &BTreeMap::new()).flags_unknown);
}

fn arguments() -> impl Strategy<Value = Vec<String>> {
    let flags: Vec<&str> = [&VALUES[..], &SWITCHES, &DROPPED, &OF_MODE, &YOLO].concat();
    let flag = prop::sample::select(flags).prop_map(str::to_owned);
    let word = prop_oneof![
        Just(ID.to_owned()),
        Just("resume".to_owned()),
        Just("--".to_owned()),
        Just("danger-full-access".to_owned()),
        Just("never".to_owned()),
        Just("sandbox_mode=danger-full-access".to_owned()),
        "[a-z=.'$(;) ]{0,8}",
    ];
    prop::collection::vec(
        prop_oneof![2 => flag.clone(), 2 => word.clone(), 1 => (flag, word).prop_map(|(flag, word)| format!("{flag}={word}"))],
        0..8,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// C34, C35: whatever it was started with, the resumed command continues that very thread, without a prompt, and
    /// lifts no safety unasked.
    #[test]
    fn c34_any_start_is_continued_and_nothing_else(args in arguments(), allowed in any::<bool>()) {
        let argv: Vec<&str> = ["codex"].into_iter().chain(args.iter().map(String::as_str)).collect();
        let (again, dangerous, _) = resumed(&argv, None, allowed);
        prop_assert_eq!(&again[..2], ["codex", "resume"]);
        prop_assert_eq!(again.last().map(String::as_str), Some(ID));
        let lifts = again.windows(2).any(|pair| {
            let full = pair[1].contains(FULL_ACCESS) && pair[0] != "--add-dir" && !pair[1].starts_with('-');
            let named = ["-s", "--sandbox", "-c", "--config"].contains(&pair[0].as_str());
            (full && named) || YOLO.contains(&pair[1].as_str()) || pair[1] == ASK_NOBODY
        });
        prop_assert_eq!(lifts, dangerous, "{:?}", again);
        prop_assert!(allowed || !dangerous);
        let mut at = 2;
        while at < again.len() - 1 {
            let name = again[at].as_str();
            prop_assert!(VALUES.contains(&name) || SWITCHES.contains(&name), "{name} in {again:?}");
            at += if VALUES.contains(&name) { 2 } else { 1 };
        }
        prop_assert_eq!(at, again.len() - 1, "{:?}", again);
    }
}
