//! Puts the item `thread-id` into `[tui] terminal_title` of Codex's `config.toml` and takes it out again, byte by byte.
//!
//! Only text goes in and out. The document is parsed to know where things stand; the text is then changed by hand, so
//! every other byte stays. What was put in is told by a comment behind it: an item that a person wrote is theirs,
//! however much it looks like ours.

use std::ops::Range;
use toml_edit::{Document, Item, Table, Value};

const ITEM: &str = "thread-id";
/// Titles of a configuration that names none; with `run-state` in front it is known when an agent is ready.
const DEFAULT: &str = r#"["run-state", "thread-id"]"#;
/// Stands behind a line that is ours, or a table's value of which `terminal_title` is ours.
const MARK: &str = " # reseat";
/// Stands behind a list of which only the item is ours.
const ITEM_MARK: &str = " # reseat: thread-id";
/// What else stands behind a header of ours: how the text was before.
const NO_NEWLINE: &str = ", no newline above";
const NEW_FILE: &str = ", new file";

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

/// Where the title's items stand, in bytes.
enum Place {
    /// A list.
    List(List),
    /// A header `[tui]`: the offset behind its line.
    Header(usize),
    /// An inline table `tui = { … }`, and whether it is empty.
    Inline(Range<usize>, bool),
    /// Dotted keys `tui.x = …` at the top: the offset of the line of the first.
    Dotted(usize),
    /// Nothing of it.
    Nowhere,
}

struct List {
    /// Brackets and all.
    at: Range<usize>,
    items: Vec<Range<usize>>,
    /// Which of the items is the thread id.
    id: Option<usize>,
    /// Where a comment about it can stand.
    mark: usize,
    holder: Holder,
}

/// What holds the list.
enum Holder {
    /// A table: its header's line, and whether it holds nothing else.
    Table(Range<usize>, bool),
    /// An inline table, brackets and all.
    Inline(Range<usize>),
    /// Dotted keys.
    Dotted,
}

/// Returns the text with the id among the title's items: the user's items or the default ones. Twice is once. `None`
/// stands for a file that does not exist.
pub fn install(text: Option<&str>) -> Result<String, ConfigError> {
    let given = text.is_some();
    let text = text.unwrap_or_default();
    let newline = newline(text);
    Ok(match place(text)? {
        Place::List(List { id: Some(_), .. }) => text.to_owned(),
        Place::List(list) => {
            let text = splice(text, list.mark, ITEM_MARK);
            match list.items.last() {
                Some(last) => splice(&text, last.end, &format!(", \"{ITEM}\"")),
                None => splice(&text, list.at.start + 1, &format!("\"{ITEM}\"")),
            }
        }
        Place::Header(at) => {
            let ends = text[..at].ends_with('\n');
            // A header at the very end of the text has no line end of its own.
            let (gap, tail) = if ends { ("", newline) } else { (newline, "") };
            splice(text, at, &format!("{gap}terminal_title = {DEFAULT}{MARK}{tail}"))
        }
        Place::Inline(at, empty) => {
            let text = splice(text, at.end, MARK);
            let comma = if empty { " " } else { "," };
            splice(&text, at.start + 1, &format!(" terminal_title = {DEFAULT}{comma}"))
        }
        Place::Dotted(at) => splice(text, at, &format!("tui.terminal_title = {DEFAULT}{MARK}{newline}")),
        Place::Nowhere => {
            let (gap, how) = match text {
                "" if !given => ("", NEW_FILE),
                text if text.is_empty() || text.ends_with('\n') => ("", ""),
                // How the text ended is said, so that it ends so again.
                _ => (newline, NO_NEWLINE),
            };
            format!("{text}{gap}[tui]{MARK}{how}{newline}terminal_title = {DEFAULT}{MARK}{newline}")
        }
    })
}

/// Returns the text without what [`install`] put in; `None` when there was no file before it.
pub fn uninstall(text: &str) -> Result<Option<String>, ConfigError> {
    let Place::List(list) = place(text)? else { return Ok(Some(text.to_owned())) };
    let rest = &text[list.mark..];
    let line_end = rest.find('\n').map_or(text.len(), |at| list.mark + at + 1);
    let marked = rest.lines().next().unwrap_or_default();
    if marked.starts_with(ITEM_MARK) {
        return Ok(Some(without_item(text, &list, ITEM_MARK)));
    }
    if marked.trim_end() != MARK && !(marked.starts_with(MARK) && matches!(list.holder, Holder::Inline(_))) {
        return Ok(Some(text.to_owned()));
    }
    if text[list.at.clone()] != *DEFAULT {
        // A person put other items there; ours is still only the id.
        return Ok(Some(without_item(text, &list, MARK)));
    }
    Ok(match list.holder {
        Holder::Inline(at) => {
            let text = cut(text, list.mark..list.mark + MARK.len());
            let ours = [",", " ", ""].map(|end| format!(" terminal_title = {DEFAULT}{end}"));
            let ours = ours.iter().find(|ours| text[at.start + 1..].starts_with(*ours));
            Some(
                ours.map_or_else(|| text.clone(), |ours| cut(&text, at.start + 1..at.start + 1 + ours.len())),
            )
        }
        Holder::Dotted => Some(cut(text, line_start(text, list.at.start)..line_end)),
        Holder::Table(header, alone) => without_table(text, &list.at, line_end, &header, alone),
    })
}

