use super::*;
use crate::Agent as _;

const X1: &str = "01900000-0000-7000-8000-000000000001";
const X2: &str = "01900000-0000-7000-8000-000000000002";
const X3: &str = "01900000-0000-7000-8000-000000000003";
const X4: &str = "01900000-0000-7000-8000-000000000004";

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn put(&self, below: &str, id: &str, text: &str) -> PathBuf {
        let dir = self.path().join(below);
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("rollout-2026-09-21T10-00-00-{id}.jsonl"));
        std::fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, id: &str) -> Transcript {
        read(&find(self.path(), &SessionId::parse(id).unwrap()).unwrap())
    }
}

fn meta(id: &str, cwd: &str, rest: &str) -> String {
    format!(
        r#"{{"timestamp":"2026-09-21T10:00:00.000Z","type":"session_meta","payload":{{"id":"{id}","cwd":"{cwd}"{rest}}}}}"#
    ) + "\n"
}

fn said(text: &str) -> String {
    format!(
        r#"{{"timestamp":"2026-09-21T11:00:00.000Z","type":"event_msg","payload":{{"type":"item_completed","item":{{"type":"UserMessage","content":[{{"type":"text","text":"{text}"}}]}}}}}}"#
    ) + "\n"
}

/// C17: sub-agents, reviewers and kinds of the future are told apart.
#[test]
fn c17_who_runs_a_thread() {
    let home = Home::new();
    let rows = [
        (X1, r#","source":"cli""#, Kind::Interactive),
        (X1, r#","source":"vscode","thread_source":"user","originator":"codex-tui""#, Kind::Interactive),
        (
            X2,
            r#","source":{"subagent":{"thread_spawn":{"parent_thread_id":"x"}}},"thread_source":"subagent""#,
            Kind::SubAgent,
        ),
        (
            X3,
            r#","thread_source":"guardian_review","source":{"subagent":{"other":"guardian"}}"#,
            Kind::SubAgent,
        ),
        (X3, r#","thread_source":"future","source":{"other":1}"#, Kind::Unknown),
        (X1, r#","source":"exec","originator":"codex_exec""#, Kind::Headless),
    ];
    for (id, rest, want) in rows {
        home.put("sessions/2026/09/21", id, &(meta(id, "/w", rest) + &said("hi")));
        assert_eq!(home.read(id).kind, want, "{rest}");
    }
}

/// C18: each thread once, whatever its form and wherever it lies; a late first message is found.
#[test]
fn c18_each_thread_once_in_every_form() {
    let home = Home::new();
    let long = format!(
        "{}{}",
        meta(X1, "/w/quiet", &format!(r#","base_instructions":"{}""#, "x".repeat(75_000))),
        said("late")
    );
    let plain = home.put("sessions/2026/09/21", X1, &long);
    let packed = plain.with_extension("jsonl.zst");
    std::fs::write(&packed, b"no zstd at all").unwrap();
    home.put("archived_sessions", X1, &long);
    let ids =
        || list(home.path()).into_iter().map(|found| (found.archived, found.compressed)).collect::<Vec<_>>();
    assert_eq!(ids(), [(false, false)]);
    let read_now = home.read(X1);
    assert_eq!(
        (read_now.project.as_deref(), read_now.last_prompt.as_deref(), read_now.conversation),
        (Some("/w/quiet"), Some("late"), Conversation::Yes)
    );
    std::fs::remove_file(&plain).unwrap();
    assert_eq!(ids(), [(false, true)]);
    let packed_read = home.read(X1);
    assert!(
        packed_read.notes.iter().any(|note| note.contains("cannot be unpacked")),
        "{:?}",
        packed_read.notes
    );
    std::fs::remove_file(&packed).unwrap();
    assert_eq!(ids(), [(true, false)]);
    assert!(home.read(X1).archived);
}

/// C19: the index database is only asked for a doubt, and stays as it was.
#[test]
fn c19_a_doubt_about_the_index_is_said() {
    let home = Home::new();
    let path = home.put("sessions/2026/09/21", X1, &(meta(X1, "/w", "") + &said("one")));
    home.put("sessions/2026/09/21", X2, &(meta(X2, "/w", "") + &said("two")));
    let doubts = |id: &str| home.read(id).notes.iter().filter(|note| note.contains("state database")).count();
    assert_eq!((doubts(X1), doubts(X2)), (0, 0), "no database at all");
    let state = home.path().join("state_5.sqlite");
    let open = rusqlite::Connection::open(&state).unwrap();
    open.execute_batch("CREATE TABLE threads (id TEXT, rollout_path TEXT)").unwrap();
    open.execute("INSERT INTO threads VALUES (?1, ?2)", (X1, path.to_str().unwrap())).unwrap();
    drop(open);
    let before = std::fs::read(&state).unwrap();
    assert_eq!((doubts(X1), doubts(X2)), (0, 1));
    let open = rusqlite::Connection::open(&state).unwrap();
    open.execute("UPDATE threads SET rollout_path = '/gone/rollout.jsonl'", ()).unwrap();
    drop(open);
    assert_eq!((doubts(X1), doubts(X2)), (1, 1));
    std::fs::write(&state, [7; 40]).unwrap();
    assert_eq!((doubts(X1), doubts(X2)), (1, 1));
    assert_eq!(std::fs::read(&state).unwrap(), [7; 40]);
    assert_ne!(before, [7; 40]);
    let left: Vec<_> =
        std::fs::read_dir(home.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// C08: torn ends and zeros are skipped and counted.
#[test]
fn c08_damage_is_counted_and_skipped() {
    let home = Home::new();
    let good = meta(X1, "/w", r#","source":"cli""#) + &said("hi");
    for (tail, bytes) in [("{\"type\":\"ev", 11), ("\0\0\0\0", 4)] {
        home.put("sessions/2026/09/21", X1, &format!("{good}{tail}"));
        let read = home.read(X1);
        assert_eq!((read.conversation, read.damaged_bytes), (Conversation::Yes, bytes));
        assert_eq!(read.last_activity_ms, 1_789_988_400_000);
    }
    home.put("sessions/2026/09/21", X1, "");
    assert_eq!(home.read(X1).conversation, Conversation::Empty);
    home.put("sessions/2026/09/21", X1, &meta(X1, "/w", ""));
    assert_eq!(home.read(X1).conversation, Conversation::None);
}

/// A fork needs its parent's file.
#[test]
fn a_fork_names_its_base() {
    let home = Home::new();
    let rest = format!(
        r#","forked_from_id":"{X1}","history_base":{{"thread_id":"{X1}","end_ordinal_exclusive":4}}"#
    );
    home.put("sessions/2026/09/21", X2, &(meta(X2, "/w", &rest) + &said("two")));
    assert_eq!(home.read(X2).bases, [SessionId::parse(X1).unwrap()]);
}

/// Mode, model and directory of the last turn; what it was doing.
#[test]
fn the_last_turn_tells() {
    let home = Home::new();
    let turn = |cwd: &str, approval: &str| {
        format!(
            r#"{{"timestamp":"2026-09-21T11:00:00.000Z","type":"turn_context","payload":{{"cwd":"{cwd}","approval_policy":{approval},"sandbox_policy":{{"type":"workspace-write"}},"model":"m"}}}}"#
        ) + "\n"
    };
    let event = |kind: &str| format!(r#"{{"type":"event_msg","payload":{{"type":"{kind}"}}}}"#) + "\n";
    let text = meta(X1, "/w", r#","source":"cli""#)
        + &turn("/w", "\"never\"")
        + &said("hi")
        + &event("task_complete")
        + &turn("/w/sub", r#"{"granular":{}}"#)
        + &event("task_started");
    home.put("sessions/2026/09/21", X1, &text);
    let read = home.read(X1);
    assert_eq!(
        (read.current.as_deref(), read.mode.as_deref(), read.model.as_deref(), read.was),
        (Some("/w/sub"), Some("granular/workspace-write"), Some("m"), Was::MidTurn)
    );
}

/// C17: of three threads of one directory a person's is the only one that can be typed into, though it is the oldest.
#[test]
fn c17_only_a_persons_thread_is_open_to_a_pane() {
    let home = Home::new();
    let spawned = format!(
        r#","source":{{"subagent":{{"thread_spawn":{{"parent_thread_id":"{X1}"}}}}}},"thread_source":"subagent""#
    );
    let guardian = format!(
        r#","session_id":"{X1}","thread_source":"guardian_review","source":{{"subagent":{{"other":"guardian"}}}}"#
    );
    let future = r#","thread_source":"later","source":{"later":1}"#;
    let paths: Vec<PathBuf> =
        [(X1, r#","source":"cli""#), (X2, spawned.as_str()), (X3, guardian.as_str()), (X4, future)]
            .into_iter()
            .map(|(id, rest)| home.put("sessions/2026/09/21", id, &(meta(id, "/w", rest) + &said("hi"))))
            .collect();
    let typed: Vec<String> = list(home.path())
        .into_iter()
        .filter(|found| read(found).kind == Kind::Interactive)
        .map(|found| found.key.id.to_string())
        .collect();
    assert_eq!(typed, [X1]);
    // A process that holds them all, as an embedded front end does, shows the one it was started for.
    let readings = crate::codex::Codex.open_file_sessions(&paths[..3], &[]);
    let ids: Vec<&str> = readings.iter().map(|reading| reading.session.as_str()).collect();
    assert_eq!(ids, [X1]);
    let locks: Vec<PathBuf> =
        [X1, X2].map(|id| home.path().join(format!("thread-writer-locks/{id}.lock"))).into();
    let readings = crate::codex::Codex.open_file_sessions(&[], &locks);
    assert_eq!(readings.iter().map(|reading| reading.session.as_str()).collect::<Vec<_>>(), [X1]);
    assert_eq!(crate::codex::Codex.open_file_sessions(&[], &[home.path().join(format!("{X1}.lock"))]), []);
}

/// A writer lock that was left behind names its thread; other files beside it name none.
#[test]
fn locks_left_behind_name_their_threads() {
    let home = Home::new();
    assert_eq!(crate::codex::Codex.locks(home.path()), []);
    let dir = home.path().join("thread-writer-locks");
    std::fs::create_dir_all(&dir).unwrap();
    for name in [&format!("{X2}.lock"), &format!("{X1}.lock"), ".coordination.lock", X1, "a b.lock"] {
        std::fs::write(dir.join(name), "").unwrap();
    }
    let at = |id: &str| {
        let modified = std::fs::metadata(dir.join(format!("{id}.lock"))).unwrap().modified().unwrap();
        modified.duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
    };
    let locks = crate::codex::Codex.locks(home.path());
    let locks: Vec<(&str, i64)> = locks.iter().map(|(id, at_ms)| (id.as_str(), *at_ms)).collect();
    assert_eq!(locks, [(X1, at(X1)), (X2, at(X2))]);
}

/// C18: one quiet thread behind 300 newer ones of another directory; 22 KB of first line, the first message at 75 KB.
#[test]
fn c18_nothing_is_capped_before_the_directory_is_known() {
    let home = Home::new();
    for number in 0..300 {
        let id = format!("01900000-0000-7000-8000-{:012x}", 0x100 + number);
        home.put("sessions/2026/09/22", &id, &(meta(&id, "/w/busy", "") + &said("busy")));
    }
    let first = meta(X1, "/w/quiet", &format!(r#","base_instructions":"{}""#, "x".repeat(22_000)));
    let filler = r#"{"type":"world_state","payload":{}}"#.to_owned() + "\n";
    home.put("sessions/2026/09/21", X1, &(first + &filler.repeat(53_000 / filler.len()) + &said("late")));
    let all = list(home.path());
    assert_eq!(all.len(), 301);
    let quiet: Vec<Transcript> =
        all.iter().map(read).filter(|read| read.project.as_deref() == Some("/w/quiet")).collect();
    assert_eq!(quiet.len(), 1);
    assert_eq!((quiet[0].key.id.as_str(), quiet[0].last_prompt.as_deref()), (X1, Some("late")));
}

fn packed(text: &str) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
}

/// C18: a compressed rollout is read as a plain one is, live or archived; plain comes before compressed.
#[test]
fn c18_compressed_rollouts_are_read() {
    let home = Home::new();
    let text = meta(X1, "/w/quiet", r#","source":"cli""#) + &said("packed words");
    for below in ["archived_sessions", "sessions/2026/09/21"] {
        let plain = home.put(below, X1, "");
        std::fs::remove_file(&plain).unwrap();
        let path = plain.with_extension("jsonl.zst");
        std::fs::write(&path, packed(&text)).unwrap();
        let read_now = home.read(X1);
        assert_eq!(
            (read_now.project.as_deref(), read_now.last_prompt.as_deref(), read_now.kind),
            (Some("/w/quiet"), Some("packed words"), Kind::Interactive)
        );
        let archived = below == "archived_sessions";
        assert_eq!(
            (read_now.compressed, read_now.archived, read_now.conversation),
            (true, archived, Conversation::Yes)
        );
        assert_eq!((read_now.notes.as_slice(), read_now.damaged_bytes), (&[] as &[String], 0));
    }
    // Cut by a power loss, and no zstd at all: the id is still known, and why nothing else is.
    let path = find(home.path(), &SessionId::parse(X1).unwrap()).unwrap().path;
    assert!(!path.to_string_lossy().contains("archived"));
    for bytes in [&packed(&text)[..40], b"no zstd at all"] {
        std::fs::write(&path, bytes).unwrap();
        let torn = home.read(X1);
        assert_eq!((torn.conversation, torn.project, torn.title), (Conversation::Yes, None, None));
        assert!(torn.notes[0].starts_with("its title is unknown: it is compressed"), "{:?}", torn.notes);
    }
    home.put("sessions/2026/09/22", X1, &(meta(X1, "/w/quiet", "") + &said("plain words")));
    assert_eq!(home.read(X1).last_prompt.as_deref(), Some("plain words"));
    assert_eq!(list(home.path()).len(), 1);
}

/// C14, C34: what may have changed in a part that was not read is not told from before it, and no cut is damage.
#[test]
fn c34_the_head_of_a_large_rollout_tells_no_mode() {
    let home = Home::new();
    let turn = r#"{"timestamp":"2026-09-21T11:00:00.000Z","type":"turn_context","payload":{"cwd":"/w/sub","approval_policy":"never","sandbox_policy":{"type":"danger-full-access"},"model":"m"}}"#;
    let begin = meta(X1, "/w", r#","source":"cli""#) + turn + "\n" + &said("hi");
    let filler = format!(r#"{{"type":"world_state","payload":"{}"}}"#, "x".repeat(1000)) + "\n";
    home.put("sessions/2026/09/21", X1, &(begin.clone() + &filler));
    assert_eq!(home.read(X1).mode.as_deref(), Some("never/danger-full-access"));
    let long = begin + &filler.repeat(10_000);
    let path = home.put("sessions/2026/09/21", X1, &long);
    for _ in ["plain", "compressed"] {
        let found = find(home.path(), &SessionId::parse(X1).unwrap()).unwrap();
        let read_now = read(&found);
        assert_eq!((read_now.mode, read_now.model, read_now.was), (None, None, Was::Unknown));
        assert_eq!((read_now.current.as_deref(), read_now.last_activity_ms), (Some("/w"), found.modified_ms));
        assert_eq!((read_now.last_prompt.as_deref(), read_now.damaged_bytes), (Some("hi"), 0));
        std::fs::write(path.with_extension("jsonl.zst"), packed(&long)).unwrap();
        let _ = std::fs::remove_file(&path);
    }
}

/// C19: the database and its side files keep their bytes, also while Codex has it open with rows only in its log.
#[test]
fn c19_the_database_is_left_as_it_is() {
    let home = Home::new();
    let path = home.put("sessions/2026/09/21", X1, &(meta(X1, "/w", "") + &said("one")));
    home.put("sessions/2026/09/21", X2, &(meta(X2, "/w", "") + &said("two")));
    std::fs::write(home.path().join("state_4.sqlite"), "an older one").unwrap();
    let open = rusqlite::Connection::open(home.path().join("state_5.sqlite")).unwrap();
    open.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE threads (id TEXT, rollout_path TEXT)",
    )
    .unwrap();
    open.execute("INSERT INTO threads VALUES (?1, ?2)", (X1, path.to_str().unwrap())).unwrap();
    let files = || -> Vec<(std::ffi::OsString, Vec<u8>)> {
        let mut all: Vec<_> = std::fs::read_dir(home.path())
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().is_file())
            .map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap()))
            .collect();
        all.sort();
        all
    };
    let before = files();
    assert_eq!(before.len(), 4, "the database, its log, its index, and the older one");
    let doubts = |id: &str| home.read(id).notes;
    assert_eq!(doubts(X1), [] as [&str; 0]);
    assert_eq!(doubts(X2), ["Codex may refuse: not in its state database"]);
    assert_eq!(files(), before);
    // A row that comes later is seen: what was read before is not believed for ever.
    open.execute("INSERT INTO threads VALUES (?1, ?2)", (X2, path.to_str().unwrap())).unwrap();
    assert_eq!(doubts(X2), [] as [&str; 0]);
    drop(open);
}

/// Whole rollouts of two versions, a fork and a sub-agent's, as they were written.
#[test]
fn rollouts_of_two_versions() {
    let rows = [
        (
            "01a22994-b4dd-7053-883f-3d018223487b",
            include_str!("../fixtures/0.132.0.jsonl"),
            ("0.132.0", Kind::Interactive, "old version 0.132.0", "on-request/workspace-write"),
            None,
        ),
        (
            "01a2298f-608d-7eb0-87d1-4e1a867ee6bb",
            include_str!("../fixtures/0.171.0-fork.jsonl"),
            ("0.171.0", Kind::Interactive, "gamma in fork", "on-request/read-only"),
            Some("01a2298f-522e-7cf0-b774-84b8e4030b9b"),
        ),
        (
            "01a22991-349b-7202-b53f-3f2a8d362051",
            include_str!("../fixtures/0.171.0-subagent.jsonl"),
            ("0.171.0", Kind::SubAgent, "", "granular/workspace-write"),
            None,
        ),
    ];
    for (id, text, (version, kind, prompt, mode), base) in rows {
        let home = Home::new();
        home.put("sessions/2026/11/29", id, text);
        let read = home.read(id);
        assert_eq!(
            (read.kind, read.conversation, read.was),
            (kind, Conversation::Yes, Was::Idle),
            "{version}"
        );
        assert_eq!(
            [&read.project, &read.current, &read.version, &read.mode, &read.model].map(Option::as_deref),
            [Some("/home/dev/proj2"), Some("/home/dev/proj2"), Some(version), Some(mode), Some("fake-model")]
        );
        assert_eq!(read.bases.first().map(SessionId::as_str), base);
        if kind == Kind::Interactive {
            assert_eq!(read.last_prompt.as_deref(), Some(prompt));
        }
        assert_eq!((read.damaged_bytes, read.notes.len()), (0, 0));
    }
}
