//! What users and agents do, one random action at a time.

use super::model::{Agent, File, How, MS, Pane, SECOND, Talk, Win, World};
use reseat_core::fact::{AgentEvent, EndReason, Was};
use reseat_core::ids::{AgentKind, SessionId, SessionKey};
use reseat_core::mux::PaneId;

/// Which conversation a new agent begins with.
enum Want {
    Fresh,
    /// Named in its arguments.
    Named(SessionId),
    /// Picked from a list on its screen.
    Picked(SessionId),
}

impl World {
    /// One action of someone.
    pub(super) fn act(&mut self) {
        let running = self.running();
        let panes = self.open_panes();
        let Some(pane) = self.rng.pick(&panes) else { return };
        let agent = self.rng.pick(&running);
        match (self.rng.below(100), agent) {
            (0..=17, _) => self.start_somehow(pane),
            (18..=45, Some(at)) => self.prompt(at),
            (46..=52, Some(at)) => {
                let fresh = self.new_talk(at, false);
                self.switch(at, fresh, "clear");
            }
            (53..=56, Some(at)) => self.compact(at),
            (57..=60, Some(at)) => self.fork(at),
            (61..=66, Some(at)) => self.resume_inside(at),
            (67..=72, Some(at)) => self.leave(at),
            (73..=75, _) => self.close_pane(pane),
            (76..=78, Some(at)) => self.kill_agent(at),
            (79..=82, Some(at)) => self.nested(at),
            (83..=84, _) => self.sdk_run(),
            (85..=86, Some(at)) => self.change_directory(at),
            (87, _) if self.rng.chance(40) => self.move_directory(),
            (87..=88, Some(at)) => self.prompt(at),
            (89..=92, _) => self.rearrange(pane),
            (93..=95, _) => {
                let server = self.panes[pane].server;
                self.open_pane(server);
                self.ask_look();
            }
            (96, _) => self.damage(),
            (97, _) => {
                let server = self.panes[pane].server;
                self.servers[server].hung_until = self.now + self.rng.between(1, 8) * SECOND;
            }
            (_, Some(at)) => {
                self.agents[at].was = Was::Waiting;
                self.changed();
            }
            _ => {}
        }
    }

    /// A pane in a new or a standing window of a server.
    pub(super) fn open_pane(&mut self, server: usize) -> usize {
        let process = self.process();
        let life = &mut self.servers[server];
        let id = PaneId(life.next_pane);
        life.next_pane += 1;
        let index = self.panes.len();
        let cwd = self.rng.pick(&self.dirs).unwrap_or_else(|| "/".into());
        self.panes.push(Pane {
            server,
            id,
            pid: process.pid,
            start: process.start,
            tty: 34_816 + index as u64,
            cwd,
            title: None,
            open: true,
        });
        let life = &mut self.servers[server];
        if life.windows.is_empty() || self.rng.chance(60) {
            let session = self.rng.below(3) as usize;
            let used =
                |index: u32| life.windows.iter().any(|win| win.session == session && win.index == index);
            let free = (0..=u32::MAX).find(|index| !used(*index)).unwrap_or(0);
            let id = id.0;
            life.windows.push(Win { id, session, index: free, name: format!("w{id}"), panes: vec![index] });
        } else {
            let at = self.rng.below(life.windows.len() as u64) as usize;
            life.windows[at].panes.push(index);
        }
        index
    }

    /// An agent is started in a pane that has none: anew, or with a conversation that exists.
    pub(super) fn start_somehow(&mut self, pane: usize) {
        if self.agent_in(pane).is_some() {
            return;
        }
        let kind = if self.rng.chance(65) { AgentKind::Claude } else { AgentKind::Codex };
        let home = self.home(kind);
        let mut old = self.resumable(kind, &home);
        if !self.rng.chance(4) {
            old.retain(|id| !self.is_open(kind, &home, id));
        }
        let want = match (self.rng.below(100), self.rng.pick(&old)) {
            (0..=19, Some(id)) => Want::Named(id),
            (20..=29, Some(id)) => Want::Picked(id),
            _ => Want::Fresh,
        };
        self.start(Some(pane), kind, home, want);
    }

    /// An agent is started outside every multiplexer with a conversation that some pane lost.
    pub(super) fn start_outside(&mut self, lost: usize) {
        let (kind, home, id) =
            (self.agents[lost].kind, self.agents[lost].home.clone(), self.agents[lost].session.clone());
        if self.resumable(kind, &home).contains(&id) {
            self.start(None, kind, home, Want::Named(id));
        }
    }

    fn home(&mut self, kind: AgentKind) -> String {
        let base = self.rng.pick(&self.homes).unwrap_or_default();
        format!("{base}/.{}", kind.name())
    }

