//! How a front end was started, and how its thread is continued.

use crate::{ProcessView, ResumeCommand, ResumeRequest};
use reseat_core::fact::Launch;
use reseat_core::ids::SessionId;
use reseat_core::text::short;
use std::collections::BTreeMap;

const PROGRAM: &str = "codex";
const FULL_ACCESS: &str = "danger-full-access";
/// Lets a model answer what a person would be asked.
const ASK_NOBODY: &str = "--approve-for-me";
/// Both mean full access without questions.
const YOLO: [&str; 2] = ["--yolo", "--dangerously-bypass-approvals-and-sandbox"];

/// Variables whose values are kept.
pub(super) const KEPT: &[&str] = &["CODEX_HOME", BASE_URL];
const BASE_URL: &str = "OPENAI_BASE_URL";

/// Variables whose presence is noted by name only.
pub(super) const NOTED: &[&str] = &[
    "OPENAI_API_KEY",
    "CODEX_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "OPENAI_ORGANIZATION",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
];

/// Variables that Codex sets for its children, and its npm wrapper for it.
pub(super) const MARKERS: &[&str] = &[
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_CI",
    "CODEX_PERMISSION_PROFILE",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_VERSION",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_MANAGED_BY_BUN",
];

/// First words that make Codex something other than a conversation.
const SUBCOMMANDS: [&str; 18] = [
    "app",
    "app-server",
    "apply",
    "cloud",
    "completion",
    "debug",
    "doctor",
    "exec-server",
    "execpolicy",
    "features",
    "login",
    "logout",
    "mcp",
    "mcp-server",
    "plugin",
    "responses-api-proxy",
    "sandbox",
    "update",
];
const HEADLESS: [&str; 3] = ["exec", "e", "review"];

/// Flags with a value that are carried over.
const VALUES: [&str; 12] = [
    "-m",
    "--model",
    "-s",
    "--sandbox",
    "-a",
    "--ask-for-approval",
    "--add-dir",
    "-p",
    "--profile",
    "-c",
    "--config",
    "--enable",
];
/// Flags without a value that are carried over.
const SWITCHES: [&str; 8] = [
    "--yolo",
    "--dangerously-bypass-approvals-and-sandbox",
    "--full-auto",
    "--search",
    "--oss",
    "--no-alt-screen",
    "--no-daemon",
    "--approve-for-me",
];
/// Flags with a value that are dropped with it: prompts' companions, directories, other machines.
const DROPPED: [&str; 10] = [
    "-i",
    "--image",
    "-C",
    "--cd",
    "--remote",
    "--remote-auth-token-env",
    "--disable",
    "--local-provider",
    "--output-schema",
    "-o",
];
/// Flags that decide what an agent may do; the mode last observed takes their place.
const OF_MODE: [&str; 7] = [
    "-s",
    "--sandbox",
    "-a",
    "--ask-for-approval",
    "--full-auto",
    "--yolo",
    "--dangerously-bypass-approvals-and-sandbox",
];

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The arguments behind the program, whoever interprets it. Nothing when they cannot be read.
fn arguments(process: &ProcessView) -> Option<Vec<&str>> {
    let argv: Vec<&str> = process.argv.iter().map(String::as_str).collect();
    let first = *argv.first()?;
    if is_program(first) {
        return Some(argv[1..].to_vec());
    }
    // node, bun, sh: the script is the first word that is no option.
    let script = argv.iter().skip(1).position(|arg| !arg.starts_with('-'))? + 1;
    is_program(argv[script]).then(|| argv[script + 1..].to_vec())
}

fn is_program(word: &str) -> bool {
    matches!(base(word), "codex" | "codex.js")
}

/// The first word that is neither a flag nor a flag's value.
fn first_word<'a>(args: &[&'a str]) -> Option<(usize, &'a str)> {
    let mut at = 0;
    while at < args.len() {
        let arg = args[at];
        if arg == "--" {
            return None;
        }
        if !arg.starts_with('-') {
            return Some((at, arg));
        }
        at += if VALUES.contains(&arg) || DROPPED.contains(&arg) { 2 } else { 1 };
    }
    None
}

