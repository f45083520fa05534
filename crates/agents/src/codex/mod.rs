//! Codex.
//!
//! Rollouts lie in `<home>/sessions/Y/M/D/rollout-<time>-<thread id>.jsonl`, archived ones in
//! `<home>/archived_sessions/`; `CODEX_HOME` moves the home. Newer versions keep all threads in one server that the
//! front ends share, so a front end itself holds neither file nor lock: its pane's title, with the item `thread-id`,
//! tells which thread it shows.

pub mod config;
mod index;
mod launch;
mod rollout;
mod server;

pub use launch::needs_own_process;
pub use server::{SharedServer, shared_server};

use crate::{Agent, Found, ProcessView, RegistryEntry, ResumeCommand, ResumeRequest, Transcript};
use reseat_core::fact::{EndReason, Grade, Launch, Reading};
use reseat_core::ids::{AgentKind, SessionId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many characters of a thread id the title shows before it cuts it.
const SHOWN: usize = 29;

/// The adapter of Codex.
#[derive(Debug, Clone, Copy)]
pub struct Codex;

/// Where the writer locks of threads lie, below the home.
const LOCKS: &str = "thread-writer-locks";

/// The thread of a writer lock.
fn locked_id(path: &Path) -> Option<SessionId> {
    path.parent()?.file_name().filter(|name| *name == LOCKS)?;
    SessionId::parse(path.file_name()?.to_str()?.strip_suffix(".lock")?).ok()
}

impl Agent for Codex {
    fn kind(&self) -> AgentKind {
        AgentKind::Codex
    }

    fn default_home(&self, user_home: &Path) -> PathBuf {
        user_home.join(".codex")
    }

    fn home_of(&self, env: &BTreeMap<String, String>, user_home: &Path) -> PathBuf {
        let Some(named) = env.get("CODEX_HOME").filter(|named| !named.is_empty()) else {
            return self.default_home(user_home);
        };
        let start = env.get("PWD").filter(|start| start.starts_with('/')).map_or(user_home, Path::new);
        start.join(named)
    }

    fn kept_variables(&self) -> &'static [&'static str] {
        launch::KEPT
    }

    fn noted_variables(&self) -> &'static [&'static str] {
        launch::NOTED
    }

    fn marker_variables(&self) -> &'static [&'static str] {
        launch::MARKERS
    }

    fn is_front_end(&self, process: &ProcessView) -> bool {
        launch::is_front_end(process)
    }

    fn is_headless(&self, process: &ProcessView) -> bool {
        launch::is_headless(process)
    }

    fn launch(&self, process: &ProcessView, env: &BTreeMap<String, String>) -> Launch {
        launch::launch(process, env)
    }

    fn argv_session(&self, process: &ProcessView) -> Option<SessionId> {
        launch::argv_session(process)
    }

    /// Codex keeps no record of live processes.
    fn registry(&self, _home: &Path) -> Vec<RegistryEntry> {
        Vec::new()
    }

    fn locks(&self, home: &Path) -> Vec<(SessionId, i64)> {
        let Ok(dir) = std::fs::read_dir(home.join(LOCKS)) else { return Vec::new() };
        let mut out: Vec<(SessionId, i64)> = dir
            .flatten()
            .filter_map(|entry| {
                let id = locked_id(&entry.path())?;
                let modified = entry.metadata().ok()?.modified().ok()?;
                let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
                Some((id, i64::try_from(since.as_millis()).ok()?))
            })
            .collect();
        out.sort();
        out
    }

    fn list(&self, home: &Path) -> Vec<Found> {
        rollout::list(home)
    }

    fn find(&self, home: &Path, id: &SessionId) -> Option<Found> {
        rollout::find(home, id)
    }

    fn read(&self, found: &Found) -> Transcript {
        rollout::read(found)
    }

    fn title_id(&self, title: &str) -> Option<String> {
        title.split(" | ").find_map(shown_id)
    }

    /// The threads a process holds by writer lock or open rollout, the newest first; sub-agents' are left out.
    fn open_file_sessions(&self, open: &[PathBuf], locked: &[PathBuf]) -> Vec<Reading> {
        let mut ids: Vec<SessionId> = Vec::new();
        for path in locked {
            if let Some(id) = locked_id(path) {
                let home = path.parent().and_then(Path::parent);
                let found = home.and_then(|home| rollout::find(home, &id));
                if !found.is_some_and(|found| rollout::read(&found).kind == crate::Kind::SubAgent) {
                    ids.push(id);
                }
            }
        }
        for path in open {
            if let Some(id) = rollout::id_of(path).filter(|id| !ids.contains(id))
                && rollout::found_at(path)
                    .is_some_and(|found| rollout::read(&found).kind != crate::Kind::SubAgent)
            {
                ids.push(id);
            }
        }
        // Ids are time-ordered: the greatest was made last.
        ids.sort_by(|one, other| other.cmp(one));
        ids.into_iter().map(|session| Reading { grade: Grade::OpenFile, session }).collect()
    }

    fn resume(&self, request: &ResumeRequest<'_>) -> ResumeCommand {
        launch::resume(request)
    }

    fn end_reason(&self, word: &str) -> EndReason {
        match word {
            "quit" => EndReason::User,
            "clear" | "new" | "resume" | "fork" => EndReason::Replaced,
            _ => EndReason::Other,
        }
    }

    fn blocked_by(&self, screen: &str) -> Option<&'static str> {
        let all = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        let says = |text: &str| all.contains(text);
        if says("This conversation is open in another app") {
            Some("open in another app")
        } else if says("Hooks need review") {
            Some("hooks review")
        } else if says("Use session directory") {
            Some("working directory picker")
        } else if says("Unarchive and resume") {
            Some("unarchive question")
        } else if says("Do you trust the contents of this directory") || says("Do you trust") {
            Some("trust dialog")
        } else if says("Update available") && says("Skip") {
            Some("update question")
        } else if says("No saved session found with ID") {
            Some("no such session")
        } else {
            None
        }
    }
}

