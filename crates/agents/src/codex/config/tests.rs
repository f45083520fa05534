use super::*;

/// Texts without the id, of every layout.
const TEXTS: [&str; 36] = [
    "",
    "\n",
    "model = \"x\"",
    "model = \"x\"\n",
    "model = \"x\"\n\n\n",
    "model = \"x\"\r\n[a]\r\nb = 1\r\n",
    "model = \"x\"\r\n[a]\r\nb = 1",
    "[tui]\n",
    "[tui]",
    "[tui]\r\n",
    "[tui]\r\nnotifications = true",
    "[tui] # mine\nnotifications = true\n",
    "a = 1\n[tui]\nnotifications = true\n[b]\nc = 2\n",
    "a = 1\n  [ tui ]  \n\n  notifications = true\n",
    "[tui]\nterminal_title = [\"run-state\"]\n",
    "[tui]\nterminal_title = [\"run-state\"]",
    "[tui]\nnotifications = true\nterminal_title = [ \"a\", \"b\" ] # note\n",
    "[tui]\nterminal_title = [ \"a\", \"b\" ] # note\n[b]\n",
    "[tui]\nterminal_title = []\n",
    "[tui]\nterminal_title = [ ]\r\n",
    "[tui]\nterminal_title = [\"a\", \"b\",]\n",
    "[tui]\nterminal_title = [\n  \"a\",\n  \"b\",\n]\n",
    "[tui]\nterminal_title = [\r\n  \"a\",\r\n  \"b\"\r\n]\r\nx = 1\r\n",
    "[tui]\nterminal_title = [\n  \"a\", # one\n  \"b\" # two\n]\n",
    "tui.notifications = true\nmodel = \"x\"\n",
    "model = \"x\"\ntui.theme.x = true\ntui.y = 2",
    "tui.terminal_title = [\"a\"]\n",
    "model = \"x\"\r\n\"tui\".\"terminal_title\" = ['a']\r\n",
    "tui = { notifications = true }\n",
    "tui = { notifications = true } # mine",
    "tui = {}\n",
    "tui = {  }\r\n",
    "tui = { terminal_title = [\"a\"], x = 1 }\n",
    "tui = { x = 1, terminal_title = [ ] } # mine\n",
    "[tui.theme]\nx = 1\n",
    "# [tui]\n# terminal_title = []\nmodel = '''ä\n[tui] # reseat\nterminal_title = [\"run-state\", \"thread-id\"] # reseat\n'''\n",
];

/// C36, for Codex: valid afterwards with the id in it as the last item, once; and given back byte by byte.
#[test]
fn c36_what_goes_in_comes_out() {
    for text in TEXTS {
        let once = install(Some(text)).unwrap();
        assert!(installed(&once), "{text:?} gave {once:?}");
        assert!(!installed(text), "{text:?}");
        assert_eq!(install(Some(&once)).unwrap(), once, "{text:?}");
        assert_eq!(uninstall(&once).unwrap().as_deref(), Some(text), "by way of {once:?}");
        assert_eq!(uninstall(text).unwrap().as_deref(), Some(text));
        if text.matches('\n').count() == text.matches("\r\n").count() && text.contains('\n') {
            assert_eq!(once.matches('\n').count(), once.matches("\r\n").count(), "{once:?}");
        }
        let items = items(&once);
        assert_eq!(items.last().map(String::as_str), Some(ITEM), "{once:?}");
        let before = items_or_default(text);
        assert_eq!(items[..items.len() - 1], before, "{once:?}");
    }
}

