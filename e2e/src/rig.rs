//! A private home, a private tmux and the real agents in it.

use crate::api::{Api, reply_to};
use crate::install::Installed;
use crate::processes::{self, Process};
use crate::{Doing, Error, Result, wait_for, wait_until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Name of the tmux socket (`tmux -L`) within the rig's own TMUX_TMPDIR: the usual one, which whoever watched nothing
/// before the crash has to go by.
pub const SOCKET: &str = "default";

const KEY: &str = "sk-ant-fake-000000000000000000000000-fakefakefake";
/// Starting an agent on a busy machine with two cores.
const START: Duration = Duration::from_mins(1);
const TURN: Duration = Duration::from_secs(45);
const SHORT: Duration = Duration::from_secs(10);

/// Which agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

impl Kind {
    /// The program's name.
    pub fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }
}

/// A pane by its tmux id (`%3`). Means nothing after the server's end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pane(pub String);

/// An agent that is ready in a pane.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Which agent.
    pub kind: Kind,
    /// Where.
    pub pane: Pane,
    /// The process a person types into; for Codex the native TUI, not its node wrapper.
    pub process: Process,
}

/// A finished turn.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The session id, read from the name of the file the reply was written to.
    pub session: String,
    /// That file. The reply is in it.
    pub transcript: PathBuf,
    /// The reply.
    pub reply: String,
}

/// A temporary root with its own HOME, XDG directories, tmux socket and fake API.
/// Dropping it ends every process of it and removes the root (kept when `RESEAT_E2E_KEEP` is set).
#[derive(Debug)]
pub struct Rig {
    root: PathBuf,
    env: BTreeMap<OsString, OsString>,
    api: Api,
    titled: bool,
}

impl Rig {
    /// As [`Rig::new`], but Codex does not show the thread's id in its title: that is left to an install.
    pub fn untitled(agents: &Installed, projects: &[&str]) -> Result<Self> {
        Self::make(agents, projects, false)
    }

    /// Makes the root, these project directories in it, and what the agents need to start without a
    /// question: finished onboarding, trusted projects, a known API key, a model provider.
    pub fn new(agents: &Installed, projects: &[&str]) -> Result<Self> {
        Self::make(agents, projects, true)
    }

    fn make(agents: &Installed, projects: &[&str], titled: bool) -> Result<Self> {
        // Short, because socket paths are limited to about 100 bytes; real, because trust goes by it.
        let base = fs::canonicalize("/tmp")?;
        let root = (0..1000).find_map(|_| {
            let path = base.join(format!("re2e-{}-{}", std::process::id(), next_number()));
            private_dir(&path).is_ok().then_some(path)
        });
        let root = root.ok_or_else(|| Error::new("cannot make a directory below /tmp"))?;
        let api = Api::start()?;
        let env = environment(&root, &agents.bin, &api.url());
        // From here on dropping it cleans up.
        let rig = Self { root, env, api, titled };
        for dir in
            ["home", "home/.claude", "home/.codex", "t", "tmp", "run", "config", "data", "state", "cache"]
        {
            private_dir(&rig.root.join(dir)).doing(dir)?;
        }
        for project in projects {
            private_dir(&rig.project(project)).doing(project)?;
        }
        rig.seed_shell()?;
        rig.seed_claude(projects)?;
        rig.seed_codex(projects)?;
        Ok(rig)
    }

    /// The temporary root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The rig's HOME.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// A project directory given to [`Rig::new`].
    pub fn project(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The fake model APIs.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Path of the tmux socket.
    pub fn socket(&self) -> PathBuf {
        self.root.join("t").join(format!("tmux-{}", rustix::process::getuid().as_raw())).join(SOCKET)
    }

    /// Sets a variable for everything started from now on. Panes take it from the tmux server, so set
    /// it before the server starts.
    pub fn set_env(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.env.insert(name.into(), value.into());
    }

    /// A command with exactly the rig's environment, its home as working directory and no input.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.env).current_dir(self.home()).stdin(Stdio::null());
        command
    }

    // ---- tmux ----

