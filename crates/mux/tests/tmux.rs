//! Against a real tmux on a private socket.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use reseat_core::mux::PaneId;
use reseat_mux::tmux::{HOOKS, HookState, MuxError, NewServer, Program, Tmux, config_lines, look, sockets};
use reseat_os::boot::current_boot;
use reseat_os::env::Env;
use reseat_os::proc::Proc;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

struct Private {
    dir: tempfile::TempDir,
    tmux: Tmux,
    proc: Proc,
}

impl Private {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // As a unit of a service manager has it: no locale at all.
        let env = BTreeMap::from([
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("HOME".to_owned(), dir.path().display().to_string()),
            ("SHELL".to_owned(), "/bin/sh".to_owned()),
        ]);
        let socket = dir.path().join("tmux-0").join("s");
        let tmux = Tmux::new("tmux".into(), socket, env);
        Self { dir, tmux, proc: Proc::real() }
    }

    fn start(&self) -> reseat_mux::tmux::NewPane {
        let argv = sleeper();
        let program = Program { cwd: "/tmp", argv: &argv };
        self.tmux
            .start_server(&NewServer {
                session: "work",
                window: "one",
                size: (211, 63),
                program,
                without: &[],
            })
            .unwrap()
    }

    fn look(&self) -> Result<reseat_mux::tmux::Found, MuxError> {
        look(&self.tmux, &self.proc, &current_boot(&self.proc).unwrap(), Duration::from_secs(5))
    }

    fn raw(&self, words: &[&str]) -> String {
        let out = std::process::Command::new("tmux")
            .arg("-S")
            .arg(self.tmux.socket())
            .args(words)
            .env_remove("TMUX")
            .output()
            .unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let found = self.look().ok();
        let _ =
            std::process::Command::new("tmux").arg("-S").arg(self.tmux.socket()).arg("kill-server").output();
        if let Some(found) = found {
            let server = found.life.server;
            let _ = reseat_os::pidfd::wait_gone(&self.proc, server.pid, server.start, Duration::from_secs(5));
        }
    }
}

fn sleeper() -> Vec<String> {
    ["sh", "-c", "exec sleep 300"].map(str::to_owned).into()
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// C06, C35: names and directories of any kind, read without a locale, come back as they are.
#[test]
fn c06_c35_hostile_names_are_read_whole() {
    let private = Private::new();
    private.start();
    let cwd = private.dir.path().join("a'$(touch PWNED)'b #{pane_pid} \n#x;");
    std::fs::create_dir(&cwd).unwrap();
    let argv = sleeper();
    let program = Program { cwd: cwd.to_str().unwrap(), argv: &argv };
    for name in [";kill-server", "#{pane_pid}", "-t x", "名前|tab", "a#b##c;"] {
        private.tmux.new_session(name, name, (80, 24), &program).unwrap();
    }
    let found = private.look().unwrap();
    let names: Vec<&str> = found.snapshot.sessions.iter().map(|session| session.name.as_str()).collect();
    let mut wanted = vec!["work", ";kill-server", "#{pane_pid}", "-t x", "名前|tab", "a#b##c;"];
    wanted.sort_unstable();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, wanted);
    for (window, pane) in found.snapshot.panes().filter(|(window, _)| window.name != "one") {
        assert!(names.contains(&window.name.as_str()), "{}", window.name);
        assert_eq!(pane.cwd, cwd.to_str().unwrap());
        assert_eq!(pane.start_command, "sh -c \"exec sleep 300\"");
    }
    assert!(!Path::new("PWNED").exists() && !cwd.join("PWNED").exists());
}

/// C27: no server, a stale socket, and a socket that is gone while its server lives are three answers.
#[test]
fn c27_ways_of_not_answering_are_told_apart() {
    let private = Private::new();
    assert!(matches!(private.look(), Err(MuxError::NoServer { .. })));
    private.start();
    let found = private.look().unwrap();
    let pid = found.life.server.pid;
    let socket = private.tmux.socket().to_path_buf();
    let env = Env::from_pairs([("TMUX_TMPDIR".to_owned(), private.dir.path().display().to_string())]);
    std::fs::rename(&socket, socket.with_extension("away")).unwrap();
    assert!(!socket.exists());
    assert_eq!(private.look().unwrap_err(), MuxError::Unreachable { socket: socket.clone(), pid });
    assert!(
        sockets(&env, &private.proc, &[]).contains(&socket),
        "a listening socket is found without its file"
    );
    std::fs::rename(socket.with_extension("away"), &socket).unwrap();
    assert_eq!(private.look().unwrap().life, found.life);
    rustix_kill(pid);
    assert!(
        reseat_os::pidfd::wait_gone(&private.proc, pid, found.life.server.start, Duration::from_secs(5))
            .unwrap()
    );
    assert_eq!(private.look().unwrap_err(), MuxError::StaleSocket { socket });
}

