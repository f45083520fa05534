//! A log, a live view and a disk, each made by hand in a few words.

use reseat_core::ending::{LiveAgent, LiveView, SocketState};
use reseat_core::fact::{
    AgentEvent, Body, Decision, EndReason, Fact, Gone, Grade, HookEvent, KillMark, Launch, Look, Outcome,
    PaneClaim, Reading, Sighting, Stamp, Was,
};
use reseat_core::fold::{Binding, Folded, entry_of, fold};
use reseat_core::ids::{AgentKind, EntryId, FlightId, PlanId, SessionId, SessionKey};
use reseat_core::mux::{MuxSession, Pane, PaneId, Place, ServerLife, Snapshot, Window, WindowLink};
use reseat_core::plan::{
    Command, Conversation, Directory, IdleShell, Kind, Knowledge, Known, Plan, Policy, compute,
};
use reseat_core::process::{Boot, Liveness, ProcessKey};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const HOME: &str = "/h/.claude";

/// `U1`, `U2` and so on of the cases: the digit repeated.
pub(crate) fn id(number: u32) -> SessionId {
    let digit = char::from_digit(number, 16).unwrap();
    let run = |length: usize| digit.to_string().repeat(length);
    SessionId::parse(&format!("{}-{}-4{}-8{}-{}", run(8), run(4), run(3), run(3), run(12))).unwrap()
}

pub(crate) fn boot(number: u64) -> Boot {
    Boot { host: "h1".into(), id: format!("boot-{number}"), pidns: 1, init_start: 1 }
}

pub(crate) fn process(number: u64, pid: u32) -> ProcessKey {
    ProcessKey { boot: boot(number), pid, start: u64::from(pid) * 10 }
}

/// The server of a boot with that pid, on the usual socket.
pub(crate) fn life(number: u64, pid: u32) -> ServerLife {
    life_at("/t/default", number, pid)
}

pub(crate) fn life_at(socket: &str, number: u64, pid: u32) -> ServerLife {
    ServerLife { socket: socket.into(), server: process(number, pid) }
}

/// One session with one window per row; each row names its panes with their directories.
pub(crate) fn snapshot(session: &str, windows: &[&[(u32, &str)]]) -> Snapshot {
    let made: Vec<Window> = windows
        .iter()
        .enumerate()
        .map(|(at, panes)| Window {
            id: format!("@{at}"),
            name: format!("w{at}"),
            automatic_name: false,
            layout: if panes.len() > 1 { "layout".into() } else { String::new() },
            zoomed: false,
            width: 120,
            height: 40,
            panes: panes
                .iter()
                .enumerate()
                .map(|(index, (pane, cwd))| Pane {
                    id: PaneId(*pane),
                    index: index as u32,
                    active: index == 0,
                    dead: false,
                    pid: 9000 + pane,
                    start: 1,
                    tty: format!("/dev/pts/{pane}"),
                    cwd: (*cwd).into(),
                    command: "sh".into(),
                    title: String::new(),
                    start_command: String::new(),
                })
                .collect(),
        })
        .collect();
    Snapshot {
        sessions: vec![MuxSession {
            id: "$0".into(),
            name: session.into(),
            group: None,
            path: "/w".into(),
            attached: 0,
            links: (0..made.len())
                .map(|at| WindowLink { index: at as u32, window: format!("@{at}"), active: at == 0 })
                .collect(),
        }],
        windows: made,
        version: "3.3a".into(),
    }
}

