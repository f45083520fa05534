//! A private home, a private tmux server, stand-in agents and the real binary. Nothing of the user's is touched.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "shared by several test programs; a test that cannot go on fails"
)]

use reseat_core::process::ProcessKey;
use reseat_core::tree::{Row, Tree};
use reseat_os::proc::Proc;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CLAUDE: &str = include_str!("../../src/commands/demo/claude.sh");
const CODEX: &str = include_str!("../../src/commands/demo/codex.sh");
/// Long enough for a machine with other things to do.
pub(crate) const DEADLINE: Duration = Duration::from_secs(40);

pub(crate) struct World {
    root: PathBuf,
    /// Removed with this; none for a world that another process made.
    owned: Option<tempfile::TempDir>,
    pub env: BTreeMap<String, String>,
    proc: Proc,
}

/// What a call of the binary gave.
#[derive(Debug)]
pub(crate) struct Out {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Out {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("rs-").tempdir_in("/tmp").unwrap();
        let mut world = Self::again(dir.path().to_path_buf());
        let root = dir.path();
        let mut private = std::fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        for name in ["home/.local/bin", "home/shop", "home/notes", "t", "state"] {
            private.create(root.join(name)).unwrap();
        }
        let path = "PATH=\"$HOME/.local/bin:/usr/local/bin:/usr/bin:/bin\"\nPS1='$ '\n";
        std::fs::write(root.join("home/.profile"), path).unwrap();
        world.script("claude", CLAUDE);
        world.script("codex", CODEX);
        world.owned = Some(dir);
        world
    }

