//! Members into JSON text and out of it, leaving every other byte where it is.

use super::SettingsError;
use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::de::IgnoredAny;

/// How a text is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style<'a> {
    pub(super) newline: &'static str,
    /// One step of indentation.
    pub(super) unit: &'a str,
}

impl<'a> Style<'a> {
    /// Returns the line end and the indentation of a text, as its first indented member shows them.
    pub(super) fn of(text: &'a str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let unit = text.lines().find_map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            let unit = &line[..line.len() - rest.len()];
            (rest.starts_with('"') && (1..=8).contains(&unit.len())).then_some(unit)
        });
        Self { newline, unit: unit.unwrap_or("  ") }
    }
}

/// An object or a list: where it lies and where its members lie, in bytes.
#[derive(Debug)]
pub(super) struct Span {
    /// Behind the opening bracket.
    open: usize,
    /// Before the closing bracket.
    close: usize,
    members: Vec<(usize, usize)>,
}

impl From<&Object<'_>> for Span {
    fn from(object: &Object<'_>) -> Self {
        let members = object.properties.iter().map(|prop| (prop.start(), prop.end())).collect();
        Self { open: object.start() + 1, close: object.end() - 1, members }
    }
}

impl From<&Array<'_>> for Span {
    fn from(array: &Array<'_>) -> Self {
        let members = array.elements.iter().map(|element| (element.start(), element.end())).collect();
        Self { open: array.start() + 1, close: array.end() - 1, members }
    }
}

impl Span {
    /// Whether it holds nothing but one member, and no comment beside it.
    pub(super) fn holds_only_one(&self, text: &str) -> bool {
        let [(start, end)] = self.members[..] else { return false };
        !marks(text, self.open, start)
            .chain(marks(text, end, self.close))
            .any(|mark| mark.kind != Kind::Comma)
    }
}

/// Parses a text strictly but for comments and trailing commas. Returns nothing for a text that holds only white
/// space and comments.
pub(super) fn parse(text: &str) -> Result<Option<Value<'_>>, SettingsError> {
    let plain = without_comments(text);
    if plain.trim_ascii().is_empty() {
        return Ok(None);
    }
    // This one is strict and bounds nesting; the other is lax and knows where things lie.
    serde_json::from_slice::<IgnoredAny>(&plain).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or_default().to_owned();
        SettingsError::Syntax { line: error.line(), why }
    })?;
    let strict = ParseOptions { allow_loose_object_property_names: false, ..ParseOptions::default() };
    parse_to_ast(text, &CollectOptions::default(), &strict)
        .map(|parsed| parsed.value)
        .map_err(|error| SettingsError::Syntax { line: error.line_display(), why: error.kind().to_string() })
}