fn rustix_kill(pid: u32) {
    let status = std::process::Command::new("kill").arg("-9").arg(pid.to_string()).status().unwrap();
    assert!(status.success());
}

/// C37: a window of four panes gets its layout back on a smaller server, pane by pane.
#[test]
fn c37_a_layout_comes_back() {
    let private = Private::new();
    let first = private.start();
    let argv = sleeper();
    let program = Program { cwd: "/", argv: &argv };
    let mut panes = vec![first.pane];
    for _ in 0..3 {
        panes.push(private.tmux.split(panes[panes.len() - 1], &program).unwrap().pane);
    }
    private.raw(&["select-layout", "-t", &first.window, "main-vertical"]);
    private.raw(&["resize-pane", "-Z", "-t", &panes[1].to_string()]);
    let before = private.look().unwrap().snapshot;
    let window = before.windows[0].clone();
    assert!(window.zoomed);
    let made = private.tmux.new_session("copy", "w", (80, 24), &program).unwrap();
    let mut copies = vec![made.pane];
    for _ in 0..3 {
        copies.push(private.tmux.split(copies[copies.len() - 1], &program).unwrap().pane);
    }
    private.tmux.apply_layout(&made.window, &window.layout).unwrap();
    let after = private.look().unwrap().snapshot;
    let copy = after.windows.iter().find(|other| other.id == made.window).unwrap();
    assert_eq!(copy.panes.iter().map(|pane| pane.id).collect::<Vec<_>>(), copies);
    assert!(!copy.zoomed);
    for _ in 0..2 {
        private.tmux.zoom(made.pane).unwrap();
        let windows = private.look().unwrap().snapshot.windows;
        assert!(windows.iter().any(|other| other.id == made.window && other.zoomed), "zoomed stays zoomed");
    }
}

/// A twelve-pane window can be made even where there is little room.
#[test]
fn c37_twelve_panes_fit_a_small_terminal() {
    let private = Private::new();
    private.start();
    let argv = sleeper();
    let program = Program { cwd: "/", argv: &argv };
    let made = private.tmux.new_session("small", "w", (80, 24), &program).unwrap();
    let mut last = made.pane;
    for _ in 0..11 {
        last = private.tmux.split(last, &program).unwrap().pane;
    }
    let found = private.look().unwrap().snapshot;
    assert_eq!(found.windows.iter().find(|window| window.id == made.window).unwrap().panes.len(), 12);
}

/// Groups share their windows, links place a window twice; each pane is seen once.
#[test]
fn groups_and_links_are_seen_and_made() {
    let private = Private::new();
    let first = private.start();
    private.tmux.new_grouped_session("twin", &first.session).unwrap();
    let argv = sleeper();
    let other = private.tmux.new_session("other", "w", (0, 0), &Program { cwd: "/", argv: &argv }).unwrap();
    private.tmux.link_window(&first.window, &other.session, 7).unwrap();
    let snapshot = private.look().unwrap().snapshot;
    assert_eq!(snapshot.panes().count(), 2);
    let session = |name: &str| snapshot.sessions.iter().find(|session| session.name == name).unwrap();
    assert!(session("twin").group.is_some() && session("twin").group == session("work").group);
    assert!(session("other").links.iter().any(|link| link.index == 7 && link.window == first.window));
}

