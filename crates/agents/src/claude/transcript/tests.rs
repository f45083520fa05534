use super::*;
use serde_json::json;
use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};

const U1: &str = "11111111-1111-4111-8111-111111111111";
const U2: &str = "22222222-2222-4222-8222-222222222222";
const U3: &str = "33333333-3333-4333-8333-333333333333";
const T1: &str = "2026-09-21T10:00:00.000Z";
const T2: &str = "2026-09-21T11:00:00.000Z";
const T3: &str = "2026-09-21T12:00:00.000Z";
const T2_MS: i64 = 1_789_988_400_000;
const T3_MS: i64 = T2_MS + 3_600_000;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn put(&self, below: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join("projects").join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn ids(&self) -> Vec<String> {
        list(self.path()).into_iter().map(|found| found.key.id.to_string()).collect()
    }

    fn read(&self, id: &str) -> Transcript {
        read(&find(self.path(), &SessionId::parse(id).unwrap()).unwrap())
    }
}

fn message(kind: &str, id: &str, cwd: &str, at: &str) -> String {
    let content = if kind == "user" { "hello" } else { "hello to you" };
    json!({ "type": kind, "sessionId": id, "cwd": cwd, "timestamp": at, "uuid": "x", "isSidechain": false,
        "message": { "role": kind, "content": content, "stop_reason": "end_turn", "model": "m-1" } })
    .to_string()
        + "\n"
}

fn user(id: &str, cwd: &str, at: &str) -> String {
    message("user", id, cwd, at)
}

fn asst(id: &str, cwd: &str, at: &str) -> String {
    message("assistant", id, cwd, at)
}

fn snapshot() -> String {
    json!({ "type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": false })
        .to_string()
        + "\n"
}

/// C08: half a line, zeros, a cut character: listed with its last whole line, damage counted, nothing written.
#[test]
fn c08_a_damaged_tail_is_counted_and_ignored() {
    let good = user(U1, "/w/a", T1) + &asst(U1, "/w/a", T1) + &asst(U1, "/w/a", T2);
    let cut = asst(U1, "/w/a", "ä");
    let cut = &cut.as_bytes()[..=cut.find('ä').unwrap()];
    assert!(std::str::from_utf8(cut).is_err());
    let tails: [&[u8]; 6] = [
        br#"{"type":"assistant","mess"#,
        &[0; 4096],
        cut,
        b"garbage\n",
        b"\0\0\0\0\n",
        br#"["no", "object"]"#,
    ];
    for tail in tails {
        let home = Home::new();
        let bytes = [good.as_bytes(), tail].concat();
        let path = home.put(&format!("-w-a/{U1}.jsonl"), &bytes);
        let old = fs::metadata(&path).unwrap();
        let read = home.read(U1);
        assert_eq!(
            (read.conversation, read.damaged_bytes, read.last_activity_ms, read.was, read.kind),
            (Conversation::Yes, tail.len() as u64, T2_MS, Was::Idle, Kind::Interactive),
            "{:?}",
            String::from_utf8_lossy(tail)
        );
        assert_eq!(read.project.as_deref(), Some("/w/a"));
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), old.modified().unwrap());
    }
}

/// C08: what stands behind damage counts, and damage in the middle hides nothing.
#[test]
fn c08_damage_in_the_middle_hides_nothing() {
    let home = Home::new();
    let bytes =
        [user(U1, "/w/a", T1).as_bytes(), &[0; 64], b"\n{\"half\n", asst(U1, "/w/a", T3).as_bytes()].concat();
    home.put(&format!("-w-a/{U1}.jsonl"), bytes);
    let read = home.read(U1);
    assert_eq!(
        (read.conversation, read.damaged_bytes, read.last_activity_ms),
        (Conversation::Yes, 65 + 7, T3_MS)
    );
    // A whole line without its line feed is no damage.
    let home = Home::new();
    home.put(&format!("-w-a/{U1}.jsonl"), user(U1, "/w/a", T2).trim_end());
    assert_eq!((home.read(U1).damaged_bytes, home.read(U1).conversation), (0, Conversation::Yes));
}