    fn resumable(&self, kind: AgentKind, home: &str) -> Vec<SessionId> {
        self.disk
            .iter()
            .filter(|(key, talk)| {
                key.agent == kind
                    && key.home == home
                    && talk.file == File::Yes
                    && !talk.headless
                    && !talk.sub_agent
                    && talk.continued_in.is_none()
                    && !self.gone_dirs.contains(&talk.project)
                    && !self.gone_dirs.contains(&talk.current)
            })
            .map(|(key, _)| key.id.clone())
            .collect()
    }

    fn is_open(&self, kind: AgentKind, home: &str, id: &SessionId) -> bool {
        self.agents
            .iter()
            .any(|agent| agent.lives() && agent.kind == kind && agent.home == home && agent.session == *id)
    }

    fn start(&mut self, pane: Option<usize>, kind: AgentKind, home: String, want: Want) {
        let process = self.process();
        let claude = kind == AgentKind::Claude;
        // Mostly a home is set up in one way; installing came later than some agents.
        let hooks = claude && self.now >= self.installed && self.rng.chance(85);
        let embedded = !claude && self.rng.chance(35);
        let keeps_former = embedded && self.rng.chance(70);
        let titled = !claude && !self.seed.is_multiple_of(3);
        let registry = claude && self.rng.chance(80);
        let mut cwd = pane.map_or_else(|| self.dirs[0].clone(), |pane| self.panes[pane].cwd.clone());
        let (session, argv) = match want {
            Want::Fresh => (self.add_talk(kind, &home, &cwd, false), None),
            Want::Named(id) => (id.clone(), Some(id)),
            Want::Picked(id) => (id, None),
        };
        let talk = &self.disk[&SessionKey { agent: kind, home: home.clone(), id: session.clone() }];
        let resumed = talk.file == File::Yes;
        if resumed {
            cwd = if claude { talk.project.clone() } else { talk.current.clone() };
        }
        if let Some(pane) = pane {
            self.panes[pane].cwd.clone_from(&cwd);
        }
        let mut record = Vec::new();
        if registry {
            if resumed {
                // A throwaway id comes first.
                let throwaway = self.session_id();
                record.push((self.now, throwaway));
                record.push((self.now + 1_500 * MS, session.clone()));
            } else {
                record.push((self.now, session.clone()));
            }
        }
        let index = self.agents.len();
        self.agents.push(Agent {
            kind,
            home,
            process,
            began: self.now,
            pane,
            hooks,
            registry,
            embedded,
            keeps_former,
            titled,
            is_pane_program: self.rng.chance(15),
            argv,
            cwd,
            session: session.clone(),
            held: vec![(self.now, session.clone(), if resumed { "resume" } else { "startup" })],
            record,
            record_left: false,
            was: Was::Idle,
            how: How::Running,
            ended: 0,
            word_kept: false,
            bound: false,
            gone: None,
            other_end: None,
        });
        self.note(Some(index), format!("agent {index} {kind} started in pane {pane:?} with {session}"));
        if titled && let Some(pane) = pane {
            self.panes[pane].title = Some(session.clone());
        }
        self.now += 5 * MS;
        let source = if resumed { "resume" } else { "startup" };
        self.hook(index, self.now, &session, AgentEvent::Start { source: source.into() });
        self.changed();
        self.perhaps_prompt(index);
    }

    fn add_talk(&mut self, kind: AgentKind, home: &str, cwd: &str, headless: bool) -> SessionId {
        let id = self.session_id();
        let now = self.wall_ms(self.now);
        let talk = Talk {
            headless,
            sub_agent: false,
            file: if headless { File::Yes } else { File::Missing },
            project: cwd.to_owned(),
            current: cwd.to_owned(),
            written_ms: now,
            born_ms: now,
            continued_in: None,
        };
        self.disk.insert(SessionKey { agent: kind, home: home.to_owned(), id: id.clone() }, talk);
        id
    }

    fn new_talk(&mut self, at: usize, written: bool) -> SessionId {
        let (kind, home, cwd) =
            (self.agents[at].kind, self.agents[at].home.clone(), self.agents[at].cwd.clone());
        let id = self.add_talk(kind, &home, &cwd, false);
        if written && let Some(talk) = self.disk.get_mut(&SessionKey { agent: kind, home, id: id.clone() }) {
            talk.file = File::Yes;
        }
        id
    }

    fn prompt(&mut self, at: usize) {
        self.write(at);
        self.agents[at].was = if self.rng.chance(50) { Was::MidTurn } else { Was::Idle };
        let session = self.agents[at].session.clone();
        self.note(Some(at), format!("agent {at} prompted in {session}"));
        self.hook(at, self.now, &session, AgentEvent::Prompt);
        self.changed();
    }

