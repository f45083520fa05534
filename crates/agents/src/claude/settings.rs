//! Puts our hooks into the text of Claude's `settings.json` and takes them out again, byte by byte.
//!
//! Only text goes in and out; the caller reads and writes the file. Members of others, line ends and indentation are
//! never touched: a new member is spliced in behind the last one, in that one's style. What
//! [`install`] writes for a container that was empty differs from what it writes for one that was missing, so that
//! [`uninstall`] can tell which text there was before and give back exactly that.

mod parse;
mod splice;
#[cfg(test)]
mod tests;

use parse::{Array, Text, Value};
use splice::{Span, Style};
use std::ops::Range;

/// The events our hook is called for. All are known to every version with hooks: an unknown one makes Claude refuse
/// the whole file.
pub const EVENTS: [&str; 3] = ["SessionStart", "SessionEnd", "UserPromptSubmit"];
/// Seconds until Claude gives up on our hook.
const TIMEOUT: u32 = 5;
/// Some editors begin a file with it.
const MARK: &str = "\u{feff}";

/// The text cannot be edited and was not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// It is no JSON. Comments and trailing commas are none: Claude ignores a file that holds one.
    #[error("line {line}: cannot parse it: {why}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// What the parser said.
        why: String,
    },
    /// Something has another shape than Claude expects.
    #[error("line {line}: {what} is not {wanted}")]
    Shape {
        /// Line, from 1.
        line: usize,
        /// Which value.
        what: String,
        /// What it should be.
        wanted: &'static str,
    },
}

/// Whether our hooks are in a settings text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    /// Not for all events, or not for one and the same program, or the text cannot be read.
    None,
    /// For all events, calling this program.
    Ours(String),
    /// The text turns all hooks off, ours among them if they are there.
    Disabled,
}

/// Returns the text with one command entry of ours for each event; `None` stands for a file that does not exist.
/// Entries that call another program are pointed to this one, repeated ones are dropped. Installing twice changes
/// nothing.
pub fn install(text: Option<&str>, program: &str) -> Result<String, SettingsError> {
    let (mark, mut body) = split(text);
    for event in EVENTS {
        body = Some(add(body.as_deref(), event, program)?);
    }
    Ok(mark.to_owned() + &body.unwrap_or_default())
}

/// Returns the text without our entries, and `None` when there was no file before they were put in. The containers
/// that held nothing else go too, unless [`install`] found them there.
pub fn uninstall(text: &str) -> Result<Option<String>, SettingsError> {
    let (mark, body) = split(Some(text));
    let mut body = body.unwrap_or_default();
    for event in EVENTS.iter().rev() {
        match before(&body, event)? {
            Some(Some(before)) => body = before,
            Some(None) => return Ok(None),
            // Changed by others since; what is left of ours is sought below.
            None => {}
        }
    }
    while let Some(without) = without_one(&body)? {
        body = without;
    }
    Ok(Some(mark.to_owned() + &body))
}

/// The byte order mark, and what follows it.
fn split(text: Option<&str>) -> (&str, Option<String>) {
    match text.map(|text| (text, text.strip_prefix(MARK))) {
        Some((_, Some(body))) => (MARK, Some(body.to_owned())),
        Some((text, None)) => ("", Some(text.to_owned())),
        None => ("", None),
    }
}

/// Whether our hooks are in a text and will be called.
pub fn installed(text: &str) -> Installed {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let Ok(Some(Value::Object(root))) = parse::parse(body) else { return Installed::None };
    if matches!(root.last("disableAllHooks"), Some(Value::Flag(true, _))) {
        return Installed::Disabled;
    }
    let hooks = root.last("hooks").and_then(Value::as_object);
    let program = |event: &str| {
        let groups = hooks?.last(event)?.as_array()?;
        ours_in(groups).into_iter().next().map(|ours| ours.program)
    };
    let [first, second, third] = EVENTS.map(program);
    match first {
        Some(first) if second.as_ref() == Some(&first) && third.as_ref() == Some(&first) => {
            Installed::Ours(first)
        }
        _ => Installed::None,
    }
}