    /// A world that is there already.
    pub(crate) fn again(root: PathBuf) -> Self {
        let text = |path: PathBuf| path.display().to_string();
        let env = BTreeMap::from([
            ("HOME".to_owned(), text(root.join("home"))),
            (
                "PATH".to_owned(),
                format!("{}:/usr/local/bin:/usr/bin:/bin", text(root.join("home/.local/bin"))),
            ),
            ("TMUX_TMPDIR".to_owned(), text(root.join("t"))),
            ("RESEAT_STATE_DIR".to_owned(), text(root.join("state"))),
            ("RESEAT".to_owned(), env!("CARGO_BIN_EXE_reseat").to_owned()),
            ("SHELL".to_owned(), "/bin/sh".to_owned()),
            ("TERM".to_owned(), "screen".to_owned()),
            ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
        ]);
        Self { root, owned: None, env, proc: Proc::real() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.root().join("state")
    }

    /// Puts a program where people's agents lie.
    pub(crate) fn script(&self, name: &str, text: &str) {
        let path = self.home().join(".local/bin").join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Changes the Claude stand-in: `add` runs before its first line of work.
    pub(crate) fn claude_with(&self, add: &str) {
        self.script("claude", &CLAUDE.replace("cwd=$(pwd -P)", &format!("cwd=$(pwd -P)\n{add}")));
    }

    pub(crate) fn socket(&self) -> PathBuf {
        let uid = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
        self.root().join(format!("t/tmux-{uid}/default"))
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.env).current_dir(self.root()).stdin(Stdio::null());
        command
    }

    pub(crate) fn reseat(&self, args: &[&str]) -> Out {
        let output = self.command(env!("CARGO_BIN_EXE_reseat")).args(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Out {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        self.reseat(&all).json()
    }

    pub(crate) fn tmux(&self, args: &[&str]) -> String {
        let output = self.command("tmux").args(["-u", "-f", "/dev/null"]).args(args).output().unwrap();
        assert!(output.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A session with one window in a directory below the home.
    pub(crate) fn session(&self, name: &str, dir: &str) {
        let cwd = self.home().join(dir).display().to_string();
        self.tmux(&["new-session", "-d", "-s", name, "-x", "120", "-y", "40", "-c", &cwd]);
    }

    pub(crate) fn split(&self, target: &str, dir: &str) {
        let cwd = self.home().join(dir).display().to_string();
        self.tmux(&["split-window", "-d", "-t", target, "-c", &cwd]);
    }

    pub(crate) fn screen(&self, pane: &str) -> String {
        self.tmux(&["capture-pane", "-p", "-t", pane])
    }

    /// What the person in the test types.
    pub(crate) fn types(&self, pane: &str, text: &str) {
        self.tmux(&["send-keys", "-t", pane, "-l", text]);
        self.tmux(&["send-keys", "-t", pane, "Enter"]);
    }

    /// Starts an agent and waits until it is ready; returns its session's id.
    pub(crate) fn start(&self, pane: &str, agent: &str, told: &str) -> String {
        self.types(pane, &format!("{agent} '{told}'"));
        wait_for(&format!("{agent} in {pane}"), || self.screen(pane).contains("stand-in ready"));
        self.id_of(told)
    }

    /// The session in whose transcript something was said.
    pub(crate) fn id_of(&self, told: &str) -> String {
        let mut files = Vec::new();
        walk(&self.home(), &mut files);
        let found: Vec<String> = files
            .into_iter()
            .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
            .filter(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains(told)))
            .map(|path| {
                let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
                stem[stem.len() - 36..].to_owned()
            })
            .collect();
        assert_eq!(found.len(), 1, "{told:?} is in {found:?}");
        found[0].clone()
    }

    /// Asks the agent in a pane what it was told first.
    pub(crate) fn asks(&self, pane: &str, want: &str) {
        self.types(pane, "who");
        let want = format!("I AM {want}");
        wait_for(&format!("{want:?} in {pane}"), || self.screen(pane).contains(&want));
    }

    /// One look, kept.
    pub(crate) fn look(&self) {
        let out = self.reseat(&["snapshot", "take"]);
        assert_eq!(out.code, 0, "{out:?}");
    }

    pub(crate) fn server(&self) -> u32 {
        self.tmux(&["display-message", "-p", "#{pid}"]).trim().parse().unwrap()
    }

    pub(crate) fn pane_pid(&self, pane: &str) -> u32 {
        self.tmux(&["display-message", "-p", "-t", pane, "#{pane_pid}"]).trim().parse().unwrap()
    }

    /// The processes below one, itself first.
    pub(crate) fn below(&self, pid: u32) -> Vec<ProcessKey> {
        let boot = reseat_os::boot::current_boot(&self.proc).unwrap();
        let table = self.proc.table().unwrap();
        let tree = Tree::new(table.iter().map(|stat| Row {
            pid: stat.pid,
            ppid: stat.ppid,
            pgrp: stat.pgrp,
            tty: stat.tty,
            foreground: stat.foreground,
        }));
        tree.below(pid).into_iter().filter_map(|pid| self.proc.key(&boot, pid)).collect()
    }

    /// The agent below a pane.
    pub(crate) fn agent_pid(&self, pane: &str) -> u32 {
        let agents = self.below(self.pane_pid(pane));
        let found = agents.iter().find(|key| {
            self.proc.stat(key.pid).is_some_and(|stat| stat.comm == "claude" || stat.comm == "codex")
        });
        found.expect("an agent").pid
    }

    /// Ends processes at once and waits until they are gone.
    pub(crate) fn kill(&self, doomed: &[ProcessKey]) {
        for key in doomed {
            reseat_os::spawn::end_process(key.pid);
        }
        for key in doomed {
            assert!(reseat_os::pidfd::wait_gone(&self.proc, key.pid, key.start, DEADLINE).unwrap());
        }
    }

    /// The server and all below it, at once.
    pub(crate) fn crash(&self) {
        self.kill(&self.below(self.server()));
    }

    /// Live agents of the home by session, counted.
    pub(crate) fn running(&self) -> BTreeMap<String, usize> {
        let mut out = BTreeMap::new();
        let status = self.json(&["status"]);
        for item in status["live"].as_array().unwrap() {
            *out.entry(item["session"].as_str().unwrap_or("?").to_owned()).or_default() += 1;
        }
        out
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let alive = self.command("tmux").args(["display-message", "-p", "#{pid}"]).output();
        if let Ok(output) = alive
            && let Ok(pid) = String::from_utf8_lossy(&output.stdout).trim().parse::<u32>()
        {
            for key in self.below(pid) {
                reseat_os::spawn::end_process(key.pid);
            }
        }
    }
}

pub(crate) fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&entry.path(), out);
        } else {
            out.push(entry.path());
        }
    }
}

pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// The verdict and session of each entry with an agent, by place.
pub(crate) fn verdicts(plan: &Value) -> BTreeMap<String, (String, String)> {
    plan["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| !entry["agent"].is_null())
        .map(|entry| {
            let surface = &entry["surface"];
            let place = format!(
                "{}:{}.{}",
                surface["session"].as_str().unwrap_or("?"),
                surface["window"],
                surface["pane"]
            );
            let session = entry["session"].as_str().unwrap_or("").to_owned();
            (place, (entry["verdict"].as_str().unwrap().to_owned(), session))
        })
        .collect()
}

pub(crate) fn pairs(rows: &[(&str, &str, &str)]) -> BTreeMap<String, (String, String)> {
    rows.iter()
        .map(|(place, verdict, session)| {
            ((*place).to_owned(), ((*verdict).to_owned(), (*session).to_owned()))
        })
        .collect()
}
