//! Answers the planner's questions from the disk: transcripts, directories, programs. Reads only, bounded, and each
//! thing once.

use crate::config::{CarryDangerous, Config};
use crate::context::Context;
use crate::observe::Observed;
use reseat_agents::{Found, ResumeRequest, Transcript, agent};
use reseat_core::fold::Binding;
use reseat_core::ids::{AgentKind, SessionId, SessionKey};
use reseat_core::mux::{PaneId, ServerLife};
use reseat_core::plan::{
    Command, Conversation, Directory, IdleShell, Kind, Knowledge, Known, WALL_TOLERANCE_MS,
};
use reseat_core::text::shell_word;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// How long a directory may take to answer.
const DIRECTORY_DEADLINE: Duration = Duration::from_secs(1);
/// More candidates than this help nobody to choose.
const MAX_CANDIDATES: usize = 20;

/// The disk, as far as plans ask about it.
pub struct Disk<'a> {
    context: &'a Context,
    observed: &'a Observed,
    carry_dangerous: bool,
    found: RefCell<BTreeMap<(AgentKind, PathBuf), BTreeMap<SessionId, Found>>>,
    read: RefCell<BTreeMap<SessionKey, Known>>,
    modes: RefCell<BTreeMap<SessionKey, String>>,
    directories: RefCell<BTreeMap<String, Directory>>,
}

impl<'a> Disk<'a> {
    /// Begins with nothing read.
    pub fn new(context: &'a Context, observed: &'a Observed, carry_dangerous: bool) -> Self {
        let carry_dangerous = match context.config.carry_dangerous {
            CarryDangerous::Never => false,
            CarryDangerous::Always => true,
            CarryDangerous::Ask => carry_dangerous,
        };
        Self {
            context,
            observed,
            carry_dangerous,
            found: RefCell::default(),
            read: RefCell::default(),
            modes: RefCell::default(),
            directories: RefCell::default(),
        }
    }

    /// All transcripts of a home by id, listed once.
    fn with_home<T>(
        &self,
        kind: AgentKind,
        home: &str,
        ask: impl FnOnce(&BTreeMap<SessionId, Found>) -> T,
    ) -> T {
        let mut homes = self.found.borrow_mut();
        let listed = homes.entry((kind, PathBuf::from(home))).or_insert_with(|| {
            let mut out: BTreeMap<SessionId, Found> = BTreeMap::new();
            for found in agent(kind).list(Path::new(home)) {
                // The same id twice: what is live and plain comes before what is archived or packed.
                let better = out.get(&found.key.id).is_none_or(|other| {
                    (found.archived, found.compressed, -found.modified_ms)
                        < (other.archived, other.compressed, -other.modified_ms)
                });
                if better {
                    out.insert(found.key.id.clone(), found);
                }
            }
            out
        });
        ask(listed)
    }

    fn found(&self, key: &SessionKey) -> Option<Found> {
        self.with_home(key.agent, &key.home, |listed| listed.get(&key.id).cloned())
    }
}

/// Converts what an agent's module read.
pub fn known_of(transcript: &Transcript, bases_of: impl Fn(&SessionId) -> Option<Vec<SessionId>>) -> Known {
    let mut notes = transcript.notes.clone();
    if transcript.damaged_bytes > 0 {
        notes.push(format!("tail damaged, {} bytes ignored", transcript.damaged_bytes));
    }
    if transcript.size > 256 << 20 {
        notes.push(format!(
            "huge transcript: {} MiB; the agent may take long to read it",
            transcript.size >> 20
        ));
    }
    Known {
        conversation: match transcript.conversation {
            reseat_agents::Conversation::Yes => Conversation::Yes,
            reseat_agents::Conversation::Empty => Conversation::Empty,
            reseat_agents::Conversation::None => Conversation::None,
            reseat_agents::Conversation::Unreadable => {
                Conversation::Unreadable("it is no readable file".into())
            }
        },
        kind: match transcript.kind {
            reseat_agents::Kind::Interactive => Kind::Interactive,
            reseat_agents::Kind::SubAgent => Kind::SubAgent,
            reseat_agents::Kind::Headless => Kind::Headless,
            reseat_agents::Kind::Unknown => Kind::Unknown,
        },
        project: transcript.project.clone(),
        current: transcript.current.clone(),
        title: transcript.title.clone(),
        last_prompt: transcript.last_prompt.clone(),
        last_activity_ms: transcript.last_activity_ms,
        continued_in: transcript.continued_in.clone(),
        missing_base: missing_base(&transcript.bases, bases_of),
        archived: transcript.archived,
        was: transcript.was,
        notes,
    }
}