/// The shell command of our entries. It does nothing and fails nothing once the program is gone.
fn command(program: &str) -> String {
    let quoted = format!("'{}'", program.replace('\'', r"'\''"));
    format!("[ -x {quoted} ] && exec {quoted} hook claude; exit 0")
}

/// The program of a command of ours; nothing for any other command.
fn program_of(text: &str) -> Option<String> {
    let quoted = text.strip_prefix("[ -x '")?.split_once("' ] && exec '")?.0;
    let program = quoted.replace(r"'\''", "'");
    (command(&program) == text).then_some(program)
}

/// The command as JSON text.
fn quoted(program: &str) -> String {
    serde_json::Value::String(command(program)).to_string()
}

fn group(program: &str) -> String {
    let command = quoted(program);
    format!(
        r#"{{ "matcher": "", "hooks": [{{ "type": "command", "command": {command}, "timeout": {TIMEOUT} }}] }}"#
    )
}

/// One entry of ours within an event's list.
struct Ours {
    /// Which group of the event.
    group: usize,
    /// Which hook of the group.
    hook: usize,
    /// Its group holds nothing else.
    alone: bool,
    program: String,
    /// Where the command's text lies, quotes and all.
    command: Range<usize>,
}

fn ours_in(groups: &Array) -> Vec<Ours> {
    let mut out = Vec::new();
    for (group, element) in groups.elements.iter().enumerate() {
        let hooks = element.as_object().and_then(|group| group.last("hooks")).and_then(Value::as_array);
        for (hook, element) in hooks.into_iter().flat_map(|hooks| hooks.elements.iter().enumerate()) {
            let command: Option<&Text> =
                element.as_object().and_then(|hook| hook.last("command")).and_then(Value::as_text);
            if let Some(command) = command
                && let Some(program) = program_of(&command.value)
            {
                let alone = hooks.is_some_and(|hooks| hooks.elements.len() == 1);
                out.push(Ours { group, hook, alone, program, command: command.at.clone() });
            }
        }
    }
    out
}

/// Returns the text with exactly one entry of ours for one event.
fn add(text: Option<&str>, event: &str, program: &str) -> Result<String, SettingsError> {
    let given = text.is_some();
    let text = text.unwrap_or_default();
    let style = Style::of(text);
    let Some(value) = parse::parse(text)? else {
        // White space, or no file at all: only the latter gets a last line end.
        let hooks = new_hooks(style, style.unit, event, program);
        let (newline, unit) = (style.newline, style.unit);
        let end = if given { "" } else { newline };
        return Ok(format!("{text}{{{newline}{unit}{hooks}{newline}}}{end}"));
    };
    let Value::Object(root) = &value else { return Err(wrong(text, &value, "the whole text", "an object")) };
    let Some(hooks) = root.last("hooks") else {
        return Ok(splice::append(text, &root.into(), 1, |indent| new_hooks(style, indent, event, program)));
    };
    let Value::Object(hooks) = hooks else {
        return Err(wrong(text, hooks, "hooks", "an object"));
    };
    let Some(groups) = hooks.last(event) else {
        return Ok(splice::append(text, &hooks.into(), 2, |indent| new_event(style, indent, event, program)));
    };
    let what = format!("hooks.{event}");
    let Value::Array(groups) = groups else { return Err(wrong(text, groups, &what, "a list")) };
    for (at, element) in groups.elements.iter().enumerate() {
        let Value::Object(group) = element else {
            return Err(wrong(text, element, &format!("{what}[{at}]"), "an object"));
        };
        if let Some(hooks) = group.last("hooks").filter(|hooks| hooks.as_array().is_none()) {
            return Err(wrong(text, hooks, &format!("{what}[{at}].hooks"), "a list"));
        }
    }
    let mut ours = ours_in(groups);
    match (ours.pop(), ours.is_empty()) {
        (None, _) => Ok(splice::append(text, &groups.into(), 3, |_| group(program))),
        (Some(again), false) => add(Some(&without(text, groups, &again)), event, program),
        (Some(only), true) if only.program == program => Ok(text.to_owned()),
        (Some(only), true) => {
            let Range { start, end } = only.command;
            Ok(format!("{}{}{}", &text[..start], quoted(program), &text[end..]))
        }
    }
}

