//! Install and uninstall: every file that would change, computed before anything is written.
//!
//! Only text of others is edited, by the modules that know its form; nothing here decides what it looks like. All
//! changes are computed first, so one file that cannot be parsed refuses the whole and every file stays as it was.

mod tmux_conf;

use crate::context::Context;
use crate::knowledge::homes;
use reseat_agents::claude::settings;
use reseat_agents::codex::config as codex_config;
use reseat_core::fold::Folded;
use reseat_core::ids::AgentKind;
use reseat_mux::tmux::{HookState, MuxError};
use std::path::{Path, PathBuf};

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Set up.
    In,
    /// Take out.
    Out,
}

/// One file that would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// Its text now; `None` when it is not there.
    pub before: Option<String>,
    /// Its text afterwards; `None` when it goes.
    pub after: Option<String>,
}

/// Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file is not of the form its program expects.
    #[error("cannot edit {}: {why}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// Where and what.
        why: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The program lies where the next build replaces it.
    #[error("{} lies in a build directory; hooks need a program that stays", program.display())]
    BuildDirectory {
        /// The program.
        program: PathBuf,
    },
}

/// The command that tmux runs; silent when the program is gone.
pub fn tmux_command(program: &Path) -> String {
    let quoted = format!("'{}'", program.display().to_string().replace('\'', "'\\''"));
    format!("[ -x {quoted} ] && {quoted} hook tmux >/dev/null 2>&1; true")
}

/// Refuses a program below a build directory.
pub fn check_program(program: &Path) -> Result<(), InstallError> {
    let built = program.components().zip(program.components().skip(1)).any(|(one, next)| {
        one.as_os_str() == "target" && (next.as_os_str() == "debug" || next.as_os_str() == "release")
    });
    if built { Err(InstallError::BuildDirectory { program: program.to_path_buf() }) } else { Ok(()) }
}

/// Computes what would change. Homes that are not there are left alone, but for those that were named.
pub fn changes(
    context: &Context,
    folded: &Folded,
    named: &[(AgentKind, PathBuf)],
    direction: Direction,
) -> Result<Vec<Change>, InstallError> {
    let mut all = homes(&context.config, &context.home, &folded.bindings);
    all.extend(named.iter().cloned());
    let mut out = Vec::new();
    for (kind, home) in all {
        let wanted = named.iter().any(|(other, path)| *other == kind && *path == home);
        if !home.is_dir() && !wanted {
            continue;
        }
        let path = match kind {
            AgentKind::Claude => home.join("settings.json"),
            AgentKind::Codex => home.join("config.toml"),
        };
        out.push(change(path, |text| edit(kind, context, text, direction))?);
    }
    let path = tmux_conf::path(&context.env, &context.home);
    let lines = reseat_mux::tmux::config_lines(&tmux_command(&context.program));
    out.push(change(path, |text| {
        Ok(match direction {
            Direction::In => Some(tmux_conf::install(text, &lines)),
            Direction::Out => text.and_then(tmux_conf::uninstall),
        })
    })?);
    out.retain(|change| change.before != change.after);
    Ok(out)
}

fn edit(
    kind: AgentKind,
    context: &Context,
    text: Option<&str>,
    direction: Direction,
) -> Result<Option<String>, String> {
    let program = context.program.display().to_string();
    match (kind, direction, text) {
        (AgentKind::Claude, Direction::In, text) => {
            settings::install(text, &program).map(Some).map_err(|error| error.to_string())
        }
        (AgentKind::Claude, Direction::Out, Some(text)) => {
            settings::uninstall(text).map_err(|error| error.to_string())
        }
        (AgentKind::Codex, Direction::In, text) => {
            codex_config::install(text).map(Some).map_err(|error| error.to_string())
        }
        (AgentKind::Codex, Direction::Out, Some(text)) => {
            codex_config::uninstall(text).map_err(|error| error.to_string())
        }
        (_, Direction::Out, None) => Ok(None),
    }
}

