//! How a world begins, how it goes down, and what can be seen of it afterwards.

use super::model::{How, MS, SECOND, Server, World};
use super::rng::Rng;
use reseat_core::ending::{LiveAgent, LiveView, SocketState};
use reseat_core::fact::{AgentEvent, EndReason};
use reseat_core::mux::ServerLife;
use reseat_core::process::{Boot, Liveness};
use std::collections::{BTreeMap, BTreeSet};

impl World {
    /// Lives through one whole random history, up to the moment a plan is asked for.
    pub(super) fn live(seed: u64) -> Self {
        let mut world = Self::begin(seed);
        let phases = if world.rng.chance(25) { 2 } else { 1 };
        for phase in 0..phases {
            let steps = world.rng.between(10, 60 + 5 * world.panes.len() as u64);
            world.steps(steps);
            world.go_down();
            let last = phase + 1 == phases;
            if !last || world.rng.chance(35) {
                world.rise();
            }
            if last {
                let few = world.rng.below(6);
                world.after(few);
            }
        }
        world
    }

    fn begin(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let boot = Boot { host: "h".into(), id: "b1".into(), pidns: 1, init_start: 1 };
        // Small worlds are more frequent, and reach more of what is rare.
        let size = 1 + rng.below(60) * rng.below(61) / 60;
        let dirs = (0..rng.between(1, 5)).map(|at| format!("/home/u/p{at}")).collect();
        let homes = if rng.chance(20) {
            vec!["/home/u".into(), "/home/u/other".into()]
        } else {
            vec!["/home/u".into()]
        };
        let (watched, late) = (rng.chance(85), rng.chance(30));
        let mut world = Self {
            seed,
            rng,
            now: 100 * SECOND,
            boot,
            boots: 1,
            wall: BTreeMap::from([("b1".to_owned(), 1_700_000_000_000)]),
            servers: Vec::new(),
            panes: Vec::new(),
            agents: Vec::new(),
            disk: BTreeMap::new(),
            dirs,
            gone_dirs: BTreeSet::new(),
            homes,
            facts: Vec::new(),
            told: BTreeMap::new(),
            shown: BTreeMap::new(),
            look_due: None,
            looked: None,
            watched,
            installed: 0,
            history: Vec::new(),
            free_pids: Vec::new(),
            next_pid: 1_000,
            nonce: 0,
            lost: Vec::new(),
            crashed: 0,
        };
        if late {
            world.installed = world.now + world.rng.between(5, 90) * SECOND;
        }
        let servers = if world.rng.chance(25) { 2 } else { 1 };
        for at in 0..servers {
            world.serve(format!("/tmp/tmux/{at}"));
        }
        for _ in 0..size {
            let server = world.rng.below(servers) as usize;
            let pane = world.open_pane(server);
            if world.rng.chance(85) {
                world.start_somehow(pane);
            }
        }
        world
    }

    fn serve(&mut self, socket: String) {
        let server = self.process();
        self.servers.push(Server {
            life: ServerLife { socket, server },
            alive: true,
            died: None,
            hung_until: 0,
            next_pane: 0,
            windows: Vec::new(),
            looks: Vec::new(),
        });
    }

    fn steps(&mut self, steps: u64) {
        for _ in 0..steps {
            let pause = match self.rng.below(10) {
                0..=5 => self.rng.between(50 * MS, 3 * SECOND),
                6..=8 => self.rng.between(SECOND, 10 * SECOND),
                _ => self.rng.between(10 * SECOND, 120 * SECOND),
            };
            let until = self.now + pause;
            self.looks_until(until);
            self.now = self.now.max(until);
            self.act();
        }
        if self.rng.chance(40) {
            self.act();
        }
        // The crash comes at any moment, often at once.
        let until = self.now
            + if self.rng.chance(50) { self.rng.below(2 * SECOND) } else { self.rng.below(40 * SECOND) };
        self.looks_until(until);
        self.now = self.now.max(until);
    }

    fn go_down(&mut self) {
        self.crashed = self.now;
        self.lost.clear();
        let living: Vec<usize> = (0..self.servers.len()).filter(|at| self.servers[*at].alive).collect();
        match self.rng.below(10) {
            0..=3 => {
                for at in living {
                    if self.rng.chance(85) {
                        self.server_dies(at, false);
                    }
                }
            }
            4..=5 => {
                for at in living {
                    if self.rng.chance(85) {
                        self.server_dies(at, true);
                    }
                }
            }
            6..=8 => self.reboot(&living),
            _ => {
                for at in self.running() {
                    if self.rng.chance(50) {
                        self.note(Some(at), format!("agent {at} killed in the crash"));
                        self.agents[at].record_left = self.agents[at].registry;
                        self.end(at, How::Crash);
                        self.lost.push(at);
                    }
                }
                self.ask_look();
            }
        }
    }

