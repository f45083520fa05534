//! Members into JSON text and out of it, leaving every other byte where it is.

use super::parse::{Array, Object, Value};

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
    members: Vec<(usize, usize)>,
}

impl From<&Object> for Span {
    fn from(object: &Object) -> Self {
        let end = |value: &Value| value.at().end;
        let members = object.properties.iter().map(|prop| (prop.start, end(&prop.value))).collect();
        Self { open: object.at.start + 1, members }
    }
}

impl From<&Array> for Span {
    fn from(array: &Array) -> Self {
        let members = array.elements.iter().map(|element| (element.at().start, element.at().end)).collect();
        Self { open: array.at.start + 1, members }
    }
}

impl Span {
    /// Whether it holds nothing but one member.
    pub(super) fn holds_only_one(&self) -> bool {
        self.members.len() == 1
    }
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
    let Some(&(start, end)) = container.members.last() else {
        // Right behind the bracket, even where a line end follows: so it differs from a container made by us.
        let (before, after) = text.split_at(container.open);
        return format!("{before}{}{after}", member(&indent));
    };
    let before = container.members.len().checked_sub(2).map_or(container.open, |at| container.members[at].1);
    // A comma may begin the line; only what follows it is indentation.
    let lead = text[before..start].rsplit(',').next().unwrap_or_default();
    let (before, after) = text.split_at(end);
    match lead.rfind('\n') {
        Some(feed) => {
            let indent = &lead[feed + 1..];
            format!("{before},{}{indent}{}{after}", style.newline, member(indent))
        }
        None => format!("{before}, {}{after}", member(&indent)),
    }
}

/// Returns the text without one member of a container: the exact inverse of [`append`] for a member that it put in.
pub(super) fn remove(text: &str, container: &Span, index: usize) -> String {
    let Some(&(start, end)) = container.members.get(index) else { return text.to_owned() };
    let (from, to) = match (index.checked_sub(1), container.members.get(index + 1)) {
        (_, Some(&(next, _))) => (start, next),
        (Some(before), None) => (container.members[before].1, end),
        (None, None) => (container.open, end),
    };
    format!("{}{}", &text[..from], &text[to..])
}
