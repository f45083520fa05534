//! Claude Code.
//!
//! Transcripts lie in `<home>/projects/<encoded directory>/<session id>.jsonl`, live records in
//! `<home>/sessions/<pid>.json`; `CLAUDE_CONFIG_DIR` moves the home. `--resume ID` continues the same id in the same
//! file. Nothing here writes; [`settings`] edits text that the caller writes.

mod flags;
mod launch;
mod line;
mod registry;
pub mod settings;
mod transcript;

pub use transcript::folder_fits;

use crate::{Agent, Found, ProcessView, RegistryEntry, ResumeCommand, ResumeRequest, Transcript};
use reseat_core::fact::{EndReason, Launch, Reading};
use reseat_core::ids::{AgentKind, SessionId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The adapter of Claude Code.
#[derive(Debug, Clone, Copy)]
pub struct Claude;

impl Agent for Claude {
    fn kind(&self) -> AgentKind {
        AgentKind::Claude
    }

    fn default_home(&self, user_home: &Path) -> PathBuf {
        user_home.join(".claude")
    }

    fn home_of(&self, env: &BTreeMap<String, String>, user_home: &Path) -> PathBuf {
        let Some(named) = env.get("CLAUDE_CONFIG_DIR").filter(|named| !named.is_empty()) else {
            return self.default_home(user_home);
        };
        // A relative one counts from where the process was started.
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

    fn registry(&self, home: &Path) -> Vec<RegistryEntry> {
        registry::read(home)
    }

    /// Claude locks nothing.
    fn locks(&self, _home: &Path) -> Vec<(SessionId, i64)> {
        Vec::new()
    }

    fn list(&self, home: &Path) -> Vec<Found> {
        transcript::list(home)
    }

    fn find(&self, home: &Path, id: &SessionId) -> Option<Found> {
        transcript::find(home, id)
    }

    fn read(&self, found: &Found) -> Transcript {
        transcript::read(found)
    }

    /// Claude shows names in titles, never ids.
    fn title_id(&self, _title: &str) -> Option<String> {
        None
    }

    /// Claude opens its transcript for each batch of lines and closes it again.
    fn open_file_sessions(&self, _open: &[PathBuf], _locked: &[PathBuf]) -> Vec<Reading> {
        Vec::new()
    }

    fn resume(&self, request: &ResumeRequest<'_>) -> ResumeCommand {
        launch::resume(request)
    }

    fn end_reason(&self, word: &str) -> EndReason {
        match word {
            "prompt_input_exit" | "logout" => EndReason::User,
            "clear" | "resume" | "fork" => EndReason::Replaced,
            // SIGHUP and SIGTERM among them: a crash of the multiplexer is a polite end.
            _ => EndReason::Other,
        }
    }

    fn blocked_by(&self, screen: &str) -> Option<&'static str> {
        let lines: Vec<String> = screen.lines().map(words).collect();
        // Narrow panes wrap: sentences are sought in the text without its line ends.
        let all =
            lines.iter().filter(|line| !line.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ");
        let says = |sentences: &[&str]| sentences.iter().any(|sentence| all.contains(sentence));
        let headed =
            |heads: &[&str]| lines.iter().any(|line| heads.iter().any(|head| line.starts_with(head)));
        if says(&[
            "Do you trust the files in this folder",
            "Is this a project you created or one you trust",
            "Yes, I trust this folder",
        ]) {
            Some("trust dialog")
        } else if says(&["Detected a custom API key in your environment", "Do you want to use this API key"])
        {
            Some("api key dialog")
        } else if says(&["running in Bypass Permissions mode"]) && says(&["Yes, I accept"]) {
            Some("bypass warning")
        } else if headed(&["Settings Warning", "Settings Error"]) {
            Some("settings warning")
        } else if headed(&["Resume session", "Resume Session", "Resume a session"]) {
            Some("resume picker")
        } else {
            None
        }
    }
}

/// The words of a screen line, without the frame around them.
fn words(line: &str) -> String {
    line.split_whitespace()
        .map(|word| word.trim_matches(|char: char| ('\u{2500}'..='\u{259f}').contains(&char)))
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
