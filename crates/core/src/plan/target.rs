//! Where each entry goes: whole windows of a server that died, single panes in one that lives.

use super::knowledge::Knowledge;
use super::types::{Build, Entry, PaneBuild, Reason, SurfaceView, Verdict, WindowBuild};
use super::{Policy, knowledge::Directory};
use crate::ending::{LiveView, life_now};
use crate::fact::Was;
use crate::fold::{Binding, Folded};
use crate::ids::{EntryId, SurfaceId, digest};
use crate::mux::{MuxSession, Pane, PaneId, Place, ServerLife, Snapshot, Stood, Window};
use std::collections::{BTreeMap, BTreeSet};

/// Decides the builds and adds an entry for every other pane of a rebuilt window.
///
/// Entries that are skipped, unknown, or superseded get no place. A window is rebuilt when it holds at least one
/// entry that is to be resumed, chosen, blocked or a shell; the other windows of its session come with it unless
/// the selection is narrower than a session.
pub(super) fn builds(
    folded: &Folded,
    view: &LiveView,
    know: &dyn Knowledge,
    policy: &Policy,
    entries: &mut Vec<Entry>,
) -> Vec<Build> {
    let mut by_life: BTreeMap<&ServerLife, Vec<&Binding>> = BTreeMap::new();
    for binding in &folded.bindings {
        let placed = entries.iter().any(|entry| {
            entry.entry == binding.entry()
                && !matches!(entry.verdict, Verdict::Skip | Verdict::Unknown)
                && entry.reason.code != "superseded"
        });
        if let Some(life) = binding.life.as_ref().filter(|_| placed) {
            by_life.entry(life).or_default().push(binding);
        }
    }
    let mut out = Vec::new();
    for (life, bindings) in by_life {
        let mut maker = Maker { folded, view, know, policy, life, entries, out: &mut out };
        match life_now(life, view) {
            // Of a life that cannot be seen from here only what was forced gets this far: it is made here anew.
            crate::ending::LifeNow::Over(_) | crate::ending::LifeNow::CannotTell(..) => {
                maker.whole_windows(&bindings);
            }
            // The last to go left the smallest window: it comes back first, so that each finds what it left.
            _ => {
                let mut bindings = bindings;
                bindings.sort_by_key(|binding| maker.stood(binding).map(|stood| (stood.panes, stood.at)));
                for binding in bindings {
                    maker.single_pane(binding);
                }
            }
        }
    }
    out
}

/// The place of an entry that a person's answer turned into a resume after the plan had given it none.
pub(super) fn build_of_pick(
    folded: &Folded,
    view: &LiveView,
    know: &dyn Knowledge,
    binding: &Binding,
    entries: &mut Vec<Entry>,
) -> Option<Build> {
    let life = binding.life.as_ref()?;
    let policy = Policy::default();
    let mut out = Vec::new();
    let mut maker = Maker { folded, view, know, policy: &policy, life, entries, out: &mut out };
    match maker.placed_now(&binding.entry()) {
        Some(target) if maker.is_idle(target) => {
            let pane = PaneBuild { entry: binding.entry(), cwd: maker.start(binding), active: true };
            maker.out.push(Build::Respawn { socket: life.socket.clone(), target, pane });
        }
        _ => maker.window_of_its_own(binding),
    }
    out.pop()
}

struct Maker<'a> {
    folded: &'a Folded,
    view: &'a LiveView,
    know: &'a dyn Knowledge,
    policy: &'a Policy,
    life: &'a ServerLife,
    entries: &'a mut Vec<Entry>,
    out: &'a mut Vec<Build>,
}

impl<'a> Maker<'a> {
    /// The server that answers on the same socket now, if any.
    fn target(&self) -> Option<(&ServerLife, &Snapshot)> {
        self.view.servers.iter().find(|(life, _)| life.socket == self.life.socket)
    }