/// C08, C13: nothing to resume, and in which way.
#[test]
fn c08_c13_files_without_a_conversation() {
    let sidechain = user(U1, "/w/a", T1).replace("\"isSidechain\":false", "\"isSidechain\":true");
    let meta = user(U1, "/w/a", T1).replace("\"isSidechain\":false", "\"isMeta\":true");
    let rows: [(String, Conversation, Kind); 7] = [
        (String::new(), Conversation::Empty, Kind::Interactive),
        ("\n\n".into(), Conversation::None, Kind::Interactive),
        ("\0".repeat(8192), Conversation::None, Kind::Interactive),
        (snapshot() + &snapshot(), Conversation::None, Kind::Interactive),
        (
            json!({ "type": "custom-title", "customTitle": "x" }).to_string(),
            Conversation::None,
            Kind::Interactive,
        ),
        (meta, Conversation::None, Kind::Interactive),
        (snapshot() + &sidechain, Conversation::None, Kind::SubAgent),
    ];
    for (text, conversation, kind) in rows {
        let home = Home::new();
        home.put(&format!("-w-a/{U1}.jsonl"), &text);
        let read = home.read(U1);
        assert_eq!((read.conversation, read.kind), (conversation, kind), "{text:?}");
        assert_eq!(read.was, Was::Unknown, "{text:?}");
    }
    let home = Home::new();
    fs::create_dir_all(home.path().join(format!("projects/-w-a/{U1}.jsonl"))).unwrap();
    assert_eq!(home.read(U1).conversation, Conversation::Unreadable);
    assert_eq!(find(home.path(), &SessionId::parse(U2).unwrap()), None);
}

/// C09: one folder holds several directories; which one is told by the lines alone.
#[test]
fn c09_the_folder_is_never_decoded() {
    let home = Home::new();
    for (id, cwd) in [(U1, "/w/my_app"), (U2, "/w/my-app"), (U3, "/w/my/app")] {
        home.put(&format!("-w-my-app/{id}.jsonl"), user(id, cwd, T1) + &asst(id, cwd, T2));
        assert!(folder_fits("-w-my-app", cwd));
    }
    let projects =
        |home: &Home| -> Vec<Option<String>> { home.ids().iter().map(|id| home.read(id).project).collect() };
    assert_eq!(projects(&home), ["/w/my_app", "/w/my-app", "/w/my/app"].map(|cwd| Some(cwd.to_owned())));
    let home = Home::new();
    for (id, cwd) in [(U1, "/w/新聞"), (U2, "/w/暫存")] {
        home.put(&format!("-w---/{id}.jsonl"), user(id, cwd, T1));
        assert!(folder_fits("-w---", cwd));
    }
    assert_eq!(projects(&home), ["/w/新聞", "/w/暫存"].map(|cwd| Some(cwd.to_owned())));
    // No line fits the folder: no directory is made up from its name.
    let home = Home::new();
    home.put(&format!("-w-x/{U1}.jsonl"), user(U1, "/elsewhere", T1));
    let read = home.read(U1);
    assert_eq!((read.project, read.current.as_deref()), (None, Some("/elsewhere")));
}

/// How Claude encodes directories: every UTF-16 unit that is no letter or digit, and long names cut.
#[test]
fn c09_how_folders_are_named() {
    let long = format!("/{}", "a".repeat(300));
    let cut = format!("-{}", "a".repeat(199));
    for (folder, cwd, fits) in [
        ("-w-a", "/w/a", true),
        ("-w-A", "/w/A", true),
        ("-w-a", "/w/A", false),
        ("-w--", "/w/🦀", false),
        ("-w---", "/w/🦀", true),
        ("-w----worktrees-x", "/w/.a/worktrees/x", false),
        ("-w--claude-worktrees-x", "/w/.claude/worktrees/x", true),
        (&format!("{cut}-1a2b3c"), &long, true),
        (&cut, &long, false),
        (&format!("-{}", "a".repeat(300)), &long, false),
    ] {
        assert_eq!(folder_fits(folder, cwd), fits, "{folder} {cwd}");
    }
}

/// A conversation that moved about belongs to the directory that its folder was made for.
#[test]
fn a_moved_conversation_keeps_its_project() {
    let home = Home::new();
    let text = user(U1, "/w/a", T1) + &asst(U1, "/w/a", T1) + &user(U1, "/w/b", T2) + &asst(U1, "/w/b", T3);
    home.put(&format!("-w-a/{U1}.jsonl"), &text);
    let read = home.read(U1);
    assert_eq!((read.project.as_deref(), read.current.as_deref()), (Some("/w/a"), Some("/w/b")));
    // Continued from elsewhere: the first lines are of another directory.
    home.put(&format!("-w-b/{U2}.jsonl"), text.replace(U1, U2));
    assert_eq!(home.read(U2).project.as_deref(), Some("/w/b"));
}

