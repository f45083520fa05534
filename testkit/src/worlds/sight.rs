//! What the capture code would have kept of the world: facts of hooks and of looks, no more and no less.

use super::model::{Agent, File, How, MS, SECOND, World};
use reseat_core::fact::{
    AgentEvent, Body, EndReason, Gone, Grade, HookEvent, KillMark, Launch, Look, PaneClaim, Reading, Sighting,
};
use reseat_core::ids::{AgentKind, SessionId, SessionKey};
use reseat_core::mux::{MuxSession, Pane, ServerLife, Snapshot, Window, WindowLink};
use reseat_core::process::ProcessKey;
use std::collections::BTreeMap;

/// At most one look in this time.
const LOOK_EVERY: u64 = 2 * SECOND;

impl World {
    /// Asks for a look; one that is pending already serves.
    pub(super) fn ask_look(&mut self) {
        let earliest = self.looked.map_or(0, |at| at + LOOK_EVERY);
        let due = earliest.max(self.now + 30 * MS);
        self.look_due = Some(self.look_due.map_or(due, |other| other.min(due)));
    }

    /// Something changed that no hook reports: seen only where something watches.
    pub(super) fn changed(&mut self) {
        if self.watched {
            self.ask_look();
        }
    }

    /// An event of an agent's own hook, kept and followed by a look.
    pub(super) fn hook(&mut self, at: usize, ns: u64, session: &SessionId, event: AgentEvent) {
        let agent = &self.agents[at];
        if !agent.hooks {
            return;
        }
        let pane = agent.pane.map(|pane| {
            let pane = &self.panes[pane];
            PaneClaim {
                life: self.servers[pane.server].life.clone(),
                pane: pane.id,
                tty: pane.tty,
                descends: true,
            }
        });
        let body = Body::Hook(HookEvent {
            agent: agent.kind,
            home: agent.home.clone(),
            event: event.clone(),
            session: session.clone(),
            process: Some(agent.process.clone()),
            pane,
            nested: false,
            launch: self.launch(at),
            mode: None,
        });
        self.emit(ns, body);
        let agent = &mut self.agents[at];
        agent.bound |= agent.pane.is_some();
        match event {
            AgentEvent::End { reason: EndReason::User } => agent.word_kept = true,
            AgentEvent::End { reason: EndReason::Other } => agent.other_end = Some(ns),
            _ => {}
        }
        self.ask_look();
    }

    /// An event from below an agent, or from a run without a pane.
    pub(super) fn stray_hook(
        &mut self,
        kind: AgentKind,
        home: String,
        session: SessionId,
        process: ProcessKey,
        below: Option<usize>,
        descends: bool,
    ) {
        let pane = below.map(|pane| {
            let pane = &self.panes[pane];
            PaneClaim { life: self.servers[pane.server].life.clone(), pane: pane.id, tty: pane.tty, descends }
        });
        for event in [AgentEvent::Start { source: "startup".into() }, AgentEvent::Prompt] {
            self.now += MS;
            let body = Body::Hook(HookEvent {
                agent: kind,
                home: home.clone(),
                event,
                session: session.clone(),
                process: Some(process.clone()),
                pane: pane.clone(),
                nested: descends,
                launch: Launch::default(),
                mode: None,
            });
            self.emit(self.now, body);
        }
        self.ask_look();
    }

    fn launch(&self, at: usize) -> Launch {
        let agent = &self.agents[at];
        let mut argv = vec![agent.kind.name().to_owned()];
        argv.extend(agent.argv.iter().map(|id| format!("--resume={id}")));
        Launch { cwd: Some(agent.cwd.clone()), argv, ..Launch::default() }
    }

    /// Runs the looks that are due until a moment.
    pub(super) fn looks_until(&mut self, until: u64) {
        while let Some(due) = self.look_due.filter(|due| *due <= until) {
            self.look_due = None;
            let now = self.now;
            self.now = due.max(now);
            self.looked = Some(self.now);
            if self.rng.chance(6) {
                // It could not run; mostly a later one is tried.
                if self.rng.chance(75) {
                    self.look_due = Some(self.now + LOOK_EVERY);
                }
            } else {
                self.look();
            }
            self.now = self.now.max(now);
        }
    }

