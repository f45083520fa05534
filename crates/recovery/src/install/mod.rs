//! Install and uninstall: every file that would change, computed before anything is written.
//!
//! Only text of others is edited, by the modules that know its form; nothing here decides what it looks like. All
//! changes are computed first, so one file that cannot be parsed refuses the whole and every file stays as it was.

mod files;
mod missing;
mod tmux_conf;

pub use files::{Change, apply};
pub use missing::missing;

use crate::context::Context;
use crate::knowledge::homes;
use reseat_agents::claude::settings;
use reseat_agents::codex::config as codex_config;
use reseat_core::fold::Folded;
use reseat_core::ids::AgentKind;
use reseat_mux::tmux::MuxError;
use std::path::{Path, PathBuf};

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Set up.
    In,
    /// Take out.
    Out,
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
    /// A file was changed by somebody else since it was read.
    #[error("{} was changed meanwhile", path.display())]
    Meanwhile {
        /// The file.
        path: PathBuf,
    },
    /// Commands are text, and this path is none.
    #[error("{} is no UTF-8 path; hooks cannot name it", program.display())]
    NotText {
        /// The program.
        program: PathBuf,
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

/// Refuses a program that hooks cannot call: one below a build directory, or one whose path is no text.
pub fn check_program(program: &Path) -> Result<(), InstallError> {
    if program.to_str().is_none() {
        return Err(InstallError::NotText { program: program.to_path_buf() });
    }
    let names: Vec<_> = program.components().map(std::path::Component::as_os_str).collect();
    let profile =
        |name: Option<&&std::ffi::OsStr>| name.is_some_and(|name| *name == "debug" || *name == "release");
    // `target/release`, and `target/TRIPLE/release`.
    let below_target = names
        .iter()
        .enumerate()
        .any(|(at, name)| *name == "target" && (profile(names.get(at + 1)) || profile(names.get(at + 2))));
    // Wherever else a build directory may be, cargo locks it by this file.
    let locked = program.parent().is_some_and(|dir| dir.join(".cargo-lock").exists());
    if below_target || locked {
        return Err(InstallError::BuildDirectory { program: program.to_path_buf() });
    }
    Ok(())
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
        out.push(files::change(path, |text| edit(kind, context, text, direction))?);
    }
    let path = tmux_conf::path(&context.env, &context.home);
    let lines = reseat_mux::tmux::config_lines(&tmux_command(&context.program));
    out.push(files::change(path, |text| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_a_build_directory_is_refused() {
        for built in
            ["/w/target/debug/reseat", "/w/target/release/reseat", "/w/target/x-linux-gnu/release/reseat"]
        {
            assert!(check_program(Path::new(built)).is_err(), "{built}");
        }
        for kept in ["/usr/local/bin/reseat", "/home/target/bin/reseat", "/opt/release/reseat"] {
            assert!(check_program(Path::new(kept)).is_ok(), "{kept}");
        }
        let dir = tempfile::tempdir().unwrap();
        assert!(check_program(&dir.path().join("reseat")).is_ok());
        std::fs::write(dir.path().join(".cargo-lock"), "").unwrap();
        assert!(check_program(&dir.path().join("reseat")).is_err());
        let bytes = std::os::unix::ffi::OsStrExt::from_bytes(b"/opt/\xff/reseat");
        assert!(matches!(
            check_program(Path::new::<std::ffi::OsStr>(bytes)),
            Err(InstallError::NotText { .. })
        ));
    }

    #[test]
    fn the_tmux_command_is_silent_without_its_program() {
        assert_eq!(
            tmux_command(Path::new("/a'b/reseat")),
            r"[ -x '/a'\''b/reseat' ] && '/a'\''b/reseat' hook tmux >/dev/null 2>&1; true"
        );
    }
}
