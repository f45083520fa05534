//! Finds rollouts and reads their ends.

use super::index;
use crate::scan::{self, Ends};
use crate::{Conversation, Found, Kind, Transcript};
use jiff::Timestamp;
use reseat_core::fact::Was;
use reseat_core::ids::{AgentKind, SessionId, SessionKey};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// How much of a compressed rollout is unpacked.
const UNPACKED: u64 = 8 << 20;
/// Prompts and titles are labels; no more of them is kept, bytes.
const LABEL: usize = 4096;
/// Deeper than `sessions/Y/M/D` nothing is looked for.
const DEPTH: usize = 4;
/// How the texts begin that Codex writes as a person's message although nobody typed them.
const NOT_TYPED: [&str; 6] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "# AGENTS.md",
    "<skills",
    "<turn_aborted>",
];

/// The thread id in a rollout's file name.
pub(super) fn id_of(path: &Path) -> Option<SessionId> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl")?;
    let stem = stem.strip_prefix("rollout-")?;
    SessionId::parse(stem.get(stem.len().checked_sub(36)?..)?).ok()
}

/// A rollout by its path alone, below some home.
pub(super) fn found_at(path: &Path) -> Option<Found> {
    let home = path
        .ancestors()
        .find(|above| {
            above.file_name().is_some_and(|name| name == "sessions" || name == "archived_sessions")
        })?
        .parent()?;
    found(home, path.to_path_buf())
}

/// All threads of a home, each once: plain before compressed, live before archived.
pub(super) fn list(home: &Path) -> Vec<Found> {
    let mut out: BTreeMap<SessionId, Found> = BTreeMap::new();
    for top in ["sessions", "archived_sessions"] {
        walk(&home.join(top), DEPTH, &mut |path| {
            if let Some(found) = found(home, path) {
                let better = out.get(&found.key.id).is_none_or(|other| rank(&found) < rank(other));
                if better {
                    out.insert(found.key.id.clone(), found);
                }
            }
        });
    }
    out.into_values().collect()
}

/// The rollout of one thread.
pub(super) fn find(home: &Path, id: &SessionId) -> Option<Found> {
    let mut best: Option<Found> = None;
    for top in ["sessions", "archived_sessions"] {
        walk(&home.join(top), DEPTH, &mut |path| {
            let named = path
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.contains(id.as_str()));
            if let Some(found) = named.then(|| found(home, path)).flatten()
                && found.key.id == *id
                && best.as_ref().is_none_or(|other| rank(&found) < rank(other))
            {
                best = Some(found);
            }
        });
    }
    best
}

fn rank(found: &Found) -> (bool, bool, bool) {
    (found.size == 0, found.archived, found.compressed)
}

fn walk(dir: &Path, depth: usize, see: &mut dyn FnMut(PathBuf)) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 1 {
            walk(&entry.path(), depth - 1, see);
        } else if !kind.is_dir() {
            see(entry.path());
        }
    }
}

fn found(home: &Path, path: PathBuf) -> Option<Found> {
    let id = id_of(&path)?;
    let meta = std::fs::metadata(&path).ok()?;
    let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Some(Found {
        key: SessionKey { agent: AgentKind::Codex, home: home.display().to_string(), id },
        size: meta.len(),
        modified_ms: modified.map_or(0, |since| since.as_millis() as i64),
        archived: path.strip_prefix(home).is_ok_and(|rest| rest.starts_with("archived_sessions")),
        compressed: path.extension().is_some_and(|ending| ending == "zst"),
        path,
    })
}

/// Reads a bounded head and tail. Never fails: what cannot be read is [`Conversation::Unreadable`].
pub(super) fn read(found: &Found) -> Transcript {
    let mut out = Transcript {
        key: found.key.clone(),
        path: found.path.clone(),
        size: found.size,
        project: None,
        current: None,
        title: None,
        last_prompt: None,
        last_activity_ms: found.modified_ms,
        model: None,
        branch: None,
        mode: None,
        version: None,
        conversation: Conversation::Unreadable,
        kind: Kind::Interactive,
        bases: Vec::new(),
        continued_in: None,
        archived: found.archived,
        compressed: found.compressed,
        damaged_bytes: 0,
        was: Was::Unknown,
        notes: Vec::new(),
    };
    let home = PathBuf::from(&found.key.home);
    if found.size == 0 {
        out.conversation = Conversation::Empty;
        return out;
    }
    let ends = if found.compressed {
        unpack(&found.path)
    } else {
        scan::read_ends(&found.path, scan::HEAD, scan::TAIL)
    };
    match ends {
        Ok(ends) => tell(&ends, &mut out),
        Err(error) if found.compressed => {
            // It is there, and Codex can unpack what we cannot.
            out.conversation = Conversation::Yes;
            out.notes.push(format!(
                "its title is unknown: it is compressed and cannot be unpacked here ({error})"
            ));
        }
        Err(_) => return out,
    }
    out.title = index::name(&home, &found.key.id);
    out.notes.extend(index::doubt(&home, &found.key.id));
    out
}

/// The beginning of a compressed rollout.
fn unpack(path: &Path) -> std::io::Result<Ends> {
    let file = std::fs::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(file).map_err(std::io::Error::other)?;
    let mut bytes = Vec::new();
    let mut taken = decoder.by_ref().take(UNPACKED);
    taken.read_to_end(&mut bytes)?;
    let more = bytes.len() as u64 == UNPACKED;
    let mut ends = Ends { size: bytes.len() as u64, unread: u64::from(more), ..Ends::default() };
    if more {
        // The last line is cut by the limit, not damaged.
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |feed| feed + 1));
    }
    for line in bytes.split(|byte| *byte == b'\n') {
        match scan::check(line) {
            scan::Shape::Whole => ends.head.push(line.to_vec()),
            scan::Shape::Blank => {}
            scan::Shape::Damaged => ends.damaged_bytes += line.len() as u64,
        }
    }
    Ok(ends)
}