/// C10: what lies in the folder counts; Claude's index is not looked at, whatever it says.
#[test]
fn c10_the_files_count_not_the_index() {
    let index = json!({ "version": 1, "entries": [
        { "sessionId": U1, "modified": "2026-08-22T11:00:00.000Z" }, { "sessionId": U3 },
    ] });
    for index in [Some(index.to_string()), Some("{".into()), None] {
        let home = Home::new();
        for id in [U1, U2] {
            home.put(&format!("-w-a/{id}.jsonl"), user(id, "/w/a", T1) + &asst(id, "/w/a", T2));
        }
        if let Some(index) = &index {
            home.put("-w-a/sessions-index.json", index);
        }
        assert_eq!(home.ids(), [U1, U2]);
        assert_eq!(home.read(U1).last_activity_ms, T2_MS);
        assert_eq!(find(home.path(), &SessionId::parse(U3).unwrap()), None);
    }
}

/// C11: sub-agents lie deeper, are named otherwise, or say so in their lines; only UUIDs as Claude spells them count.
#[test]
fn c11_sub_agents_are_no_sessions() {
    let home = Home::new();
    let line = |id| user(id, "/w/a", T1);
    home.put(&format!("-w-a/{U1}.jsonl"), line(U1));
    home.put("-w-a/agent-aeb76f0.jsonl", line(U1).replace("\"isSidechain\":false", "\"isSidechain\":true"));
    home.put(&format!("-w-a/{U1}/subagents/agent-1.jsonl"), line(U1));
    home.put(&format!("-w-a/{U1}/subagents/agent-1.meta.json"), "{}");
    home.put(&format!("-w-a/{U1}/{U3}.jsonl"), line(U3));
    home.put(
        &format!("-w-a/{U2}.jsonl"),
        snapshot() + &line(U2).replace("\"isSidechain\":false", "\"isSidechain\":true"),
    );
    home.put("-w-a/management.jsonl", line(U1));
    home.put("-w-a/--dangerously-skip-permissions.jsonl", line(U1));
    home.put("-w-a/ABCDEF01-1111-4111-8111-111111111111.jsonl", line(U1));
    home.put(&format!("-w-a/{U3}.jsonl.bak"), line(U3));
    home.put(&format!("stray-{U3}.jsonl"), line(U3));
    assert_eq!(home.ids(), [U1, U2]);
    assert_eq!((home.read(U1).kind, home.read(U2).kind), (Kind::Interactive, Kind::SubAgent));
}

/// C12: the file's name is the session; its beginning may be an ancestor's, its end may point onward.
#[test]
fn c12_a_fork_is_the_session_of_its_name() {
    let home = Home::new();
    let onward = json!({ "type": "continued-in", "continuedInSessionId": U2 }).to_string() + "\n";
    home.put(&format!("-w-a/{U1}.jsonl"), user(U1, "/w/a", T1) + &asst(U1, "/w/a", T2) + &onward);
    let fork = user(U1, "/w/a", T1)
        + &asst(U1, "/w/a", T1)
        + &onward
        + &user(U2, "/w/a", T3)
        + &asst(U2, "/w/a", T3);
    home.put(&format!("-w-a/{U2}.jsonl"), fork);
    let (parent, child) = (home.read(U1), home.read(U2));
    assert_eq!((parent.key.id.as_str(), parent.continued_in.as_ref().map(SessionId::as_str)), (U1, Some(U2)));
    // A copy of the parent's last word points at the fork itself, which is no continuation.
    assert_eq!((child.key.id.as_str(), child.continued_in), (U2, None));
    assert_eq!((child.last_activity_ms, child.bases), (T3_MS, Vec::new()));
    let bad = json!({ "type": "continued-in", "continuedInSessionId": "U1; touch PWNED" }).to_string();
    home.put(&format!("-w-a/{U3}.jsonl"), user(U3, "/w/a", T1) + &bad);
    assert_eq!(home.read(U3).continued_in, None);
}

