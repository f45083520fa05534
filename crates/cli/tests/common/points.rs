//! A crashed world that is set back for every point, and ways to kill a process at its Nth call of tmux or of the
//! kernel. Not executed itself: whatever is killed at a kernel call ends before that call.

use crate::common::{DEADLINE, World, wait_for};
use reseat_os::proc::Proc;
use reseat_store::facts::Spool;
use reseat_store::flights::Flight;
use reseat_store::store::Store;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Stands for tmux: counts the calls of one process, and kills it before, after or long before one of them.
const COUNTED: &str = r#"#!/bin/sh
dir=DIR
[ "$PPID" = "$(cat "$dir/target" 2> /dev/null)" ] || exec tmux "$@"
if [ -e "$dir/traced" ]; then
    for last; do :; done
    if [ "$last" = "$(cat "$dir/traced")" ]; then
        count=$#
        while [ "$count" -gt 0 ]; do
            [ "$1" != "$RESEAT" ] || set -- "$@" strace -qq -o /dev/null $(cat "$dir/inject")
            set -- "$@" "$1"
            shift
            count=$((count - 1))
        done
    fi
fi
calls=$(($(cat "$dir/calls") + 1))
echo "$calls" > "$dir/calls"
if [ "$calls" = "$(cat "$dir/at")" ]; then
    case $(cat "$dir/when") in
        before) kill -9 "$PPID"; exit 1 ;;
        after) tmux "$@" > /dev/null 2>&1; kill -9 "$PPID"; exit 0 ;;
        late) kill -9 "$PPID"; until [ -e "$dir/go" ]; do sleep 0.02; done; tmux "$@" > "$dir/done" 2>&1; mv "$dir/done" "$dir/gone"; exit ;;
    esac
fi
exec tmux "$@"
"#;

/// When a process is killed, seen from a call of tmux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// tmux is not asked any more.
    Before,
    /// tmux did it, nobody heard of it.
    After,
    /// tmux is asked when `go` is there.
    Late,
}

impl When {
    const fn word(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::Late => "late",
        }
    }
}

/// Two agents and two shells in three windows at indexes of their own, after their server was killed.
pub(crate) struct Crashed {
    pub(crate) world: World,
    pub(crate) claude: String,
    pub(crate) codex: String,
    /// The whole server as it was, by [`Crashed::places`].
    pub(crate) whole: Vec<String>,
    saved: tempfile::TempDir,
}