/// The log, at a moment that its user moves on.
pub(crate) struct Log {
    pub(crate) facts: Vec<Fact>,
    pub(crate) boot: u64,
    pub(crate) ns: u64,
    pub(crate) wall_ms: i64,
    nonce: u64,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self { facts: Vec::new(), boot: 1, ns: 100 * SECOND, wall_ms: 1_000_000, nonce: 0 }
    }

    /// Moves time on.
    pub(crate) fn after(&mut self, seconds: u64) -> &mut Self {
        self.ns += seconds * SECOND;
        self.wall_ms += seconds as i64 * 1000;
        self
    }

    pub(crate) fn put(&mut self, body: Body) -> &mut Self {
        self.ns += 1;
        self.nonce += 1;
        let stamp = Stamp {
            boot: boot(self.boot),
            boot_number: self.boot,
            ns: self.ns,
            pid: 1,
            nonce: self.nonce,
            wall_ms: self.wall_ms,
        };
        self.facts.push(Fact { stamp, body });
        self
    }

    pub(crate) fn event(&mut self, at: &Spot, event: AgentEvent, session: u32) -> &mut Self {
        self.put(Body::Hook(HookEvent {
            agent: AgentKind::Claude,
            home: HOME.into(),
            event,
            session: id(session),
            process: Some(at.process.clone()),
            pane: Some(PaneClaim { life: at.life.clone(), pane: at.pane, tty: 7, descends: true }),
            nested: at.nested,
            launch: Launch { cwd: Some(at.cwd.clone()), argv: vec!["claude".into()], ..Launch::default() },
            mode: None,
        }))
    }

    pub(crate) fn start(&mut self, at: &Spot, source: &str, session: u32) -> &mut Self {
        self.event(at, AgentEvent::Start { source: source.into() }, session)
    }

    pub(crate) fn end(&mut self, at: &Spot, reason: EndReason, session: u32) -> &mut Self {
        self.event(at, AgentEvent::End { reason }, session)
    }

    pub(crate) fn seen(&mut self, at: &Spot, readings: &[(Grade, u32)]) -> &mut Self {
        self.put(Body::Sighting(Sighting {
            agent: AgentKind::Claude,
            home: HOME.into(),
            process: at.process.clone(),
            life: at.life.clone(),
            pane: at.pane,
            place: at.place.clone(),
            readings: readings
                .iter()
                .map(|(grade, session)| Reading { grade: *grade, session: id(*session) })
                .collect(),
            title_id: None,
            launch: Launch { cwd: Some(at.cwd.clone()), argv: vec!["claude".into()], ..Launch::default() },
            was: Was::Idle,
            mode: None,
            shared_server: false,
        }))
    }

    pub(crate) fn gone(&mut self, at: &Spot, pane_left: bool, killed: &[KillMark]) -> &mut Self {
        let shown = self.folded().lives.get(&at.life).and_then(|seen| seen.snapshot.clone());
        self.put(Body::Gone(Gone {
            process: at.process.clone(),
            life: at.life.clone(),
            pane_left,
            stood: shown.filter(|_| !pane_left).and_then(|shown| shown.stood(at.pane)),
            killed: killed.to_vec(),
            title_emptied: false,
        }))
    }

    pub(crate) fn look(&mut self, life: &ServerLife, shown: &Snapshot, alive: &[&Spot]) -> &mut Self {
        self.put(Body::Look(Look {
            life: life.clone(),
            snapshot: Some(shown.clone()),
            alive: alive.iter().map(|at| (at.process.pid, at.process.start)).collect(),
            oom_kills: None,
        }))
    }

    pub(crate) fn failed(&mut self, at: &Spot, code: &str) -> &mut Self {
        let entry = at.entry();
        self.put(Body::Decision(Decision::Taken {
            flight: FlightId("f".into()),
            plan: PlanId("p".into()),
            entries: vec![entry.clone()],
        }));
        self.put(Body::Decision(Decision::Outcome {
            flight: FlightId("f".into()),
            entry,
            surface: at.life.surface(&at.pane),
            session: None,
            outcome: Outcome::Failed,
            code: code.into(),
            text: "exit 1 after 1 s".into(),
            process: None,
        }))
    }

    pub(crate) fn folded(&self) -> Folded {
        fold(&self.facts)
    }
}

/// An agent process in a pane.
#[derive(Clone)]
pub(crate) struct Spot {
    pub(crate) life: ServerLife,
    pub(crate) pane: PaneId,
    pub(crate) process: ProcessKey,
    pub(crate) place: Option<Place>,
    pub(crate) cwd: String,
    pub(crate) nested: bool,
}

impl Spot {
    /// Pane `%pane` of a life, window and pane index as given, running `pid`.
    pub(crate) fn at(life: &ServerLife, pane: u32, pid: u32, window: u32, index: u32) -> Self {
        Self {
            life: life.clone(),
            pane: PaneId(pane),
            process: ProcessKey { boot: life.boot().clone(), pid, start: u64::from(pid) * 10 },
            place: Some(Place {
                session: "work".into(),
                window,
                window_name: format!("w{window}"),
                pane: index,
            }),
            cwd: "/w".into(),
            nested: false,
        }
    }

    pub(crate) fn cwd(mut self, cwd: &str) -> Self {
        self.cwd = cwd.into();
        self
    }

    pub(crate) fn nested(mut self) -> Self {
        self.nested = true;
        self
    }

    pub(crate) fn entry(&self) -> EntryId {
        entry_of(&self.life.surface(&self.pane), &self.process)
    }
}

/// What is there now: nothing but what is said to be. Every process that facts name is gone unless said to live.
pub(crate) struct Now {
    pub(crate) view: LiveView,
}

impl Now {
    pub(crate) fn of(log: &Log) -> Self {
        let mut view =
            LiveView { here: Some(boot(log.boot)), now_ns: log.ns + SECOND, ..LiveView::default() };
        let folded = log.folded();
        let named = folded
            .bindings
            .iter()
            .map(|binding| binding.process.clone())
            .chain(folded.lives.keys().map(|life| life.server.clone()))
            .chain(folded.bindings.iter().filter_map(|binding| Some(binding.life.as_ref()?.server.clone())));
        for process in named {
            view.processes.insert(process, Liveness::Gone);
        }
        Self { view }
    }

    pub(crate) fn answers(mut self, life: &ServerLife, shown: &Snapshot) -> Self {
        self.view.servers.insert(life.clone(), shown.clone());
        self.alive(&life.server)
    }