fn tell(ends: &Ends, out: &mut Transcript) {
    out.damaged_bytes = ends.damaged_bytes;
    let values = |lines: &[Vec<u8>]| -> Vec<Value> {
        lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect()
    };
    let mut lines = values(&ends.head);
    // Whatever changes in the course of a thread may have changed between head and tail.
    let latest_from = if ends.unread > 0 { lines.len() } else { 0 };
    lines.extend(values(&ends.tail));
    let meta = lines.iter().find(|line| kind(line) == "session_meta").and_then(|line| line.get("payload"));
    if let Some(meta) = meta {
        // A copy under another name is the thread of its name.
        out.kind = kind_of(meta);
        out.project = text(meta, "cwd");
        out.version = text(meta, "cli_version");
        out.branch = meta.get("git").and_then(|git| text(git, "branch"));
        let base = meta.get("history_base").and_then(|base| base.get("thread_id")).and_then(Value::as_str);
        out.bases.extend(base.and_then(|base| SessionId::parse(base).ok()));
    } else {
        out.kind = Kind::Unknown;
    }
    let mut talked = false;
    for (at, line) in lines.iter().enumerate() {
        let Some(payload) = line.get("payload") else { continue };
        talked |= is_message(line, payload);
        if let Some(prompt) = prompt(line, payload) {
            out.last_prompt = Some(prompt);
        }
        if at < latest_from {
            continue;
        }
        match kind(line) {
            "turn_context" => {
                out.current = text(payload, "cwd").or_else(|| out.current.take());
                out.model = text(payload, "model").or_else(|| out.model.take());
                out.mode = mode(payload).or_else(|| out.mode.take());
            }
            "event_msg" => match payload.get("type").and_then(Value::as_str) {
                Some("task_started") => out.was = Was::MidTurn,
                Some("task_complete" | "turn_aborted") => out.was = Was::Idle,
                _ => {}
            },
            _ => {}
        }
        if let Some(at) =
            line.get("timestamp").and_then(Value::as_str).and_then(|at| at.parse::<Timestamp>().ok())
        {
            out.last_activity_ms = at.as_millisecond();
        }
    }
    out.current = out.current.take().or_else(|| out.project.clone());
    out.conversation = if talked {
        Conversation::Yes
    } else if ends.unread > 0 && meta.is_some() {
        out.notes.push("too large to read through; no message was seen in the part that was read".into());
        Conversation::Yes
    } else {
        Conversation::None
    };
}

fn kind(line: &Value) -> &str {
    line.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Who runs a thread. `vscode` is what a front end of the shared server is called.
fn kind_of(meta: &Value) -> Kind {
    let word = |name: &str| meta.get(name).and_then(Value::as_str);
    let source = meta.get("source");
    if let Some(object) = source.and_then(Value::as_object) {
        return if object.contains_key("subagent") { Kind::SubAgent } else { Kind::Unknown };
    }
    match (word("thread_source"), word("originator"), source.and_then(Value::as_str)) {
        (Some("subagent"), ..) => Kind::SubAgent,
        (_, Some("codex_exec"), _) | (_, _, Some("exec")) => Kind::Headless,
        (None | Some("user"), ..) => Kind::Interactive,
        (Some(_), ..) => Kind::Unknown,
    }
}

fn is_message(line: &Value, payload: &Value) -> bool {
    match (kind(line), payload.get("type").and_then(Value::as_str)) {
        ("event_msg", Some("user_message" | "agent_message")) => true,
        ("event_msg", Some("item_completed")) => {
            let item = payload.get("item").and_then(|item| item.get("type")).and_then(Value::as_str);
            matches!(item, Some("UserMessage" | "AgentMessage"))
        }
        ("response_item", Some("message")) => match payload.get("role").and_then(Value::as_str) {
            Some("assistant") => true,
            Some("user") => content(payload).is_some_and(|text| is_typed(&text)),
            _ => false,
        },
        _ => false,
    }
}

/// What a person typed, if this line says so.
fn prompt(line: &Value, payload: &Value) -> Option<String> {
    let typed = match (kind(line), payload.get("type").and_then(Value::as_str)?) {
        ("event_msg", "user_message") => text(payload, "message"),
        ("event_msg", "item_completed") => {
            let item = payload.get("item")?;
            (item.get("type")?.as_str()? == "UserMessage").then(|| content(item)).flatten()
        }
        ("response_item", "message") if payload.get("role")?.as_str()? == "user" => content(payload),
        _ => None,
    }?;
    is_typed(&typed).then(|| typed[..typed.floor_char_boundary(LABEL)].to_owned())
}

fn is_typed(text: &str) -> bool {
    let text = text.trim_start();
    !text.is_empty() && !NOT_TYPED.iter().any(|beginning| text.starts_with(beginning))
}

fn content(item: &Value) -> Option<String> {
    let parts = item.get("content")?.as_array()?;
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// `approval/sandbox`, as far as the turn names them by a word.
fn mode(payload: &Value) -> Option<String> {
    let approval = match payload.get("approval_policy")? {
        Value::String(word) => word.clone(),
        Value::Object(object) => object.keys().next()?.clone(),
        _ => return None,
    };
    let sandbox = match payload.get("sandbox_policy")? {
        Value::String(word) => word.clone(),
        Value::Object(object) => {
            object.get("type").or_else(|| object.get("mode")).and_then(Value::as_str)?.to_owned()
        }
        _ => return None,
    };
    Some(format!("{approval}/{sandbox}"))
}

#[cfg(test)]
mod tests;
