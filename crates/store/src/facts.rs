//! Facts that no writer has taken in yet: one file each, whole and durable when `put` returns.
//!
//! A file holds lines `reseat-fact VERSION CHECKSUM JSON`. Two processes never write one file; a reader sees a file
//! whole or not at all. Damaged files are kept, under `damaged/`.

use reseat_core::fact::{FORMAT, Fact};
use reseat_core::ids::digest;
use reseat_os::atomic;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

const WORD: &str = "reseat-fact";
const ENDING: &str = ".fact";
/// A file of facts larger than this is not ours.
const MAX_BYTES: u64 = 64 << 20;

/// A fact could be kept nowhere.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep a fact in {}", dir.display())]
pub struct SpoolError {
    /// The first place tried.
    pub dir: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// The directory, and a second one for when the first cannot be written.
#[derive(Debug, Clone)]
pub struct Spool {
    dir: PathBuf,
    fallback: Option<PathBuf>,
}

/// What lies in the directories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending {
    /// Whole facts, each with the file it came from.
    pub facts: Vec<(PathBuf, Fact)>,
    /// Files that are not whole; whole lines in them are among the facts.
    pub damaged: Vec<PathBuf>,
    /// Files that a newer version wrote; left where they are.
    pub newer: Vec<PathBuf>,
    /// Files in the second place: the first could not be written.
    pub in_fallback: usize,
}

impl Spool {
    /// Names the directories; makes nothing.
    pub const fn new(dir: PathBuf, fallback: Option<PathBuf>) -> Self {
        Self { dir, fallback }
    }

    /// Keeps a fact. Durable on return. Called at once from any number of processes; none waits for another.
    pub fn put(&self, fact: &Fact) -> Result<PathBuf, SpoolError> {
        let line = line_of(fact);
        let name = format!("{}{ENDING}", fact.stamp.id());
        let first = put_in(&self.dir, &name, &line);
        match (first, &self.fallback) {
            (Ok(path), _) => Ok(path),
            (Err(source), Some(fallback)) => {
                put_in(fallback, &name, &line).map_err(|_| SpoolError { dir: self.dir.clone(), source })
            }
            (Err(source), None) => Err(SpoolError { dir: self.dir.clone(), source }),
        }
    }

    /// Reads what is pending, sorted by file. Changes nothing.
    pub fn read(&self) -> Pending {
        let mut out = Pending::default();
        read_dir(&self.dir, &mut out);
        if let Some(fallback) = self.fallback.as_ref().filter(|dir| **dir != self.dir) {
            let before = out.facts.len();
            read_dir(fallback, &mut out);
            out.in_fallback = out.facts.len() - before;
        }
        out
    }

    /// Forgets what a committed transaction has taken in. Damaged files are moved aside, never removed; when they
    /// cannot be moved they stay. Killed in between, the next writer takes the rest in again, which changes nothing.
    pub fn settle(&self, taken: &Pending) {
        for path in &taken.damaged {
            let Some((dir, name)) = path.parent().zip(path.file_name()) else { continue };
            let aside = dir.join("damaged");
            if DirBuilder::new().recursive(true).mode(0o700).create(&aside).is_ok() {
                let _ = std::fs::rename(path, aside.join(name));
            }
        }
        for (path, _) in &taken.facts {
            let _ = std::fs::remove_file(path);
        }
        for dir in [Some(&self.dir), self.fallback.as_ref()].into_iter().flatten() {
            atomic::sweep(dir);
        }
    }

    /// The files moved aside because they were damaged.
    pub fn set_aside(&self) -> Vec<PathBuf> {
        let mut out: Vec<PathBuf> = [Some(&self.dir), self.fallback.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(|dir| std::fs::read_dir(dir.join("damaged")).ok())
            .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
            .collect();
        out.sort();
        out
    }
}

fn put_in(dir: &Path, name: &str, line: &str) -> io::Result<PathBuf> {
    if !dir.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let path = dir.join(name);
    atomic::write(&path, line.as_bytes(), 0o600).map_err(|error| error.source)?;
    Ok(path)
}

fn line_of(fact: &Fact) -> String {
    let json = serde_json::to_string(fact).unwrap_or_default();
    format!("{WORD} {FORMAT} {} {json}\n", checksum(&json))
}

fn checksum(json: &str) -> String {
    digest("", 16, &[json])
}

fn read_dir(dir: &Path, out: &mut Pending) {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with(ENDING))
        .collect();
    paths.sort();
    for path in paths {
        read_file(&path, out);
    }
}

