//! Which sockets to ask.

use reseat_os::env::Env;
use reseat_os::proc::Proc;
use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The socket of a server without a name.
pub fn default_socket(env: &Env) -> PathBuf {
    directory(env).join("default")
}

/// Where tmux keeps this user's sockets, as tmux itself resolves it.
fn directory(env: &Env) -> PathBuf {
    let base = PathBuf::from(env.get("TMUX_TMPDIR").unwrap_or("/tmp"));
    let base = base.canonicalize().unwrap_or(base);
    base.join(format!("tmux-{}", own_uid()))
}

fn own_uid() -> u32 {
    std::fs::metadata("/proc/self").map_or(0, |meta| meta.uid())
}

/// All sockets to ask: those in the user's socket directory, the one we run below, those of servers that run, and
/// those that are known from before.
pub fn sockets(env: &Env, proc: &Proc, known: &[PathBuf]) -> Vec<PathBuf> {
    let mut out: BTreeSet<PathBuf> = known.iter().cloned().collect();
    for entry in std::fs::read_dir(directory(env)).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_socket()) {
            out.insert(entry.path());
        }
    }
    if let Some(below) = env.get("TMUX").and_then(|text| text.rsplitn(3, ',').nth(2)) {
        out.insert(PathBuf::from(below));
    }
    let own = own_directories(env);
    out.extend(listening(proc).into_iter().map(|(path, _)| path).filter(|path| own.seen(path)));
    out.into_iter().collect()
}

/// Servers of this environment only: a private `TMUX_TMPDIR` means that others are not ours to look at.
struct OwnDirectories {
    private: Option<PathBuf>,
}

impl OwnDirectories {
    fn seen(&self, path: &Path) -> bool {
        self.private.as_ref().is_none_or(|private| path.starts_with(private))
    }
}

fn own_directories(env: &Env) -> OwnDirectories {
    let private = env.get("TMUX_TMPDIR").map(PathBuf::from);
    OwnDirectories { private: private.map(|path| path.canonicalize().unwrap_or(path)) }
}

/// The sockets that tmux servers of this user listen on, by the kernel's own list: also those whose file is gone.
pub fn listening(proc: &Proc) -> Vec<(PathBuf, u32)> {
    let Ok(table) = proc.table() else { return Vec::new() };
    let uid = own_uid();
    let servers = table.into_iter().filter(|stat| stat.comm.starts_with("tmux"));
    let mut paths: Option<Vec<(u64, PathBuf)>> = None;
    let mut out = Vec::new();
    for server in servers {
        let root = proc.root().join(server.pid.to_string());
        if std::fs::metadata(&root).map_or(true, |meta| meta.uid() != uid) {
            continue;
        }
        let paths = paths.get_or_insert_with(|| listening_paths(proc.root()));
        for entry in std::fs::read_dir(root.join("fd")).into_iter().flatten().flatten() {
            let Ok(target) = std::fs::read_link(entry.path()) else { continue };
            let inode = target
                .to_str()
                .and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
            let Some(inode): Option<u64> = inode else { continue };
            if let Some((_, path)) = paths.iter().find(|(other, _)| *other == inode) {
                out.push((path.clone(), server.pid));
            }
        }
    }
    out
}

/// Inodes and paths of Unix sockets in listening state.
fn listening_paths(root: &Path) -> Vec<(u64, PathBuf)> {
    const ACCEPTS: u32 = 0x1_0000;
    let text = std::fs::read_to_string(root.join("net/unix")).unwrap_or_default();
    text.lines()
        .skip(1)
        .filter_map(|line| {
            // Num RefCount Protocol Flags Type St Inode Path
            let mut words = line.split_ascii_whitespace();
            let flags = u32::from_str_radix(words.nth(3)?, 16).ok()?;
            let inode: u64 = words.nth(2)?.parse().ok()?;
            let (_, path) = line.split_once(&format!(" {inode} "))?;
            (flags & ACCEPTS != 0 && path.starts_with('/')).then(|| (inode, PathBuf::from(path)))
        })
        .collect()
}
