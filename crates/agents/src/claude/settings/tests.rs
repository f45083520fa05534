use super::*;
use serde_json::{Map, Value as Json, json};

const PROGRAM: &str = "/home/u/.local/bin/reseat";

fn parse(text: &str) -> Json {
    serde_json::from_str(text.strip_prefix(MARK).unwrap_or(text))
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Our group as a value.
fn ours(program: &str) -> Json {
    json!({ "matcher": "", "hooks": [{ "type": "command", "command": command(program), "timeout": TIMEOUT }] })
}

/// A value without our groups, and without the containers that they alone keep open; how many groups there were.
fn minus_ours(mut value: Json, before: &Json) -> (Json, usize) {
    let mut taken = 0;
    let root = value.as_object_mut().unwrap();
    if let Some(hooks) = root.get_mut("hooks").and_then(Json::as_object_mut) {
        for event in EVENTS {
            let Some(groups) = hooks.get_mut(event).and_then(Json::as_array_mut) else { continue };
            let all = groups.len();
            groups.retain(|group| *group != ours(PROGRAM));
            taken += all - groups.len();
            if groups.is_empty() && before.pointer(&format!("/hooks/{event}")).is_none() {
                hooks.shift_remove(event);
            }
        }
        if hooks.is_empty() && before.get("hooks").is_none() {
            root.shift_remove("hooks");
        }
    }
    (value, taken)
}

/// In and out again: valid, ours once for each event, nothing else changed, twice is once, and the very bytes back.
#[track_caller]
fn goes_in_and_comes_out(text: &str) {
    let once = install(Some(text), PROGRAM).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    let blank = text.trim_start_matches(MARK).trim().is_empty();
    let before = if blank { json!({}) } else { parse(text) };
    assert_eq!(minus_ours(parse(&once), &before), (before, EVENTS.len()), "{text:?} gave {once:?}");
    assert_eq!(install(Some(&once), PROGRAM).as_ref(), Ok(&once), "twice, from {text:?}");
    assert_eq!(uninstall(&once), Ok(Some(text.to_owned())), "by way of {once:?}");
    assert_eq!(once.starts_with(MARK), text.starts_with(MARK));
    if text.contains('\n') && text.matches('\n').count() == text.matches("\r\n").count() {
        assert_eq!(once.matches('\n').count(), once.matches("\r\n").count(), "{once:?}");
    }
}

/// C36: every layout a settings file was seen in.
#[test]
fn c36_uninstall_gives_back_the_very_bytes() {
    let own = r#"{"matcher": "compact", "hooks": [{"type": "command", "command": "mine \"$X\"", "once": true}], "later": 7}"#;
    let texts = [
        String::new(),
        "\n".into(),
        " \t\r\n".into(),
        MARK.into(),
        "{}".into(),
        "{}\n".into(),
        "{ }".into(),
        "{\n}\n".into(),
        "\n\n{}\n\n".into(),
        r#"{"model":"opus"}"#.into(),
        "{\n  \"model\": \"opus\"\n}".into(),
        "{\n    \"model\": \"opus\",\n    \"x\": [1, 2]\n}\n".into(),
        "{\n\t\"model\": \"opus\",\n\t\"env\": {\n\t\t\"A\": \"b\"\n\t}\n}\n".into(),
        "{\r\n  \"model\": \"opus\"\r\n}\r\n".into(),
        "{\r\n  \"hooks\": {\r\n    \"Stop\": []\r\n  }\r\n}".into(),
        format!("{MARK}{{\n  \"model\": \"opus\"\n}}\n"),
        "{\"hooks\":{}}".into(),
        "{\n  \"hooks\": {\n  }\n}\n".into(),
        "{\"hooks\": {\"SessionStart\": []}}".into(),
        "{\n  \"hooks\": {\n    \"SessionStart\": [\n    ],\n    \"Unknown\": {\"a\": null}\n  },\n  \"z\": 1e3\n}\n".into(),
        format!("{{\"hooks\": {{\"SessionStart\": [{own}]}}, \"unknownKey\": {{\"deep\": [{{}}]}}}}\n"),
        format!("{{\n  \"hooks\": {{\n    \"SessionStart\": [\n      {own}\n    ],\n    \"Stop\": [{own}]\n  }}\n}}\n"),
        // Two groups on one line, then lines that begin with a comma.
        format!("{{\"hooks\": {{\"UserPromptSubmit\": [{own}, {own}]}}}}"),
        "{ \"a\": 1\n, \"b\": 2\n, \"hooks\": {}\n}\n".into(),
        "{ \"a\": 1\n, \"b\": 2\n}\n".into(),
        // Doubled keys: the last counts, for Claude and for us.
        r#"{"hooks": {"SessionStart": 7}, "hooks": {"Stop": []}, "model": "a", "model": "b"}"#.into(),
        r#"{"hooks": {"SessionStart": {}, "SessionStart": []}}"#.into(),
        r#"{"disableAllHooks": true, "hooks": {"SessionEnd": []}}"#.into(),
        r#"{"a": "\u0068ooks } ] // no comment /* none */, \\", "ключ": "🦀\ud83e\udd80"}"#.into(),
    ];
    for text in &texts {
        goes_in_and_comes_out(text);
    }
}

/// C36: entries of others stay where they are, ours comes behind them in the shape that Claude expects.
#[test]
fn c36_the_entries_of_others_stay() {
    let text = r#"{
  "model": "opus",
  "hooks": {
    "SessionStart": [
      { "matcher": "compact", "hooks": [{ "type": "command", "command": "mine" }], "x": 1 }
    ]
  }
}
"#;
    let start = r#"      { "matcher": "", "hooks": [{ "type": "command", "command": "[ -x '/b/reseat' ] && exec '/b/reseat' hook claude; exit 0", "timeout": 5 }] }"#;
    let other = start.trim_start();
    let want = format!(
        r#"{{
  "model": "opus",
  "hooks": {{
    "SessionStart": [
      {{ "matcher": "compact", "hooks": [{{ "type": "command", "command": "mine" }}], "x": 1 }},
{start}
    ],
    "SessionEnd": [
      {other}
    ],
    "UserPromptSubmit": [
      {other}
    ]
  }}
}}
"#
    );
    assert_eq!(install(Some(text), "/b/reseat").unwrap(), want);
    assert_eq!(
        EVENTS,
        ["SessionStart", "SessionEnd", "UserPromptSubmit"],
        "no event that old versions refuse"
    );
}