    /// The session a process is read to hold, as one pass over the process table would read it.
    pub(super) fn readings(&self, at: usize) -> Vec<Reading> {
        let agent = &self.agents[at];
        let key = |id: &SessionId| SessionKey { agent: agent.kind, home: agent.home.clone(), id: id.clone() };
        let on_disk = |id: &SessionId| {
            self.disk.get(&key(id)).is_some_and(|talk| !matches!(talk.file, File::Missing | File::Removed))
        };
        let mut out = Vec::new();
        if agent.registry
            && let Some((_, shown)) = agent.record.iter().rev().find(|(from, _)| *from <= self.now)
            && (self.now - agent.began >= 2 * SECOND || on_disk(shown))
        {
            out.push(Reading { grade: Grade::Registry, session: shown.clone() });
        }
        let title = self.shown_title(at);
        if agent.embedded {
            out.extend(Self::held_locks(agent, title.as_ref()));
        }
        if let Some(shown) = title {
            let before = self.told.get(&agent.process).map(|seen| seen.title_id.as_deref());
            let same = before.is_some_and(|before| before == Some(shown.as_str()));
            let changed = before.is_some() && !same;
            let named = agent.argv.as_ref() == Some(&shown);
            let made_since = self
                .disk
                .get(&key(&shown))
                .is_some_and(|talk| talk.born_ms + 1_000 >= self.wall_ms(agent.began));
            let grade = if changed || named || made_since { Grade::Title } else { Grade::Guess };
            if grade == Grade::Title || !same {
                out.push(Reading { grade, session: shown });
            }
        }
        out
    }

    /// The threads whose locks a Codex of its own holds: from its start, prompted or not, and mostly the former ones
    /// too. Several are guesses, but for the one that the title singles out.
    fn held_locks(agent: &Agent, title: Option<&SessionId>) -> Vec<Reading> {
        let mut held: Vec<SessionId> = Vec::new();
        for (_, id, _) in agent.held.iter().filter(|_| agent.keeps_former) {
            if *id != agent.session && !held.contains(id) {
                held.push(id.clone());
            }
        }
        held.push(agent.session.clone());
        held.sort();
        let alone = held.len() == 1;
        let mut out: Vec<Reading> = held
            .into_iter()
            .map(|session| {
                let proof = alone || title == Some(&session);
                Reading { grade: if proof { Grade::OpenFile } else { Grade::Guess }, session }
            })
            .collect();
        out.sort_by_key(|reading| reading.grade == Grade::OpenFile);
        out
    }

    /// The thread id that stands in the title of a Codex's pane, when its server can be asked.
    pub(super) fn shown_title(&self, at: usize) -> Option<SessionId> {
        let agent = &self.agents[at];
        let pane = &self.panes[agent.pane?];
        if !self.answers(pane.server) {
            return None;
        }
        pane.title.clone().filter(|_| agent.kind == AgentKind::Codex)
    }

    /// Looks at every server that answers.
    pub(super) fn look(&mut self) {
        let at = self.now;
        let answering: Vec<usize> = (0..self.servers.len()).filter(|server| self.answers(*server)).collect();
        let snapshots: BTreeMap<usize, Snapshot> =
            answering.iter().map(|server| (*server, self.snapshot(*server))).collect();
        let mut count = 0;
        let mut bodies = Vec::new();
        let mut young = false;
        for index in self.running() {
            let Some(pane) = self.agents[index].pane else { continue };
            let Some(snapshot) = snapshots.get(&self.panes[pane].server) else { continue };
            let seen = self.sighting(index, pane, snapshot);
            self.agents[index].bound = true;
            let agent = &self.agents[index];
            let unread = !agent.hooks && !seen.readings.iter().any(|reading| reading.grade.may_act());
            young |= unread && at - agent.began < 2 * SECOND;
            if self.told.get(&seen.process) != Some(&seen) {
                bodies.push(Body::Sighting(seen));
            }
        }
        for index in 0..self.agents.len() {
            if let Some(gone) = self.gone(index, &answering) {
                self.agents[index].gone = Some((at, gone.pane_left));
                bodies.push(Body::Gone(gone));
            }
        }
        for body in &bodies {
            if let Body::Sighting(seen) = body {
                self.told.insert(seen.process.clone(), seen.clone());
            }
        }
        // Later than ten seconds after an end closed can be told from lost.
        let told = |gone: u64| gone + 10 * SECOND + 50 * MS;
        let closing = self.agents.iter().filter_map(|agent| agent.gone).map(|(gone, _)| told(gone));
        self.look_due = closing
            .filter(|due| *due > at)
            .chain(young.then_some(at + LOOK_EVERY))
            .chain(self.look_due)
            .min();
        for (server, snapshot) in snapshots {
            let life = self.servers[server].life.clone();
            let alive = self
                .running()
                .into_iter()
                .filter(|index| {
                    self.agents[*index].pane.is_some_and(|pane| self.panes[pane].server == server)
                })
                .map(|index| (self.agents[index].process.pid, self.agents[index].process.start))
                .collect();
            let news = self.shown.get(&life) != Some(&snapshot);
            if news {
                self.shown.insert(life.clone(), snapshot.clone());
            }
            self.servers[server].looks.push(at);
            bodies.push(Body::Look(Look {
                life,
                snapshot: news.then_some(snapshot),
                alive,
                oom_kills: None,
            }));
        }
        for body in bodies {
            self.emit(at + count, body);
            count += 1;
        }
    }