impl Crashed {
    pub(crate) fn new() -> Self {
        let world = World::new();
        let at = |dir: &str| world.home().join(dir).display().to_string();
        world.session("work", "notes");
        world.tmux(&["rename-window", "-t", "work:0", "code"]);
        world.tmux(&["move-window", "-d", "-s", "work:0", "-t", "work:2"]);
        world.tmux(&["split-window", "-d", "-h", "-l", "40", "-t", "work:2.0", "-c", &at("shop")]);
        world.tmux(&["new-window", "-d", "-t", "work:3", "-n", "talk", "-c", &at("shop")]);
        world.tmux(&["new-window", "-d", "-t", "work:5", "-n", "logs", "-c", &at("notes")]);
        world.tmux(&["new-session", "-d", "-s", "twin", "-t", "work"]);
        let claude = world.start("work:2.1", "claude", "alpha words");
        let codex = world.start("work:3.0", "codex", "beta words");
        world.tmux(&["select-pane", "-t", "work:2.1"]);
        world.tmux(&["resize-pane", "-Z", "-t", "work:2.1"]);
        world.tmux(&["select-window", "-t", "work:3"]);
        world.look();
        let saved = tempfile::Builder::new().prefix("rs-saved-").tempdir_in("/tmp").unwrap();
        let mut crashed = Self { world, claude, codex, whole: Vec::new(), saved };
        crashed.whole = crashed.places();
        crashed.world.crash();
        crashed.end_all();
        let counted = crashed.world.root().join("counted-tmux");
        let points = crashed.points();
        std::fs::create_dir(&points).unwrap();
        std::fs::write(&counted, COUNTED.replace("DIR", &points.display().to_string())).unwrap();
        std::fs::set_permissions(&counted, std::fs::Permissions::from_mode(0o755)).unwrap();
        let config = crashed.world.home().join(".config/reseat");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("config.toml"), format!("tmux = {:?}\n", counted.display().to_string()))
            .unwrap();
        crashed.save();
        crashed
    }

    /// Makes the present state the one to go back to.
    pub(crate) fn save(&self) {
        run(Command::new("cp").args(["-aT"]).arg(self.world.root()).arg(self.saved.path()));
    }

    fn points(&self) -> PathBuf {
        self.world.root().join("points")
    }

    /// Ends everything of this world and sets it back.
    pub(crate) fn set_back(&self) {
        self.end_all();
        for entry in std::fs::read_dir(self.world.root()).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                std::fs::remove_dir_all(entry.path()).unwrap();
            } else {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        run(Command::new("cp").args(["-aT"]).arg(self.saved.path()).arg(self.world.root()));
    }

    /// Ends every process of this home: servers, agents, and looks that hooks started.
    pub(crate) fn end_all(&self) {
        let proc = Proc::real();
        let boot = reseat_os::boot::current_boot(&proc).unwrap();
        let home = self.world.home().display().to_string();
        wait_for("the end of everything", || {
            let ours: Vec<_> = proc
                .table()
                .unwrap()
                .iter()
                .filter(|stat| proc.environ(stat.pid).is_ok_and(|env| env.get("HOME") == Some(&home)))
                .filter_map(|stat| proc.key(&boot, stat.pid))
                .collect();
            self.world.kill(&ours);
            ours.is_empty()
        });
    }

    /// Runs a command of reseat and kills it at its Nth call of tmux. Returns whether it came that far.
    pub(crate) fn killed_at_tmux(&self, args: &[&str], at: usize, when: When) -> bool {
        self.counted(args, at, when).status.signal() == Some(9)
    }

    fn counted(&self, args: &[&str], at: usize, when: When) -> Output {
        for (name, text) in [("calls", "0"), ("at", &at.to_string()), ("when", when.word())] {
            std::fs::write(self.points().join(name), text).unwrap();
        }
        let mut command = self.world.command("/bin/sh");
        let target = self.points().join("target");
        command.args(["-c", "echo $$ > \"$0\"; exec \"$@\""]).arg(target);
        command.arg(env!("CARGO_BIN_EXE_reseat")).args(args);
        let output = command.output().unwrap();
        std::fs::remove_file(self.points().join("target")).unwrap();
        output
    }

    /// Lets what [`When::Late`] held back go on, and waits until tmux has answered it.
    pub(crate) fn go(&self) {
        std::fs::write(self.points().join("go"), "").unwrap();
        wait_for("the late call", || self.points().join("gone").exists());
    }

    /// Restores, and kills the `exec` of the Claude entry at its Nth call of that name to the kernel. Returns how that
    /// entry came out.
    pub(crate) fn exec_killed_at_call(&self, call: &str, at: usize) -> String {
        let plan = self.world.json(&["plan"]);
        let entries = plan["entries"].as_array().unwrap();
        let entry =
            entries.iter().find(|entry| entry["agent"] == "claude").unwrap()["entry"].as_str().unwrap();
        let inject = format!("-e trace={call} -e inject={call}:signal=KILL:when={at}");
        std::fs::write(self.points().join("traced"), entry).unwrap();
        std::fs::write(self.points().join("inject"), inject).unwrap();
        let output = self.counted(&["restore", "--yes", "--json"], 0, When::Before);
        std::fs::remove_file(self.points().join("traced")).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let results = report["results"].as_array().unwrap();
        let result = results.iter().find(|result| result["entry"] == entry).unwrap();
        result["outcome"].as_str().unwrap().to_owned()
    }

    /// Runs a command of reseat and kills it at its Nth call of that name to the kernel, in its main thread. Returns
    /// whether it came that far.
    pub(crate) fn killed_at_call(&self, args: &[&str], call: &str, at: usize) -> bool {
        let mut command = self.world.command("strace");
        command.args(["-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
        command.args(["-e", &format!("inject={call}:signal=KILL:when={at}")]);
        command.arg(env!("CARGO_BIN_EXE_reseat")).args(args);
        command.output().unwrap().status.signal() == Some(9)
    }

    /// Everything that makes a server what it was: names, indexes, sizes, directories, what is current and zoomed.
    pub(crate) fn places(&self) -> Vec<String> {
        let world = &self.world;
        let sessions = world.tmux(&["list-sessions", "-F", "#{session_name} #{session_group}"]);
        let windows = world.tmux(&[
            "list-windows",
            "-t",
            "work",
            "-F",
            "#{window_index} #{window_name} active=#{window_active} zoomed=#{window_zoomed_flag}",
        ]);
        let mut out: Vec<String> = sessions.lines().chain(windows.lines()).map(str::to_owned).collect();
        let zoom = |on: bool| {
            let zoomed = world.tmux(&["display-message", "-p", "-t", "work:2", "#{window_zoomed_flag}"]);
            if (zoomed.trim() == "1") != on {
                world.tmux(&["resize-pane", "-Z", "-t", "work:2"]);
            }
            zoomed.trim() == "1"
        };
        let there = windows.lines().any(|line| line.starts_with("2 "));
        let was = there && zoom(false);
        let panes = world.tmux(&[
            "list-panes",
            "-s",
            "-t",
            "work",
            "-F",
            "#{window_index}.#{pane_index} active=#{pane_active} #{pane_left},#{pane_top} #{pane_width}x#{pane_height} #{pane_current_path}",
        ]);
        if was {
            zoom(true);
        }
        out.extend(panes.lines().map(str::to_owned));
        out
    }

    /// The flights in the store.
    pub(crate) fn flights(&self) -> Vec<Flight> {
        let state = self.world.state();
        let spool = Spool::new(state.join("facts"), None);
        Store::open_read(&state, spool).unwrap().flights().unwrap()
    }

    /// Restores once more: everything is back, once, in its place and shape; nothing is left over or left to do.
    pub(crate) fn comes_back(&self) {
        self.comes_back_as(&<[String]>::to_vec);
    }

    /// The same, without the sizes of panes.
    pub(crate) fn comes_back_roughly(&self) {
        self.comes_back_as(&roughly);
    }

    fn comes_back_as(&self, shown: &dyn Fn(&[String]) -> Vec<String>) {
        let world = &self.world;
        let whole = shown(&self.whole);
        let second = world.reseat(&["restore", "--yes", "--json"]);
        assert!(matches!(second.code, 0 | 4), "{second:?}");
        let mut now = Vec::new();
        let until = std::time::Instant::now() + DEADLINE / 8;
        while now != whole && std::time::Instant::now() < until {
            now = shown(&self.places());
        }
        assert_eq!(now, whole, "{second:?}");
        // A restore that was killed before its own last look has not noted what runs now.
        world.look();
        let once = BTreeMap::from([(self.claude.clone(), 1), (self.codex.clone(), 1)]);
        assert_eq!(world.running(), once, "{second:?}");
        world.asks("work:2.1", "alpha words");
        world.asks("work:3.0", "beta words");
        let third = world.reseat(&["restore", "--yes", "--json"]);
        assert_eq!(third.code, 4, "{third:?}");
        let open: Vec<_> = self.flights().into_iter().filter(|flight| !flight.finished).collect();
        assert_eq!(open, []);
        assert_eq!(world.reseat(&["log"]).code, 0);
        assert_eq!(self.litter(), Vec::<PathBuf>::new());
    }

    /// Temporary files that nobody owns.
    fn litter(&self) -> Vec<PathBuf> {
        let mut out = Vec::new();
        crate::common::walk(&self.world.state(), &mut out);
        out.retain(|path| path.extension().is_some_and(|ending| ending == "tmp"));
        out
    }
}

impl Drop for Crashed {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end_all();
        }
    }
}

/// Indexes and directories of panes alone.
pub(crate) fn roughly(places: &[String]) -> Vec<String> {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    places
        .iter()
        .map(|line| words(line))
        .filter(|words| words.len() == 5)
        .map(|words| format!("{} {}", words[0], words[4]))
        .collect()
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}