/// A file that was not there is made, and is gone afterwards; a person's additions to it stay.
#[test]
fn c36_a_file_made_by_us_goes_again() {
    let made = install(None, PROGRAM).unwrap();
    assert!(made.ends_with("}\n"));
    assert_eq!(install(Some(&made), PROGRAM).as_ref(), Ok(&made));
    assert_eq!(uninstall(&made), Ok(None));
    let grown = made.replacen('{', "{\n  \"model\": \"opus\",", 1);
    let left = uninstall(&grown).unwrap().unwrap();
    assert_eq!(parse(&left), json!({ "model": "opus" }));
    // Claude writes the file anew when a setting is changed in it.
    let rewritten = serde_json::to_string_pretty(&parse(&grown)).unwrap();
    assert_eq!(parse(&uninstall(&rewritten).unwrap().unwrap()), json!({ "model": "opus" }));
}

/// C36: what Claude would not read, or reads otherwise than we do, is refused with its line.
#[test]
fn c36_what_is_not_understood_is_refused() {
    let syntax = [
        ("{\n \"model\": \"op", 2),
        ("{\"a\": 1", 1),
        ("{}\n{}", 2),
        ("nonsense", 1),
        ("{'a': 1}", 1),
        ("{a: 1}", 1),
        ("{\"a\": 01}", 1),
        ("{\"a\": \"\t\"}", 1),
        ("{\"a\": NaN}", 1),
        ("\u{a0}{}", 1),
        ("\u{c}", 1),
        // JSON with comments or trailing commas: Claude ignores the whole file, its own hooks among it.
        ("// mine\n{}", 1),
        ("{\n  /* mine */\n  \"a\": 1\n}", 2),
        ("{\"a\": 1,}", 1),
        ("{\"a\": [1,\n]}", 2),
    ];
    for (text, want) in syntax {
        for refused in [install(Some(text), PROGRAM).map(Some), uninstall(text)] {
            match refused {
                Err(SettingsError::Syntax { line, .. }) => assert_eq!(line, want, "{text:?}"),
                other => panic!("{text:?} gave {other:?}"),
            }
        }
        assert_eq!(installed(text), Installed::None);
    }
    let shape = [
        ("[]", 1, "the whole text is not an object"),
        ("\n null", 2, "the whole text is not an object"),
        ("\"hooks\"", 1, "the whole text is not an object"),
        ("7", 1, "the whole text is not an object"),
        ("{\"hooks\": null}", 1, "hooks is not an object"),
        ("{\n\"hooks\":\n[]}", 3, "hooks is not an object"),
        ("{\"hooks\": {}, \"hooks\": true}", 1, "hooks is not an object"),
        ("{\"hooks\": {\"SessionStart\": {}}}", 1, "hooks.SessionStart is not a list"),
        ("{\"hooks\": {\"UserPromptSubmit\": \"mine\"}}", 1, "hooks.UserPromptSubmit is not a list"),
        ("{\"hooks\": {\"SessionEnd\": [{}, 7]}}", 1, "hooks.SessionEnd[1] is not an object"),
        ("{\"hooks\": {\"SessionEnd\": [{\"hooks\": {}}]}}", 1, "hooks.SessionEnd[0].hooks is not a list"),
    ];
    for (text, line, why) in shape {
        let error = install(Some(text), PROGRAM).unwrap_err();
        assert_eq!(error.to_string(), format!("line {line}: {why}"), "{text:?}");
        // Nothing of ours can be in it, so nothing is taken out of it.
        assert_eq!(uninstall(text), Ok(Some(text.to_owned())), "{text:?}");
    }
    let deep = "[".repeat(100_000);
    assert!(matches!(install(Some(&deep), PROGRAM), Err(SettingsError::Syntax { .. })));
}