    /// Whether a server would answer now.
    pub(super) fn answers(&self, server: usize) -> bool {
        self.servers[server].alive && self.servers[server].hung_until <= self.now
    }

    fn sighting(&self, index: usize, pane: usize, snapshot: &Snapshot) -> Sighting {
        let agent = &self.agents[index];
        let server = self.panes[pane].server;
        let mut readings = self.readings(index);
        readings.extend(agent.argv.iter().map(|id| Reading { grade: Grade::Argv, session: id.clone() }));
        Sighting {
            agent: agent.kind,
            home: agent.home.clone(),
            process: agent.process.clone(),
            life: self.servers[server].life.clone(),
            pane: self.panes[pane].id,
            place: snapshot.place(self.panes[pane].id),
            readings,
            title_id: self.shown_title(index).map(String::from),
            launch: self.launch(index),
            was: agent.was,
            mode: None,
            shared_server: agent.kind == AgentKind::Codex && !agent.embedded,
        }
    }

    fn gone(&self, index: usize, answering: &[usize]) -> Option<Gone> {
        let agent = &self.agents[index];
        let pane = &self.panes[agent.pane?];
        if agent.lives() || !agent.bound || agent.gone.is_some() || !answering.contains(&pane.server) {
            return None;
        }
        let last = self.told.get(&agent.process).and_then(|seen| seen.title_id.as_deref());
        Some(Gone {
            process: agent.process.clone(),
            life: self.servers[pane.server].life.clone(),
            pane_left: pane.open,
            stood: None,
            killed: self.kill_marks(index),
            title_emptied: agent.kind == AgentKind::Codex
                && last.is_some()
                && pane.open
                && pane.title.is_none(),
        })
    }

    /// Traces that an orderly end would have removed, as they are now.
    pub(super) fn kill_marks(&self, index: usize) -> Vec<KillMark> {
        let agent = &self.agents[index];
        let mut marks = Vec::new();
        if agent.how == How::Running {
            return marks;
        }
        if agent.record_left {
            marks.push(KillMark::RegistryLeft);
        }
        let Some(at) = agent.pane else { return marks };
        let pane = &self.panes[at];
        let last = self.told.get(&agent.process).and_then(|seen| seen.title_id.as_deref());
        if agent.kind == AgentKind::Codex
            && pane.open
            && self.answers(pane.server)
            && last.is_some()
            && pane.title.as_ref().map(SessionId::as_str) == last
            && self.agent_in(at).is_none()
        {
            marks.push(KillMark::TitleLeft);
        }
        marks
    }

    /// What a server looks like now.
    pub(super) fn snapshot(&self, server: usize) -> Snapshot {
        let server = &self.servers[server];
        let windows: Vec<Window> = server
            .windows
            .iter()
            .map(|window| Window {
                id: format!("@{}", window.id),
                name: window.name.clone(),
                automatic_name: false,
                layout: format!("l{}", window.panes.len()),
                zoomed: false,
                width: 200,
                height: 50,
                panes: window
                    .panes
                    .iter()
                    .enumerate()
                    .map(|(index, at)| self.pane_view(*at, index as u32))
                    .collect(),
            })
            .collect();
        let mut sessions: Vec<MuxSession> = Vec::new();
        for window in &server.windows {
            let id = format!("${}", window.session);
            let link = WindowLink { index: window.index, window: format!("@{}", window.id), active: false };
            match sessions.iter_mut().find(|session| session.id == id) {
                Some(session) => session.links.push(link),
                None => sessions.push(MuxSession {
                    name: format!("s{}", window.session),
                    id,
                    group: None,
                    path: "/home/u".into(),
                    attached: 0,
                    links: vec![link],
                }),
            }
        }
        Snapshot { sessions, windows, version: "3.4".into() }
    }

    fn pane_view(&self, at: usize, index: u32) -> Pane {
        let pane = &self.panes[at];
        Pane {
            id: pane.id,
            index,
            active: index == 0,
            dead: false,
            pid: pane.pid,
            start: pane.start,
            tty: format!("/dev/pts/{}", pane.tty),
            cwd: pane.cwd.clone(),
            command: self.agent_in(at).map_or("bash", |agent| self.agents[agent].kind.name()).into(),
            title: pane.title.as_ref().map(ToString::to_string).unwrap_or_default(),
            start_command: String::new(),
        }
    }

    /// The life of a pane's server.
    pub(super) fn life_of(&self, pane: usize) -> &ServerLife {
        &self.servers[self.panes[pane].server].life
    }
}