/// The run state at the beginning of a title: `Ready`, `Working`, `Thinking`, `Waiting`.
pub fn title_run_state(title: &str) -> Option<&str> {
    title
        .split(" | ")
        .map(str::trim)
        .find(|part| matches!(*part, "Ready" | "Working" | "Thinking" | "Waiting" | "Starting"))
}

/// A thread id as the title shows it: whole, or its first characters with dots behind.
fn shown_id(part: &str) -> Option<String> {
    let part = part.trim();
    if let Ok(whole) = SessionId::parse(part) {
        return Some(whole.as_str().to_owned());
    }
    let cut = part.strip_suffix("...").or_else(|| part.strip_suffix('…'))?;
    // What is cut off is filled up, so that the same check applies to what is left.
    let whole = format!("{cut}{}", "0".repeat(36_usize.checked_sub(cut.len())?));
    let fits = cut.len() == SHOWN && cut.is_ascii() && SessionId::parse(&whole).is_ok();
    fits.then(|| cut.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_titles_are_whole_or_cut() {
        let prefix = "01a2298b-7323-7dd2-ba0d-bff16";
        let whole = "01a2298b-7323-7dd2-ba0d-bff162ef9c70";
        assert_eq!(Codex.title_id(&format!("Ready | {prefix}...")).as_deref(), Some(prefix));
        assert_eq!(Codex.title_id(&format!("{prefix}…")).as_deref(), Some(prefix));
        assert_eq!(Codex.title_id(&format!("x | {whole} | y")).as_deref(), Some(whole));
        for other in ["", "Ready | proj", "Ready | 01a2298b...", "01a2298b-7323-7dd2-ba0d-bff16zz..."] {
            assert_eq!(Codex.title_id(other), None, "{other}");
        }
        assert_eq!(title_run_state("Working | x"), Some("Working"));
        assert_eq!(title_run_state("my Ready project"), None);
    }

    #[test]
    fn dialogs_are_named() {
        assert_eq!(
            Codex.blocked_by("🔒  This conversation is open in\nanother app"),
            Some("open in another app")
        );
        assert_eq!(Codex.blocked_by("› Ask Codex to do anything"), None);
    }
}