/// The first conversation whose file is gone, of those that a fork is made of: its parents, and theirs.
fn missing_base(
    bases: &[SessionId],
    bases_of: impl Fn(&SessionId) -> Option<Vec<SessionId>>,
) -> Option<SessionId> {
    let mut seen = BTreeSet::new();
    let mut wanted: Vec<SessionId> = bases.to_vec();
    while let Some(base) = wanted.pop() {
        match bases_of(&base) {
            None => return Some(base),
            // Whoever names itself among its parents must not hold us.
            Some(further) if seen.insert(base) => wanted.extend(further),
            Some(_) => {}
        }
    }
    None
}

impl Knowledge for Disk<'_> {
    fn transcript(&self, key: &SessionKey) -> Known {
        if let Some(known) = self.read.borrow().get(key) {
            return known.clone();
        }
        let known = match self.found(key) {
            Some(found) => {
                let transcript = agent(key.agent).read(&found);
                if let Some(mode) = &transcript.mode {
                    self.modes.borrow_mut().insert(key.clone(), mode.clone());
                }
                known_of(&transcript, |base| {
                    let found = self.found(&SessionKey { id: base.clone(), ..key.clone() })?;
                    Some(agent(key.agent).read(&found).bases)
                })
            }
            None => Known::missing(side_files(key)),
        };
        self.read.borrow_mut().insert(key.clone(), known.clone());
        known
    }

    fn candidates(&self, kind: AgentKind, home: &str, cwd: &str) -> Vec<SessionId> {
        let mut found: Vec<Found> = self.with_home(kind, home, |listed| {
            listed.values().filter(|found| may_be_of(found, kind, cwd)).cloned().collect()
        });
        found.sort_by_key(|found| std::cmp::Reverse(found.modified_ms));
        let mut out = Vec::new();
        for found in found {
            let known = self.transcript(&found.key);
            let of_cwd = known.project.as_deref() == Some(cwd) || known.current.as_deref() == Some(cwd);
            if of_cwd && known.kind == Kind::Interactive && known.conversation == Conversation::Yes {
                out.push((known.last_activity_ms, found.key.id));
            }
            if out.len() >= MAX_CANDIDATES {
                break;
            }
        }
        out.sort_by_key(|(active, id)| (std::cmp::Reverse(*active), id.clone()));
        out.into_iter().map(|(_, id)| id).collect()
    }

    fn starting_with(&self, kind: AgentKind, home: &str, prefix: &str) -> Vec<SessionId> {
        self.with_home(kind, home, |listed| {
            listed.keys().filter(|id| id.as_str().starts_with(prefix)).cloned().collect()
        })
    }

    fn others_written_since(&self, binding: &Binding, session: &SessionId) -> bool {
        let began = binding.began_ms();
        let Some(cwd) = &binding.launch.cwd else { return true };
        let written: Vec<Found> = self.with_home(binding.agent, &binding.home, |listed| {
            listed
                .values()
                .filter(|found| {
                    found.key.id != *session
                        && found.modified_ms + WALL_TOLERANCE_MS >= began
                        && may_be_of(found, binding.agent, cwd)
                })
                .cloned()
                .collect()
        });
        written.iter().any(|found| {
            let known = self.transcript(&found.key);
            known.project.as_deref() == Some(cwd) || known.current.as_deref() == Some(cwd)
        })
    }

    fn command(&self, binding: &Binding, key: &SessionKey, _known: &Known) -> Command {
        let default_home = agent(key.agent).default_home(&self.context.home).display().to_string();
        let resume = agent(key.agent).resume(&ResumeRequest {
            key,
            launch: &binding.launch,
            // The transcript is written with every change of mode; a hook only at each prompt.
            mode: self.modes.borrow().get(key).map(String::as_str).or(binding.mode.as_deref()),
            carry_dangerous: self.carry_dangerous,
            default_home: &default_home,
        });
        let launcher =
            binding.launch.through.as_ref().and_then(|through| self.context.config.launcher(through));
        let argv = match launcher {
            Some(launcher) => {
                launcher.argv.iter().map(|arg| arg.replace("{session}", key.id.as_str())).collect()
            }
            None => resume.argv,
        };
        let missing_program = argv.first().filter(|program| !self.program_exists(program)).cloned();
        let mut notes = resume.notes;
        if let (Some(_), None, Some(through)) = (&missing_program, launcher, &binding.launch.through) {
            notes.push(format!(
                "a [[launcher]] with match = {:?} in the configuration can say how it resumes",
                through.last().map_or("", String::as_str)
            ));
        }
        let unset: Vec<&str> = binding
            .launch
            .env_names
            .iter()
            .map(String::as_str)
            .filter(|name| self.context.env.get(name).is_none())
            .collect();
        if !unset.is_empty() {
            notes.push(format!("set when it was started, not set here: {}", unset.join(", ")));
        }
        Command { argv, env: resume.env, notes, missing_program }
    }

    fn directory(&self, path: &str) -> Directory {
        if let Some(known) = self.directories.borrow().get(path) {
            return known.clone();
        }
        let answer = ask_directory(path);
        self.directories.borrow_mut().insert(path.to_owned(), answer.clone());
        answer
    }

    fn home_exists(&self, home: &str) -> bool {
        self.directory(home) == Directory::There
    }

    /// Claude is started in its project's directory, so that every version finds the conversation; Codex in the
    /// directory it last worked in.
    fn start_directory(&self, binding: &Binding, known: &Known) -> Option<String> {
        let named = match binding.agent {
            AgentKind::Claude => known.project.clone().or_else(|| known.current.clone()),
            AgentKind::Codex => known.current.clone().or_else(|| known.project.clone()),
        };
        named.or_else(|| binding.launch.cwd.clone())
    }

    fn idle_shell(&self, life: &ServerLife, pane: PaneId) -> Option<IdleShell> {
        let snapshot = self.observed.view.servers.get(life)?;
        let (_, pane) = snapshot.pane(pane)?;
        let stat = self.context.proc.stat(pane.pid)?;
        let shell = ["sh", "bash", "zsh", "fish", "dash", "ksh"].contains(&stat.comm.as_str());
        let children = self.context.proc.table().ok()?.iter().any(|other| other.ppid == pane.pid);
        (shell && !children).then_some(IdleShell { start: stat.start })
    }
}