/// "Never in the way": a title that spins starts no process; one whose thread id changes starts one.
#[test]
fn a_spinning_title_starts_no_process() {
    let private = Private::new();
    let first = private.start();
    let log = private.dir.path().join("log");
    private.tmux.set_hooks(&format!("echo x >> {}", log.display())).unwrap();
    assert!(matches!(private.tmux.hook_state().unwrap(), HookState::Installed(_)));
    let title = |text: &str| {
        private.raw(&["select-pane", "-t", &first.pane.to_string(), "-T", text]);
    };
    let lines = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
    let id = "01900000-0000-7000-8000-00000";
    for spin in ["a", "b", "c", "d"] {
        title(&format!("{spin} spins"));
    }
    title(&format!("Ready | {id}1..."));
    wait_for("the first id", || lines() == 1);
    for spin in ["Working", "Ready", "Working", "Ready"] {
        title(&format!("{spin} | {id}1..."));
    }
    title(&format!("Ready | {id}2..."));
    wait_for("the second id", || lines() == 2);
    title("");
    wait_for("the emptied title", || lines() == 3);
    private.tmux.unset_hooks().unwrap();
    assert_eq!(private.tmux.hook_state().unwrap(), HookState::Missing);
}

/// CRX-01, "never in the way": the lines in a configuration file set what `set_hooks` sets, without an error, which
/// tmux would show by putting a pane into view mode, where it takes no keys.
#[test]
fn configuration_lines_set_the_same_hooks_and_disturb_no_pane() {
    let private = Private::new();
    private.start();
    let command = "[ -x '/a b/$reseat' ] && \"/a b/$reseat\" hook tmux >/dev/null 2>&1; true";
    let hooks = || -> Vec<String> {
        let text = private.raw(&["show-hooks", "-gw"]) + &private.raw(&["show-hooks", "-g"]);
        text.lines().filter(|line| line.contains("[7373]")).map(str::to_owned).collect()
    };
    private.tmux.set_hooks(command).unwrap();
    let set = hooks();
    assert_eq!(set.len(), HOOKS.len(), "{set:#?}");
    private.tmux.unset_hooks().unwrap();
    assert_eq!(hooks(), Vec::<String>::new());
    let conf = private.dir.path().join("tmux.conf");
    std::fs::write(&conf, config_lines(command).join("\n") + "\n").unwrap();
    let sourced = std::process::Command::new("tmux")
        .arg("-S")
        .arg(private.tmux.socket())
        .arg("source-file")
        .arg(&conf)
        .output()
        .unwrap();
    assert_eq!((sourced.status.code(), String::from_utf8_lossy(&sourced.stderr).as_ref()), (Some(0), ""));
    assert_eq!(hooks(), set);
    assert_eq!(private.raw(&["list-panes", "-a", "-F", "#{pane_in_mode}"]), "0\n");
}

/// Panes are found again by what they were created with.
#[test]
fn panes_are_found_by_their_command() {
    let private = Private::new();
    let first = private.start();
    let argv = ["sh", "-c", "exec sleep 300", "e-0123"].map(str::to_owned);
    let made =
        private.tmux.new_window(&first.session, Some(9), None, &Program { cwd: "/", argv: &argv }).unwrap();
    let tagged = private.tmux.tagged_panes().unwrap();
    let ours: Vec<PaneId> = tagged
        .into_iter()
        .filter(|pane| pane.start_command.ends_with("e-0123"))
        .map(|pane| pane.pane)
        .collect();
    assert_eq!(ours, [made.pane]);
    private.tmux.kill_pane(made.pane).unwrap();
    private.tmux.kill_pane(made.pane).unwrap();
    assert_eq!(made.index, 9);
    private.raw(&["set-option", "-g", "remain-on-exit", "on"]);
    let argv = ["sh", "-c", "exit 0", "e-4567"].map(str::to_owned);
    let made =
        private.tmux.new_window(&first.session, None, None, &Program { cwd: "/", argv: &argv }).unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while !private.tmux.tagged_panes().unwrap().iter().any(|pane| pane.pane == made.pane && pane.dead) {
        assert!(Instant::now() < until, "waited in vain for the dead pane");
    }
}

/// Socket paths are those of this environment only.
#[test]
fn sockets_of_another_directory_are_not_ours() {
    let private = Private::new();
    private.start();
    let elsewhere = tempfile::tempdir().unwrap();
    let env = Env::from_pairs([("TMUX_TMPDIR".to_owned(), elsewhere.path().display().to_string())]);
    assert_eq!(sockets(&env, &private.proc, &[]), Vec::<PathBuf>::new());
}
