//! Where the hooks stand and where they are missing.

use super::{tmux_command, tmux_conf};
use crate::context::Context;
use crate::knowledge::homes;
use reseat_agents::claude::settings::{self, Installed};
use reseat_agents::codex::config as codex_config;
use reseat_core::fold::Folded;
use reseat_core::ids::AgentKind;
use reseat_mux::tmux::HookState;
use std::path::Path;

/// What is missing, in sentences; empty when all is well.
pub fn missing(context: &Context, folded: &Folded) -> Vec<String> {
    let mut out = Vec::new();
    for (kind, home) in homes(&context.config, &context.home, &folded.bindings) {
        if home.is_dir() {
            out.extend(match kind {
                AgentKind::Claude => claude(context, &home),
                AgentKind::Codex => codex(&home),
            });
        }
    }
    let command = tmux_command(&context.program);
    let path = tmux_conf::path(&context.env, &context.home);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = reseat_mux::tmux::config_lines(&command);
    if tmux_conf::install(Some(&text), &lines) != text {
        out.push(format!("{} does not set the hooks for the next tmux server", path.display()));
    }
    for socket in reseat_mux::tmux::sockets(&context.env, &context.proc, &[]) {
        let tmux = context.tmux_at(&socket).with_deadline(crate::observe::TMUX_DEADLINE);
        match tmux.hook_state() {
            Ok(HookState::Missing) => {
                out.push(format!("no hooks in the running tmux server at {}", socket.display()));
            }
            Ok(HookState::Installed(text))
                if !text.contains(&format!("-x '{}'", context.program.display())) =>
            {
                out.push(format!(
                    "the hooks in the tmux server at {} call another program",
                    socket.display()
                ));
            }
            Ok(HookState::Installed(_)) | Err(_) => {}
        }
    }
    out
}

fn claude(context: &Context, home: &Path) -> Option<String> {
    let path = home.join("settings.json");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let program = context.program.display().to_string();
    if let Err(error) = settings::install(Some(&text), &program) {
        return Some(format!("{} cannot be used, and so Claude Code may ignore it: {error}", path.display()));
    }
    match settings::installed(&text) {
        Installed::None => Some(format!("no hooks in the Claude Code home {}", home.display())),
        Installed::Disabled => Some(format!("hooks are disabled in the Claude Code home {}", home.display())),
        Installed::Ours(other) if other != program => {
            Some(format!("the hooks in {} call another program: {other}", home.display()))
        }
        Installed::Ours(_) => None,
    }
}

fn codex(home: &Path) -> Option<String> {
    let path = home.join("config.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    match codex_config::install(Some(&text)) {
        Err(error) => Some(format!("{} cannot be used by Codex: {error}", path.display())),
        Ok(with) if with != text => {
            Some(format!("no thread id in the titles of the Codex home {}", home.display()))
        }
        Ok(_) => None,
    }
}