/// Another place of ours is pointed here, a repeated entry is dropped, and one within a group of others is found.
#[test]
fn c36_older_entries_of_ours_become_one() {
    let other = "/opt/it's/reseat";
    let once = install(Some("{}\n"), other).unwrap();
    assert_eq!(installed(&once), Installed::Ours(other.into()));
    let moved = install(Some(&once), PROGRAM).unwrap();
    assert_eq!(moved, install(Some("{}\n"), PROGRAM).unwrap());
    assert_eq!(uninstall(&moved), Ok(Some("{}\n".into())));
    let twice = json!({ "hooks": { "SessionStart": [ours(PROGRAM), { "hooks": [
        { "type": "command", "command": "mine" },
        { "type": "command", "command": command(PROGRAM) },
    ] }, ours(other)] } });
    let text = serde_json::to_string_pretty(&twice).unwrap();
    let one = install(Some(&text), PROGRAM).unwrap();
    let starts = one.matches("hook claude").count();
    assert_eq!(starts, EVENTS.len(), "{one}");
    let mine =
        json!({ "hooks": { "SessionStart": [{ "hooks": [{ "type": "command", "command": "mine" }] }] } });
    assert_eq!(parse(&uninstall(&one).unwrap().unwrap()), mine);
    assert_eq!(parse(&uninstall(&text).unwrap().unwrap()), mine);
}

/// What only looks like ours is a person's own: it is neither counted nor taken out.
#[test]
fn c36_commands_like_ours_are_left_alone() {
    for mine in [
        "reseat hook claude",
        "[ -x '/b/reseat' ] && exec '/b/reseat' hook claude; exit 1",
        "[ -x '/a/reseat' ] && exec '/b/reseat' hook claude; exit 0",
        "echo 1; [ -x '/b/reseat' ] && exec '/b/reseat' hook claude; exit 0",
    ] {
        let hook = json!([{ "hooks": [{ "type": "command", "command": mine }] }]);
        let text = json!({ "hooks": { "SessionStart": hook, "SessionEnd": hook, "UserPromptSubmit": hook } })
            .to_string();
        assert_eq!(installed(&text), Installed::None, "{mine}");
        assert_eq!(uninstall(&text).as_ref(), Ok(&Some(text.clone())), "{mine}");
        goes_in_and_comes_out(&text);
    }
}

/// Whether the hooks will be called: for all events, for one program, and not turned off.
#[test]
fn what_counts_as_installed() {
    let text = install(Some("{\"model\": \"x\"}"), PROGRAM).unwrap();
    assert_eq!(installed(&text), Installed::Ours(PROGRAM.into()));
    assert_eq!(installed(&format!("{MARK}{text}")), Installed::Ours(PROGRAM.into()));
    let off = |value: &str| text.replacen('{', &format!("{{\"disableAllHooks\": {value}, "), 1);
    assert_eq!(installed(&off("true")), Installed::Disabled);
    assert_eq!(installed(&off("false")), Installed::Ours(PROGRAM.into()));
    assert_eq!(
        installed(&off("\"true\"")),
        Installed::Ours(PROGRAM.into()),
        "only a truth value turns them off"
    );
    assert_eq!(installed(&text.replacen("SessionEnd", "Stop", 1)), Installed::None);
    assert_eq!(installed(&text.replacen(PROGRAM, "/elsewhere", 2)), Installed::None, "two programs");
    assert_eq!(installed(""), Installed::None);
}

mod property {
    use super::*;
    use proptest::prelude::*;

    /// How a file is laid out.
    #[derive(Debug, Clone, Copy)]
    struct Layout {
        newline: &'static str,
        unit: &'static str,
        /// Members of one container: each on a line, all on one, commas first, or nothing between them.
        members: u8,
        mark: bool,
        around: (&'static str, &'static str),
    }

    fn layouts() -> impl Strategy<Value = Layout> {
        let around = prop::sample::select(vec![("", ""), ("", "\n"), ("\n ", "\n\n"), ("", " \t")]);
        let units = prop::sample::select(vec!["  ", "    ", "\t", " ", ""]);
        (prop::bool::ANY, units, 0..5_u8, prop::bool::ANY, around).prop_map(
            |(carriage, unit, members, mark, around)| Layout {
                newline: if carriage { "\r\n" } else { "\n" },
                unit,
                members,
                mark,
                around,
            },
        )
    }

