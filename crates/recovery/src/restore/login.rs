//! The environment a person's own shell would give an agent: that of a login and interactive shell, asked once.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long a shell may take to start.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);

/// Variables that describe the asking shell and not the environment.
const OF_THE_SHELL: [&str; 5] = ["_", "SHLVL", "PWD", "OLDPWD", "RESEAT_ASKS"];

/// Asks `shell` for its environment; `None` when it did not answer in time or not in a form that can be read.
pub(super) fn environment(
    shell: &str,
    base: &BTreeMap<String, String>,
    deadline: Duration,
) -> Option<BTreeMap<String, String>> {
    let mut asking = Command::new(shell);
    asking
        .args(["-l", "-i", "-c", "env -0"])
        .env_clear()
        .envs(base)
        .env("RESEAT_ASKS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    // An interactive shell in the background of a terminal stops itself until it is brought to the front.
    let mut child = reseat_os::spawn::without_terminal(&mut asking).spawn().ok()?;
    let mut pipe = child.stdout.take()?;
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = done.send(bytes);
    });
    let answer = wait.recv_timeout(deadline).ok();
    if answer.is_none() {
        reseat_os::spawn::end_group(child.id());
    }
    let _ = child.wait();
    parse(&answer?)
}

/// Reads `env -0`. Start-up files may print before it, without an end of their own.
fn parse(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let text = String::from_utf8_lossy(bytes);
    let mut out = BTreeMap::new();
    for (at, chunk) in text.split('\0').enumerate() {
        let chunk = if at == 0 { chunk.rsplit('\n').next().unwrap_or_default() } else { chunk };
        if let Some((name, value)) = chunk.split_once('=')
            && is_name(name)
        {
            out.insert(name.to_owned(), value.to_owned());
        }
    }
    let answered = out.contains_key("RESEAT_ASKS");
    out.retain(|name, _| !OF_THE_SHELL.contains(&name.as_str()));
    answered.then_some(out)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_start_up_files_print_is_not_taken_for_variables() {
        let out = parse(b"welcome\nA=1\0B=two\nlines\0RESEAT_ASKS=1\0_=x\0BASH_FUNC_f%%=() {\n}\0").unwrap();
        assert_eq!(out, BTreeMap::from([("A".into(), "1".into()), ("B".into(), "two\nlines".into())]));
        assert_eq!(parse(b"no environment at all"), None);
    }

    #[test]
    fn a_shell_that_hangs_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let shell = dir.path().join("shell");
        std::fs::write(&shell, "#!/bin/sh\nsleep 60\n").unwrap();
        std::fs::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let base = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        assert_eq!(environment(shell.to_str().unwrap(), &base, Duration::from_millis(100)), None);
        let real = environment("/bin/sh", &base, DEADLINE).unwrap();
        assert!(real.contains_key("PATH"));
    }
}
