//! What reaches the terminal: data on standard output, talk on standard error, tables that fit.

use reseat_core::text::{plain_json, plain_lines};
use serde::Serialize;
use std::io::{IsTerminal as _, Write as _};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Prints a line. Names, titles and paths come from others: nothing that a terminal acts on passes this door. A closed
/// pipe ends the talk, not the work.
pub(crate) fn out(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{}", plain_lines(text));
}

pub(crate) fn err(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", plain_lines(text));
}

pub(crate) fn json(value: &impl Serialize) {
    let json = serde_json::to_string_pretty(value).unwrap_or_default();
    let _ = writeln!(std::io::stdout().lock(), "{}", plain_json(&json));
}

/// Columns of the terminal; 120 where there is none.
pub(crate) fn width() -> usize {
    if !std::io::stdout().is_terminal() {
        return 120;
    }
    reseat_os::tty::columns().map_or(100, |columns| usize::from(columns).max(40))
}

/// Prints rows in columns.
pub(crate) fn table(rows: &[Vec<String>]) {
    for line in lines(rows) {
        out(&line);
    }
}

/// Lays rows out in columns; the widest ones are cut where a line would not fit.
pub(crate) fn lines(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| reseat_core::text::plain(cell)).collect()).collect();
    let mut widths: Vec<usize> = (0..columns)
        .map(|at| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max().unwrap_or(0))
        .collect();
    // The widest column gives way until the line fits.
    let limit = width();
    while widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1) > limit {
        let Some((widest, _)) = widths.iter().enumerate().max_by_key(|(_, width)| **width) else { break };
        if widths[widest] <= 8 {
            break;
        }
        widths[widest] -= 1;
    }
    let mut out = Vec::new();
    for row in &rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let text = cut(cell, widths[at]);
            let pad = widths[at].saturating_sub(text.width());
            line.push_str(&text);
            if at + 1 < row.len() {
                line.push_str(&" ".repeat(pad + 2));
            }
        }
        out.push(line.trim_end().to_owned());
    }
    out
}

/// A directory for people: the home as `~`, and of a long one its end, which tells it from others.
pub(crate) fn directory(path: &str, home: &std::path::Path) -> String {
    const WIDTH: usize = 36;
    let below = std::path::Path::new(path).strip_prefix(home).ok();
    let text = match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => path.to_owned(),
    };
    let text = reseat_core::text::plain(&text);
    let (mut kept, mut used) = (String::new(), 1);
    if text.width() <= WIDTH {
        return text;
    }
    for char in text.chars().rev() {
        used += char.width().unwrap_or(0);
        if used > WIDTH {
            break;
        }
        kept.insert(0, char);
    }
    format!("…{kept}")
}

/// Cuts text to a width in columns.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut out, mut used) = (String::new(), 1);
    for char in text.chars() {
        let wide = char.width().unwrap_or(0);
        if used + wide > width {
            break;
        }
        used += wide;
        out.push(char);
    }
    out.push('…');
    out
}

/// Asks a person; `None` where there is no terminal to ask on.
pub(crate) fn ask(question: &str) -> Option<String> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return None;
    }
    let mut talk = std::io::stderr().lock();
    let _ = write!(talk, "{} ", plain_lines(question));
    let _ = talk.flush();
    drop(talk);
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim().to_owned()),
    }
}

pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}