    fn whole_windows(&mut self, bindings: &[&Binding]) {
        let snapshot = self.folded.lives.get(self.life).and_then(|seen| seen.snapshot.as_ref());
        let mut left: Vec<&Binding> = bindings.to_vec();
        if let Some(snapshot) = snapshot {
            let held: BTreeSet<PaneId> = bindings.iter().filter_map(|binding| binding.pane).collect();
            let with_agent = |window: &Window| window.panes.iter().any(|pane| held.contains(&pane.id));
            let mut done: BTreeSet<&str> = BTreeSet::new();
            // A group is named after the session it began with: that one is made first, so that it is again.
            let mut sessions: Vec<&MuxSession> = snapshot.sessions.iter().collect();
            sessions
                .sort_by_key(|session| session.group.as_ref().is_some_and(|group| *group != session.name));
            for session in sessions {
                let windows: Vec<(u32, bool, &Window)> = session
                    .links
                    .iter()
                    .filter_map(|link| {
                        let window = snapshot.windows.iter().find(|window| window.id == link.window)?;
                        Some((link.index, link.active, window))
                    })
                    .collect();
                if !windows.iter().any(|(_, _, window)| with_agent(window)) {
                    continue;
                }
                for (index, active, window) in windows {
                    let wanted = with_agent(window) || self.policy.selection.means_sessions();
                    if wanted && done.insert(&window.id) {
                        self.rest_of_window(snapshot, session, index, active, window);
                    }
                }
            }
            left.retain(|binding| binding.pane.is_none_or(|pane| snapshot.pane(pane).is_none()));
        }
        for binding in left {
            self.window_of_its_own(binding);
        }
    }

    /// Leaves out panes that an earlier restore brought back or gave a shell to; the rest joins them in their window.
    fn rest_of_window(
        &mut self,
        snapshot: &Snapshot,
        session: &MuxSession,
        index: u32,
        active: bool,
        window: &Window,
    ) {
        let back: Vec<(PaneId, EntryId)> = window
            .panes
            .iter()
            .filter_map(|pane| self.brought_back(pane.id).map(|entry| (pane.id, entry)))
            .collect();
        let shells: Vec<(PaneId, PaneId)> = window
            .panes
            .iter()
            .filter_map(|pane| {
                let entry = self.newest_binding(pane.id)?.entry();
                Some((pane.id, self.placed_now(&entry)?))
            })
            .collect();
        if back.is_empty() && shells.is_empty() {
            let build = self.window(snapshot, session, index, active, window);
            self.out.push(build);
            return;
        }
        let living = self.target().and_then(|(life, live)| {
            self.folded.placed.iter().find_map(|((placed, pane), (_, entry))| {
                let ours = placed == life
                    && (back.iter().any(|(_, id)| id == entry)
                        || shells.iter().any(|(_, shell)| shell == pane));
                ours.then(|| live.pane(*pane)).flatten().map(|(window, _)| window.id.clone())
            })
        });
        for pane in window.panes.iter().filter(|pane| !back.iter().any(|(id, _)| *id == pane.id)) {
            let Some(binding) = self.newest_binding(pane.id) else { continue };
            let id = binding.entry();
            let Some(verdict) =
                self.entries.iter().find(|entry| entry.entry == id).map(|entry| entry.verdict)
            else {
                continue;
            };
            let build = PaneBuild { entry: id, cwd: self.start(binding), active: pane.active };
            let socket = self.life.socket.clone();
            let shell = shells.iter().find(|(lost, _)| *lost == pane.id).map(|(_, shell)| *shell);
            match (shell, &living) {
                // An agent that can be continued by now takes the place of the shell that waits for it.
                (Some(target), _) if verdict == Verdict::Resume && self.is_idle(target) => {
                    self.note(&build.entry, format!("replaces the shell that waits for it in pane {target}"));
                    self.out.push(Build::Respawn { socket, target, pane: build });
                }
                (Some(_), _) if verdict != Verdict::Resume => {}
                (_, Some(living)) => {
                    let at = window.panes.iter().position(|other| other.id == pane.id).unwrap_or_default();
                    self.out.push(Build::Split {
                        socket,
                        window: living.clone(),
                        pane: build,
                        at: at as u32,
                        layout: window.layout.clone(),
                        panes: window.panes.len() as u32,
                    });
                }
                (_, None) => self.window_of_its_own(binding),
            }
        }
    }