impl Disk<'_> {
    /// The command that continues a conversation of which only the transcript is known.
    pub fn plain_command(&self, key: &SessionKey) -> Command {
        let default_home = agent(key.agent).default_home(&self.context.home).display().to_string();
        let launch = reseat_core::fact::Launch::default();
        let resume = agent(key.agent).resume(&ResumeRequest {
            key,
            launch: &launch,
            mode: None,
            carry_dangerous: false,
            default_home: &default_home,
        });
        let missing_program = resume.argv.first().filter(|program| !self.program_exists(program)).cloned();
        Command { argv: resume.argv, env: resume.env, notes: resume.notes, missing_program }
    }

    fn program_exists(&self, program: &str) -> bool {
        find_program(program, &self.context.env, &self.context.home).is_some()
    }
}

/// Finds a program as a login shell would: by path, on PATH, or in the places agents install themselves to.
pub fn find_program(program: &str, env: &reseat_os::env::Env, home: &Path) -> Option<PathBuf> {
    let executable = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        let path = PathBuf::from(program);
        return executable(&path).then_some(path);
    }
    let path = env.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin").to_owned();
    let own = [".local/bin", ".claude/local", "bin", ".npm-global/bin", ".bun/bin", ".cargo/bin"];
    path.split(':')
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from)
        .chain(own.iter().map(|dir| home.join(dir)))
        .map(|dir| dir.join(program))
        .find(|path| executable(path))
}

/// Whether a file's path allows it to belong to a directory, before it is read.
fn may_be_of(found: &Found, kind: AgentKind, cwd: &str) -> bool {
    match kind {
        AgentKind::Claude => {
            let folder =
                found.path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
            folder.is_none_or(|folder| reseat_agents::claude::folder_fits(&folder, cwd))
        }
        AgentKind::Codex => true,
    }
}

/// Whether something of a conversation remains although its transcript is gone.
fn side_files(key: &SessionKey) -> bool {
    let Ok(folders) = std::fs::read_dir(Path::new(&key.home).join("projects")) else { return false };
    key.agent == AgentKind::Claude
        && folders.flatten().any(|folder| folder.path().join(key.id.as_str()).is_dir())
}

/// Asks in a thread of its own: a dead network file system must not hold the whole list.
fn ask_directory(path: &str) -> Directory {
    ask_within(DIRECTORY_DEADLINE, path, look_at_directory)
}

fn ask_within(deadline: Duration, path: &str, look: fn(&str) -> Directory) -> Directory {
    let (answer, wait) = mpsc::channel();
    let asked = path.to_owned();
    let spawned = std::thread::Builder::new().name("directory".into()).spawn(move || {
        let _ = answer.send(look(&asked));
    });
    if spawned.is_err() {
        return look(path);
    }
    wait.recv_timeout(deadline).unwrap_or(Directory::Unreachable)
}

