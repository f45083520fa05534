//! How a process was started, and how its conversation is continued.

use super::flags::{self, Arg, Flag};
use super::transcript::MODES;
use crate::{ProcessView, ResumeCommand, ResumeRequest};
use reseat_core::fact::Launch;
use reseat_core::ids::SessionId;
use reseat_core::text::short;
use std::collections::BTreeMap;

/// The name people type.
const PROGRAM: &str = "claude";
const SKIP: &str = "--dangerously-skip-permissions";
const ALLOW_SKIP: &str = "--allow-dangerously-skip-permissions";
const BYPASS: &str = "bypassPermissions";

/// Variables whose values are kept.
pub(super) const KEPT: &[&str] = &[
    "CLAUDE_CONFIG_DIR",
    "IS_SANDBOX",
    "CLAUDE_CODE_BUBBLEWRAP",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "AWS_REGION",
    "AWS_PROFILE",
    "CLOUD_ML_REGION",
    BASE_URL,
];
const BASE_URL: &str = "ANTHROPIC_BASE_URL";

/// Variables whose presence is noted by name only.
pub(super) const NOTED: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
];

/// Variables that Claude sets for its children. With `CLAUDE_CODE_CHILD_SESSION` inherited it saves nothing.
pub(super) const MARKERS: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_CHILD_NOTES_DIR",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_EFFORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
    "AI_AGENT",
];

/// First words that make Claude something other than a conversation.
const SUBCOMMANDS: [&str; 24] = [
    "agents",
    "attach",
    "auth",
    "auto-mode",
    "config",
    "daemon",
    "doctor",
    "gateway",
    "install",
    "kill",
    "logs",
    "mcp",
    "migrate-installer",
    "plugin",
    "plugins",
    "project",
    "rc",
    "remote-control",
    "respawn",
    "rm",
    "setup-token",
    "stop",
    "update",
    "upgrade",
];
const RUNTIMES: [&str; 3] = ["node", "nodejs", "bun"];

/// The last part of a path.
pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The executable's path. The kernel marks one that an update has replaced.
pub(super) fn exe(process: &ProcessView) -> &str {
    let exe = process.exe.as_deref().unwrap_or_default();
    exe.strip_suffix(" (deleted)").unwrap_or(exe)
}

/// The arguments, without what interprets the program and without the program.
struct Started<'a> {
    program: &'a str,
    args: Vec<&'a str>,
}

/// Returns nothing when the program wiped its arguments.
fn started(process: &ProcessView) -> Option<Started<'_>> {
    let argv: Vec<&str> = process.argv.iter().map(String::as_str).collect();
    let first = *argv.first()?;
    if first.is_empty() || (argv.len() > 1 && argv[1..].iter().all(|arg| arg.is_empty())) {
        return None;
    }
    if is_runtime(process) || (base(first) != PROGRAM && !is_native(process)) {
        // The kernel writes the path that a script was found at; what was typed is its name.
        let script = argv.iter().skip(1).position(|arg| !arg.starts_with('-')).map(|at| at + 1);
        if let Some(script) = script.filter(|at| first != PROGRAM && is_script(argv[*at])) {
            return Some(Started { program: PROGRAM, args: argv[script + 1..].to_vec() });
        }
        if is_runtime(process) {
            return None;
        }
    }
    Some(Started { program: first, args: argv[1..].to_vec() })
}

fn is_native(process: &ProcessView) -> bool {
    matches!(base(exe(process)), "claude" | "claude.exe") || exe(process).contains("/claude/versions/")
}

fn is_runtime(process: &ProcessView) -> bool {
    if exe(process).is_empty() {
        return process.argv.first().is_some_and(|first| RUNTIMES.contains(&base(first)));
    }
    RUNTIMES.contains(&base(exe(process)))
}

fn is_script(path: &str) -> bool {
    base(path) == PROGRAM
        || path.ends_with("claude-code/cli.js")
        || path.ends_with("claude-code/bin/claude.exe")
}

/// `2.1.34`: what the kernel shows of a program installed under its version.
fn is_version(text: &str) -> bool {
    text.split('.').count() == 3
        && text.split('.').all(|part| part.starts_with(|char: char| char.is_ascii_digit()))
}

/// The version in the executable's path, where it is installed under one.
fn version(process: &ProcessView) -> Option<String> {
    let name = base(exe(process));
    (exe(process).contains("/claude/versions/") && is_version(name)).then(|| name.to_owned())
}

/// Whether a process is Claude at all, by names only.
fn is_claude(process: &ProcessView) -> bool {
    let first = process.argv.first().map_or("", |first| base(first));
    if is_runtime(process) {
        return process.comm == PROGRAM || started(process).is_some();
    }
    if ["rg", "ugrep", "bfs"].contains(&first) {
        // The binary is also the search tools it carries, told apart by the name it is called by.
        return false;
    }
    matches!(process.comm.as_str(), "claude" | "claude.exe" | "claude-code")
        || matches!(base(exe(process)), "claude" | "claude.exe")
        || (is_version(&process.comm) && (is_native(process) || first == PROGRAM))
}

/// Whether a process is a conversation a person or a program has with Claude, not one of its other commands.
pub(super) fn is_front_end(process: &ProcessView) -> bool {
    is_claude(process)
        && started(process).is_none_or(|started| {
            let args = flags::parse(&started.args);
            let other = args
                .iter()
                .any(|arg| matches!(arg, Arg::Flag(flag) if flag.is(&["-v", "--version", "-h", "--help"])));
            let first =
                args.iter().find_map(|arg| if let Arg::Word(word) = arg { Some(*word) } else { None });
            !other && !first.is_some_and(|word| SUBCOMMANDS.contains(&word))
        })
}