    /// Runs a tmux command on the rig's socket and returns what it printed.
    pub fn tmux<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String> {
        let mut command = self.command("tmux");
        let conf = self.home().join(".tmux.conf");
        let conf = if conf.exists() { conf } else { PathBuf::from("/dev/null") };
        command.args(["-L", SOCKET, "-f"]).arg(conf).args(args);
        let output = command.output().doing("run tmux")?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned());
        }
        let args: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
        let text = String::from_utf8_lossy(&output.stderr);
        Err(Error::new(format!("tmux {}: {}", args.join(" "), text.trim())))
    }

    /// A new session with one pane in `dir`; starts the server if there is none.
    pub fn new_session(&self, name: &str, dir: &Path) -> Result<Pane> {
        // A non-interactive shell in between drops PS1.
        let shell = format!("PS1='e2e$ ' exec {} --norc --noprofile", shell());
        let mut args: Vec<&OsStr> = Vec::new();
        for arg in ["start-server", ";", "set-option", "-g", "default-command", &shell, ";", "new-session"] {
            args.push(OsStr::new(arg));
        }
        for arg in ["-d", "-P", "-F", "#{pane_id}", "-x", "140", "-y", "45", "-s", name, "-c"] {
            args.push(OsStr::new(arg));
        }
        args.push(dir.as_os_str());
        self.with_shell(self.tmux(&args)?)
    }

    /// A new window in a session.
    pub fn new_window(&self, session: &str, dir: &Path) -> Result<Pane> {
        let target = format!("={session}:");
        let mut args =
            ["new-window", "-d", "-P", "-F", "#{pane_id}", "-t", &target, "-c"].map(OsStr::new).to_vec();
        args.push(dir.as_os_str());
        self.with_shell(self.tmux(&args)?)
    }

    /// Splits a pane; the new one gets a shell in `dir`.
    pub fn split(&self, pane: &Pane, dir: &Path) -> Result<Pane> {
        let mut args =
            ["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", &pane.0, "-c"].map(OsStr::new).to_vec();
        args.push(dir.as_os_str());
        self.with_shell(self.tmux(&args)?)
    }

    /// Waits for the shell's prompt in a new pane.
    fn with_shell(&self, id: String) -> Result<Pane> {
        let pane = Pane(id);
        self.wait_screen(&pane, "shell prompt", SHORT, |screen| screen.trim_end().ends_with('$'))?;
        Ok(pane)
    }

    /// Types text as it is, waits until it has been taken in, then presses Enter. (Codex takes an Enter
    /// that follows too fast for part of a pasted text.)
    pub fn type_line(&self, pane: &Pane, text: &str) -> Result<()> {
        let before = self.screen(pane)?;
        self.tmux(&["send-keys", "-t", &pane.0, "-l", "--", text])?;
        let mut last = (before.clone(), Instant::now());
        // A moving part elsewhere on the screen must not keep this waiting: going on is fine.
        let _ = wait_until("still screen", Duration::from_secs(3), || {
            let now = self.screen(pane).unwrap_or_default();
            if now != last.0 {
                last = (now, Instant::now());
            }
            last.0 != before && last.1.elapsed() >= Duration::from_millis(200)
        });
        self.keys(pane, &["Enter"])
    }

    /// Presses keys by their tmux names (`C-c`, `Enter`).
    pub fn keys(&self, pane: &Pane, keys: &[&str]) -> Result<()> {
        let mut args = vec!["send-keys", "-t", &pane.0];
        args.extend(keys);
        self.tmux(&args).map(drop)
    }

    /// What the pane shows.
    pub fn screen(&self, pane: &Pane) -> Result<String> {
        self.tmux(&["capture-pane", "-p", "-t", &pane.0])
    }

    /// What a tmux format says of a pane, such as `#{pane_title}`.
    pub fn format(&self, pane: &Pane, format: &str) -> Result<String> {
        self.tmux(&["display-message", "-p", "-t", &pane.0, format])
    }

    /// All panes of the server, in tmux's order.
    pub fn panes(&self) -> Result<Vec<Pane>> {
        let text = self.tmux(&["list-panes", "-a", "-F", "#{pane_id}"])?;
        Ok(text.lines().map(|line| Pane(line.to_owned())).collect())
    }

    /// Waits until the pane's screen passes; an error shows the screen.
    pub fn wait_screen(
        &self,
        pane: &Pane,
        what: &str,
        deadline: Duration,
        mut pass: impl FnMut(&str) -> bool,
    ) -> Result<()> {
        let waited = wait_until(what, deadline, || self.screen(pane).is_ok_and(|screen| pass(&screen)));
        waited.map_err(|error| self.with_screen(pane, error))
    }

    fn with_screen(&self, pane: &Pane, error: impl std::fmt::Display) -> Error {
        let screen = self.screen(pane).unwrap_or_else(|error| error.to_string());
        let lines: Vec<&str> = screen.lines().filter(|line| !line.trim().is_empty()).collect();
        Error::new(format!("{error}; pane {} shows:\n{}", pane.0, lines.join("\n")))
    }

    // ---- agents ----

    /// Types the agent's command into a shell and waits until it is ready. With a session id among the
    /// arguments, ready with that session. Claude gets `--permission-mode default`.
    pub fn start(&self, kind: Kind, pane: &Pane, args: &[&str]) -> Result<Agent> {
        let mut words = vec![kind.program()];
        if kind == Kind::Claude && !args.contains(&"--permission-mode") {
            words.extend(["--permission-mode", "default"]);
        }
        words.extend(args);
        let line: Vec<String> = words.into_iter().map(quoted).collect();
        self.type_line(pane, &line.join(" "))?;
        self.attach(kind, pane, args.iter().copied().find(|arg| is_session_id(arg)))
    }

    /// [`Rig::start`] for Claude.
    pub fn start_claude(&self, pane: &Pane, args: &[&str]) -> Result<Agent> {
        self.start(Kind::Claude, pane, args)
    }

    /// [`Rig::start`] for Codex.
    pub fn start_codex(&self, pane: &Pane, args: &[&str]) -> Result<Agent> {
        self.start(Kind::Codex, pane, args)
    }

    /// Waits until an agent somebody else started in the pane is ready, with this session if given.
    pub fn attach(&self, kind: Kind, pane: &Pane, session: Option<&str>) -> Result<Agent> {
        let what = format!("ready {}", kind.program());
        let process = wait_for(&what, START, || match kind {
            Kind::Claude => self.ready_claude(pane, session),
            Kind::Codex => self.ready_codex(pane, session),
        });
        let process = process.map_err(|error| self.with_screen(pane, error))?;
        Ok(Agent { kind, pane: pane.clone(), process })
    }

    /// The registry entry is written after all dialogs; the screen follows it.
    fn ready_claude(&self, pane: &Pane, session: Option<&str>) -> Option<Process> {
        let process = self.pane_processes(pane).into_iter().find(|process| {
            self.claude_entry(process.pid).is_some_and(|entry| {
                let idle = entry.get("status").is_none_or(|status| status == "idle");
                idle && session.is_none_or(|id| entry.get("sessionId").is_some_and(|own| own == id))
            })
        })?;
        self.screen(pane).ok()?.contains('❯').then_some(process)
    }

    /// Claude's own record of a process: `~/.claude/sessions/<pid>.json`.
    pub fn claude_entry(&self, pid: u32) -> Option<Value> {
        let text = fs::read(self.home().join(format!(".claude/sessions/{pid}.json"))).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The title is the only sign that the composer takes keys: `Ready | <start of the thread id>...`.
    fn ready_codex(&self, pane: &Pane, session: Option<&str>) -> Option<Process> {
        let title = self.format(pane, "#{pane_title}").ok()?;
        let shown = title.strip_prefix("Ready")?.trim_start_matches([' ', '|']).trim_end_matches('.');
        // One that was started before an install shows no id.
        if !shown.is_empty() && session.is_some_and(|id| shown.len() < 8 || !id.starts_with(shown)) {
            return None;
        }
        // Parents come first, so the shared server below the TUI is not taken for it.
        self.pane_processes(pane).into_iter().find(|process| process.name == "codex")
    }

    /// Types a prompt and waits for its end: the fake API saw it, the reply is in the transcript, and
    /// the agent is idle again. The prompt's first word must be a plain word that is
    /// part of no earlier text of this rig (`beta` rules out `eta`): markers are searched as bare text.
    pub fn turn(&self, agent: &Agent, prompt: &str) -> Result<Turn> {
        let word = prompt.split_whitespace().next().unwrap_or_default();
        let reply = reply_to(prompt);
        let plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !plain || self.api.saw(word) {
            return Err(Error::new(format!(
                "a prompt must begin with a plain word that is part of no earlier text: {prompt:?}"
            )));
        }
        let since = SystemTime::now();
        let pane = &agent.pane;
        let show = |error: Error| self.with_screen(pane, error);
        self.type_line(pane, prompt)?;
        wait_until(&format!("request with {word:?}"), TURN, || self.api.saw(prompt)).map_err(show)?;
        let what = format!("{reply:?} in a transcript");
        let transcript =
            wait_for(&what, TURN, || self.transcript_with(agent.kind, &reply, since)).map_err(show)?;
        let session = session_of(&transcript)
            .ok_or_else(|| Error::new(format!("no session id in {}", transcript.display())))?;
        self.attach(agent.kind, pane, Some(&session))?;
        Ok(Turn { session, transcript, reply })
    }

    /// The transcript that has this text as a word of its own, written to since then.
    fn transcript_with(&self, kind: Kind, reply: &str, since: SystemTime) -> Option<PathBuf> {
        // One clock tick of slack: files are stamped with a coarser clock.
        let since = since.checked_sub(Duration::from_secs(1))?;
        let needle = format!("\"{reply}\"");
        let mut files = self.transcripts(kind);
        files.retain(|path| {
            let fresh = fs::metadata(path).and_then(|meta| meta.modified()).is_ok_and(|at| at >= since);
            fresh && fs::read(path).is_ok_and(|text| contains(&text, needle.as_bytes()))
        });
        files.into_iter().next()
    }

    /// All transcripts of an agent, without those of Claude's subagents.
    pub fn transcripts(&self, kind: Kind) -> Vec<PathBuf> {
        let (dir, depth) = match kind {
            Kind::Claude => (".claude/projects", 1),
            Kind::Codex => (".codex/sessions", 3),
        };
        let mut dirs = vec![self.home().join(dir)];
        for _ in 0..depth {
            dirs = dirs.iter().flat_map(|dir| entries(dir)).filter(|path| path.is_dir()).collect();
        }
        let mut files: Vec<_> = dirs.iter().flat_map(|dir| entries(dir)).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        files.sort();
        files
    }

    // ---- processes and crashes ----

    /// The tmux server, if it runs.
    pub fn server(&self) -> Option<Process> {
        let pid = self.tmux(&["display-message", "-p", "#{pid}"]).ok()?.parse().ok()?;
        processes::find(pid)
    }

    /// The pane's first process and all below it, parents first.
    pub fn pane_processes(&self, pane: &Pane) -> Vec<Process> {
        let pid = self.format(pane, "#{pane_pid}").ok().and_then(|pid| pid.parse().ok());
        let first = pid.and_then(processes::find);
        let below = pid.map(processes::below).unwrap_or_default();
        first.into_iter().chain(below).collect()
    }

    /// The shared server Codex leaves in the background and its helper, by the pid files of the rig's
    /// CODEX_HOME.
    pub fn codex_daemons(&self) -> Vec<Process> {
        let dir = self.home().join(".codex/app-server-daemon");
        let read = |name: &str| {
            let value: Value = serde_json::from_slice(&fs::read(dir.join(name)).ok()?).ok()?;
            let pid = value.get("pid").or_else(|| value.pointer("/processIdentity/pid"))?;
            let process = processes::find(u32::try_from(pid.as_u64()?).ok()?)?;
            // The file may be older than the process.
            (process.name.contains("codex") && self.ours(&process)).then_some(process)
        };
        ["daemon.pid", "daemon-updater.pid"].into_iter().filter_map(read).collect()
    }

    /// Started with the rig's home, where that can be seen.
    fn ours(&self, process: &Process) -> bool {
        match fs::read(format!("/proc/{}/environ", process.pid)) {
            Ok(environ) => contains(&environ, self.home().as_os_str().as_encoded_bytes()),
            Err(_) => !Path::new("/proc/self").exists(),
        }
    }

    /// All running processes of this rig, known by their environment.
    fn processes(&self) -> Vec<Process> {
        processes::with_environment(&format!("HOME={}", self.home().display()))
    }

    /// As a power cut: stops the server and everything below it and Codex's daemon, so that nobody sees
    /// another's end, then ends all with SIGKILL. Without a server only the daemon.
    pub fn crash_host(&self) -> Result<()> {
        let mut list: Vec<Process> = Vec::new();
        loop {
            let mut now: Vec<Process> = self.server_or_stopped(&list).into_iter().collect();
            now.extend(now.first().map(|server| processes::below(server.pid)).unwrap_or_default());
            now.extend(self.codex_daemons());
            now.extend(self.processes());
            now.retain(|process| !list.contains(process));
            if now.is_empty() {
                break;
            }
            for process in now {
                if !list.contains(&process) {
                    processes::signal(&process, Signal::STOP);
                    list.push(process);
                }
            }
        }
        // The server last: with its terminals it would send a hang-up that wakes the agents to a polite end.
        list.reverse();
        processes::kill(&list)
    }

    /// A stopped server does not answer; it is the first one stopped.
    fn server_or_stopped(&self, stopped: &[Process]) -> Option<Process> {
        if stopped.is_empty() { self.server() } else { stopped.first().cloned() }
    }

    /// SIGKILL of the tmux server alone: what runs in its panes gets SIGHUP. Waits for its end only.
    pub fn crash_server(&self) -> Result<Process> {
        let server = self.server().ok_or_else(|| Error::new("no tmux server"))?;
        processes::kill(std::slice::from_ref(&server))?;
        Ok(server)
    }

    /// `tmux kill-server`, and waits for the server's end.
    pub fn kill_server(&self) -> Result<Process> {
        let server = self.server().ok_or_else(|| Error::new("no tmux server"))?;
        self.tmux(&["kill-server"])?;
        wait_until("end of the tmux server", SHORT, || !processes::alive(&server))?;
        Ok(server)
    }

    /// SIGKILL of one agent; its shell goes on. A Codex daemon below it goes on too.
    pub fn crash_agent(&self, agent: &Agent) -> Result<()> {
        processes::kill(std::slice::from_ref(&agent.process))
    }

    // ---- seeds ----

    fn seed_shell(&self) -> Result<()> {
        // A pane somebody else makes has a login shell, and the system's profile sets PATH anew.
        let path = self.env.get(OsStr::new("PATH")).map(|path| path.to_string_lossy()).unwrap_or_default();
        let text = format!("PATH={}\nPS1='e2e$ '\nexport PATH PS1\n", quoted(&path));
        fs::write(self.home().join(".profile"), text.as_bytes())?;
        Ok(fs::write(self.home().join(".bashrc"), "PS1='e2e$ '\n")?)
    }

    fn seed_claude(&self, projects: &[&str]) -> Result<()> {
        let trusted = |name: &&str| {
            (self.project(name).to_string_lossy().into_owned(), json!({ "hasTrustDialogAccepted": true }))
        };
        let known = KEY.get(KEY.len() - 20..).unwrap_or_default();
        let value = json!({
            "hasCompletedOnboarding": true,
            "lastOnboardingVersion": crate::install::CURRENT.claude,
            "customApiKeyResponses": { "approved": [known], "rejected": [] },
            "hasSeenAutoDefaultNotice": true,
            "projects": projects.iter().map(trusted).collect::<serde_json::Map<_, _>>(),
        });
        Ok(fs::write(self.home().join(".claude.json"), value.to_string())?)
    }

    fn seed_codex(&self, projects: &[&str]) -> Result<()> {
        let mut text = format!(
            r#"model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false

[model_providers.fake]
name = "Fake"
base_url = "{}/v1"
wire_api = "responses"
env_key = "E2E_CODEX_KEY"

[tui]
terminal_title = {}
"#,
            self.api.url(),
            if self.titled { r#"["run-state", "thread-id"]"# } else { r#"["run-state"]"# },
        );
        for project in projects {
            let dir = Value::String(self.project(project).to_string_lossy().into_owned());
            let _ = write!(text, "\n[projects.{dir}]\ntrust_level = \"trusted\"\n");
        }
        Ok(fs::write(self.home().join(".codex/config.toml"), text)?)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if let Err(error) = self.crash_host() {
            let _ = writeln_error(&format!("end the rig's processes: {error}"));
        }
        if std::env::var_os("RESEAT_E2E_KEEP").is_some() {
            let _ = writeln_error(&format!("kept {}", self.root.display()));
            return;
        }
        if let Err(error) = fs::remove_dir_all(&self.root) {
            let _ = writeln_error(&format!("remove {}: {error}", self.root.display()));
        }
    }
}

fn writeln_error(text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    writeln!(std::io::stderr(), "e2e: {text}")
}

/// The whole environment; nothing is inherited, so no marker of an agent the caller runs in either.
fn environment(root: &Path, bin: &Path, url: &str) -> BTreeMap<OsString, OsString> {
    let mut path = OsString::from(bin);
    path.push(":");
    // node and tmux may be anywhere; the rest of the caller's PATH is as good as any.
    path.push(std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()));
    let mut env = BTreeMap::from([(OsString::from("PATH"), path)]);
    for (name, dir) in [
        ("HOME", "home"),
        ("TMPDIR", "tmp"),
        ("TMUX_TMPDIR", "t"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_RUNTIME_DIR", "run"),
    ] {
        env.insert(name.into(), root.join(dir).into());
    }
    for (name, value) in [
        ("SHELL", shell()),
        ("PS1", "e2e$ "),
        ("LANG", "C.UTF-8"),
        ("TERM", "xterm-256color"),
        ("USER", "e2e"),
        ("LOGNAME", "e2e"),
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", url),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("E2E_CODEX_KEY", "sk-fake"),
    ] {
        env.insert(name.into(), value.into());
    }
    env
}

fn shell() -> &'static str {
    "/bin/bash"
}

fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn private_dir(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// For a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Claude: `<id>.jsonl`. Codex: `rollout-<time>-<id>.jsonl`.
fn session_of(transcript: &Path) -> Option<String> {
    let stem = transcript.file_stem()?.to_str()?;
    let id = stem.get(stem.len().checked_sub(36)?..)?;
    is_session_id(id).then(|| id.to_owned())
}

fn is_session_id(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