fn look_at_directory(path: &str) -> Directory {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            // Entering needs the search bit, and only the kernel knows whether we have it.
            if std::fs::metadata(Path::new(path).join(".")).is_ok() {
                Directory::There
            } else {
                Directory::Forbidden
            }
        }
        Ok(_) => Directory::Missing(None),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Directory::Forbidden,
        Err(_) => Directory::Missing(worktree_hint(Path::new(path))),
    }
}

/// The command that brings a removed worktree back, when a repository above has a branch of that name.
fn worktree_hint(path: &Path) -> Option<String> {
    let branch = path.file_name()?.to_str()?;
    let repository = path.ancestors().skip(1).find(|above| above.join(".git").is_dir())?;
    let loose = repository.join(".git/refs/heads").join(branch).is_file();
    let packed = std::fs::read_to_string(repository.join(".git/packed-refs"))
        .is_ok_and(|text| text.lines().any(|line| line.ends_with(&format!(" refs/heads/{branch}"))));
    // People paste it into a shell.
    let word = |path: &Path| shell_word(&path.display().to_string());
    (loose || packed)
        .then(|| format!("git -C {} worktree add {} {}", word(repository), word(path), shell_word(branch)))
}

/// Which homes of each agent to look into: the default ones, configured ones, and all that facts name.
pub fn homes(config: &Config, user_home: &Path, bindings: &[Binding]) -> BTreeSet<(AgentKind, PathBuf)> {
    let mut out: BTreeSet<(AgentKind, PathBuf)> =
        AgentKind::ALL.into_iter().map(|kind| (kind, agent(kind).default_home(user_home))).collect();
    out.extend(config.agent_home.iter().map(|home| (home.agent, home.path.clone())));
    out.extend(bindings.iter().map(|binding| (binding.agent, PathBuf::from(&binding.home))));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fork needs every file that its history lies in, however far up.
    #[test]
    fn a_missing_grandparent_is_missed() {
        let id = |last: u32| SessionId::parse(&format!("01900000-0000-7000-8000-00000000000{last}")).unwrap();
        let parents = |child: &SessionId| match child {
            child if *child == id(2) => Some(vec![id(1)]),
            child if *child == id(1) => Some(vec![]),
            child if *child == id(4) => Some(vec![id(3)]),
            child if *child == id(5) => Some(vec![id(5)]),
            _ => None,
        };
        assert_eq!(missing_base(&[], parents), None);
        assert_eq!(missing_base(&[id(2)], parents), None);
        assert_eq!(missing_base(&[id(4)], parents), Some(id(3)));
        assert_eq!(missing_base(&[id(5)], parents), None);
    }

    /// C14: a directory whose `stat` never returns is said to be unreachable; C30: what else a path can be.
    #[test]
    fn c14_c30_what_a_directory_answers() {
        let never = |_: &str| loop {
            std::thread::park();
        };
        assert_eq!(ask_within(Duration::from_millis(20), "/w", never), Directory::Unreachable);
        let root = tempfile::tempdir().unwrap();
        let at = |below: &str| root.path().join(below).display().to_string();
        std::fs::create_dir_all(root.path().join("repo/.git/refs/heads")).unwrap();
        std::fs::write(root.path().join("repo/.git/refs/heads/feat"), "").unwrap();
        std::fs::write(root.path().join("repo/.git/packed-refs"), "abc refs/heads/packed\n").unwrap();
        std::fs::write(root.path().join("file"), "").unwrap();
        std::fs::create_dir(root.path().join("odd (deleted)")).unwrap();
        let hint = |name: &str| {
            format!("git -C {} worktree add {} {name}", at("repo"), at(&format!("repo/.wt/{name}")))
        };
        assert_eq!(ask_directory(&at("repo")), Directory::There);
        assert_eq!(ask_directory(&at("odd (deleted)")), Directory::There);
        assert_eq!(ask_directory(&at("file")), Directory::Missing(None));
        assert_eq!(ask_directory(&at("gone")), Directory::Missing(None));
        assert_eq!(ask_directory(&at("repo/.wt/other")), Directory::Missing(None));
        let odd = "x'$(touch PWNED)";
        std::fs::write(root.path().join("repo/.git/refs/heads").join(odd), "").unwrap();
        let quoted = r"'x'\''$(touch PWNED)'";
        assert_eq!(
            ask_directory(&at(&format!("repo/{odd}"))),
            Directory::Missing(Some(format!(
                "git -C {} worktree add '{}/x'\\''$(touch PWNED)' {quoted}",
                at("repo"),
                at("repo")
            )))
        );
        for name in ["feat", "packed"] {
            assert_eq!(ask_directory(&at(&format!("repo/.wt/{name}"))), Directory::Missing(Some(hint(name))));
        }
    }
}