fn items(text: &str) -> Vec<String> {
    let document = Document::parse(text).unwrap();
    let list = document["tui"]["terminal_title"].as_array().unwrap();
    list.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

fn items_or_default(text: &str) -> Vec<String> {
    if text.contains("terminal_title") && !text.starts_with('#') {
        items(text)
    } else {
        vec!["run-state".into()]
    }
}

/// A file that was not there is gone afterwards; an empty one is empty again.
#[test]
fn c36_a_file_made_by_us_goes_again() {
    let made = install(None).unwrap();
    assert_eq!(made, "[tui] # reseat, new file\nterminal_title = [\"run-state\", \"thread-id\"] # reseat\n");
    assert_eq!(install(Some(&made)).unwrap(), made);
    assert_eq!(uninstall(&made).unwrap(), None);
    assert_eq!(uninstall(&format!("{made}model = 1\n")).unwrap().as_deref(), Some("[tui]\nmodel = 1\n"));
    let above = format!("model = 1\n{made}");
    assert_eq!(uninstall(&above).unwrap().as_deref(), Some("model = 1\n"), "a person's line stays");
}

/// An id that stood there before us is the user's: it stays where it is, and stays when we go.
#[test]
fn what_the_user_had_stays() {
    for own in [
        "[tui]\nterminal_title = [\"thread-id\", \"a\"]\n",
        "[tui]\nterminal_title = [\"run-state\", \"thread-id\"]\n",
        "[tui]\nterminal_title = [\"a\", \"thread-id\"] # note\n",
        "[tui]\nterminal_title = ['thread-id']",
        "tui.terminal_title = [\"run-state\", \"thread-id\"]\n",
        "tui = { terminal_title = [\"run-state\", \"thread-id\"], x = 1 }\n",
        "tui = { terminal_title = [\"run-state\", \"thread-id\"] }\n",
        "[tui]\nterminal_title = [\"run-state\", \"thread-id\"] # not reseat\n",
        "[tui]\nterminal_title = [\"run-state\", \"thread-id\"] # reseat my own words\n",
    ] {
        assert_eq!(install(Some(own)).unwrap(), own);
        assert_eq!(uninstall(own).unwrap().as_deref(), Some(own));
    }
}

/// What a person changed after us stays; only ours goes.
#[test]
fn what_the_user_changed_since_stays() {
    let out = |text: &str| uninstall(text).unwrap().unwrap();
    let once = install(Some("[tui]\nterminal_title = [\"a\"]\n")).unwrap();
    assert_eq!(once, "[tui]\nterminal_title = [\"a\", \"thread-id\"] # reseat: thread-id\n");
    assert_eq!(
        out(&once.replace("\"thread-id\"]", "\"thread-id\", \"b\"]")),
        "[tui]\nterminal_title = [\"a\", \"b\"]\n"
    );
    assert_eq!(out(&once.replace("\"a\", ", "")), "[tui]\nterminal_title = []\n");
    assert_eq!(out(&once.replace(", \"thread-id\"", "")), "[tui]\nterminal_title = [\"a\"]\n");
    let header = install(Some("[tui]\nx = 1\n")).unwrap();
    assert_eq!(
        out(&header.replace("\"run-state\"", "\"app-name\"")),
        "[tui]\nterminal_title = [\"app-name\"]\nx = 1\n"
    );
    assert_eq!(
        out(&header.replace("\"thread-id\"", "\"app-name\"")),
        "[tui]\nterminal_title = [\"run-state\", \"app-name\"]\nx = 1\n"
    );
    let nowhere = install(Some("m = 1")).unwrap();
    assert_eq!(out(&(nowhere.clone() + "x = 1\n")), "m = 1\n[tui]\nx = 1\n");
    assert_eq!(out(&(nowhere + "[b]\n")), "m = 1\n[b]\n");
    // Codex wrote the value anew and dropped the comment: it cannot be told from the user's.
    let rewritten = "[tui]\nterminal_title = [\"a\", \"thread-id\"]\n";
    assert_eq!(out(rewritten), rewritten);
}

#[test]
fn the_users_items_stay() {
    let text = install(Some("[tui]\nterminal_title = [ \"a\", \"b\" ] # note\n")).unwrap();
    assert_eq!(text, "[tui]\nterminal_title = [ \"a\", \"b\", \"thread-id\" ] # reseat: thread-id # note\n");
}

/// C36: what is no TOML, or not of the shape Codex reads, is refused by its line.
#[test]
fn what_cannot_be_understood_is_refused() {
    for (text, line) in [
        ("a = 1\nb = = 2\n", 2),
        ("[tui\n", 1),
        ("[tui]\nterminal_title = [\"a\"\n", 2),
        ("a = 1\na = 2\n", 2),
        ("[tui]\n[tui]\n", 2),
        ("tui = { a = 1,, }", 1),
        ("a = \"", 1),
    ] {
        for refused in [install(Some(text)).map(Some), uninstall(text)] {
            match refused {
                Err(ConfigError::Syntax { line: at, .. }) => assert_eq!(at, line, "{text:?}"),
                other => panic!("{text:?} gave {other:?}"),
            }
        }
        assert!(!installed(text));
    }
    for (text, line, what) in [
        ("\n[tui]\nterminal_title = 7\n", 3, "tui.terminal_title is not a list"),
        ("[tui.terminal_title]\n", 1, "tui.terminal_title is not a list"),
        ("tui = 7\n", 1, "tui is not a table"),
        ("a = 1\n[[tui]]\n", 2, "tui is not a table"),
    ] {
        assert_eq!(install(Some(text)), Err(ConfigError::Shape { line, what }), "{text:?}");
    }
}

mod property {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// C36: pieces of configurations in any order come back, or are refused.
        #[test]
        fn c36_any_configuration_comes_back(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "model = \"x\"", "[tui]", "[tui] # c", "[b]", "[tui.theme]", "x = 1", "tui.y = true", "# [tui]", "",
                "tui = { z = 1 }", "terminal_title = [\"a\"]", "terminal_title = []", "tui.terminal_title = ['a', 'b',] # c",
                "s = '''\n[tui] # reseat\n'''", "terminal_title = [ \n\"a\" # c\n ]", "  k = \"[tui]\" ",
            ]), 0..7),
            carriage in any::<bool>(),
            last in any::<bool>(),
        ) {
            let newline = if carriage { "\r\n" } else { "\n" };
            let mut text = pieces.join("\n").replace('\n', newline);
            text.push_str(if last { newline } else { "" });
            if let Ok(once) = install(Some(&text)) {
                prop_assert!(installed(&once), "{text:?} gave {once:?}");
                prop_assert_eq!(install(Some(&once)).unwrap(), once.clone());
                prop_assert_eq!(uninstall(&once).unwrap(), Some(text.clone()), "by way of {:?}", once);
            }
        }
    }
}