    fn write(&mut self, at: usize) {
        let now = self.wall_ms(self.now);
        let cwd = self.agents[at].cwd.clone();
        let key = self.agents[at].key();
        if let Some(talk) = self.disk.get_mut(&key) {
            if matches!(talk.file, File::Missing | File::Bare | File::Empty) {
                talk.file = File::Yes;
            }
            talk.current = cwd;
            talk.written_ms = now;
        }
    }

    /// Another conversation becomes the current one of a process.
    fn switch(&mut self, at: usize, to: SessionId, why: &'static str) {
        let from = self.agents[at].session.clone();
        self.note(Some(at), format!("agent {at} {why}: {from} -> {to}"));
        self.now += MS;
        let agent = &mut self.agents[at];
        agent.session = to.clone();
        agent.held.push((self.now, to.clone(), why));
        agent.was = Was::Idle;
        if agent.registry {
            agent.record.push((self.now, to.clone()));
        }
        if agent.titled
            && let Some(pane) = agent.pane
        {
            self.panes[pane].title = Some(to.clone());
        }
        if from != to {
            self.hook(at, self.now, &from, AgentEvent::End { reason: EndReason::Replaced });
        }
        self.now += MS;
        self.hook(at, self.now, &to, AgentEvent::Start { source: why.into() });
        self.changed();
        self.perhaps_prompt(at);
    }

    /// Mostly a conversation is begun in order to type into it.
    fn perhaps_prompt(&mut self, at: usize) {
        if self.rng.chance(65) {
            let until = self.now + self.rng.between(500 * MS, 8 * SECOND);
            self.looks_until(until);
            self.now = self.now.max(until);
            self.prompt(at);
        }
    }

    fn compact(&mut self, at: usize) {
        let key = self.agents[at].key();
        if self.disk.get(&key).is_none_or(|talk| talk.file != File::Yes) {
            return;
        }
        if self.rng.chance(80) {
            return self.switch(at, key.id, "compact");
        }
        let next = self.new_talk(at, true);
        if let Some(talk) = self.disk.get_mut(&key) {
            talk.continued_in = Some(next.clone());
        }
        self.switch(at, next, "compact");
    }

    fn fork(&mut self, at: usize) {
        let key = self.agents[at].key();
        let Some(project) =
            self.disk.get(&key).filter(|talk| talk.file == File::Yes).map(|talk| talk.project.clone())
        else {
            return;
        };
        let next = self.new_talk(at, true);
        if let Some(talk) = self.disk.get_mut(&SessionKey { id: next.clone(), ..key }) {
            talk.project = project;
        }
        self.switch(at, next, "fork");
    }

    /// Another conversation of the same directory is picked within the agent.
    fn resume_inside(&mut self, at: usize) {
        let agent = &self.agents[at];
        let key = agent.key();
        let mut old = self.resumable(key.agent, &key.home);
        old.retain(|id| {
            let talk = &self.disk[&SessionKey { id: id.clone(), ..key.clone() }];
            *id != key.id && talk.project == agent.cwd
        });
        if !self.rng.chance(5) {
            old.retain(|id| !self.is_open(key.agent, &key.home, id));
        }
        if let Some(to) = self.rng.pick(&old) {
            self.switch(at, to, "resume");
        }
    }

    fn leave(&mut self, at: usize) {
        self.note(Some(at), format!("agent {at} left by the user"));
        let session = self.agents[at].session.clone();
        self.hook(at, self.now, &session, AgentEvent::End { reason: EndReason::User });
        self.end(at, How::UserWord);
        if let Some(pane) = self.agents[at].pane {
            self.panes[pane].title = None;
            if self.agents[at].is_pane_program {
                self.remove_pane(pane);
            }
        }
        self.changed();
    }

    /// The process is gone; its pane stays.
    pub(super) fn end(&mut self, at: usize, how: How) {
        let agent = &mut self.agents[at];
        agent.how = how;
        agent.ended = self.now;
        self.free_pids.push(agent.process.pid);
    }

    /// The pane is taken out of its window.
    pub(super) fn remove_pane(&mut self, pane: usize) {
        self.panes[pane].open = false;
        let server = self.panes[pane].server;
        for window in &mut self.servers[server].windows {
            window.panes.retain(|other| *other != pane);
        }
        self.servers[server].windows.retain(|window| !window.panes.is_empty());
    }

    fn close_pane(&mut self, pane: usize) {
        let server = self.panes[pane].server;
        if self.open_panes().iter().filter(|other| self.panes[**other].server == server).count() < 2 {
            return;
        }
        if let Some(at) = self.agent_in(pane) {
            self.note(Some(at), format!("pane {pane} closed by the user"));
            self.remove_pane(pane);
            self.now += MS;
            self.end(at, How::UserClosed);
            let session = self.agents[at].session.clone();
            if self.rng.chance(80) {
                self.hook(at, self.now, &session, AgentEvent::End { reason: EndReason::Other });
            }
        } else {
            self.remove_pane(pane);
        }
        // The multiplexer's own hooks tell that a pane went.
        self.ask_look();
        if self.rng.chance(50) {
            self.open_pane(server);
        }
    }