/// Bytes that this thread has read so far.
fn bytes_read() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// C14: a gigabyte, mostly hole: a bounded head and tail are read.
#[test]
fn c14_a_gigabyte_is_not_read_through() {
    let home = Home::new();
    let path = home.put(&format!("-w-a/{U1}.jsonl"), user(U1, "/w/a", T1) + &asst(U1, "/w/a", T1));
    let mut file = File::options().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start((1 << 30) - 4096)).unwrap();
    file.write_all(("\n".to_owned() + &user(U1, "/w/b", T2) + &asst(U1, "/w/b", T3)).as_bytes()).unwrap();
    let found = find(home.path(), &SessionId::parse(U1).unwrap()).unwrap();
    let before = bytes_read();
    let read = read(&found);
    let cost = bytes_read() - before;
    assert!(cost <= scan::HEAD + scan::TAIL + 4096, "{cost} bytes");
    assert_eq!(
        (
            read.project.as_deref(),
            read.current.as_deref(),
            read.last_activity_ms,
            read.was,
            read.conversation
        ),
        (Some("/w/a"), Some("/w/b"), T3_MS, Was::Idle, Conversation::Yes)
    );
    assert!(read.size > 1 << 29);
}

/// C14: one line of 12.8 million characters, in the middle, at the beginning, or last.
#[test]
fn c14_one_giant_line_hides_nothing() {
    let huge = user(U1, "/w/a", T2).replace("hello", &"x".repeat(12_800_000));
    let small: Vec<String> = (0..17).map(|_| user(U1, "/w/a", T1)).collect();
    let home = Home::new();
    let path = format!("-w-a/{U1}.jsonl");
    home.put(&path, small.concat() + &huge + &asst(U1, "/w/a", T3));
    let read = home.read(U1);
    assert_eq!((read.last_activity_ms, read.was, read.conversation), (T3_MS, Was::Idle, Conversation::Yes));
    assert_eq!((read.damaged_bytes, read.last_prompt.as_deref()), (0, Some("hello")));
    home.put(&path, huge.clone() + &asst(U1, "/w/a", T3));
    let read = home.read(U1);
    assert_eq!(
        (read.project.as_deref(), read.conversation, read.damaged_bytes),
        (Some("/w/a"), Conversation::Yes, 0)
    );
    home.put(&path, &huge);
    let read = home.read(U1);
    assert_eq!((read.conversation, read.damaged_bytes), (Conversation::Yes, 0));
    assert_eq!(read.notes, ["too large to read through; no message was seen in the part that was read"]);
}

/// C14, C34: what may have changed in a part that was not read is not told from before it.
#[test]
fn c34_the_head_of_a_large_file_tells_no_mode() {
    let home = Home::new();
    let bypass =
        json!({ "type": "permission-mode", "permissionMode": "bypassPermissions" }).to_string() + "\n";
    let noise = json!({ "type": "api-request", "x": "y".repeat(1000) }).to_string() + "\n";
    let begin = bypass + &user(U1, "/w/a", T1);
    let path = home.put(&format!("-w-a/{U1}.jsonl"), begin.clone() + &noise);
    let whole = home.read(U1);
    assert_eq!((whole.mode.as_deref(), whole.was), (Some("bypassPermissions"), Was::MidTurn));
    home.put(&format!("-w-a/{U1}.jsonl"), begin + &noise.repeat(3000));
    let modified = modified_ms(&fs::metadata(&path).unwrap());
    let read = home.read(U1);
    assert_eq!(
        (read.mode, read.was, read.current, read.last_activity_ms),
        (None, Was::Unknown, None, modified)
    );
    assert_eq!((read.project.as_deref(), read.conversation), (Some("/w/a"), Conversation::Yes));
}

/// C14: many files are listed by their names alone.
#[test]
fn c14_a_list_opens_nothing() {
    let home = Home::new();
    for number in 0..2_600 {
        home.put(
            &format!("-w-{}/{number:08x}-1111-4111-8111-111111111111.jsonl", number % 40),
            "{}\n".repeat(100),
        );
    }
    let before = bytes_read();
    assert_eq!(list(home.path()).len(), 2_600);
    // The meter itself reads a little.
    assert!(bytes_read() - before < 2_600, "{}", bytes_read() - before);
}

/// C15, C16: an id is sought in its own home and nowhere else; reading changes no time.
#[test]
fn c15_c16_only_the_named_home_is_asked() {
    let (own, other) = (Home::new(), Home::new());
    let path = own.put(&format!("-w-a/{U1}.jsonl"), user(U1, "/w/a", T1));
    other.put(&format!("-w-a/{U1}/tool-results/x.txt"), "left");
    let id = SessionId::parse(U1).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    let found = find(own.path(), &id).unwrap();
    assert_eq!(
        (found.key.home.as_str(), found.modified_ms),
        (own.path().to_str().unwrap(), 1_700_000_000_000)
    );
    read(&found);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), old);
    assert_eq!(find(other.path(), &id), None);
    assert_eq!(list(other.path()), []);
    assert_eq!(list(Path::new("/nonexistent")), []);
}

