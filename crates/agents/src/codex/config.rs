//! Puts the item `thread-id` into `[tui] terminal_title` of Codex's `config.toml` and takes it out again, byte by byte.
//!
//! Only text goes in and out. The document is parsed to know where things stand; the text is then changed by hand at
//! exactly one place, so every other byte stays.

use toml_edit::{Document, Item, Value};

const ITEM: &str = "thread-id";
/// Titles of a configuration that names none; with `run-state` in front it is known when an agent is ready.
const DEFAULT: &str = r#"["run-state", "thread-id"]"#;
/// Stands behind every line that we wrote.
const MARK: &str = "# reseat";

/// The text cannot be edited and was not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It is no TOML.
    #[error("line {line}: cannot parse it: {why}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// What the parser said.
        why: String,
    },
    /// Something has another shape than Codex expects.
    #[error("line {line}: {what}")]
    Shape {
        /// Line, from 1.
        line: usize,
        /// What it should be.
        what: &'static str,
    },
}

/// Where the title's items stand.
enum Place {
    /// An array, from its bracket to behind its last item, and whether the id is in it.
    Array { open: usize, last_end: Option<usize>, close: usize, has_id: bool },
    /// A header `[tui]`: the offset behind its line.
    Header(usize),
    /// An inline table `tui = { … }`: behind its brace, and whether it is empty.
    Inline(usize, bool),
    /// Dotted keys `tui.x = …` at the top: the offset of the line of the first.
    Dotted(usize),
    /// Nothing of it.
    Nowhere,
}

/// Returns the text with the id among the title's items: the user's items or the default ones. Twice is once.
pub fn install(text: Option<&str>) -> Result<String, ConfigError> {
    let text = text.unwrap_or_default();
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    Ok(match place(text)? {
        Place::Array { has_id: true, .. } => text.to_owned(),
        Place::Array { last_end: Some(end), .. } => splice(text, end, &format!(", \"{ITEM}\"")),
        Place::Array { open, .. } => splice(text, open + 1, &format!("\"{ITEM}\"")),
        Place::Header(at) => {
            let gap = if text[..at].ends_with('\n') { "" } else { newline };
            // A header at the very end of the text has no line end of its own.
            let tail = if gap.is_empty() { newline } else { "" };
            splice(text, at, &format!("{gap}terminal_title = {DEFAULT} {MARK}{tail}"))
        }
        Place::Inline(at, empty) => {
            let comma = if empty { " " } else { "," };
            splice(text, at, &format!(" terminal_title = {DEFAULT}{comma}"))
        }
        Place::Dotted(at) => splice(text, at, &format!("tui.terminal_title = {DEFAULT} {MARK}{newline}")),
        Place::Nowhere => {
            let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
            // How the text ended is said, so that it ends so again.
            let how = if gap.is_empty() { "" } else { ", no newline above" };
            format!("{text}{gap}[tui] {MARK}{how}{newline}terminal_title = {DEFAULT} {MARK}{newline}")
        }
    })
}

/// Returns the text without what [`install`] put in; `None` when nothing is left of a text that was only ours.
pub fn uninstall(text: &str) -> Result<Option<String>, ConfigError> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let line = format!("terminal_title = {DEFAULT} {MARK}");
    for (how, gap) in [("", ""), (", no newline above", newline)] {
        let block = format!("{gap}[tui] {MARK}{how}{newline}{line}{newline}");
        if let Some(at) =
            text.find(&block).filter(|at| !gap.is_empty() || *at == 0 || text[..*at].ends_with('\n'))
        {
            let rest = cut(text, at, block.len());
            return Ok(Some(rest).filter(|rest| !rest.is_empty()));
        }
    }
    for ours in [
        format!("tui.{line}{newline}"),
        format!("{line}{newline}"),
        format!("{newline}{line}"),
        format!(" terminal_title = {DEFAULT},"),
        format!(" terminal_title = {DEFAULT} "),
    ] {
        if let Some(at) = text.find(&ours) {
            return Ok(Some(cut(text, at, ours.len())));
        }
    }
    if let Place::Array { has_id: true, open, close, .. } = place(text)? {
        let items = &text[open..close];
        for ours in [format!(", \"{ITEM}\""), format!("\"{ITEM}\"")] {
            if let Some(at) = items.rfind(&ours) {
                return Ok(Some(cut(text, open + at, ours.len())));
            }
        }
    }
    Ok(Some(text.to_owned()))
}

/// Whether the title shows the thread id.
pub fn installed(text: &str) -> bool {
    matches!(place(text), Ok(Place::Array { has_id: true, .. }))
}

fn splice(text: &str, at: usize, new: &str) -> String {
    format!("{}{new}{}", &text[..at], &text[at..])
}

fn cut(text: &str, at: usize, length: usize) -> String {
    format!("{}{}", &text[..at], &text[at + length..])
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}