pub(super) fn is_front_end(process: &ProcessView) -> bool {
    let Some(args) = arguments(process) else {
        let exe = process.exe.as_deref().unwrap_or_default().trim_end_matches(" (deleted)");
        return base(exe) == PROGRAM && process.comm == PROGRAM && process.argv.is_empty();
    };
    !args.contains(&"--managed-daemon")
        && first_word(&args).is_none_or(|(_, word)| !SUBCOMMANDS.contains(&word))
        && !args.iter().any(|arg| matches!(*arg, "--version" | "-V" | "--help" | "-h"))
}

pub(super) fn is_headless(process: &ProcessView) -> bool {
    arguments(process).is_some_and(|args| first_word(&args).is_some_and(|(_, word)| HEADLESS.contains(&word)))
}

/// The thread that `resume` names.
pub(super) fn argv_session(process: &ProcessView) -> Option<SessionId> {
    let args = arguments(process)?;
    let (at, word) = first_word(&args)?;
    if word != "resume" {
        return None;
    }
    args[at + 1..].iter().find_map(|arg| SessionId::parse(arg).ok())
}

/// Whether a flag makes the front end hold its thread itself instead of leaving it to the shared server.
pub fn needs_own_process(argv: &[String]) -> bool {
    argv.iter().any(|arg| {
        let name = arg.split('=').next().unwrap_or_default();
        matches!(
            name,
            "--no-daemon"
                | "-c"
                | "--config"
                | "--search"
                | "--approve-for-me"
                | "--profile"
                | "-p"
                | "--oss"
                | "--enable"
        )
    })
}

pub(super) fn launch(process: &ProcessView, env: &BTreeMap<String, String>) -> Launch {
    let mut out = Launch::default();
    for name in KEPT {
        if let Some(value) = env.get(*name).filter(|value| !value.is_empty()) {
            let secret = *name == BASE_URL && (value.contains('@') || value.contains('?'));
            if !secret {
                out.env.insert((*name).to_owned(), value.clone());
            }
        }
    }
    out.env_names =
        NOTED.iter().filter(|name| env.contains_key(**name)).map(|name| (*name).to_owned()).collect();
    let Some(args) = arguments(process) else {
        out.flags_unknown = true;
        return out;
    };
    out.argv.push(program(process));
    out.argv.extend(carried(&args));
    out
}

/// The name it was started with. A path is kept only when it still means the same after an update.
fn program(process: &ProcessView) -> String {
    let first = process.argv.first().map_or("", String::as_str);
    let moving = ["node_modules", "/versions/", "/packages/", "/vendor/"];
    if first.starts_with('/') && is_program(first) && !moving.iter().any(|part| first.contains(part)) {
        return first.to_owned();
    }
    PROGRAM.to_owned()
}

/// Flags worth carrying over; prompts, ids and secrets are left out.
fn carried(args: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < args.len() {
        let arg = args[at];
        at += 1;
        if arg == "--" {
            break;
        }
        let (name, joined) = arg.split_once('=').map_or((arg, None), |(name, value)| (name, Some(value)));
        if VALUES.contains(&name) {
            let value = if let Some(value) = joined {
                Some(value)
            } else {
                at += 1;
                args.get(at - 1).copied()
            };
            if let Some(value) = value.filter(|value| !is_secret(name, value)) {
                out.extend([name.to_owned(), value.to_owned()]);
            }
        } else if SWITCHES.contains(&arg) {
            out.push(arg.to_owned());
        } else if DROPPED.contains(&name) && joined.is_none() {
            at += 1;
        }
    }
    out
}

/// Whether a configuration value decides what an agent may do, or another flag's value is such a flag.
fn is_power(name: &str, value: &str) -> bool {
    let key = value.split('=').next().unwrap_or_default();
    let of_power = |part: &str| {
        let part = part.trim_matches([' ', '"', '\'']);
        ["sandbox", "approval", "permission", "default_permission"].iter().any(|word| part.starts_with(word))
    };
    YOLO.contains(&value)
        || value == ASK_NOBODY
        || (matches!(name, "-c" | "--config")
            && (key.split('.').any(of_power) || value.contains(FULL_ACCESS)))
}

