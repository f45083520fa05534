//! Finds transcripts and reads their ends.
//!
//! `<home>/projects/<encoded directory>/<session id>.jsonl`, appended to line by line and never kept open. The
//! folder's name cannot be decoded: which directory a conversation belongs to stands in its lines.

use super::line::Line;
use crate::scan::{self, Bounded, Shape};
use crate::{Conversation, Found, Kind, Transcript};
use jiff::Timestamp;
use reseat_core::fact::Was;
use reseat_core::ids::{AgentKind, SessionId, SessionKey};
use std::fs::Metadata;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Longest encoded directory name that is not shortened, in UTF-16 units.
const WHOLE_NAME: usize = 200;
/// Prompts and titles are labels; no more of them is kept, bytes.
const LABEL: usize = 4096;
/// Words a `permissionMode` or `mode` line may hold that are permission modes.
pub(super) const MODES: [&str; 7] =
    ["default", "manual", "acceptEdits", "plan", "bypassPermissions", "auto", "dontAsk"];
/// How the texts begin that Claude writes as a person's message although nobody typed them.
const NOT_TYPED: [&str; 8] = [
    "<command-",
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "<system-reminder>",
    "<user-prompt-submit-hook>",
    "[Request interrupted by user",
    "Caveat: The messages below",
];

/// Whether a folder below `projects` is the one Claude makes for a directory. Other directories may have the same
/// folder; a long one's name ends in a hash that is not compared.
pub fn folder_fits(folder: &str, cwd: &str) -> bool {
    let encoded: String = cwd
        .encode_utf16()
        .map(|unit| u8::try_from(unit).map_or('-', char::from))
        .map(|char| if char.is_ascii_alphanumeric() { char } else { '-' })
        .collect();
    if encoded.len() <= WHOLE_NAME {
        return folder == encoded;
    }
    folder.strip_prefix(&encoded[..WHOLE_NAME]).is_some_and(|rest| rest.starts_with('-'))
}

/// All transcripts of a home by their names; nothing is opened. Sub-agents lie deeper or are not named by a UUID.
pub(super) fn list(home: &Path) -> Vec<Found> {
    let mut out = Vec::new();
    for folder in folders(home) {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else { continue };
            // Only the spelling that the agent itself looks for.
            let Some(id) = SessionId::parse(id).ok().filter(|parsed| parsed.as_str() == id) else { continue };
            out.extend(found(home, id, entry.path()));
        }
    }
    out.sort_by(|one, other| one.path.cmp(&other.path));
    out
}

/// The transcript of one id, whatever its folder. Of several the one last written to, empty ones last.
pub(super) fn find(home: &Path, id: &SessionId) -> Option<Found> {
    let name = format!("{id}.jsonl");
    folders(home)
        .filter_map(|folder| found(home, id.clone(), folder.join(&name)))
        .max_by(|one, other| order(one).cmp(&order(other)))
}

fn order(found: &Found) -> (bool, i64, &Path) {
    (found.size > 0, found.modified_ms, &found.path)
}

fn folders(home: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(home.join("projects")).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn found(home: &Path, id: SessionId, path: PathBuf) -> Option<Found> {
    let metadata = std::fs::metadata(&path).ok()?;
    Some(Found {
        key: SessionKey { agent: AgentKind::Claude, home: home.display().to_string(), id },
        path,
        size: metadata.len(),
        modified_ms: modified_ms(&metadata),
        archived: false,
        compressed: false,
    })
}

fn modified_ms(metadata: &Metadata) -> i64 {
    let Ok(time) = metadata.modified() else { return 0 };
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_millis() as i64,
        Err(before) => -(before.duration().as_millis() as i64),
    }
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
    let Ok(file) = Bounded::open(&found.path) else { return out };
    out.size = file.size();
    if file.size() == 0 {
        out.conversation = Conversation::Empty;
        return out;
    }
    let mut seen = Seen::new(&found.path);
    if seen.read(&file).is_ok() {
        seen.tell(&mut out);
    }
    out
}