fn read_file(path: &Path, out: &mut Pending) {
    let regular = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES);
    let bytes = if regular { std::fs::read(path) } else { Err(io::ErrorKind::InvalidData.into()) };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        // Taken in and unlinked by a writer since the directory was listed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(_) => {
            out.damaged.push(path.to_owned());
            return;
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut whole = bytes.ends_with(b"\n");
    for line in text.lines() {
        match parse(line) {
            Line::Fact(fact) => out.facts.push((path.to_owned(), *fact)),
            Line::Newer => {
                out.newer.push(path.to_owned());
                return;
            }
            Line::Damaged => whole = false,
        }
    }
    if !whole {
        out.damaged.push(path.to_owned());
    }
}

enum Line {
    Fact(Box<Fact>),
    Newer,
    Damaged,
}

fn parse(line: &str) -> Line {
    let mut parts = line.splitn(4, ' ');
    let (Some(WORD), Some(version), Some(sum), Some(json)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Line::Damaged;
    };
    match version.parse::<u32>() {
        Ok(version) if version > FORMAT => return Line::Newer,
        Ok(FORMAT) => {}
        _ => return Line::Damaged,
    }
    if checksum(json) != sum {
        return Line::Damaged;
    }
    serde_json::from_str(json).map_or(Line::Damaged, |fact| Line::Fact(Box::new(fact)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use reseat_core::fact::{Body, Decision, Stamp};
    use reseat_core::ids::EntryId;
    use reseat_core::process::Boot;

    pub(crate) fn fact(nonce: u64) -> Fact {
        let boot = Boot { host: "h".into(), id: "b".into(), pidns: 1, init_start: 1 };
        Fact {
            stamp: Stamp { boot, boot_number: 1, ns: nonce, pid: 7, nonce, wall_ms: 0 },
            body: Body::Decision(Decision::Dismissed { entries: vec![EntryId(format!("e-{nonce}"))] }),
        }
    }

    #[test]
    fn what_was_put_is_read_and_settled() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::new(dir.path().join("facts"), None);
        let path = spool.put(&fact(1)).unwrap();
        spool.put(&fact(1)).unwrap();
        let pending = spool.read();
        assert_eq!(pending.facts, vec![(path, fact(1))]);
        spool.settle(&pending);
        assert_eq!(spool.read(), Pending::default());
    }

    /// C22, C08: zero bytes, all zeros, half a line, a flipped byte: kept aside, and whole records are still read.
    #[test]
    fn c22_damaged_files_are_kept_aside() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::new(dir.path().to_owned(), None);
        let line = line_of(&fact(1));
        let shapes: [(&str, Vec<u8>, usize); 6] = [
            ("zero", Vec::new(), 0),
            ("zeros", vec![0; 200], 0),
            ("half", line.as_bytes()[..line.len() / 2].to_vec(), 0),
            ("flipped", line.replace("e-1", "e-2").into_bytes(), 0),
            ("tail", format!("{line}reseat-fact 1 ab").into_bytes(), 1),
            ("no-newline", line.trim_end().as_bytes().to_vec(), 1),
        ];
        for (name, bytes, facts) in &shapes {
            let path = dir.path().join(format!("{name}.fact"));
            std::fs::write(&path, bytes).unwrap();
            let pending = spool.read();
            assert_eq!((pending.facts.len(), pending.damaged.len()), (*facts, 1), "{name}");
            spool.settle(&pending);
            assert!(dir.path().join("damaged").join(format!("{name}.fact")).exists(), "{name}");
        }
        assert_eq!(spool.set_aside().len(), shapes.len());
    }

    #[test]
    fn a_newer_format_is_left_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::new(dir.path().to_owned(), None);
        let path = dir.path().join("x.fact");
        std::fs::write(&path, "reseat-fact 2 0 {}\n").unwrap();
        let pending = spool.read();
        assert_eq!((pending.facts.len(), pending.newer.len(), pending.damaged.len()), (0, 1, 0));
        spool.settle(&pending);
        assert!(path.exists());
    }

    #[test]
    fn a_second_place_is_used_when_the_first_cannot_be() {
        let dir = tempfile::tempdir().unwrap();
        let blocked = dir.path().join("file");
        std::fs::write(&blocked, "").unwrap();
        let spool = Spool::new(blocked.join("facts"), Some(dir.path().join("second")));
        spool.put(&fact(3)).unwrap();
        let pending = spool.read();
        assert_eq!((pending.facts.len(), pending.in_fallback), (1, 1));
        assert!(Spool::new(blocked.join("facts"), None).put(&fact(3)).is_err());
    }

    /// A pipe or a directory with a fact's name neither blocks nor is taken in.
    #[test]
    fn what_is_no_file_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("d.fact")).unwrap();
        let status = std::process::Command::new("mkfifo").arg(dir.path().join("p.fact")).status().unwrap();
        assert!(status.success());
        let pending = Spool::new(dir.path().to_owned(), None).read();
        assert_eq!((pending.facts.len(), pending.damaged.len()), (0, 2));
    }
}