    fn write(value: &Json, layout: Layout, depth: usize, out: &mut String) {
        let (open, close, rows): (_, _, Vec<(Option<&String>, &Json)>) = match value {
            Json::Object(map) => ('{', '}', map.iter().map(|(name, value)| (Some(name), value)).collect()),
            Json::Array(list) => ('[', ']', list.iter().map(|value| (None, value)).collect()),
            plain => return out.push_str(&plain.to_string()),
        };
        let line = |depth: usize| format!("{}{}", layout.newline, layout.unit.repeat(depth));
        let (first, between, last) = match (layout.members, rows.is_empty()) {
            (0, true) => (String::new(), String::new(), line(depth)),
            (_, true) => Default::default(),
            (1, _) => (" ".into(), ", ".into(), " ".into()),
            (2, _) => (String::new(), ",".into(), String::new()),
            (3, _) => (" ".into(), format!("{}, ", line(depth)), line(depth)),
            _ => (line(depth + 1), format!(",{}", line(depth + 1)), line(depth)),
        };
        out.push(open);
        for (at, (name, value)) in rows.into_iter().enumerate() {
            out.push_str(if at == 0 { &first } else { &between });
            if let Some(name) = name {
                out.push_str(&Json::String(name.clone()).to_string());
                out.push_str(if layout.members == 2 { ":" } else { ": " });
            }
            write(value, layout, depth + 1, out);
        }
        out.push_str(&last);
        out.push(close);
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::Bool),
            any::<i32>().prop_map(|number| json!(number)),
            "[ -~äß{}\\[\\],:/*\"\\\\]{0,12}".prop_map(Json::String),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Json::Array),
                prop::collection::vec(("[a-z/\"]{0,5}", inner), 0..3)
                    .prop_map(|rows| Json::Object(rows.into_iter().collect())),
            ]
        })
    }

    /// Groups of others, as Claude knows them or with keys it does not know.
    fn groups() -> impl Strategy<Value = Json> {
        let hook = ("[ -~]{0,20}", any_json())
            .prop_map(|(command, more)| json!({ "type": "command", "command": command, "more": more }));
        let group = (prop::collection::vec(hook, 0..3), any_json(), prop::bool::ANY).prop_map(
            |(hooks, more, bare)| {
                if bare { json!({ "hooks": hooks }) } else { json!({ "matcher": more, "hooks": hooks }) }
            },
        );
        prop::collection::vec(group, 0..3).prop_map(Json::Array)
    }

    fn settings() -> impl Strategy<Value = Json> {
        let names =
            prop::sample::select(vec!["SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "Later"]);
        let hooks = prop::option::of(prop::collection::vec((names, groups()), 0..4));
        let rest = prop::collection::vec(("[a-z]{1,6}", any_json()), 0..4);
        (rest, hooks, 0..4_usize).prop_map(|(rest, hooks, place)| {
            let mut rows: Vec<(String, Json)> =
                rest.into_iter().filter(|(name, _)| name != "hooks").collect();
            if let Some(hooks) = hooks {
                let hooks: Map<String, Json> =
                    hooks.into_iter().map(|(name, groups)| (name.to_owned(), groups)).collect();
                rows.insert(place.min(rows.len()), ("hooks".into(), Json::Object(hooks)));
            }
            Json::Object(rows.into_iter().collect())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

        /// C36 for settings of any content and layout: what goes in comes out, and nothing else is changed.
        #[test]
        fn c36_any_settings_come_back(value in settings(), layout in layouts()) {
            let mut text = String::new();
            text.push_str(if layout.mark { MARK } else { "" });
            text.push_str(layout.around.0);
            write(&value, layout, 0, &mut text);
            text.push_str(layout.around.1);
            goes_in_and_comes_out(&text);
        }

        /// Any text at all: no panic, and whatever is not refused comes back.
        #[test]
        fn c36_any_text_is_refused_or_comes_back(text in "[{}\\[\\]\",: \n\r\t/*a-chooks\u{feff}0-9\\\\]{0,40}") {
            if install(Some(&text), PROGRAM).is_ok() && !text.contains('\r') {
                goes_in_and_comes_out(&text);
            }
        }

        /// Any path of a program is quoted so that a shell sees that very path, and is read back.
        #[test]
        fn c35_any_program_is_quoted(program in "/[^\u{0}]{1,30}") {
            let text = install(None, &program).unwrap();
            prop_assert_eq!(installed(&text), Installed::Ours(program.clone()));
            prop_assert_eq!(uninstall(&text), Ok(None));
        }
    }
}
