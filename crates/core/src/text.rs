//! Text from outside, made safe to show.

use std::fmt::Write as _;

/// Returns `text` with nothing in it that a terminal would act on: control characters and bidirectional marks
/// are dropped, line breaks and tabs become one space.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' | '\r' | '\t' => out.push(' '),
            _ if is_unsafe(char) => {}
            _ => out.push(char),
        }
    }
    out
}

/// Returns [`plain`] text of at most `max` characters, with `…` in place of what was cut.
pub fn short(text: &str, max: usize) -> String {
    let plain = plain(text);
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if plain.chars().count() <= max {
        return plain;
    }
    let mut out: String = plain.chars().take(max.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// Returns [`plain`] text that keeps its lines.
pub fn plain_lines(text: &str) -> String {
    text.split('\n').map(plain).collect::<Vec<_>>().join("\n")
}

/// Returns JSON text that says the same and has nothing in it that a terminal would act on: such characters stand
/// within strings only, and are written as escapes there.
pub fn plain_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        if char == '\n' || !is_unsafe(char) {
            out.push(char);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// Quotes a word for a POSIX shell.
pub fn shell_word(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:@%+,".contains(&byte);
    // zsh expands a word that begins with `=`.
    if !word.is_empty() && !word.starts_with('=') && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Whether a character may move the cursor, change a title, or reorder what is shown.
fn is_unsafe(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// C35, CRX-21: titles with escape sequences, carriage returns and a right-to-left override.
    #[test]
    fn c35_nothing_a_terminal_acts_on_is_left() {
        let hostile = "a\u{1b}[2Jb\u{1b}]0;x\u{7}c\rd\u{202e}e\u{9b}f\ng";
        assert_eq!(plain(hostile), "a[2Jb]0;xc def g");
        assert_eq!(plain_lines(hostile), "a[2Jb]0;xc def\ng");
        assert_eq!(plain_json("\"\u{202e}\u{7f}\u{e0001}ä\"\n"), "\"\\u202e\\u007f\\udb40\\udc01ä\"\n");
    }

    #[test]
    fn short_cuts_by_characters() {
        assert_eq!(short("äöü  x", 4), "äöü…");
        assert_eq!(short("a\nb", 9), "a b");
    }

    /// C35: what is shown to be pasted into a shell is one word each.
    #[test]
    fn c35_words_are_quoted() {
        assert_eq!(shell_word("/w/a'$(touch PWNED)'b"), r"'/w/a'\''$(touch PWNED)'\''b'");
        assert_eq!(shell_word("--resume"), "--resume");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("~"), "'~'");
        assert_eq!(shell_word("=work"), "'=work'");
    }

    /// Text of every kind, with much of what terminals act on.
    fn hostile() -> impl Strategy<Value = String> {
        let odd = prop::sample::select(vec![
            '\u{1b}',
            '\u{7}',
            '\u{0}',
            '\r',
            '\n',
            '\t',
            '\u{8}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{9d}',
            '\u{200f}',
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{61c}',
            '\u{feff}',
            '\u{e0041}',
            '\u{2028}',
        ]);
        prop::collection::vec(prop_oneof![any::<char>(), odd, prop::char::range(' ', '~')], 0..40)
            .prop_map(|chars| chars.into_iter().collect())
    }

    /// Independent of [`is_unsafe`]: the lists of the C35 fixture and of Unicode's bidirectional controls.
    fn acts(char: char) -> bool {
        let code = u32::from(char);
        code < 0x20
            || (0x7f..0xa0).contains(&code)
            || [0x61c, 0x200e, 0x200f].contains(&code)
            || (0x202a..=0x202e).contains(&code)
            || (0x2066..=0x2069).contains(&code)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// C35, CRX-21: whatever a title, name or directory holds, nothing of it moves a cursor or turns text round.
        #[test]
        fn c35_no_text_reaches_a_terminal_unescaped(text in hostile(), max in 1_usize..60) {
            prop_assert!(!plain(&text).contains(acts));
            prop_assert_eq!(plain(&plain(&text)), plain(&text));
            prop_assert!(!plain_lines(&text).contains(|char| char != '\n' && acts(char)));
            prop_assert_eq!(plain_lines(&text).matches('\n').count(), text.matches('\n').count());
            let short = short(&text, max);
            prop_assert!(!short.contains(acts) && short.chars().count() <= max, "{short:?}");
            let kept: String = text.chars().filter(char::is_ascii_graphic).collect();
            prop_assert_eq!(plain(&text).chars().filter(char::is_ascii_graphic).collect::<String>(), kept);
        }

        /// C35: JSON says the same, and moves nothing either.
        #[test]
        fn c35_json_says_the_same(text in hostile()) {
            let json = format!("{{\n  \"a\": {}\n}}", serde_json::to_string(&text).unwrap());
            let shown = plain_json(&json);
            prop_assert!(!shown.contains(|char| char != '\n' && acts(char)), "{shown:?}");
            let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
            prop_assert_eq!(value["a"].as_str(), Some(text.as_str()));
        }
    }
}
