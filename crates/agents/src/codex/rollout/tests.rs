use super::*;

const X1: &str = "01900000-0000-7000-8000-000000000001";
const X2: &str = "01900000-0000-7000-8000-000000000002";
const X3: &str = "01900000-0000-7000-8000-000000000003";

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