/// The same id in two folders: the one with content, then the one written last.
#[test]
fn of_two_files_of_one_id_the_living_one_counts() {
    let home = Home::new();
    let id = SessionId::parse(U1).unwrap();
    let full = home.put(&format!("-w-a/{U1}.jsonl"), user(U1, "/w/a", T1));
    let empty = home.put(&format!("-w-b/{U1}.jsonl"), "");
    let later = std::time::SystemTime::now() + std::time::Duration::from_mins(1);
    File::options().write(true).open(&empty).unwrap().set_modified(later).unwrap();
    assert_eq!(find(home.path(), &id).unwrap().path, full);
    fs::write(&empty, user(U1, "/w/b", T1)).unwrap();
    File::options().write(true).open(&empty).unwrap().set_modified(later).unwrap();
    assert_eq!(find(home.path(), &id).unwrap().path, empty);
}

/// Whole transcripts of three versions, as they were written.
#[test]
fn transcripts_of_three_versions() {
    let rows = [
        (
            "-r-w-v20",
            include_str!("../fixtures/2.0.77.jsonl"),
            "2.0.77",
            "old two",
            Was::Idle,
            None,
            "claude-sonnet-4-5-20250929",
        ),
        (
            "-r-w-v112",
            include_str!("../fixtures/2.1.112.jsonl"),
            "2.1.112",
            "busy [[slow 4]]",
            Was::Idle,
            Some("default"),
            "claude-sonnet-4-6",
        ),
        (
            "-r-w-mid",
            include_str!("../fixtures/2.1.332.jsonl"),
            "2.1.332",
            "long tool [[bash sleep 97; echo finished]]",
            Was::MidTurn,
            Some("default"),
            "claude-opus-5-5",
        ),
    ];
    for (folder, text, version, prompt, was, mode, model) in rows {
        let home = Home::new();
        home.put(&format!("{folder}/{U1}.jsonl"), text);
        let read = home.read(U1);
        let project = folder.replace('-', "/");
        assert_eq!(
            (read.conversation, read.kind, read.damaged_bytes, read.was),
            (Conversation::Yes, Kind::Interactive, 0, was),
            "{version}"
        );
        assert_eq!(
            [&read.project, &read.current, &read.version, &read.last_prompt, &read.mode, &read.model]
                .map(Option::as_deref),
            [Some(project.as_str()), Some(project.as_str()), Some(version), Some(prompt), mode, Some(model)],
        );
    }
}

/// Lines of types and shapes that no version wrote yet are skipped, whatever stands in them.
#[test]
fn unknown_lines_and_types_are_skipped() {
    let home = Home::new();
    let odd = [
        json!({ "type": 7, "cwd": [], "message": "text", "timestamp": {}, "sessionId": null }),
        json!({ "type": "user", "message": [], "isSidechain": "yes", "permissionMode": 3, "cwd": {"a": [1]} }),
        json!({ "type": "assistant", "message": { "content": [7, null, [], { "type": [] }], "model": {}, "stop_reason": 1.5 } }),
        json!({ "type": "later-kind", "cwd": "/w/later", "customTitle": ["x"], "lastPrompt": null }),
        json!({}),
    ];
    let odd: String = odd.iter().map(|line| line.to_string() + "\n").collect();
    let doubled = r#"{"type":"user","type":"user","cwd":"/w/z"}"#.to_owned() + "\n";
    home.put(
        &format!("-w-a/{U1}.jsonl"),
        user(U1, "/w/a", T1) + &odd + &doubled + &asst(U1, "/w/a", T2) + &odd,
    );
    let read = home.read(U1);
    assert_eq!((read.damaged_bytes, read.last_activity_ms, read.mode), (0, T2_MS, None));
    assert_eq!((read.last_prompt.as_deref(), read.title), (Some("hello"), None));
}