fn is_secret(name: &str, value: &str) -> bool {
    if !matches!(name, "-c" | "--config") {
        return false;
    }
    let lower = value.to_lowercase();
    ["key", "token", "secret", "password", "auth", "bearer", "header"].iter().any(|word| lower.contains(word))
        || value.contains("sk-")
}

pub(super) fn resume(request: &ResumeRequest<'_>) -> ResumeCommand {
    let mut out =
        ResumeCommand { argv: Vec::new(), env: BTreeMap::new(), dangerous: false, notes: Vec::new() };
    let launched = request.launch.argv.as_slice();
    out.argv.push(launched.first().cloned().unwrap_or_else(|| PROGRAM.to_owned()));
    out.argv.push("resume".into());
    let flags = launched.get(1..).unwrap_or_default();
    let mut at = 0;
    while at < flags.len() {
        let length = if VALUES.contains(&flags[at].as_str()) { 2 } else { 1 };
        let flag = &flags[at..(at + length).min(flags.len())];
        at += length;
        if let [name, value] = flag
            && is_power(name, value)
        {
            let key = value.split('=').next().unwrap_or_default();
            out.notes.push(format!(
                "{name} {} not carried: its sandbox and approvals come from the last turn",
                short(key, 60)
            ));
        } else if flag == [ASK_NOBODY] {
            if request.carry_dangerous {
                out.dangerous = true;
                out.argv.push(ASK_NOBODY.to_owned());
            } else {
                out.notes.push(format!("{ASK_NOBODY} not carried"));
            }
        } else if !OF_MODE.contains(&flag[0].as_str()) && flag.len() == length {
            out.argv.extend(flag.iter().cloned());
        }
    }
    power(request, flags, &mut out);
    out.argv.push(request.key.id.as_str().to_owned());
    out.env.extend(
        request
            .launch
            .env
            .iter()
            .filter(|(name, _)| *name != "CODEX_HOME")
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    if request.key.home != request.default_home {
        out.env.insert("CODEX_HOME".into(), request.key.home.clone());
    }
    out
}

/// What the agent may do: never more than it last could. A bare resume gives full access back by itself and takes
/// write access away by itself, so both are said.
fn power(request: &ResumeRequest<'_>, flags: &[String], out: &mut ResumeCommand) {
    let asked = |names: &[&str]| {
        flags.iter().position(|flag| names.contains(&flag.as_str())).and_then(|at| flags.get(at + 1)).cloned()
    };
    let yolo = flags.iter().any(|flag| YOLO.contains(&flag.as_str()));
    let (approval, sandbox) = match request.mode.and_then(|mode| mode.split_once('/')) {
        Some((approval, sandbox)) => (Some(approval.to_owned()), Some(sandbox.to_owned())),
        None if yolo => (Some("never".into()), Some(FULL_ACCESS.into())),
        None if flags.iter().any(|flag| flag == "--full-auto") => (None, Some("workspace-write".into())),
        None => (asked(&["-a", "--ask-for-approval"]), asked(&["-s", "--sandbox"])),
    };
    if sandbox.as_deref() == Some(FULL_ACCESS) {
        if request.carry_dangerous {
            out.dangerous = true;
            if yolo && approval.as_deref() == Some("never") {
                out.argv.push(YOLO[1].into());
                return;
            }
            out.argv.extend(["-s".into(), FULL_ACCESS.into()]);
        } else {
            out.argv.extend(["-s", "workspace-write", "-a", "on-request"].map(str::to_owned));
            out.notes.push("full access not carried: it was on, turn that on by hand".into());
            return;
        }
    } else if let Some(sandbox) =
        sandbox.filter(|word| matches!(word.as_str(), "read-only" | "workspace-write"))
    {
        out.argv.extend(["-s".to_owned(), sandbox]);
    }
    let known = ["untrusted", "on-failure", "on-request", "never"];
    if let Some(approval) = approval.filter(|word| known.contains(&word.as_str())) {
        out.argv.extend(["-a".to_owned(), approval]);
    }
}

#[cfg(test)]
mod tests;
