//! The files of others: read before anything is decided, written whole or not at all.

use super::InstallError;
use std::path::{Path, PathBuf};

/// Mode of a file that was not there.
const NEW_FILE: u32 = 0o600;

/// One file that would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// Its text now; `None` when it is not there.
    pub before: Option<String>,
    /// Its text afterwards; `None` when it goes.
    pub after: Option<String>,
}

/// Returns what an edit would make of a file.
pub(super) fn change(
    path: PathBuf,
    edit: impl FnOnce(Option<&str>) -> Result<Option<String>, String>,
) -> Result<Change, InstallError> {
    let before = read(&path)?;
    let after = edit(before.as_deref()).map_err(|why| InstallError::Form { path: path.clone(), why })?;
    Ok(Change { path, before, after })
}

fn read(path: &Path) -> Result<Option<String>, InstallError> {
    match std::fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| InstallError::Form { path: path.to_owned(), why: "it is no UTF-8 text".into() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(InstallError::Read { path: path.to_owned(), source }),
    }
}

/// Writes the changes, each atomically and through symbolic links, modes kept. When one cannot be written, or was
/// changed by somebody else meanwhile, those before it are undone.
pub fn apply(changes: &[Change]) -> Result<(), InstallError> {
    for (at, change) in changes.iter().enumerate() {
        let done = match read(&change.path) {
            Ok(now) if now == change.before => put(&change.path, change.after.as_deref()),
            Ok(_) => Err(InstallError::Meanwhile { path: change.path.clone() }),
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            for before in changes[..at].iter().rev() {
                // The first error is the one to tell.
                let _ = put(&before.path, before.before.as_deref());
            }
            return Err(error);
        }
    }
    Ok(())
}

fn put(path: &Path, text: Option<&str>) -> Result<(), InstallError> {
    let write = |source| InstallError::Write { path: path.to_owned(), source };
    let target = reseat_os::atomic::behind_links(path).map_err(write)?;
    match text {
        Some(text) => {
            if let Some(dir) = path.parent() {
                std::fs::create_dir_all(dir).map_err(write)?;
            }
            reseat_os::atomic::write_through(&target, text.as_bytes(), NEW_FILE)
                .map_err(|error| write(error.source))
        }
        // A link that led nowhere leads nowhere again.
        None => std::fs::remove_file(target).map_err(write),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &Path, after: Option<&str>) -> Change {
        change(path.to_owned(), |_| Ok(after.map(str::to_owned))).unwrap()
    }

    /// C36: where one file cannot be written, none is.
    #[test]
    fn c36_all_or_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("one"), "1").unwrap();
        std::fs::write(at("gone"), "g").unwrap();
        let mut changes =
            vec![changed(&at("one"), Some("2")), changed(&at("new"), Some("n")), changed(&at("gone"), None)];
        std::os::unix::fs::symlink("nowhere/x", at("bad")).unwrap();
        changes.push(Change { path: at("bad"), before: None, after: Some("b".into()) });
        assert!(matches!(apply(&changes), Err(InstallError::Write { .. })));
        let text = |name: &str| std::fs::read_to_string(at(name)).ok();
        assert_eq!([text("one"), text("new"), text("gone")], [Some("1".into()), None, Some("g".into())]);
        changes.pop();
        apply(&changes).unwrap();
        assert_eq!([text("one"), text("new"), text("gone")], [Some("2".into()), Some("n".into()), None]);
    }

    /// What Claude wrote between our reading and our writing is not lost.
    #[test]
    fn a_file_changed_meanwhile_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        std::fs::write(&one, "1").unwrap();
        std::fs::write(&two, "1").unwrap();
        let changes = [changed(&one, Some("2")), changed(&two, Some("2"))];
        std::fs::write(&two, "theirs").unwrap();
        assert!(matches!(apply(&changes), Err(InstallError::Meanwhile { .. })));
        assert_eq!(std::fs::read_to_string(&one).unwrap(), "1");
        assert_eq!(std::fs::read_to_string(&two).unwrap(), "theirs");
    }
}