    /// The living pane that an earlier restore made for an entry.
    fn placed_now(&self, entry: &EntryId) -> Option<PaneId> {
        let (life, live) = self.target()?;
        self.folded
            .placed
            .iter()
            .find(|((placed, pane), (_, id))| placed == life && id == entry && live.pane(*pane).is_some())
            .map(|((_, pane), _)| *pane)
    }

    fn is_idle(&self, pane: PaneId) -> bool {
        self.target().is_some_and(|(life, _)| self.know.idle_shell(life, pane).is_some())
    }

    /// The entry of a pane that an earlier restore settled.
    fn brought_back(&self, pane: PaneId) -> Option<EntryId> {
        let binding = self.newest_binding(pane);
        let surface = binding.map_or_else(|| self.life.surface(&pane), |binding| binding.surface.clone());
        binding.map(Binding::entry).into_iter().chain([shell_entry(&surface, self.life, pane)]).find(|id| {
            !self.entries.iter().any(|entry| entry.entry == *id)
                && self.folded.settled.get(id).is_some_and(|settled| settled.is_done() && !settled.dismissed)
        })
    }

    fn window(
        &mut self,
        snapshot: &Snapshot,
        session: &MuxSession,
        index: u32,
        active: bool,
        window: &Window,
    ) -> Build {
        let live =
            self.target().and_then(|(_, live)| live.sessions.iter().find(|other| other.name == session.name));
        let session_exists = live.is_some();
        let index_taken = live.is_some_and(|live| live.links.iter().any(|link| link.index == index));
        if self.policy.into_idle
            && window.panes.len() == 1
            && let Some(build) = self.idle_in_place(session, index, &window.panes[0])
        {
            return build;
        }
        let panes: Vec<PaneBuild> =
            window.panes.iter().map(|pane| self.pane(session, index, window, pane)).collect();
        let group = session.group.as_ref().map_or_else(Vec::new, |group| {
            snapshot
                .sessions
                .iter()
                .filter(|other| other.group.as_ref() == Some(group) && other.name != session.name)
                .map(|other| other.name.clone())
                .collect()
        });
        let links = snapshot
            .sessions
            .iter()
            .filter(|other| {
                other.name != session.name && (other.group.is_none() || other.group != session.group)
            })
            .flat_map(|other| {
                other
                    .links
                    .iter()
                    .filter(|link| link.window == window.id)
                    .map(|link| (other.name.clone(), link.index))
            })
            .collect();
        Build::Window(WindowBuild {
            socket: self.life.socket.clone(),
            session: session.name.clone(),
            session_exists,
            session_path: self.existing(&session.path),
            group,
            links,
            index,
            index_taken,
            name: window.name.clone(),
            automatic_name: window.automatic_name,
            active,
            layout: window.layout.clone(),
            zoomed: window.zoomed,
            width: window.width,
            height: window.height,
            panes,
        })
    }

    /// An agent whose pane no kept snapshot shows: a window of its own, by the place it was last seen in.
    fn window_of_its_own(&mut self, binding: &Binding) {
        let place = binding.place.clone().unwrap_or_else(|| Place {
            session: "reseat".into(),
            window: 0,
            window_name: binding.agent.name().into(),
            pane: 0,
        });
        let cwd = self.start(binding);
        let live = self
            .target()
            .and_then(|(_, live)| live.sessions.iter().find(|other| other.name == place.session));
        let session_exists = live.is_some();
        let index_taken = live.is_some_and(|live| live.links.iter().any(|link| link.index == place.window));
        let entry = binding.entry();
        if let Some(entry) = self.entries.iter_mut().find(|other| other.entry == entry)
            && binding.place.is_none()
        {
            entry.notes.push("its place in tmux was never seen".into());
        }
        self.out.push(Build::Window(WindowBuild {
            socket: self.life.socket.clone(),
            session: place.session,
            session_exists,
            session_path: cwd.clone(),
            group: Vec::new(),
            links: Vec::new(),
            index: place.window,
            index_taken,
            name: place.window_name,
            automatic_name: true,
            active: false,
            layout: String::new(),
            zoomed: false,
            width: 0,
            height: 0,
            panes: vec![PaneBuild { entry, cwd, active: true }],
        }));
    }