/// The text with comments and trailing commas blanked out, line ends kept.
fn without_comments(text: &str) -> Vec<u8> {
    let mut out = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    while at < out.len() {
        match out[at] {
            b'"' => {
                comma = None;
                at = string_end(&out, at);
                continue;
            }
            b'/' => {
                if let Some(mark) = comment_at(text, at) {
                    out[mark.start..mark.end]
                        .iter_mut()
                        .filter(|byte| **byte != b'\n')
                        .for_each(|byte| *byte = b' ');
                    at = mark.end;
                    continue;
                }
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    out[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    out
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Comma,
    /// `// …`, without its line end.
    Line,
    Block,
}

/// A comma or a comment between members.
#[derive(Debug, Clone, Copy)]
struct Mark {
    kind: Kind,
    start: usize,
    end: usize,
}

fn comment_at(text: &str, start: usize) -> Option<Mark> {
    let rest = &text[start..];
    if rest.starts_with("//") {
        let length =
            rest.find('\n').map_or(rest.len(), |feed| feed - usize::from(rest[..feed].ends_with('\r')));
        return Some(Mark { kind: Kind::Line, start, end: start + length });
    }
    let length = rest.strip_prefix("/*")?.find("*/")? + 4;
    Some(Mark { kind: Kind::Block, start, end: start + length })
}

/// The commas and comments of a stretch that holds no value.
fn marks(text: &str, from: usize, to: usize) -> impl Iterator<Item = Mark> {
    let mut at = from;
    std::iter::from_fn(move || {
        while at < to {
            let start = at;
            match text.as_bytes()[at] {
                b',' => {
                    at += 1;
                    return Some(Mark { kind: Kind::Comma, start, end: at });
                }
                b'/' => {
                    let mark = comment_at(text, start)?;
                    at = mark.end;
                    return Some(mark);
                }
                _ => at += 1,
            }
        }
        None
    })
}

/// Returns the text with one more member at the end of a container. `member` is given the indentation of the line it
/// stands on; `level` is the container's depth, for containers that show no indentation of their own.
pub(super) fn append(
    text: &str,
    container: &Span,
    level: usize,
    member: impl FnOnce(&str) -> String,
) -> String {
    let style = Style::of(text);
    let indent = style.unit.repeat(level);
    let on_a_new_line = format!("{}{indent}", style.newline);
    let Some(&(start, end)) = container.members.last() else {
        // Right behind the bracket, even where a line end follows: so it differs from a container made by us.
        let last = marks(text, container.open, container.close).last();
        let at = last.map_or(container.open, |mark| mark.end);
        let gap = match last.map(|mark| mark.kind) {
            Some(Kind::Line) => on_a_new_line.as_str(),
            Some(_) => " ",
            None => "",
        };
        return format!("{}{gap}{}{}", &text[..at], member(&indent), &text[at..]);
    };
    let before = container.members.len().checked_sub(2).map_or(container.open, |at| container.members[at].1);
    let lead = &text[marks(text, before, start).last().map_or(before, |mark| mark.end)..start];
    let mut comma = None;
    let (mut at, mut after_line_comment) = (end, false);
    for mark in marks(text, end, container.close) {
        let same_line = !text[at..mark.start].contains('\n');
        if mark.kind == Kind::Comma {
            comma = Some(mark);
        } else if !same_line {
            continue;
        }
        at = mark.end;
        after_line_comment = mark.kind == Kind::Line;
    }
    let (gap, indent) = match lead.rfind('\n') {
        Some(feed) => (format!("{}{}", style.newline, &lead[feed + 1..]), &lead[feed + 1..]),
        None if after_line_comment => (on_a_new_line.clone(), indent.as_str()),
        None => (" ".to_owned(), indent.as_str()),
    };
    let member = member(indent);
    if comma.is_some() {
        format!("{}{gap}{member},{}", &text[..at], &text[at..])
    } else {
        format!("{},{}{gap}{member}{}", &text[..end], &text[end..at], &text[at..])
    }
}

/// Returns the text without one member of a container: the exact inverse of [`append`] for a member that it put in.
pub(super) fn remove(text: &str, container: &Span, index: usize) -> String {
    let Some(&(start, end)) = container.members.get(index) else { return text.to_owned() };
    let before = index.checked_sub(1).map_or(container.open, |at| container.members[at].1);
    let after = container.members.get(index + 1).map(|(start, _)| *start);
    let next_comma = marks(text, end, after.unwrap_or(container.close)).find(|mark| mark.kind == Kind::Comma);
    let mut cuts: Vec<(usize, usize)> = Vec::new();
    if let Some(after) = after {
        let comma_end = next_comma.map_or(end, |mark| mark.end);
        let kept = marks(text, comma_end, after).next().map_or(after, |mark| mark.start);
        cuts.push((start, end));
        cuts.push((next_comma.map_or(end, |mark| mark.start), kept));
    } else {
        let from = marks(text, before, start).last().map_or(before, |mark| mark.end);
        let comma = next_comma.or_else(|| marks(text, before, start).find(|mark| mark.kind == Kind::Comma));
        cuts.push((from, end));
        cuts.extend(comma.map(|mark| (mark.start, mark.end)));
    }
    cuts.sort_unstable();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (from, to) in cuts {
        out.push_str(&text[at..from.max(at)]);
        at = to.max(at);
    }
    out.push_str(&text[at..]);
    out
}