    fn kill_agent(&mut self, at: usize) {
        self.note(Some(at), format!("agent {at} killed"));
        self.agents[at].record_left = self.agents[at].registry;
        self.end(at, How::Killed);
        if self.agents[at].is_pane_program
            && let Some(pane) = self.agents[at].pane
        {
            self.remove_pane(pane);
            self.ask_look();
        }
        self.changed();
    }

    fn nested(&mut self, at: usize) {
        let (home, cwd, pane) =
            (self.agents[at].home.clone(), self.agents[at].cwd.clone(), self.agents[at].pane);
        let kind = self.agents[at].kind;
        let session = self.add_talk(kind, &home, &cwd, true);
        if self.rng.chance(30)
            && let Some(talk) =
                self.disk.get_mut(&SessionKey { agent: kind, home: home.clone(), id: session.clone() })
        {
            (talk.headless, talk.sub_agent) = (false, true);
        }
        let process = self.process();
        // Codex's hooks run below the server that all panes share, with the first pane's environment.
        let (below, descends) = match kind {
            AgentKind::Claude => (pane, true),
            AgentKind::Codex => (self.open_panes().first().copied(), false),
        };
        if self.now >= self.installed {
            self.stray_hook(kind, home, session, process, below, descends);
        }
    }

    fn sdk_run(&mut self) {
        let home = self.home(AgentKind::Claude);
        let cwd = self.rng.pick(&self.dirs).unwrap_or_default();
        let session = self.add_talk(AgentKind::Claude, &home, &cwd, true);
        let process = self.process();
        if self.now >= self.installed {
            self.stray_hook(AgentKind::Claude, home, session, process, None, false);
        }
    }

    fn change_directory(&mut self, at: usize) {
        let to = self.rng.pick(&self.dirs).unwrap_or_default();
        if self.agents[at].kind == AgentKind::Codex {
            self.agents[at].cwd.clone_from(&to);
            self.write(at);
        } else {
            // The agent's shell moves, the agent does not.
            let key = self.agents[at].key();
            if let Some(talk) = self.disk.get_mut(&key).filter(|talk| talk.file == File::Yes) {
                talk.current = to;
            }
        }
        self.changed();
    }

    fn move_directory(&mut self) {
        let at = self.rng.below(self.dirs.len() as u64) as usize;
        let from = self.dirs[at].clone();
        let to = format!("{from}x");
        self.dirs[at].clone_from(&to);
        self.gone_dirs.insert(from.clone());
        self.note(None, format!("directory {from} moved to {to}"));
        for cwd in self
            .panes
            .iter_mut()
            .map(|pane| &mut pane.cwd)
            .chain(self.agents.iter_mut().filter(|agent| agent.lives()).map(|agent| &mut agent.cwd))
            .filter(|cwd| **cwd == from)
        {
            cwd.clone_from(&to);
        }
    }

    /// Panes move and swap, windows get other names.
    fn rearrange(&mut self, pane: usize) {
        let server = self.panes[pane].server;
        let others: Vec<usize> =
            self.open_panes().into_iter().filter(|other| self.panes[*other].server == server).collect();
        let Some(other) = self.rng.pick(&others).filter(|other| *other != pane) else { return };
        let windows = &mut self.servers[server].windows;
        match self.rng.below(3) {
            0 => {
                for place in windows.iter_mut().flat_map(|window| window.panes.iter_mut()) {
                    *place = if *place == pane {
                        other
                    } else if *place == other {
                        pane
                    } else {
                        *place
                    };
                }
            }
            1 => {
                if let Some(target) = windows.iter().position(|window| window.panes.contains(&other)) {
                    for window in windows.iter_mut() {
                        window.panes.retain(|place| *place != pane);
                    }
                    windows[target].panes.push(pane);
                    windows.retain(|window| !window.panes.is_empty());
                }
            }
            _ => windows[0].name.push('r'),
        }
        self.ask_look();
    }

    fn damage(&mut self) {
        let keys: Vec<SessionKey> = self.disk.keys().cloned().collect();
        let Some(key) = self.rng.pick(&keys) else { return };
        let file = [File::Empty, File::Bare, File::Removed, File::Unreadable][self.rng.below(4) as usize];
        if let Some(talk) = self.disk.get_mut(&key).filter(|talk| talk.file == File::Yes) {
            talk.file = file;
        }
        self.note(None, format!("transcript {} damaged: {file:?}", key.id));
    }
}
