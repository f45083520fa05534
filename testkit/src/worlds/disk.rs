//! The planner's questions, answered from the fake disk as the real one would be read.

use super::model::{File, MS, World};
use reseat_core::fact::Was;
use reseat_core::fold::Binding;
use reseat_core::ids::{AgentKind, SessionId, SessionKey};
use reseat_core::mux::{PaneId, ServerLife};
use reseat_core::plan::{
    Command, Conversation, Directory, IdleShell, Kind, Knowledge, Known, WALL_TOLERANCE_MS,
};
use std::collections::BTreeMap;

impl Knowledge for World {
    fn transcript(&self, key: &SessionKey) -> Known {
        let Some(talk) = self.disk.get(key) else { return Known::missing(false) };
        let conversation = match talk.file {
            File::Missing => return Known::missing(false),
            File::Removed => return Known::missing(true),
            File::Empty => Conversation::Empty,
            File::Bare => Conversation::None,
            File::Yes => Conversation::Yes,
            File::Unreadable => Conversation::Unreadable("it is no readable file".into()),
        };
        let told = talk.file == File::Yes;
        let kind = match (talk.headless, talk.sub_agent) {
            (true, _) if told => Kind::Headless,
            (_, true) if told => Kind::SubAgent,
            _ => Kind::Interactive,
        };
        Known {
            conversation,
            kind,
            project: told.then(|| talk.project.clone()),
            current: told.then(|| talk.current.clone()),
            title: None,
            last_prompt: None,
            last_activity_ms: talk.written_ms,
            continued_in: talk.continued_in.clone(),
            missing_base: None,
            archived: false,
            was: Was::Unknown,
            notes: Vec::new(),
        }
    }

    fn candidates(&self, agent: AgentKind, home: &str, cwd: &str) -> Vec<SessionId> {
        let mut out: Vec<(i64, SessionId)> = self
            .disk
            .iter()
            .filter(|(key, talk)| {
                key.agent == agent
                    && key.home == home
                    && talk.file == File::Yes
                    && !talk.headless
                    && !talk.sub_agent
                    && (talk.project == cwd || talk.current == cwd)
            })
            .map(|(key, talk)| (-talk.written_ms, key.id.clone()))
            .collect();
        out.sort();
        out.into_iter().map(|(_, id)| id).take(20).collect()
    }

    fn starting_with(&self, agent: AgentKind, home: &str, prefix: &str) -> Vec<SessionId> {
        self.disk
            .iter()
            .filter(|(key, talk)| {
                key.agent == agent
                    && key.home == home
                    && key.id.as_str().starts_with(prefix)
                    && !matches!(talk.file, File::Missing | File::Removed)
            })
            .map(|(key, _)| key.id.clone())
            .collect()
    }

    fn others_written_since(&self, binding: &Binding, session: &SessionId) -> bool {
        let Some(cwd) = &binding.launch.cwd else { return true };
        let base = self.wall.get(&binding.process.boot.id).copied().unwrap_or(0);
        let began = base + (binding.process.start * 10 * MS / MS) as i64;
        self.disk.iter().any(|(key, talk)| {
            key.agent == binding.agent
                && key.home == binding.home
                && key.id != *session
                && talk.file == File::Yes
                && talk.written_ms + WALL_TOLERANCE_MS >= began
                && (talk.project == *cwd || talk.current == *cwd)
        })
    }

    fn command(&self, _binding: &Binding, key: &SessionKey, _known: &Known) -> Command {
        let argv = vec![key.agent.name().to_owned(), "--resume".to_owned(), key.id.to_string()];
        Command { argv, env: BTreeMap::new(), notes: Vec::new(), missing_program: None }
    }

    fn directory(&self, path: &str) -> Directory {
        if self.gone_dirs.contains(path) { Directory::Missing(None) } else { Directory::There }
    }

    fn home_exists(&self, _home: &str) -> bool {
        true
    }

    fn start_directory(&self, binding: &Binding, known: &Known) -> Option<String> {
        let named = match binding.agent {
            AgentKind::Claude => known.project.clone().or_else(|| known.current.clone()),
            AgentKind::Codex => known.current.clone().or_else(|| known.project.clone()),
        };
        named.or_else(|| binding.launch.cwd.clone())
    }

    fn idle_shell(&self, _life: &ServerLife, _pane: PaneId) -> Option<IdleShell> {
        None
    }
}
