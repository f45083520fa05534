//! C35: names, directories and arguments of any kind pass through a real tmux, on a private socket, as they are.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use proptest::prelude::*;
use reseat_mux::tmux::{NewServer, Program, Tmux, look};
use reseat_os::proc::Proc;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

struct Private {
    dir: tempfile::TempDir,
    tmux: Tmux,
    session: String,
}

impl Private {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let env = BTreeMap::from([
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("HOME".to_owned(), dir.path().display().to_string()),
            ("SHELL".to_owned(), "/bin/sh".to_owned()),
        ]);
        let tmux = Tmux::new("tmux".into(), dir.path().join("tmux-0/s"), env);
        let argv = ["sh", "-c", "exec sleep 300"].map(str::to_owned);
        let first = tmux
            .start_server(&NewServer {
                session: "work",
                window: "one",
                size: (80, 24),
                program: Program { cwd: "/tmp", argv: &argv },
                without: &[],
            })
            .unwrap();
        Self { dir, tmux, session: first.session }
    }

    fn raw(&self, words: &[&str]) -> String {
        let out = std::process::Command::new("tmux")
            .args(["-u", "-S"])
            .arg(self.tmux.socket())
            .args(words)
            .env_remove("TMUX")
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    /// Whatever a name or a directory hid in it was not run, here or where the server was started.
    fn nothing_was_run(&self) -> bool {
        [self.dir.path(), Path::new("."), Path::new("/tmp")].iter().all(|dir| !dir.join(mark()).exists())
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.raw(&["kill-server"]);
    }
}

/// The file that hidden commands would make: of this run only.
fn mark() -> String {
    format!("PWNED-{}", std::process::id())
}

fn marked(text: &str) -> String {
    text.replace("PWNED", &mark())
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Pieces that a shell, tmux's parser or its formats would act on.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "$(touch PWNED)",
        "`touch PWNED`",
        "#(touch PWNED)",
        "#{pane_pid}",
        "#{l:x}",
        "#[fg=red]",
        "##",
        "#",
        "#,",
        "#}",
        "}",
        "%1",
        "%%",
        "%H",
        ";",
        ";kill-server",
        "\\",
        "'",
        "\"",
        "$HOME",
        "~",
        "-t x",
        " ",
        "|",
        "&& touch PWNED",
        "*",
        "!",
        "a",
        "ß",
        "名",
        "🦀",
        "=",
        ",",
        "[x]",
        "{",
        "\u{202e}",
    ]);
    prop::collection::vec(piece, 1..6).prop_map(|pieces| marked(&pieces.concat()))
}

/// What may be handed over as an argument: control characters too.
fn words() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec!["\n", "\u{1b}[2J", "\u{1b}]0;x\u{7}", "\t", "\r", "", "--", "-"]);
    prop_oneof![3 => pieces(), 1 => (pieces(), odd).prop_map(|(text, odd)| format!("{odd}{text}{odd}"))]
}

#[test]
fn c35_names_directories_and_arguments_pass_as_they_are() {
    let private = Private::new();
    let proc = Proc::real();
    let boot = reseat_os::boot::current_boot(&proc).unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let counter = std::cell::Cell::new(0);
    let cases = (pieces(), pieces(), prop::collection::vec(words(), 1..4));
    runner
        .run(&cases, |(name, dir, args)| {
            let count = counter.replace(counter.get() + 1);
            let cwd = private.dir.path().join(format!("{count}")).join(dir.replace('/', "_"));
            std::fs::create_dir_all(&cwd).unwrap();
            let out = private.dir.path().join(format!("{count}.args"));
            let script =
                format!("printf '%s\\0' \"$@\" > {0}.new; mv {0}.new {0}; exec sleep 300", out.display());
            let mut argv = vec!["sh".to_owned(), "-c".into(), script, "sh".into()];
            argv.extend(args.iter().cloned());
            let program = Program { cwd: cwd.to_str().unwrap(), argv: &argv };
            let made = private.tmux.new_window(&private.session, None, Some(&name), &program).unwrap();
            // Until the program runs, the pane is still where the server is.
            wait_for("the arguments", || out.exists());
            let found = look(&private.tmux, &proc, &boot, Duration::from_secs(5)).unwrap();
            let (window, pane) = found.snapshot.pane(made.pane).unwrap();
            prop_assert_eq!(&window.name, &name);
            prop_assert_eq!(PathBuf::from(&pane.cwd), cwd);
            let told = std::fs::read(&out).unwrap();
            let want: Vec<u8> = args.iter().flat_map(|arg| [arg.as_bytes(), b"\0"].concat()).collect();
            prop_assert_eq!(String::from_utf8_lossy(&told), String::from_utf8_lossy(&want));
            private.tmux.kill_pane(made.pane).unwrap();
            prop_assert!(private.nothing_was_run());
            Ok(())
        })
        .unwrap();
}

/// A title is text of whoever writes to the terminal: our filter compares it and runs nothing of it.
#[test]
fn c35_titles_are_compared_and_never_run() {
    let private = Private::new();
    let log = private.dir.path().join("log");
    private.tmux.set_hooks(&format!("echo x >> {}", log.display())).unwrap();
    let lines = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
    let id = "01900000-0000-7000-8000-00000000000";
    let titles = [
        "#(touch PWNED)",
        "$(touch PWNED)",
        "'; touch PWNED; '",
        "#{E:#(touch PWNED)}",
        "},1} ; kill-server ; {",
    ];
    for (at, odd) in titles.iter().enumerate() {
        private.raw(&[
            "select-pane",
            "-t",
            "work:0.0",
            "-T",
            &marked(&format!("{odd} {id}{at} {odd}")).replace('#', "##"),
        ]);
        wait_for("the hook", || lines() == at + 1);
    }
    assert!(private.nothing_was_run());
    assert!(private.raw(&["display-message", "-p", "#{pane_title}"]).contains(&format!("{id}4")));
}

/// A program at a path of any kind is the one that the hooks run, in a running server and from a file of lines.
#[test]
fn c35_the_hooks_run_the_very_program() {
    let private = Private::new();
    let dir =
        private.dir.path().join(marked("it's $(touch PWNED) \"#{pane_id}\" #(touch PWNED) #[x] ## \\ %H; ~"));
    std::fs::create_dir(&dir).unwrap();
    let program = dir.join("run");
    let log = private.dir.path().join("log");
    std::fs::write(&program, format!("#!/bin/sh\necho \"$*\" >> {}\n", log.display())).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let quoted = format!("'{}'", program.display().to_string().replace('\'', r"'\''"));
    let command = format!("[ -x {quoted} ] && {quoted} hook tmux >/dev/null 2>&1; true");
    let calls = || std::fs::read_to_string(&log).unwrap_or_default();
    private.tmux.set_hooks(&command).unwrap();
    private.raw(&["split-window", "-d", "sleep 300"]);
    wait_for("a hook that was set", || calls() == "hook tmux\n");
    private.tmux.unset_hooks().unwrap();
    let conf = private.dir.path().join("tmux.conf");
    std::fs::write(&conf, reseat_mux::tmux::config_lines(&command).join("\n") + "\n").unwrap();
    private.raw(&["source-file", conf.to_str().unwrap()]);
    private.raw(&["split-window", "-d", "sleep 300"]);
    wait_for("a hook that was read", || calls() == "hook tmux\nhook tmux\n");
    assert!(private.nothing_was_run());
}