    /// One agent lost from a server that lives: back into its pane if that is idle and the user allows it, else
    /// into its window if that lives, else into a new window of its session.
    fn single_pane(&mut self, binding: &Binding) {
        let Some(snapshot) = self.view.servers.get(self.life) else { return };
        let cwd = self.start(binding);
        let pane = PaneBuild { entry: binding.entry(), cwd, active: true };
        let socket = self.life.socket.clone();
        let standing = binding.pane.and_then(|id| snapshot.pane(id));
        if self.policy.into_idle
            && let Some((_, standing)) = standing
            && !standing.dead
            && self.know.idle_shell(self.life, standing.id).is_some()
        {
            self.note(&pane.entry, format!("replaces the idle shell in its own pane {}", standing.id));
            self.out.push(Build::Respawn { socket, target: standing.id, pane });
            return;
        }
        if let Some((_, dead)) = standing.filter(|(_, standing)| standing.dead) {
            self.out.push(Build::Respawn { socket, target: dead.id, pane });
            return;
        }
        if standing.is_none()
            && let Some(place) = &binding.place
            && let Some(window) = window_at(snapshot, place)
        {
            let (at, layout, panes) = self
                .stood(binding)
                .map_or((place.pane, String::new(), 0), |stood| (stood.at, stood.layout, stood.panes));
            self.out.push(Build::Split { socket, window, pane, at, layout, panes });
            return;
        }
        if standing.is_some() {
            self.note(
                &pane.entry,
                "its pane is left alone; it comes back in a new window (--into-idle uses the pane)".into(),
            );
        }
        self.window_of_its_own(binding);
        if let (Some(Build::Window(window)), Some(_)) = (self.out.last_mut(), standing) {
            window.index_taken = true;
        }
    }

    fn stood(&self, binding: &Binding) -> Option<Stood> {
        binding.stood(self.folded.lives.get(self.life).and_then(|seen| seen.snapshot.as_ref()))
    }

    /// An idle shell that stands where the only pane of a window stood, in the same directory, started after the
    /// loss.
    fn idle_in_place(&mut self, session: &MuxSession, index: u32, lost: &Pane) -> Option<Build> {
        let (life, live) = self.target()?;
        let session = live.sessions.iter().find(|other| other.name == session.name)?;
        let link = session.links.iter().find(|link| link.index == index)?;
        let window = live.windows.iter().find(|window| window.id == link.window)?;
        let [standing] = window.panes.as_slice() else { return None };
        if standing.cwd != lost.cwd || standing.dead {
            return None;
        }
        self.know.idle_shell(life, standing.id)?;
        let target = standing.id;
        let binding = self.newest_binding(lost.id)?;
        let pane = PaneBuild { entry: binding.entry(), cwd: self.start(binding), active: true };
        self.note(&pane.entry, format!("replaces the idle shell in pane {target}"));
        Some(Build::Respawn { socket: self.life.socket.clone(), target, pane })
    }