    fn server_dies(&mut self, server: usize, polite: bool) {
        self.note(None, format!("server {server} dies, polite: {polite}"));
        let mut agents: Vec<usize> = self.running();
        agents.retain(|at| self.agents[*at].pane.is_some_and(|pane| self.panes[pane].server == server));
        if polite && self.rng.chance(30) {
            // Some panes are gone already when a look is answered for the last time.
            for at in agents.clone() {
                if self.rng.chance(50) {
                    self.says_other(at);
                    self.end(at, How::Crash);
                    self.lost.push(at);
                    if let Some(pane) = self.agents[at].pane {
                        self.remove_pane(pane);
                    }
                }
            }
            self.now += MS;
            self.look();
        }
        agents.retain(|at| self.agents[*at].lives());
        for at in agents {
            // A dying terminal makes most agents leave politely, a little before or after the server.
            if self.rng.chance(if polite { 80 } else { 50 }) {
                self.says_other(at);
            } else {
                self.agents[at].record_left = self.agents[at].registry;
            }
            self.end(at, How::Crash);
            self.lost.push(at);
        }
        self.servers[server].alive = false;
        self.servers[server].died = Some(self.now);
        for pane in &mut self.panes {
            pane.open &= pane.server != server;
        }
        self.now += 500 * MS;
    }

    fn says_other(&mut self, at: usize) {
        let ns = self.now + self.rng.below(400 * MS);
        let session = self.agents[at].session.clone();
        self.hook(at, ns, &session, AgentEvent::End { reason: EndReason::Other });
    }

    fn reboot(&mut self, living: &[usize]) {
        let polite = self.rng.chance(50);
        for server in living {
            self.server_dies(*server, polite);
        }
        for at in 0..self.agents.len() {
            if self.agents[at].lives() {
                self.end(at, How::Crash);
            }
        }
        let wall = self.wall_ms(self.now) + 60_000;
        self.boots += 1;
        self.boot = Boot { id: format!("b{}", self.boots), ..self.boot.clone() };
        self.wall.insert(self.boot.id.clone(), wall);
        self.now = 20 * SECOND;
        self.installed = 0;
        (self.look_due, self.looked) = (None, None);
        self.free_pids.clear();
        self.next_pid = 1_000;
        self.note(None, "the host was restarted".into());
    }

    /// A server of the same socket is started again; its pane ids begin at %0.
    fn rise(&mut self) {
        self.now += self.rng.between(SECOND, 30 * SECOND);
        let dead: BTreeSet<String> = self
            .servers
            .iter()
            .map(|server| server.life.socket.clone())
            .filter(|socket| !self.servers.iter().any(|other| other.alive && other.life.socket == *socket))
            .collect();
        for socket in dead {
            self.serve(socket);
            let server = self.servers.len() - 1;
            for _ in 0..self.rng.between(1, 6) {
                let pane = self.open_pane(server);
                if self.rng.chance(60) {
                    self.start_somehow(pane);
                }
            }
        }
        self.ask_look();
    }

    /// What happens between the crash and the plan.
    fn after(&mut self, steps: u64) {
        if self.rng.chance(20) {
            let lost = self.lost.clone();
            if let Some(at) = self.rng.pick(&lost) {
                self.start_outside(at);
            }
        }
        for _ in 0..steps {
            let until = self.now + self.rng.between(100 * MS, 5 * SECOND);
            self.looks_until(until);
            self.now = self.now.max(until);
            self.act();
        }
        let until = self.now + self.rng.between(SECOND, 40 * SECOND);
        self.looks_until(until);
        self.now = self.now.max(until);
    }

    /// What a plan would see now.
    pub(super) fn view(&self) -> LiveView {
        let mut view = LiveView { here: Some(self.boot.clone()), now_ns: self.now, ..LiveView::default() };
        for (at, server) in self.servers.iter().enumerate() {
            if self.answers(at) {
                view.servers.insert(server.life.clone(), self.snapshot(at));
                view.sockets.remove(&server.life.socket);
            } else if server.alive {
                let why = "no answer within a second".into();
                view.sockets.insert(server.life.socket.clone(), SocketState::NotAnswering { why });
            } else if !view.servers.keys().any(|life| life.socket == server.life.socket) {
                view.sockets.insert(server.life.socket.clone(), SocketState::NoServer);
            }
            let liveness = if server.alive { Liveness::Alive } else { Liveness::Gone };
            view.processes.insert(server.life.server.clone(), liveness);
        }
        for (at, agent) in self.agents.iter().enumerate() {
            let liveness = if agent.lives() { Liveness::Alive } else { Liveness::Gone };
            view.processes.insert(agent.process.clone(), liveness);
            let marks = self.kill_marks(at);
            if agent.bound && !marks.is_empty() {
                view.killed.insert(agent.process.clone(), marks);
            }
            if agent.lives() {
                view.agents.push(self.live_agent(at));
            }
        }
        view
    }

    fn live_agent(&self, at: usize) -> LiveAgent {
        let agent = &self.agents[at];
        let seen_in = agent.pane.filter(|pane| self.answers(self.panes[*pane].server));
        let mut sessions: Vec<_> = self.readings(at).into_iter().map(|reading| reading.session).collect();
        // Whatever the grade: a standing title too is a reason not to start it twice.
        sessions.extend(self.shown_title(at).filter(|shown| !sessions.contains(shown)));
        if sessions.is_empty() {
            sessions.extend(agent.argv.clone());
        }
        let certain = !self.readings(at).is_empty();
        LiveAgent {
            process: agent.process.clone(),
            agent: agent.kind,
            home: agent.home.clone(),
            sessions,
            pane: seen_in.map(|pane| (self.life_of(pane).clone(), self.panes[pane].id)),
            interactive: true,
            cwd: Some(agent.cwd.clone()),
            began_ms: self.wall.get(&agent.process.boot.id).copied().unwrap_or(0)
                + agent.process.since_boot_ms(),
            certain,
        }
    }
}
