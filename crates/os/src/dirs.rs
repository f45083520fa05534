//! Directories of our own, and what they must be to be trusted.

use crate::env::{Env, names};
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// A directory cannot be used for state.
#[derive(Debug, thiserror::Error)]
pub enum DirError {
    /// No home to put it in.
    #[error(transparent)]
    Env(#[from] crate::env::EnvError),
    /// It could not be made or looked at.
    #[error("cannot use {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It belongs to somebody else, or somebody else may write in it.
    #[error("{} {why}; make it yours with mode 0700, or set RESEAT_STATE_DIR to another place", path.display())]
    NotPrivate {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// What is written there does not survive a crash, or locks there cannot be trusted.
    #[error("{} lies on a {kind} file system; set RESEAT_STATE_DIR to a directory on a local disk", path.display())]
    FileSystem {
        /// The directory.
        path: PathBuf,
        /// Kind of file system.
        kind: &'static str,
    },
}

/// Returns where our state for a host lies. Makes nothing.
pub fn state_dir(env: &Env, host: &str) -> Result<PathBuf, DirError> {
    if let Some(dir) = env.get(names::RESEAT_STATE_DIR) {
        return Ok(PathBuf::from(dir));
    }
    let base = match env.get(names::XDG_STATE_HOME) {
        Some(dir) => PathBuf::from(dir),
        None => env.home()?.join(".local/state"),
    };
    Ok(base.join("reseat").join(host.replace([':', '/'], "-")))
}

/// Returns the user's directory for things that live as long as a login, if it is there.
pub fn runtime_dir(env: &Env) -> Option<PathBuf> {
    env.get(names::XDG_RUNTIME_DIR).map(PathBuf::from).filter(|dir| dir.is_dir())
}

/// Makes a state directory 0700 if it is not there, and refuses one that others own, that others may write in, or
/// that lies where nothing survives. A place the user named is taken on any file system.
pub fn ensure_private(env: &Env, dir: &Path) -> Result<(), DirError> {
    let io = |source| DirError::Io { path: dir.to_owned(), source };
    if !dir.exists() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(io)?;
        std::fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(io)?;
    }
    check(env, dir)
}

/// Refuses a state directory that cannot be trusted. Makes nothing; one that is not there is fine.
pub fn check(env: &Env, dir: &Path) -> Result<(), DirError> {
    let meta = match std::fs::metadata(dir) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(DirError::Io { path: dir.to_owned(), source }),
    };
    let refuse = |why| Err(DirError::NotPrivate { path: dir.to_owned(), why });
    if !meta.is_dir() {
        return refuse("is not a directory");
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return refuse("belongs to another user");
    }
    if meta.mode() & 0o022 != 0 {
        return refuse("can be written by others");
    }
    if env.get(names::RESEAT_STATE_DIR).is_none()
        && let Some(kind) = untrusted_file_system(dir)
    {
        return Err(DirError::FileSystem { path: dir.to_owned(), kind });
    }
    Ok(())
}

/// Returns the kind of a file system that forgets at reboot or whose locks cross hosts.
#[cfg(target_os = "linux")]
pub fn untrusted_file_system(dir: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(dir).ok()?.f_type as i64 & 0xffff_ffff;
    match kind {
        0x0102_1994 => Some("volatile (tmpfs)"),
        0x8584_58f6 => Some("volatile (ramfs)"),
        0x6969 => Some("network (nfs)"),
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => Some("network (smb)"),
        0x0102_1997 => Some("network (9p)"),
        _ => None,
    }
}

/// Returns the kind of a file system that forgets at reboot or whose locks cross hosts.
#[cfg(not(target_os = "linux"))]
pub fn untrusted_file_system(_dir: &Path) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Env {
        Env::from_pairs(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn where_state_lies() {
        let at = |pairs: &[(&str, &str)]| state_dir(&env(pairs), "name:h").unwrap();
        assert_eq!(at(&[("HOME", "/h")]), Path::new("/h/.local/state/reseat/name-h"));
        assert_eq!(at(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")]), Path::new("/s/reseat/name-h"));
        assert_eq!(at(&[("RESEAT_STATE_DIR", "/r")]), Path::new("/r"));
        assert!(state_dir(&env(&[]), "h").is_err());
    }

    #[test]
    fn a_directory_that_others_may_write_in_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let named = env(&[("RESEAT_STATE_DIR", "x")]);
        let state = dir.path().join("s");
        ensure_private(&named, &state).unwrap();
        assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::set_permissions(&state, Permissions::from_mode(0o770)).unwrap();
        assert!(matches!(ensure_private(&named, &state), Err(DirError::NotPrivate { .. })));
    }

    #[test]
    fn a_volatile_place_is_refused_unless_it_was_named() {
        let shm = Path::new("/dev/shm");
        if !shm.is_dir() {
            println!("SKIPPED: no /dev/shm");
            return;
        }
        let dir = tempfile::tempdir_in(shm).unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).unwrap();
        assert!(matches!(check(&env(&[]), dir.path()), Err(DirError::FileSystem { .. })));
        check(&env(&[("RESEAT_STATE_DIR", "x")]), dir.path()).unwrap();
    }
}