fn place(text: &str) -> Result<Place, ConfigError> {
    let document = Document::parse(text.to_owned()).map_err(|error| ConfigError::Syntax {
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        why: error.message().to_owned(),
    })?;
    let Some((key, tui)) = document.get_key_value("tui") else { return Ok(Place::Nowhere) };
    let shape = |at: usize, what| ConfigError::Shape { line: line_of(text, at), what };
    let here = tui.span().map_or(0, |span| span.start);
    let Some(table) = tui.as_table_like() else { return Err(shape(here, "tui is not a table")) };
    if let Some(item) = table.get("terminal_title") {
        let at = item.span().map_or(here, |span| span.start);
        let Item::Value(Value::Array(items)) = item else {
            return Err(shape(at, "tui.terminal_title is not a list"));
        };
        let span = items.span().ok_or_else(|| shape(at, "tui.terminal_title cannot be located"))?;
        let last_end = items.iter().filter_map(Value::span).map(|span| span.end).max();
        let has_id = items.iter().any(|item| item.as_str() == Some(ITEM));
        return Ok(Place::Array { open: span.start, last_end, close: span.end, has_id });
    }
    match tui {
        Item::Table(table) if table.is_dotted() || table.is_implicit() => {
            let first = key.span().or_else(|| table.span()).map(|span| span.start);
            match first {
                Some(at) if table.is_dotted() => {
                    Ok(Place::Dotted(text[..at].rfind('\n').map_or(0, |newline| newline + 1)))
                }
                // Only `[tui.something]` stands there: our own header is added at the end.
                _ => Ok(Place::Nowhere),
            }
        }
        Item::Table(table) => {
            let span = table.span().ok_or_else(|| shape(here, "tui cannot be located"))?;
            let end = text[span.start..].find('\n').map_or(text.len(), |at| span.start + at + 1);
            Ok(Place::Header(end))
        }
        Item::Value(Value::InlineTable(table)) => {
            let span = table.span().ok_or_else(|| shape(here, "tui cannot be located"))?;
            Ok(Place::Inline(span.start + 1, table.is_empty()))
        }
        _ => Err(shape(here, "tui is not a table")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 20] = [
        "",
        "\n",
        "model = \"x\"",
        "model = \"x\"\n",
        "model = \"x\"\r\n[a]\r\nb = 1\r\n",
        "[tui]\n",
        "[tui]",
        "[tui] # mine\nnotifications = true\n",
        "a = 1\n[tui]\nnotifications = true\n[b]\nc = 2\n",
        "[tui]\nterminal_title = [\"run-state\"]\n",
        "[tui]\nterminal_title = [ \"a\", \"b\" ] # note\n",
        "[tui]\nterminal_title = []\n",
        "[tui]\nterminal_title = [\n  \"a\",\n  \"b\",\n]\n",
        "[tui]\nterminal_title = [\n  \"a\", # one\n  \"b\" # two\n]\n",
        "tui.notifications = true\nmodel = \"x\"\n",
        "tui.terminal_title = [\"a\"]\n",
        "tui = { notifications = true }\n",
        "tui = {}\n",
        "[tui.theme]\nx = 1\n",
        "# [tui]\n# terminal_title = []\nmodel = \"ä\"\n",
    ];

    /// C36, for Codex: valid afterwards with the id in it, once; and given back byte by byte.
    #[test]
    fn c36_what_goes_in_comes_out() {
        for text in TEXTS {
            let once = install(Some(text)).unwrap();
            assert!(installed(&once), "{text:?} gave {once:?}");
            assert!(!installed(text), "{text:?}");
            assert_eq!(install(Some(&once)).unwrap(), once, "{text:?}");
            let back = uninstall(&once).unwrap().unwrap_or_default();
            assert_eq!(back, text, "by way of {once:?}");
        }
        let made = install(None).unwrap();
        assert_eq!(uninstall(&made).unwrap(), None);
    }

    #[test]
    fn the_users_items_stay() {
        let text = install(Some("[tui]\nterminal_title = [ \"a\", \"b\" ] # note\n")).unwrap();
        assert_eq!(text, "[tui]\nterminal_title = [ \"a\", \"b\", \"thread-id\" ] # note\n");
        let own = "[tui]\nterminal_title = [\"thread-id\", \"a\"]\n";
        assert_eq!(install(Some(own)).unwrap(), own);
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        assert!(matches!(install(Some("a = 1\nb = = 2\n")), Err(ConfigError::Syntax { line: 2, .. })));
        assert!(matches!(
            install(Some("\n[tui]\nterminal_title = 7\n")),
            Err(ConfigError::Shape { line: 3, .. })
        ));
        assert!(matches!(install(Some("tui = 7\n")), Err(ConfigError::Shape { line: 1, .. })));
    }
}