    /// The pane's entry: that of the agent it held last, or a shell's.
    fn pane(&mut self, session: &MuxSession, index: u32, window: &Window, pane: &Pane) -> PaneBuild {
        let place = Place {
            session: session.name.clone(),
            window: index,
            window_name: window.name.clone(),
            pane: pane.index,
        };
        let binding = self.newest_binding(pane.id);
        if let Some(binding) = binding {
            let id = binding.entry();
            if let Some(entry) = self.entries.iter_mut().find(|entry| entry.entry == id) {
                // The last full look knows the place better than the last sighting.
                entry.surface.session = Some(place.session);
                entry.surface.window = Some(place.window);
                entry.surface.window_name = Some(place.window_name);
                entry.surface.pane = Some(place.pane);
                let cwd = entry.cwd.clone();
                return PaneBuild {
                    entry: id,
                    cwd: self.existing(cwd.as_deref().unwrap_or(&pane.cwd)),
                    active: pane.active,
                };
            }
        }
        let surface = binding.map_or_else(|| self.life.surface(&pane.id), |binding| binding.surface.clone());
        let id = shell_entry(&surface, self.life, pane.id);
        if !self.entries.iter().any(|entry| entry.entry == id) {
            let reason = match binding {
                Some(_) => {
                    Reason::new("agent-not-resumed", "the agent that ran here was ended, or is not selected")
                }
                None => Reason::new("no-agent", "no agent ran in this pane"),
            };
            let ran = if pane.start_command.is_empty() { &pane.command } else { &pane.start_command };
            self.entries.push(Entry {
                entry: id.clone(),
                verdict: Verdict::Shell,
                reason,
                agent: None,
                session: None,
                home: None,
                surface: SurfaceView {
                    id: surface,
                    mux: "tmux".into(),
                    socket: Some(self.life.socket.clone()),
                    session: Some(place.session),
                    window: Some(place.window),
                    window_name: Some(place.window_name),
                    pane: Some(place.pane),
                    pane_id: None,
                },
                cwd: Some(pane.cwd.clone()),
                argv: Vec::new(),
                env: BTreeMap::new(),
                was: Was::Unknown,
                label: Some(crate::text::short(ran, 80)),
                evidence: Vec::new(),
                candidates: Vec::new(),
                preselected: None,
                notes: Vec::new(),
                incident: None,
            });
        }
        PaneBuild { entry: id, cwd: self.existing(&pane.cwd), active: pane.active }
    }

    /// The binding seen last in a pane of this life.
    fn newest_binding(&self, pane: PaneId) -> Option<&'a Binding> {
        self.folded
            .bindings
            .iter()
            .rev()
            .find(|binding| binding.life.as_ref() == Some(self.life) && binding.pane == Some(pane))
    }

    fn start(&self, binding: &Binding) -> String {
        let id = binding.entry();
        let cwd = self.entries.iter().find(|entry| entry.entry == id).and_then(|entry| entry.cwd.clone());
        self.existing(cwd.as_deref().or(binding.launch.cwd.as_deref()).unwrap_or("/"))
    }

    /// The nearest directory at or above a path that is there: a shell may start there, an agent never does.
    fn existing(&self, path: &str) -> String {
        let mut at = path;
        while self.know.directory(at) != Directory::There {
            match at.rsplit_once('/') {
                Some((above, _)) if !above.is_empty() => at = above,
                _ => return "/".into(),
            }
        }
        at.to_owned()
    }

    fn note(&mut self, id: &EntryId, text: String) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.entry == *id) {
            entry.notes.push(text);
        }
    }
}

fn shell_entry(surface: &SurfaceId, life: &ServerLife, pane: PaneId) -> EntryId {
    EntryId(digest(
        "e-",
        12,
        &[
            "shell",
            surface.as_str(),
            &life.boot().id,
            &life.server.pid.to_string(),
            &life.server.start.to_string(),
            &pane.to_string(),
        ],
    ))
}

/// The living window that stands where a place was, if it still has the same name.
fn window_at(snapshot: &Snapshot, place: &Place) -> Option<String> {
    let session = snapshot.sessions.iter().find(|session| session.name == place.session)?;
    let link = session.links.iter().find(|link| link.index == place.window)?;
    Some(link.window.clone())
}
