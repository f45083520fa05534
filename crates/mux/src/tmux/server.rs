//! Starts a server where there is none.

use super::build::{NewPane, Program, made, new_session_words};
use super::error::MuxError;
use super::run::{Tmux, arguments};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

/// What a server that must be started begins with.
#[derive(Debug, Clone, Copy)]
pub struct NewServer<'a> {
    /// Name of its first session.
    pub session: &'a str,
    /// Name of its first window.
    pub window: &'a str,
    /// Columns and lines; 0 leaves tmux's default.
    pub size: (u32, u32),
    /// What runs in its first pane.
    pub program: Program<'a>,
    /// Variables that must not reach the server: they would reach every pane of it.
    pub without: &'a [&'a str],
}

impl Tmux {
    /// Starts a server with a first session. Its socket directory is made private first; it runs in a scope of its
    /// own where systemd offers one, so that it does not end with whoever started it.
    pub fn start_server(&self, new: &NewServer<'_>) -> Result<NewPane, MuxError> {
        if let Some(directory) = self.socket().parent() {
            make_private(directory).map_err(|why| MuxError::Refused { command: "start".into(), why })?;
        }
        let words = new_session_words(new.session, new.window, new.size, &new.program);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words = arguments(&[&words]);
        let mut env = self.env().clone();
        // Where sockets lie is the user's setting; all else of that name says where we run.
        env.retain(|name, _| {
            let ours = name.starts_with("TMUX") && name != "TMUX_TMPDIR";
            !ours && !new.without.contains(&name.as_str())
        });
        let clean = Self::new(self.program.clone(), self.socket.clone(), env);
        if systemd_offers_scopes(self.env().get("XDG_RUNTIME_DIR").map(String::as_str)) {
            let mut scoped = Command::new("systemd-run");
            scoped.args(["--user", "--scope", "--quiet", "--collect", "--"]).arg(&self.program);
            scoped.arg("-u").arg("-S").arg(&self.socket).args(&words);
            if let Ok(bytes) = clean.finish(scoped, "new-session") {
                return made(&bytes).map_err(|why| self.garbled(why));
            }
        }
        let mut plain = Command::new(&self.program);
        plain.arg("-u").arg("-S").arg(&self.socket).args(&words);
        let bytes = clean.finish(plain, "new-session")?;
        made(&bytes).map_err(|why| self.garbled(why))
    }

    /// Variables of the server's global environment, by name.
    pub fn global_names(&self) -> Result<Vec<String>, MuxError> {
        let bytes = self.call(&[&["show-environment", "-g"]])?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.to_owned()).collect())
    }

    /// Removes variables from the server's global environment.
    pub fn unset_global(&self, names: &[&str]) -> Result<(), MuxError> {
        for name in names {
            self.quiet(&[&["set-environment", "-g", "-u", name]])?;
        }
        Ok(())
    }
}

fn systemd_offers_scopes(runtime: Option<&str>) -> bool {
    runtime.is_some_and(|runtime| Path::new(runtime).join("systemd/private").exists())
}

/// tmux refuses a socket directory that others can write to, and makes none but its usual one.
fn make_private(directory: &Path) -> Result<(), String> {
    let say =
        |error: std::io::Error| format!("cannot use the socket directory {}: {error}", directory.display());
    match std::fs::metadata(directory) {
        Ok(meta) => {
            let own = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == meta.uid());
            if own && meta.permissions().mode() & 0o077 != 0 && is_socket_directory(directory) {
                std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700)).map_err(say)?;
            }
            Ok(())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(say)
        }
        Err(error) => Err(say(error)),
    }
}

/// Only the directory that is tmux's own by its name is changed; any other is its owner's business.
fn is_socket_directory(directory: &Path) -> bool {
    directory.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("tmux-"))
}
