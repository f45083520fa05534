//! Our own tmux hooks, at an index nobody else uses.

use super::error::MuxError;
use super::run::{Tmux, literal};

/// The index of our hooks in each of tmux's hook arrays.
const INDEX: u32 = 7373;

/// The events we hook. A title changes many times a second while an agent works; tmux itself compares the thread id
/// in it with the last one seen in that pane, and a process is started only when it differs or the title is emptied.
pub const HOOKS: [&str; 7] = [
    "pane-exited",
    "pane-died",
    "window-unlinked",
    "session-closed",
    "window-linked",
    "after-split-window",
    "pane-title-changed",
];

/// The thread id in a title, for tmux's formats.
const SHOWN_ID: &str =
    "#{s/^.* ([0-9a-f]+-[0-9a-f]+-7[0-9a-f]+-[0-9a-f]+-[0-9a-f]+).*$/\\1/:#{l: }#{pane_title}}";
/// Whether a title holds one, or is empty.
const TELLS: &str =
    "#{||:#{m/r:[0-9a-f]+-[0-9a-f]+-7[0-9a-f]+-[0-9a-f]+-[0-9a-f]+,#{pane_title}},#{==:#{pane_title},}}";

/// Whether our hooks stand in a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    /// All of them, calling this command.
    Installed(String),
    /// None or only some.
    Missing,
}

impl Tmux {
    /// Sets our hooks in a running server. Hooks of others at other indexes stay.
    pub fn set_hooks(&self, command: &str) -> Result<(), MuxError> {
        for event in HOOKS {
            let (name, run) = (format!("{event}[{INDEX}]"), hook_command(event, command));
            match self.quiet(&[&["set-hook", "-g", &name, &run]]) {
                // Older versions do not know every event.
                Err(MuxError::Refused { .. }) => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Removes our hooks from a running server.
    pub fn unset_hooks(&self) -> Result<(), MuxError> {
        for event in HOOKS {
            match self.quiet(&[&["set-hook", "-gu", &format!("{event}[{INDEX}]")]]) {
                Err(MuxError::Refused { .. }) => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Whether our hooks stand, and which command they run.
    pub fn hook_state(&self) -> Result<HookState, MuxError> {
        let bytes = self.call(&[&["show-hooks", "-gw"]])?;
        let text = String::from_utf8_lossy(&bytes);
        let mark = format!("pane-exited[{INDEX}] ");
        Ok(text
            .lines()
            .find_map(|line| line.strip_prefix(&mark))
            .map_or(HookState::Missing, |command| HookState::Installed(command.to_owned())))
    }
}

/// The lines for a tmux configuration file that set the same hooks when a server starts. `set-hook` knows no `-q`, and
/// tmux drops a whole file for one unknown flag; as options, hooks that an older version lacks are passed over.
pub fn config_lines(command: &str) -> Vec<String> {
    HOOKS
        .iter()
        .map(|event| format!("set-option -gq '{event}[{INDEX}]' {}", quoted(&hook_command(event, command))))
        .collect()
}

fn hook_command(event: &str, command: &str) -> String {
    // tmux expands formats in what it runs, and the program's path may look like one.
    let run = format!("run-shell -b {}", quoted(&literal(command)));
    if event != "pane-title-changed" {
        return run;
    }
    let changed = format!("#{{&&:{TELLS},#{{!=:#{{@reseat_shown}},{SHOWN_ID}}}}}");
    let then = format!("set-option -pF @reseat_shown {} ; {run}", quoted(SHOWN_ID));
    format!("if-shell -F {} {}", quoted(&changed), quoted(&then))
}

/// Quotes for tmux's own parser, which has double quotes with backslashes; formats and variables stay text.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        if matches!(char, '"' | '\\' | '$') {
            out.push('\\');
        }
        out.push(char);
    }
    out.push('"');
    out
}