/// What the lines told so far. The head is read first, for what stands at the beginning; then the tail from the
/// end, where the first line that tells something is the last one written.
#[derive(Default)]
struct Seen {
    folder: Option<String>,
    first_sidechain: Option<bool>,
    conversation: bool,
    person: bool,
    program: bool,
    project: Option<String>,
    /// Older than all that is known so far, so the last one standing is the first in the file.
    tail_project: Option<String>,
    current: Option<String>,
    title: Option<String>,
    last_prompt: Option<String>,
    activity_ms: Option<i64>,
    model: Option<String>,
    branch: Option<String>,
    mode: Option<String>,
    version: Option<String>,
    continued_in: Option<SessionId>,
    was: Option<Was>,
    damaged: u64,
    unread: u64,
}

impl Seen {
    fn new(path: &Path) -> Self {
        let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Self { folder, ..Self::default() }
    }

    fn read(&mut self, file: &Bounded) -> std::io::Result<()> {
        let mut head: Vec<Vec<u8>> = Vec::new();
        let floor = file.forward(scan::HEAD, |bytes| {
            let whole = with_line(bytes, |line| self.head_line(line));
            if !whole {
                self.damaged += bytes.len() as u64 + 1;
            } else if !bytes.trim_ascii().is_empty() {
                head.push(bytes.to_vec());
            }
            if self.conversation && self.project.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        let reach = file.backward(floor, scan::TAIL, |piece| {
            if !with_line(piece.bytes, |line| self.older_line(line, true)) {
                self.damaged += piece.size();
            }
            ControlFlow::Continue(())
        })?;
        self.damaged += reach.torn;
        self.unread = reach.from - floor - reach.torn;
        for bytes in head.iter().rev() {
            with_line(bytes, |line| self.older_line(line, false));
        }
        Ok(())
    }

    /// What is wanted of the beginning: the first of its kind counts.
    fn head_line(&mut self, line: &Line<'_>) {
        if self.project.is_none() {
            self.project = self.fitting(line).map(str::to_owned);
        }
        self.conversation |= line.is_conversation();
        if line.is_message() && self.first_sidechain.is_none() {
            self.first_sidechain = Some(line.is_sidechain.flag());
        }
    }

    /// What is wanted of the end: lines come newest first, and the first that tells something counts. The head tells
    /// nothing of what may have changed between it and the tail.
    fn older_line(&mut self, line: &Line<'_>, in_tail: bool) {
        let latest = in_tail || self.unread == 0;
        if in_tail {
            if let Some(cwd) = self.fitting(line) {
                self.tail_project = Some(cwd.to_owned());
            }
            self.conversation |= line.is_conversation();
        }
        match line.entrypoint.some_text() {
            Some(entrypoint) if entrypoint.starts_with("sdk") => self.program = true,
            Some(_) => self.person = true,
            None => {}
        }
        keep(&mut self.version, || line.version.some_text().map(str::to_owned));
        if latest {
            keep(&mut self.activity_ms, || line.timestamp.text().and_then(milliseconds));
            keep(&mut self.continued_in, || continued_in(line));
        }
        if line.is_sidechain.flag() {
            // Everything below is about the conversation itself.
            return;
        }
        // An emptied title is the last word too.
        keep(&mut self.title, || line.custom_title.text().map(label));
        keep(&mut self.last_prompt, || prompt(line));
        keep(&mut self.model, || model(line));
        if latest {
            keep(&mut self.current, || line.cwd.some_text().map(str::to_owned));
            keep(&mut self.branch, || line.git_branch.some_text().map(str::to_owned));
            keep(&mut self.mode, || mode(line));
            keep(&mut self.was, || was(line));
        }
    }

    fn fitting<'l>(&self, line: &'l Line<'_>) -> Option<&'l str> {
        let cwd = line.cwd.some_text()?;
        self.folder.as_deref().is_some_and(|folder| folder_fits(folder, cwd)).then_some(cwd)
    }

    fn tell(self, out: &mut Transcript) {
        out.project = self.project.or(self.tail_project);
        out.current = self.current;
        out.title = self.title.filter(|title| !title.is_empty());
        out.last_prompt = self.last_prompt;
        out.last_activity_ms = self.activity_ms.unwrap_or(out.last_activity_ms);
        out.model = self.model;
        out.branch = self.branch;
        out.mode = self.mode;
        out.version = self.version;
        out.continued_in = self.continued_in.filter(|id| *id != out.key.id);
        out.damaged_bytes = self.damaged;
        out.kind = if self.first_sidechain == Some(true) {
            Kind::SubAgent
        } else if self.program && !self.person {
            Kind::Headless
        } else {
            Kind::Interactive
        };
        out.conversation = if self.conversation {
            Conversation::Yes
        } else if self.unread > 0 && self.first_sidechain != Some(true) {
            out.notes.push("too large to read through; no message was seen in the part that was read".into());
            Conversation::Yes
        } else {
            Conversation::None
        };
        if out.conversation == Conversation::Yes {
            out.was = self.was.unwrap_or_default();
        }
    }
}

/// Gives a line to `see` and returns whether it was whole. Bytes that are no UTF-8 are read as Claude reads them.
fn with_line(bytes: &[u8], see: impl FnOnce(&Line<'_>)) -> bool {
    let text = String::from_utf8_lossy(bytes.trim_ascii());
    if text.is_empty() {
        return true;
    }
    if !text.starts_with('{') {
        return false;
    }
    match serde_json::from_str::<Line<'_>>(&text) {
        Ok(line) => {
            see(&line);
            true
        }
        // A field twice, say: of no use to us and yet no damage.
        Err(_) => scan::check(bytes) == Shape::Whole,
    }
}

fn keep<T>(slot: &mut Option<T>, value: impl FnOnce() -> Option<T>) {
    if slot.is_none() {
        *slot = value();
    }
}

fn milliseconds(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

fn label(text: &str) -> String {
    text[..text.floor_char_boundary(LABEL)].to_owned()
}

fn continued_in(line: &Line<'_>) -> Option<SessionId> {
    SessionId::parse(line.continued_in_session_id.text()?).ok()
}

fn model(line: &Line<'_>) -> Option<String> {
    let model = line.message.model.some_text().filter(|model| !model.starts_with('<'))?;
    (line.kind.text() == Some("assistant")).then(|| model.to_owned())
}

fn mode(line: &Line<'_>) -> Option<String> {
    let word = match line.kind.text()? {
        "permission-mode" | "user" => line.permission_mode.some_text()?,
        // These also hold input modes such as `normal`, which say nothing of permissions.
        "mode" => line.mode.some_text().filter(|word| MODES.contains(word))?,
        _ => return None,
    };
    Some(word.to_owned())
}

/// What a person typed, if this line says so.
fn prompt(line: &Line<'_>) -> Option<String> {
    match line.kind.text()? {
        "last-prompt" => line.last_prompt.some_text().map(label),
        "user" if is_typed(line) => line.message.content.text.as_deref().map(label),
        _ => None,
    }
}

fn is_typed(line: &Line<'_>) -> bool {
    let content = &line.message.content;
    let text = content.text.as_deref().unwrap_or_default().trim_start();
    line.is_conversation()
        && !line.is_compact_summary.flag()
        && !content.tool_result
        && !text.is_empty()
        && !NOT_TYPED.iter().any(|beginning| text.starts_with(beginning))
}

/// What the agent was doing after this line, if the line tells.
fn was(line: &Line<'_>) -> Option<Was> {
    match line.kind.text()? {
        "system" => match line.subtype.text()? {
            "turn_duration" | "stop_hook_summary" | "compact_boundary" => Some(Was::Idle),
            _ => None,
        },
        "assistant" if line.is_api_error_message.flag() => Some(Was::Idle),
        "assistant" => match line.message.stop_reason.text() {
            Some("tool_use" | "pause_turn") | None => Some(Was::MidTurn),
            Some(_) => Some(Was::Idle),
        },
        "user" if line.message.content.tool_result || is_typed(line) => Some(Was::MidTurn),
        "user"
            if line
                .message
                .content
                .text
                .as_deref()
                .is_some_and(|text| text.starts_with("[Request interrupted")) =>
        {
            Some(Was::Idle)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