/// What a person typed is the label; what Claude wrote in their name is not.
#[test]
fn only_typed_words_are_prompts() {
    let home = Home::new();
    let said = |content: serde_json::Value, more: &str| {
        let mut line =
            json!({ "type": "user", "cwd": "/w/a", "message": { "role": "user", "content": content } });
        if !more.is_empty() {
            line[more] = json!(true);
        }
        line.to_string() + "\n"
    };
    let tool =
        json!([{ "type": "tool_result", "content": "x" }, { "type": "text", "text": "beside a result" }]);
    let not_typed = said(json!("<command-name>/exit</command-name>"), "")
        + &said(json!("  <local-command-stdout>Bye!"), "")
        + &said(json!("<task-notification>\n"), "")
        + &said(json!("[Request interrupted by user]"), "")
        + &said(json!("Caveat: The messages below were generated"), "")
        + &said(json!("a summary"), "isCompactSummary")
        + &said(json!("meta"), "isMeta")
        + &said(json!("of a sub-agent"), "isSidechain")
        + &said(tool, "")
        + &said(json!("   "), "")
        + &said(json!([]), "");
    let typed = said(
        json!([{ "type": "text", "text": "two" }, { "type": "image" }, { "type": "text", "text": "parts" }]),
        "",
    );
    home.put(&format!("-w-a/{U1}.jsonl"), said(json!("first"), "") + &typed + &not_typed);
    assert_eq!(home.read(U1).last_prompt.as_deref(), Some("two\nparts"));
    let word = json!({ "type": "last-prompt", "lastPrompt": "é".repeat(4096) }).to_string();
    home.put(&format!("-w-a/{U2}.jsonl"), typed + &word);
    assert_eq!(
        home.read(U2).last_prompt.unwrap(),
        "é".repeat(2048),
        "a label of bounded length, by characters"
    );
}

/// What it was doing: the last line that tells.
#[test]
fn what_it_was_doing() {
    let line = |value: serde_json::Value| value.to_string() + "\n";
    let begin = user(U1, "/w/a", T1);
    let stop = |reason: serde_json::Value| {
        line(json!({ "type": "assistant", "message": { "stop_reason": reason } }))
    };
    let rows = [
        (String::new(), Was::MidTurn),
        (stop(json!("tool_use")), Was::MidTurn),
        (stop(serde_json::Value::Null), Was::MidTurn),
        (stop(json!("end_turn")), Was::Idle),
        (stop(json!("max_tokens")), Was::Idle),
        (stop(json!("end_turn")) + &line(json!({ "type": "system", "subtype": "local_command" })), Was::Idle),
        (line(json!({ "type": "system", "subtype": "turn_duration" })), Was::Idle),
        (
            line(json!({ "type": "user", "message": { "content": [{ "type": "tool_result" }] } })),
            Was::MidTurn,
        ),
        (
            line(json!({ "type": "user", "message": { "content": "[Request interrupted by user]" } })),
            Was::Idle,
        ),
        (line(json!({ "type": "assistant", "isApiErrorMessage": true, "message": {} })), Was::Idle),
    ];
    for (text, want) in rows {
        let home = Home::new();
        home.put(&format!("-w-a/{U1}.jsonl"), begin.clone() + &text);
        assert_eq!(home.read(U1).was, want, "{text}");
    }
}

/// Mode, title and kind: the last word counts, an emptied title too; programs' sessions are told apart.
#[test]
fn the_last_word_counts() {
    let home = Home::new();
    let line = |value: serde_json::Value| value.to_string() + "\n";
    let mode = |word: &str| line(json!({ "type": "permission-mode", "permissionMode": word }));
    let title = |text: &str| line(json!({ "type": "custom-title", "customTitle": text }));
    let input = line(json!({ "type": "mode", "mode": "normal" }));
    let path = format!("-w-a/{U1}.jsonl");
    let begin = user(U1, "/w/a", T1);
    home.put(
        &path,
        begin.clone()
            + &mode("bypassPermissions")
            + &title("one")
            + &mode("default")
            + &title("two")
            + &input,
    );
    let read = home.read(U1);
    assert_eq!((read.mode.as_deref(), read.title.as_deref()), (Some("default"), Some("two")));
    home.put(
        &path,
        begin.clone() + &title("one") + &title("") + &line(json!({ "type": "mode", "mode": "plan" })),
    );
    let read = home.read(U1);
    assert_eq!((read.mode.as_deref(), read.title), (Some("plan"), None));
    let sdk = begin.replace("\"isSidechain\"", "\"entrypoint\":\"sdk-cli\",\"isSidechain\"");
    home.put(&path, &sdk);
    assert_eq!(home.read(U1).kind, Kind::Headless);
    home.put(&path, sdk.clone() + &sdk.replace("sdk-cli", "cli"));
    assert_eq!(home.read(U1).kind, Kind::Interactive, "a person took it over");
}