    pub(crate) fn alive(mut self, process: &ProcessKey) -> Self {
        self.view.processes.insert(process.clone(), Liveness::Alive);
        self
    }

    pub(crate) fn socket(mut self, socket: &str, state: SocketState) -> Self {
        self.view.sockets.insert(socket.into(), state);
        self
    }

    /// An agent that runs without a pane of ours.
    pub(crate) fn runs(mut self, pid: u32, session: u32) -> Self {
        self.view.agents.push(LiveAgent {
            process: process(1, pid),
            agent: AgentKind::Claude,
            home: HOME.into(),
            sessions: vec![id(session)],
            pane: None,
            interactive: true,
            cwd: Some("/w".into()),
            began_ms: 0,
            certain: true,
        });
        self
    }
}

/// A disk on which every conversation and directory is there, but for what is said.
#[derive(Default)]
pub(crate) struct Disk {
    pub(crate) talks: BTreeMap<u32, Known>,
    pub(crate) by_directory: BTreeMap<String, Vec<u32>>,
    pub(crate) missing: BTreeMap<String, Option<String>>,
    pub(crate) idle: BTreeSet<PaneId>,
}

impl Disk {
    pub(crate) fn talk() -> Known {
        Known {
            conversation: Conversation::Yes,
            kind: Kind::Interactive,
            project: None,
            current: None,
            title: None,
            last_prompt: None,
            last_activity_ms: 0,
            continued_in: None,
            missing_base: None,
            archived: false,
            was: Was::Idle,
            notes: Vec::new(),
        }
    }

    pub(crate) fn without(mut self, session: u32) -> Self {
        self.talks.insert(session, Known::missing(false));
        self
    }
}

impl Knowledge for Disk {
    fn transcript(&self, key: &SessionKey) -> Known {
        let special = self.talks.iter().find(|(session, _)| id(**session) == key.id);
        special.map_or_else(Self::talk, |(_, known)| known.clone())
    }

    fn candidates(&self, _agent: AgentKind, _home: &str, cwd: &str) -> Vec<SessionId> {
        self.by_directory.get(cwd).into_iter().flatten().map(|session| id(*session)).collect()
    }

    fn starting_with(&self, _agent: AgentKind, _home: &str, prefix: &str) -> Vec<SessionId> {
        (1..16)
            .filter(|number| {
                self.talks
                    .get(number)
                    .is_none_or(|known| !matches!(known.conversation, Conversation::Missing { .. }))
            })
            .map(id)
            .filter(|id| id.as_str().starts_with(prefix))
            .collect()
    }

    fn others_written_since(&self, _binding: &Binding, _session: &SessionId) -> bool {
        false
    }

    fn command(&self, binding: &Binding, key: &SessionKey, _known: &Known) -> Command {
        let mut argv = binding.launch.argv.clone();
        argv.extend(["--resume".to_owned(), key.id.to_string()]);
        Command { argv, ..Command::default() }
    }

    fn directory(&self, path: &str) -> Directory {
        self.missing.get(path).map_or(Directory::There, |hint| Directory::Missing(hint.clone()))
    }

    fn home_exists(&self, _home: &str) -> bool {
        true
    }

    fn start_directory(&self, binding: &Binding, known: &Known) -> Option<String> {
        known.project.clone().or_else(|| binding.launch.cwd.clone())
    }

    fn idle_shell(&self, _life: &ServerLife, pane: PaneId) -> Option<IdleShell> {
        self.idle.contains(&pane).then_some(IdleShell { start: 1 })
    }
}

pub(crate) fn plan(log: &Log, now: &Now, disk: &Disk) -> Plan {
    compute(&log.folded(), &now.view, disk, &Policy::default())
}

/// Every entry with an agent, one line each: place, verdict, reason code, sentence, session and command.
pub(crate) fn lines(plan: &Plan) -> Vec<String> {
    let mut out: Vec<String> = plan
        .entries
        .iter()
        .filter(|entry| entry.agent.is_some())
        .map(|entry| {
            let surface = &entry.surface;
            let place = format!(
                "{}:{}.{}",
                surface.session.as_deref().unwrap_or("?"),
                surface.window.map_or_else(|| "?".into(), |window| window.to_string()),
                surface.pane.map_or_else(|| "?".into(), |pane| pane.to_string()),
            );
            let words: Vec<String> = [place, entry.verdict.name().into(), entry.reason.code.clone()]
                .into_iter()
                .chain([format!("({})", entry.reason.text)])
                .chain([entry.argv.iter().map(|word| short(word)).collect::<Vec<_>>().join(" ")])
                .chain(entry.candidates.iter().map(|other| format!("?{}", short(other.session.as_str()))))
                .filter(|word| !word.is_empty())
                .collect();
            short(&words.join(" "))
        })
        .collect();
    out.sort();
    out
}

/// Replaces the long ids of the fixtures by `U1` and so on.
pub(crate) fn short(text: &str) -> String {
    (1..16).fold(text.to_owned(), |text, number| text.replace(id(number).as_str(), &format!("U{number}")))
}
