//! The one way to run tmux.

use super::error::MuxError;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a call may take unless said otherwise.
const DEADLINE: Duration = Duration::from_secs(5);

/// tmux on one socket.
#[derive(Debug, Clone)]
pub struct Tmux {
    pub(super) program: PathBuf,
    pub(super) socket: PathBuf,
    env: BTreeMap<String, String>,
    deadline: Duration,
}

impl Tmux {
    /// Returns a way to run `program` on `socket` with that environment. `TMUX` and `TMUX_PANE` are left out of it:
    /// they say where we run, never whom we ask.
    pub fn new(program: PathBuf, socket: PathBuf, mut env: BTreeMap<String, String>) -> Self {
        env.remove("TMUX");
        env.remove("TMUX_PANE");
        Self { program, socket, env, deadline: DEADLINE }
    }

    /// Returns the same with another deadline per call.
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        Self { deadline, ..self.clone() }
    }

    /// The socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The environment calls are made with.
    pub(super) fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// Runs one or more tmux commands, given as argument lists, in one call and returns what they printed.
    /// Arguments are taken as they are: one that ends in `;` does not end a command.
    pub(super) fn call(&self, commands: &[&[&str]]) -> Result<Vec<u8>, MuxError> {
        let mut command = Command::new(&self.program);
        command.arg("-u").arg("-S").arg(&self.socket).args(arguments(commands));
        self.finish(command, commands.first().and_then(|words| words.first()).copied().unwrap_or_default())
    }

    /// Runs a prepared command with our environment and deadline.
    pub(super) fn finish(&self, mut command: Command, name: &str) -> Result<Vec<u8>, MuxError> {
        command.env_clear().envs(&self.env);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begun = Instant::now();
        let mut child = command.spawn().map_err(|error| MuxError::NotInstalled {
            program: self.program.clone(),
            why: error.to_string(),
        })?;
        // Both are read to their ends in threads of their own: a client whose pipe is full never ends.
        let out = drain(child.stdout.take());
        let err = drain(child.stderr.take());
        let left = || self.deadline.saturating_sub(begun.elapsed());
        let printed = out.recv_timeout(left()).ok().zip(err.recv_timeout(left()).ok());
        let Some((stdout, stderr)) = printed else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(MuxError::Timeout { socket: self.socket.clone(), after: self.deadline });
        };
        let status = child
            .wait()
            .map_err(|error| MuxError::Garbled { socket: self.socket.clone(), why: error.to_string() })?;
        if status.success() {
            return Ok(stdout);
        }
        Err(MuxError::of_stderr(&self.socket, name, &String::from_utf8_lossy(&stderr)))
    }

    /// Runs commands that print nothing of interest.
    pub(super) fn quiet(&self, commands: &[&[&str]]) -> Result<(), MuxError> {
        self.call(commands).map(drop)
    }
}

/// Joins commands with the separator that tmux takes as one, and keeps arguments from being taken for it.
pub(super) fn arguments(commands: &[&[&str]]) -> Vec<String> {
    let mut out = Vec::new();
    for (at, words) in commands.iter().enumerate() {
        if at > 0 {
            out.push(";".to_owned());
        }
        out.extend(words.iter().map(|word| match word.strip_suffix(';') {
            Some(rest) => format!("{rest}\\;"),
            None => (*word).to_owned(),
        }));
    }
    out
}

/// Escapes text where tmux expands formats, so that it stands for itself. Two `#` give one, but for those before a
/// bracket: they begin a style and are left as they are.
pub(super) fn literal(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('#') {
        let (before, from) = rest.split_at(at);
        let after = from.trim_start_matches('#');
        let marks = &from[..from.len() - after.len()];
        out.push_str(before);
        out.push_str(marks);
        if !after.starts_with('[') {
            out.push_str(marks);
        }
        rest = after;
    }
    out + rest
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = done.send(bytes);
    });
    wait
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c35_formats_are_escaped() {
        for (text, want) in [
            ("a", "a"),
            ("#{x}", "##{x}"),
            ("#(x)#", "##(x)##"),
            ("a##b", "a####b"),
            ("#[x##[", "#[x##["),
            ("#[#", "#[##"),
        ] {
            assert_eq!(literal(text), want, "{text}");
        }
    }

    /// C35: an argument that ends in the separator does not end the command.
    #[test]
    fn c35_separators_in_arguments_are_kept() {
        assert_eq!(
            arguments(&[&["rename-window", ";kill-server;"], &["list-panes"]]),
            ["rename-window", ";kill-server\\;", ";", "list-panes"]
        );
    }

    #[test]
    fn a_program_that_is_not_there_is_told_apart_from_one_that_hangs() {
        let none = Tmux::new("/nonexistent/tmux".into(), "/nonexistent/s".into(), BTreeMap::new());
        assert!(matches!(none.call(&[&["list-sessions"]]), Err(MuxError::NotInstalled { .. })));
        let dir = tempfile::tempdir().unwrap();
        let hang = dir.path().join("tmux");
        std::fs::write(&hang, "#!/bin/sh\nexec sleep 60\n").unwrap();
        std::fs::set_permissions(&hang, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        let tmux = Tmux::new(hang, "/nonexistent/s".into(), env).with_deadline(Duration::from_millis(100));
        assert!(matches!(tmux.call(&[&["list-sessions"]]), Err(MuxError::Timeout { .. })));
    }
}