fn change(
    path: PathBuf,
    edit: impl FnOnce(Option<&str>) -> Result<Option<String>, String>,
) -> Result<Change, InstallError> {
    let before = match std::fs::read(&path) {
        Ok(bytes) => Some(
            String::from_utf8(bytes)
                .map_err(|_| InstallError::Form { path: path.clone(), why: "it is no UTF-8 text".into() })?,
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(source) => return Err(InstallError::Read { path, source }),
    };
    let after = edit(before.as_deref()).map_err(|why| InstallError::Form { path: path.clone(), why })?;
    Ok(Change { path, before, after })
}

/// Writes the changes, each atomically and through symbolic links, modes kept.
pub fn apply(changes: &[Change]) -> Result<(), InstallError> {
    for change in changes {
        let write = |source| InstallError::Write { path: change.path.clone(), source };
        match &change.after {
            Some(text) => {
                if let Some(dir) = change.path.parent() {
                    std::fs::create_dir_all(dir).map_err(write)?;
                }
                reseat_os::atomic::write_through(&change.path, text.as_bytes(), 0o600)
                    .map_err(|error| write(error.source))?;
            }
            None => std::fs::remove_file(&change.path).map_err(write)?,
        }
    }
    Ok(())
}

/// How the running servers of the user were treated.
pub fn servers(context: &Context, direction: Direction) -> Vec<(PathBuf, Result<(), MuxError>)> {
    let command = tmux_command(&context.program);
    reseat_mux::tmux::sockets(&context.env, &context.proc, &[])
        .into_iter()
        .filter_map(|socket| {
            let tmux = context.tmux_at(&socket).with_deadline(crate::observe::TMUX_DEADLINE);
            let done = match direction {
                Direction::In => tmux.set_hooks(&command),
                Direction::Out => tmux.unset_hooks(),
            };
            match done {
                Err(error) if error.is_no_server() => None,
                done => Some((socket, done)),
            }
        })
        .collect()
}

/// Where the hooks stand and where they are missing, in sentences; empty when all is well.
pub fn missing(context: &Context, folded: &Folded) -> Vec<String> {
    let mut out = Vec::new();
    for (kind, home) in homes(&context.config, &context.home, &folded.bindings) {
        if !home.is_dir() {
            continue;
        }
        let read = |name: &str| std::fs::read_to_string(home.join(name)).unwrap_or_default();
        match kind {
            AgentKind::Claude => match settings::installed(&read("settings.json")) {
                settings::Installed::None => {
                    out.push(format!("no hooks in the Claude Code home {}", home.display()));
                }
                settings::Installed::Disabled => {
                    out.push(format!("hooks are disabled in the Claude Code home {}", home.display()));
                }
                settings::Installed::Ours(program) if program != context.program.display().to_string() => {
                    out.push(format!("the hooks in {} call another program: {program}", home.display()));
                }
                settings::Installed::Ours(_) => {}
            },
            AgentKind::Codex => {
                if !codex_config::installed(&read("config.toml")) {
                    out.push(format!("no thread id in the titles of the Codex home {}", home.display()));
                }
            }
        }
    }
    for socket in reseat_mux::tmux::sockets(&context.env, &context.proc, &[]) {
        let tmux = context.tmux_at(&socket).with_deadline(crate::observe::TMUX_DEADLINE);
        if matches!(tmux.hook_state(), Ok(HookState::Missing)) {
            out.push(format!("no hooks in the running tmux server at {}", socket.display()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_a_build_directory_is_refused() {
        assert!(check_program(Path::new("/w/target/debug/reseat")).is_err());
        assert!(check_program(Path::new("/w/target/release/reseat")).is_err());
        assert!(check_program(Path::new("/usr/local/bin/reseat")).is_ok());
        assert!(check_program(Path::new("/home/target/bin/reseat")).is_ok());
    }

    #[test]
    fn the_tmux_command_is_silent_without_its_program() {
        assert_eq!(
            tmux_command(Path::new("/a'b/reseat")),
            r"[ -x '/a'\''b/reseat' ] && '/a'\''b/reseat' hook tmux >/dev/null 2>&1; true"
        );
    }
}