/// The text without our line in a table, and without its header when that is ours too.
fn without_table(
    text: &str,
    list: &Range<usize>,
    line_end: usize,
    header: &Range<usize>,
    alone: bool,
) -> Option<String> {
    let newline = newline(text);
    let start = line_start(text, list.start);
    let line = text[header.clone()].trim_end();
    let how = line.split_once(MARK).map(|(_, how)| how);
    match how.filter(|how| ["", NO_NEWLINE, NEW_FILE].contains(how)) {
        Some(how) if alone && header.end == start => {
            // With something below, the line end above is needed now.
            let whole = how == NO_NEWLINE && line_end == text.len();
            let gap = if whole && text[..header.start].ends_with(newline) { newline.len() } else { 0 };
            let rest = cut(text, header.start - gap..line_end);
            (how != NEW_FILE || !rest.is_empty()).then_some(rest)
        }
        // A person's keys stand below our header: it stays, and is theirs now.
        Some(how) => {
            let text = cut(text, start..line_end);
            let end = header.start + line.len();
            Some(cut(&text, end - MARK.len() - how.len()..end))
        }
        // The last line of a text without a last line end.
        None if !text[..line_end].ends_with('\n') && header.end == start => {
            Some(cut(text, start - newline.len()..line_end))
        }
        None => Some(cut(text, start..line_end)),
    }
}

/// The text without the id in a list of others, and without the mark that says so.
fn without_item(text: &str, list: &List, mark: &str) -> String {
    let text = cut(text, list.mark..list.mark + mark.len());
    let Some(at) = list.id else { return text };
    let item = list.items[at].clone();
    match (at.checked_sub(1), list.items.get(at + 1)) {
        (Some(before), _) => cut(&text, list.items[before].end..item.end),
        (None, Some(next)) => cut(&text, item.start..next.start),
        (None, None) => cut(&text, item),
    }
}

/// Whether the title shows the thread id.
pub fn installed(text: &str) -> bool {
    matches!(place(text), Ok(Place::List(List { id: Some(_), .. })))
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn splice(text: &str, at: usize, new: &str) -> String {
    format!("{}{new}{}", &text[..at], &text[at..])
}

fn cut(text: &str, at: Range<usize>) -> String {
    format!("{}{}", &text[..at.start], &text[at.end..])
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |feed| feed + 1)
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
    let unknown = || shape(here, "tui cannot be located");
    let Some(keys) = tui.as_table_like() else { return Err(shape(here, "tui is not a table")) };
    let list = match keys.get("terminal_title") {
        None => None,
        Some(Item::Value(Value::Array(list))) => Some(list),
        Some(other) => {
            return Err(shape(
                other.span().map_or(here, |span| span.start),
                "tui.terminal_title is not a list",
            ));
        }
    };
    let header = |table: &Table| {
        let start = table.span()?.start;
        Some(start..text[start..].find('\n').map_or(text.len(), |at| start + at + 1))
    };
    let Some(list) = list else {
        return match tui {
            Item::Table(table) if table.is_dotted() => {
                let first = key.span().ok_or_else(unknown)?;
                Ok(Place::Dotted(line_start(text, first.start)))
            }
            // Only `[tui.something]` stands there: our own header is added at the end.
            Item::Table(table) if table.is_implicit() => Ok(Place::Nowhere),
            Item::Table(table) => Ok(Place::Header(header(table).ok_or_else(unknown)?.end)),
            Item::Value(Value::InlineTable(table)) => {
                Ok(Place::Inline(table.span().ok_or_else(unknown)?, table.is_empty()))
            }
            _ => Err(shape(here, "tui is not a table")),
        };
    };
    let at = list.span().ok_or_else(unknown)?;
    let holder = match tui {
        Item::Value(Value::InlineTable(table)) => Holder::Inline(table.span().ok_or_else(unknown)?),
        Item::Table(table) if !table.is_dotted() => {
            // Tables below it have headers of their own.
            let below =
                |item: &Item| item.as_table().is_none_or(Table::is_dotted) && !item.is_array_of_tables();
            let alone = table.iter().filter(|(_, item)| below(item)).count() == 1;
            Holder::Table(header(table).ok_or_else(unknown)?, alone)
        }
        _ => Holder::Dotted,
    };
    Ok(Place::List(List {
        mark: if let Holder::Inline(table) = &holder { table.end } else { at.end },
        items: list.iter().filter_map(Value::span).collect(),
        id: list.iter().position(|item| item.as_str() == Some(ITEM)),
        at,
        holder,
    }))
}

#[cfg(test)]
mod tests;
