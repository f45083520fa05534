//! Text from outside, made safe to show.

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

/// Whether a character may move the cursor, change a title, or reorder what is shown.
fn is_unsafe(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C35, CRX-21: titles with escape sequences, carriage returns and a right-to-left override.
    #[test]
    fn c35_nothing_a_terminal_acts_on_is_left() {
        let hostile = "a\u{1b}[2Jb\u{1b}]0;x\u{7}c\rd\u{202e}e\u{9b}f\ng";
        let shown = plain(hostile);
        assert_eq!(shown, "a[2Jb]0;xc def g");
        assert!(shown.chars().all(|char| char as u32 >= 0x20));
    }

    #[test]
    fn short_cuts_by_characters() {
        assert_eq!(short("äöü  x", 4), "äöü…");
        assert_eq!(short("a\nb", 9), "a b");
    }
}
