//! Claude's own records of its processes: `<home>/sessions/<pid>.json`, rewritten in place while it runs, removed on
//! every orderly end. Keys lie beside them and are not read.

use crate::scan::Bounded;
use crate::{Kind, RegistryEntry};
use jiff::Timestamp;
use reseat_core::fact::Was;
use reseat_core::ids::SessionId;
use serde_json::{Map, Value};
use std::ops::ControlFlow;
use std::path::Path;

/// A record is about a kilobyte; nothing larger is one.
const LARGEST: u64 = 256 * 1024;

/// All records that can be read, by pid. One that is being written at this moment is left out, as is one of a later
/// version that lacks what is needed.
pub(super) fn read(home: &Path) -> Vec<RegistryEntry> {
    let mut out: Vec<RegistryEntry> = std::fs::read_dir(home.join("sessions"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| entry(&whole(&path)?))
        .collect();
    out.sort_by_key(|entry| entry.pid);
    out
}

/// Returns a small file's bytes.
fn whole(path: &Path) -> Option<Vec<u8>> {
    let file = Bounded::open(path).ok().filter(|file| file.size() <= LARGEST)?;
    let mut lines: Vec<Vec<u8>> = Vec::new();
    file.backward(0, LARGEST, |line| {
        lines.push(line.bytes.to_vec());
        ControlFlow::Continue(())
    })
    .ok()?;
    lines.reverse();
    Some(lines.join(&b'\n'))
}

/// Returns the record in a file's bytes.
fn entry(bytes: &[u8]) -> Option<RegistryEntry> {
    let Value::Object(record) = serde_json::from_slice(bytes).ok()? else { return None };
    Some(RegistryEntry {
        pid: number(&record, "pid").and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0)?,
        session: SessionId::parse(record.get("sessionId")?.as_str()?).ok()?,
        start: number(&record, "procStart"),
        started_ms: record.get("startedAt").and_then(time),
        cwd: text(&record, "cwd"),
        was: match record.get("status").and_then(Value::as_str) {
            Some("idle") => Was::Idle,
            Some("busy") => Was::MidTurn,
            Some("waiting") => Was::Waiting,
            _ => Was::Unknown,
        },
        kind: kind(&record),
        version: text(&record, "version"),
        tmux: text(&record, "tmux"),
        name: text(&record, "name"),
    })
}

/// `claude -p` calls itself interactive too; its entry point tells.
fn kind(record: &Map<String, Value>) -> Kind {
    if record
        .get("entrypoint")
        .and_then(Value::as_str)
        .is_some_and(|entrypoint| entrypoint.starts_with("sdk"))
    {
        return Kind::Headless;
    }
    match record.get("kind").and_then(Value::as_str) {
        None | Some("interactive") => Kind::Interactive,
        Some(_) => Kind::Unknown,
    }
}

fn text(record: &Map<String, Value>, name: &str) -> Option<String> {
    record.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A number, which some versions write as a string.
fn number(record: &Map<String, Value>, name: &str) -> Option<u64> {
    match record.get(name)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Milliseconds since 1970, as a number or in words.
fn time(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|number| number as i64)),
        Value::String(text) => {
            text.parse().ok().or_else(|| text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
