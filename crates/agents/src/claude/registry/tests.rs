use super::*;
use std::fs;

const U1: &str = "c5c64fdd-c86a-4dbe-a0b2-f527e421464e";

fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("sessions")).unwrap();
    for (name, text) in files {
        fs::write(home.path().join("sessions").join(name), text).unwrap();
    }
    home
}

/// Records as two versions write them.
#[test]
fn records_of_two_versions() {
    let old = format!(
        r#"{{"pid": 21309, "sessionId": "{U1}", "cwd": "/r/w", "startedAt": 1795994391861, "kind": "interactive", "entrypoint": "cli"}}"#
    );
    let new = format!(
        r#"{{"pid": 16676, "sessionId": "{U1}", "cwd": "/r/w", "startedAt": 1795993828533, "procStart": "379212",
          "version": "2.1.332", "peerFeatures": ["x"], "kind": "interactive", "entrypoint": "cli", "pidDomain": "m:1",
          "tmux": "h_agent:@34.%34", "name": "hint-agent-e5", "updatedAt": 1795993831256, "status": "busy"}}"#
    );
    let home = home(&[("21309.json", &old), ("16676.json", &new), ("16676.abc.key", "a secret")]);
    let session = SessionId::parse(U1).unwrap();
    let want = [
        RegistryEntry {
            pid: 16676,
            start: Some(379_212),
            started_ms: Some(1_795_993_828_533),
            session: session.clone(),
            cwd: Some("/r/w".into()),
            was: Was::MidTurn,
            kind: Kind::Interactive,
            version: Some("2.1.332".into()),
            tmux: Some("h_agent:@34.%34".into()),
            name: Some("hint-agent-e5".into()),
        },
        RegistryEntry {
            pid: 21309,
            start: None,
            started_ms: Some(1_795_994_391_861),
            session,
            cwd: Some("/r/w".into()),
            was: Was::Unknown,
            kind: Kind::Interactive,
            version: None,
            tmux: None,
            name: None,
        },
    ];
    assert_eq!(read(home.path()), want);
}

/// States and kinds; a program's session calls itself interactive too.
#[test]
fn states_and_kinds() {
    let one = |rest: &str| {
        let home = home(&[("7.json", &format!(r#"{{"pid": 7, "sessionId": "{U1}"{rest}}}"#))]);
        let entry = read(home.path()).pop().unwrap();
        (entry.was, entry.kind, entry.started_ms)
    };
    assert_eq!(one(r#", "status": "idle""#), (Was::Idle, Kind::Interactive, None));
    assert_eq!(one(r#", "status": "waiting", "waitingFor": "dialog open""#).0, Was::Waiting);
    assert_eq!(one(r#", "status": "later-word""#).0, Was::Unknown);
    assert_eq!(one(r#", "kind": "interactive", "entrypoint": "sdk-cli""#).1, Kind::Headless);
    assert_eq!(one(r#", "kind": "bg""#).1, Kind::Unknown);
    for time in ["1795994391861", "1795994391861.5", "\"1795994391861\"", "\"2026-11-29T23:19:51.861Z\""] {
        assert_eq!(one(&format!(r#", "startedAt": {time}"#)).2, Some(1_795_994_391_861), "{time}");
    }
}

/// C28: a record that is torn, of another form, or names no session is no record; the others stay.
#[test]
fn c28_what_is_no_record_is_left_out() {
    let good = format!(r#"{{"pid": 9, "sessionId": "{U1}"}}"#);
    let bad = [
        "",
        "{",
        "null",
        "[]",
        &good[..good.len() - 3],
        r#"{"pid": 9}"#,
        r#"{"pid": 9, "sessionId": "U1; touch PWNED"}"#,
        r#"{"pid": 9, "sessionId": 7}"#,
        &good.replace('9', "0"),
        &good.replace('9', "-1"),
        &good.replace('9', "99999999999"),
        &good.replace(": 9", ": \"nine\""),
    ];
    for text in bad {
        let home = home(&[("8.json", text), ("9.json", &good), ("9.txt", &good)]);
        fs::create_dir(home.path().join("sessions/dir.json")).unwrap();
        fs::write(home.path().join("sessions/10.json"), vec![b' '; LARGEST as usize + 1]).unwrap();
        let pids: Vec<u32> = read(home.path()).iter().map(|entry| entry.pid).collect();
        assert_eq!(pids, [9], "{text:?}");
    }
    assert_eq!(read(Path::new("/nonexistent")), []);
}
