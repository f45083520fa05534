//! The demo's stage: a private home, a private tmux server, stand-in agents. Nothing of the user's is touched.

use crate::exit::{Failure, sentence};
use reseat_core::process::ProcessKey;
use reseat_os::proc::Proc;
use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const CLAUDE: &str = include_str!("claude.sh");
const CODEX: &str = include_str!("codex.sh");
const DEADLINE: Duration = Duration::from_secs(15);

/// A stage; taken down when dropped unless it is kept.
pub(super) struct Stage {
    root: PathBuf,
    env: BTreeMap<String, String>,
    proc: Proc,
    keep: bool,
}

impl Stage {
    pub(super) fn new(keep: bool) -> Result<Self, Failure> {
        let fail = |error: std::io::Error| {
            Failure::failed("no-stage", format!("cannot make the demo's files: {error}"), "is /tmp writable?")
        };
        let root = std::env::temp_dir().join(format!("reseat-demo-{}", std::process::id()));
        let mut private = std::fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        let bin = root.join("home/.local/bin");
        for dir in
            [bin.clone(), root.join("t"), root.join("state"), root.join("home/shop"), root.join("home/notes")]
        {
            private.create(dir).map_err(fail)?;
        }
        for (name, text) in [("claude", CLAUDE), ("codex", CODEX)] {
            let path = bin.join(name);
            std::fs::write(&path, text).map_err(fail)?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).map_err(fail)?;
        }
        // A login shell sets PATH anew; where people's agents lie is in their profile.
        std::fs::write(root.join("home/.profile"), "PATH=\"$HOME/.local/bin:$PATH\"\nPS1='$ '\n")
            .map_err(fail)?;
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into());
        let text = |path: &Path| path.display().to_string();
        let env = BTreeMap::from([
            ("HOME".to_owned(), text(&root.join("home"))),
            ("PATH".to_owned(), format!("{}:{path}", text(&bin))),
            ("TMUX_TMPDIR".to_owned(), text(&root.join("t"))),
            ("RESEAT_STATE_DIR".to_owned(), text(&root.join("state"))),
            ("RESEAT".to_owned(), text(&super::super::program())),
            ("SHELL".to_owned(), "/bin/sh".to_owned()),
            ("PS1".to_owned(), "$ ".to_owned()),
            ("TERM".to_owned(), "screen".to_owned()),
            ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
        ]);
        Ok(Self { root, env, proc: Proc::real(), keep })
    }

    pub(super) fn dir(&self, name: &str) -> String {
        self.root.join("home").join(name).display().to_string()
    }

    /// Runs tmux on the private socket.
    pub(super) fn tmux(&self, args: &[&str]) -> Result<String, Failure> {
        self.run(Command::new("tmux").arg("-u").arg("-f").arg("/dev/null").args(args))
            .and_then(|output| checked("tmux", &output))
    }

    /// Runs this very program on the stage and returns its exit code, standard output and standard error.
    pub(super) fn reseat(&self, args: &[&str]) -> Result<(i32, String, String), Failure> {
        let output = self.run(Command::new(super::super::program()).args(args))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr)))
    }

    fn run(&self, command: &mut Command) -> Result<Output, Failure> {
        command.env_clear().envs(&self.env).current_dir(&self.root);
        command.output().map_err(|error| {
            let program = command.get_program().to_string_lossy().into_owned();
            Failure::failed(
                "cannot-run",
                format!("cannot run {program}: {error}"),
                "install tmux 3.2 or later",
            )
        })
    }

    /// Waits until something holds.
    pub(super) fn wait(what: &str, mut holds: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
        let until = Instant::now() + DEADLINE;
        while !holds()? {
            if Instant::now() >= until {
                return Err(Failure::failed(
                    "demo-failed",
                    format!("waited in vain for {what}"),
                    "try --keep and look",
                ));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// What a pane shows.
    pub(super) fn screen(&self, pane: &str) -> Result<String, Failure> {
        self.tmux(&["capture-pane", "-p", "-t", pane])
    }

    /// What the person on the stage types.
    pub(super) fn types(&self, pane: &str, text: &str) -> Result<(), Failure> {
        self.tmux(&["send-keys", "-t", pane, "-l", text])?;
        self.tmux(&["send-keys", "-t", pane, "Enter"]).map(drop)
    }

    /// Ends the server and all below it at once, as a power cut would.
    pub(super) fn crash(&self) -> Result<(), Failure> {
        let doomed = self.all_processes();
        for key in &doomed {
            reseat_os::spawn::end_process(key.pid);
        }
        for key in &doomed {
            reseat_os::pidfd::wait_gone(&self.proc, key.pid, key.start, DEADLINE)
                .map_err(|error| Failure::failed("demo-failed", sentence(&error), ""))?;
        }
        Ok(())
    }

    /// The server and every process below it.
    fn all_processes(&self) -> Vec<ProcessKey> {
        let Ok(pid) = self.tmux(&["display-message", "-p", "#{pid}"]) else { return Vec::new() };
        let (Ok(server), Ok(boot)) = (pid.trim().parse::<u32>(), reseat_os::boot::current_boot(&self.proc))
        else {
            return Vec::new();
        };
        let table = self.proc.table().unwrap_or_default();
        let tree = reseat_core::tree::Tree::new(table.iter().map(|stat| reseat_core::tree::Row {
            pid: stat.pid,
            ppid: stat.ppid,
            pgrp: stat.pgrp,
            tty: stat.tty,
            foreground: stat.foreground,
        }));
        tree.below(server).into_iter().filter_map(|pid| self.proc.key(&boot, pid)).collect()
    }

    pub(super) fn keep(&self) -> bool {
        self.keep
    }

    /// How to look at what is left.
    pub(super) fn how_to_look(&self) -> String {
        ["HOME", "TMUX_TMPDIR", "RESEAT_STATE_DIR", "RESEAT", "PATH"]
            .iter()
            .filter_map(|name| Some(format!("export {name}='{}'", self.env.get(*name)?)))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        let _ = self.crash();
        // A look that an event asked for may still write.
        let until = Instant::now() + DEADLINE;
        while std::fs::remove_dir_all(&self.root).is_err() && self.root.exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn checked(program: &str, output: &Output) -> Result<String, Failure> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::failed("cannot-run", format!("{program}: {said}"), "install tmux 3.2 or later"))
}