fn new_hooks(style: Style<'_>, indent: &str, event: &str, program: &str) -> String {
    let inner = format!("{indent}{}", style.unit);
    let newline = style.newline;
    format!("\"hooks\": {{{newline}{inner}{}{newline}{indent}}}", new_event(style, &inner, event, program))
}

fn new_event(style: Style<'_>, indent: &str, event: &str, program: &str) -> String {
    let (newline, unit) = (style.newline, style.unit);
    format!("\"{event}\": [{newline}{indent}{unit}{}{newline}{indent}]", group(program))
}

fn wrong(text: &str, value: &Value, what: &str, wanted: &'static str) -> SettingsError {
    let line = text[..value.at().start].matches('\n').count() + 1;
    SettingsError::Shape { line, what: what.to_owned(), wanted }
}

/// The text without one entry of ours, and without its group when that holds nothing else.
fn without(text: &str, groups: &Array, ours: &Ours) -> String {
    let hooks = groups.elements[ours.group].as_object().and_then(|group| group.last("hooks"));
    match hooks.and_then(Value::as_array) {
        Some(hooks) if !ours.alone => splice::remove(text, &hooks.into(), ours.hook),
        _ => splice::remove(text, &groups.into(), ours.group),
    }
}

/// The text to which [`add`] gave this one: `Some(None)` when there was no file. Nothing when no such text is found.
#[expect(
    clippy::option_option,
    reason = "whether it is known, and whether there was a file, are two questions"
)]
fn before(text: &str, event: &str) -> Result<Option<Option<String>>, SettingsError> {
    let Some(Value::Object(root)) = &parse::parse(text)? else { return Ok(None) };
    let Some(at_hooks) = root.index("hooks") else { return Ok(None) };
    let Value::Object(hooks) = &root.properties[at_hooks].value else { return Ok(None) };
    let Some(at_event) = hooks.index(event) else { return Ok(None) };
    let Value::Array(groups) = &hooks.properties[at_event].value else { return Ok(None) };
    let Some(ours) = ours_in(groups).pop() else { return Ok(None) };
    let outside = (root.at.end == text.len()).then(|| text[..root.at.start].to_owned());
    let candidates = [
        Some(None),
        outside.map(Some),
        Some(Some(splice::remove(text, &root.into(), at_hooks))),
        Some(Some(splice::remove(text, &hooks.into(), at_event))),
        Some(Some(without(text, groups, &ours))),
    ];
    let gives = |candidate: &Option<String>| {
        add(candidate.as_deref(), event, &ours.program).is_ok_and(|with| with == text)
    };
    Ok(candidates.into_iter().flatten().find(gives))
}

/// The text without one entry of ours, wherever it is, and without containers that are empty then. Nothing when there
/// is none left.
fn without_one(text: &str) -> Result<Option<String>, SettingsError> {
    let Some(Value::Object(root)) = &parse::parse(text)? else { return Ok(None) };
    for (at_hooks, hooks) in root.properties.iter().enumerate().filter(|(_, prop)| prop.name == "hooks") {
        let Value::Object(hooks) = &hooks.value else { continue };
        for (at_event, groups) in hooks.properties.iter().enumerate() {
            let Value::Array(groups) = &groups.value else { continue };
            let Some(ours) = ours_in(groups).pop() else { continue };
            let empties = |span: Span| span.holds_only_one();
            return Ok(Some(if !ours.alone || !empties(groups.into()) {
                without(text, groups, &ours)
            } else if empties(hooks.into()) {
                splice::remove(text, &root.into(), at_hooks)
            } else {
                splice::remove(text, &hooks.into(), at_event)
            }));
        }
    }
    Ok(None)
}