/// Whether it runs without a person.
pub(super) fn is_headless(process: &ProcessView) -> bool {
    started(process).is_some_and(|started| {
        flags_of(&started.args).iter().any(|flag| {
            flag.is(&["-p", "--print"])
                || (flag.is(&["--output-format", "--input-format"]) && flag.value() == Some("stream-json"))
        })
    })
}

/// The id the arguments name: of the conversation resumed, or made. A fork's is not that of its origin.
pub(super) fn argv_session(process: &ProcessView) -> Option<SessionId> {
    let started = started(process)?;
    let flags = flags_of(&started.args);
    let id = |names: &[&str]| {
        flags.iter().rev().find(|flag| flag.is(names)).and_then(|flag| SessionId::parse(flag.value()?).ok())
    };
    let made = id(&["--session-id"]);
    if flags.iter().any(|flag| flag.is(&["--fork-session"])) {
        made
    } else {
        made.or_else(|| id(&["-r", "--resume"]))
    }
}

fn flags_of<'a>(args: &[&'a str]) -> Vec<Flag<'a>> {
    flags::parse(args)
        .into_iter()
        .filter_map(|arg| if let Arg::Flag(flag) = arg { Some(flag) } else { None })
        .collect()
}

/// What may be carried over from a start.
pub(super) fn launch(process: &ProcessView, env: &BTreeMap<String, String>) -> Launch {
    let mut launch = Launch { version: version(process), ..Launch::default() };
    match started(process) {
        None => launch.flags_unknown = true,
        Some(started) => {
            launch.argv.push(started.program.to_owned());
            for flag in flags_of(&started.args) {
                flag.carry_into(&mut launch.argv);
            }
        }
    }
    for (name, value) in env {
        if may_keep(name, value) {
            launch.env.insert(name.clone(), value.clone());
        } else if NOTED.contains(&name.as_str()) || name == BASE_URL {
            launch.env_names.push(name.clone());
        }
    }
    launch
}

/// Whether a variable may be kept with its value. A URL may hold a password or a token.
fn may_keep(name: &str, value: &str) -> bool {
    KEPT.contains(&name) && (name != BASE_URL || !value.contains(['@', '?', '#']))
}

/// The exact command that continues a conversation.
pub(super) fn resume(request: &ResumeRequest<'_>) -> ResumeCommand {
    let mut out = ResumeCommand {
        argv: vec![program(request.launch)],
        env: request
            .launch
            .env
            .iter()
            .filter(|(name, value)| may_keep(name, value) && *name != "CLAUDE_CONFIG_DIR")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        dangerous: false,
        notes: Vec::new(),
    };
    if request.key.home != request.default_home {
        out.env.insert("CLAUDE_CONFIG_DIR".into(), request.key.home.clone());
    }
    // Read again rather than trusted: what was stored may have been edited.
    let given: Vec<&str> = request.launch.argv.iter().skip(1).map(String::as_str).collect();
    let flags = flags_of(&given);
    for flag in &flags {
        if flag.is(&[ALLOW_SKIP]) {
            if request.carry_dangerous {
                out.dangerous = true;
                flag.carry_into(&mut out.argv);
            } else {
                out.notes.push(format!("{ALLOW_SKIP} not carried"));
            }
        } else if !flag.is(&[SKIP, "--permission-mode"]) && !flag.holds(&[SKIP, ALLOW_SKIP]) {
            // Another version may read a flag's value as a flag: these words are never carried as values.
            flag.carry_into(&mut out.argv);
        }
    }
    permission_mode(request, &flags, &mut out);
    out.argv.extend(["--resume".to_owned(), request.key.id.to_string()]);
    out
}

/// The mode last observed wins over what was asked for at the start; nothing ever adds power to it.
fn permission_mode(request: &ResumeRequest<'_>, flags: &[Flag<'_>], out: &mut ResumeCommand) {
    let asked = if flags.iter().any(|flag| flag.is(&[SKIP])) {
        Some(BYPASS)
    } else {
        flags.iter().rev().find(|flag| flag.is(&["--permission-mode"])).and_then(Flag::value)
    };
    match request.mode.or(asked) {
        None => {}
        Some(BYPASS) if request.carry_dangerous => {
            out.argv.push(SKIP.to_owned());
            out.dangerous = true;
        }
        Some(BYPASS) => {
            out.notes.push(format!("{SKIP} not carried: it was in bypass mode, turn that on by hand"));
        }
        // Newer versions call it `manual`; all know `default`.
        Some("manual") => out.argv.extend(["--permission-mode".into(), "default".into()]),
        Some(mode) if MODES.contains(&mode) => out.argv.extend(["--permission-mode".into(), mode.into()]),
        Some(other) => {
            out.argv.extend(["--permission-mode".into(), "default".into()]);
            out.notes
                .push(format!("permission mode {} is not known here, starts in default", short(other, 40)));
        }
    }
}

/// The name it was started with. A path is kept only when it still means the same from anywhere and after updates.
fn program(launch: &Launch) -> String {
    match launch.argv.first() {
        Some(first) if first.starts_with('/') && !first.contains("/claude/versions/") => first.clone(),
        _ => PROGRAM.to_owned(),
    }
}

#[cfg(test)]
mod tests;
