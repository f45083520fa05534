//! Makes the panes of a plan, each by the id that tmux returns for it, each running `reseat exec`.

use super::{Progress, RestoreError, STORE_DEADLINE};
use crate::context::Context;
use crate::situation::Situation;
use reseat_core::ids::{EntryId, FlightId};
use reseat_core::mux::{MuxSession, PaneId};
use reseat_core::plan::{Build, PaneBuild, Plan, Reason, WindowBuild};
use reseat_mux::tmux::{MuxError, NewPane, NewServer, Program, Tmux};
use reseat_store::flights::Flight;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What was made.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// The pane of each entry, with its server.
    pub(super) panes: BTreeMap<EntryId, (PathBuf, PaneId)>,
    /// Entries whose pane could not be made.
    pub(super) failed: BTreeMap<EntryId, Reason>,
    /// What is not exactly as it was.
    pub(super) notes: Vec<String>,
}

/// Makes everything. What cannot be made is said per entry and stops nothing else.
pub(super) fn build(
    context: &Context,
    situation: &Situation,
    plan: &Plan,
    flight: &Flight,
    tell: &mut dyn FnMut(&Progress<'_>),
) -> Result<Built, RestoreError> {
    context.writer(STORE_DEADLINE)?.intend(&flight.flight)?;
    let mut builder = Builder::new(context, situation, &flight.flight);
    for build in &plan.builds {
        match build {
            Build::Window(window) => builder.window(window),
            Build::Split { socket, window, pane, at, layout, panes } => {
                let tmux = context.tmux_at(Path::new(socket));
                let made = builder.program(pane, |program| tmux.split_window(window, *at, program));
                builder.keep(&tmux, pane, made.map(|made| made.pane));
                // Only whole again it can look as it did.
                if !layout.is_empty()
                    && tmux.panes_of(window).is_ok_and(|there| there.len() == *panes as usize)
                    && let Err(error) = tmux.apply_layout(window, layout)
                {
                    builder.out.notes.push(format!("layout not exact in window {window}: {error}"));
                }
            }
            Build::Respawn { socket, target, pane } => {
                let tmux = context.tmux_at(Path::new(socket));
                let made = builder.program(pane, |program| tmux.respawn(*target, program));
                builder.keep(&tmux, pane, made.map(|()| *target));
            }
        }
    }
    builder.end(tell)
}

/// Makes what a restore that was killed had not made of its windows: `standing` is there, `wanted` is still to be
/// made, all else stays away.
pub(super) fn finish(
    context: &Context,
    situation: &Situation,
    flight: &FlightId,
    windows: &[WindowBuild],
    standing: BTreeMap<EntryId, (PathBuf, PaneId)>,
    wanted: &BTreeSet<EntryId>,
    tell: &mut dyn FnMut(&Progress<'_>),
) -> Result<Built, RestoreError> {
    let mut builder = Builder::new(context, situation, flight);
    builder.out.panes = standing;
    for window in windows {
        let mut window = window.clone();
        let all = window.panes.len();
        window
            .panes
            .retain(|pane| wanted.contains(&pane.entry) || builder.out.panes.contains_key(&pane.entry));
        if window.panes.len() < all {
            window.layout.clear();
            builder.out.notes.push(format!("layout not exact in window {}:{}", window.session, window.index));
        }
        builder.window(&window);
    }
    builder.end(tell)
}

/// The command of a pane. The entry stands last: a later run finds the pane by it.
pub(super) fn command(context: &Context, flight: &FlightId, entry: &EntryId) -> Vec<String> {
    let mut argv = vec![
        context.program.display().to_string(),
        "exec".into(),
        "--state".into(),
        context.state.display().to_string(),
    ];
    if let Some(config) = context.env.get("RESEAT_CONFIG") {
        argv.extend(["--config".to_owned(), config.to_owned()]);
    }
    argv.extend(["--flight".to_owned(), flight.to_string(), entry.to_string()]);
    argv
}

struct Builder<'a> {
    context: &'a Context,
    situation: &'a Situation,
    flight: &'a FlightId,
    out: Built,
    /// Sockets of servers that answer.
    live: BTreeSet<PathBuf>,
    /// Ids of sessions by socket and name.
    sessions: BTreeMap<(PathBuf, String), String>,
    /// Windows made, for what comes after all of them; and whether we made their session.
    made: Vec<(WindowBuild, NewPane, bool)>,
}

impl<'a> Builder<'a> {
    fn new(context: &'a Context, situation: &'a Situation, flight: &'a FlightId) -> Self {
        let servers = &situation.view().servers;
        let sessions = servers.iter().flat_map(|(life, snapshot)| {
            let socket = PathBuf::from(&life.socket);
            snapshot
                .sessions
                .iter()
                .map(move |session| ((socket.clone(), session.name.clone()), session.id.clone()))
        });
        Self {
            context,
            situation,
            flight,
            out: Built::default(),
            live: servers.keys().map(|life| PathBuf::from(&life.socket)).collect(),
            sessions: sessions.collect(),
            made: Vec::new(),
        }
    }

    fn end(mut self, tell: &mut dyn FnMut(&Progress<'_>)) -> Result<Built, RestoreError> {
        self.join();
        for note in &self.out.notes {
            tell(&Progress::Note(note));
        }
        self.context.writer(STORE_DEADLINE)?.built(self.flight)?;
        Ok(self.out)
    }

    fn program<T>(
        &self,
        pane: &PaneBuild,
        make: impl FnOnce(&Program<'_>) -> Result<T, MuxError>,
    ) -> Result<T, MuxError> {
        make(&Program { cwd: &pane.cwd, argv: &command(self.context, self.flight, &pane.entry) })
    }

    fn keep(&mut self, tmux: &Tmux, pane: &PaneBuild, made: Result<PaneId, MuxError>) {
        match made {
            Ok(id) => {
                self.out.panes.insert(pane.entry.clone(), (tmux.socket().to_path_buf(), id));
            }
            Err(error) => {
                let reason = Reason::new("pane-not-made", error.to_string());
                self.out.failed.insert(pane.entry.clone(), reason);
            }
        }
    }

    fn window(&mut self, window: &WindowBuild) {
        let tmux = self.context.tmux_at(Path::new(&window.socket));
        let Some(first) = window.panes.first() else { return };
        let key = (tmux.socket().to_path_buf(), window.session.clone());
        let mut new_session = !self.sessions.contains_key(&key);
        let made = match (self.standing(window), self.sessions.get(&key).cloned()) {
            (Some(standing), _) => {
                new_session = !window.session_exists;
                Ok(standing)
            }
            (None, Some(session)) => self.in_session(&tmux, &session, window, first),
            (None, None) => self.new_session(&tmux, window, first),
        };
        let made = match made {
            Ok(made) if new_session => self.at_its_index(&tmux, window, made),
            Ok(made) => made,
            Err(error) => {
                let reason = Reason::new("pane-not-made", error.to_string());
                self.out.failed.extend(window.panes.iter().map(|pane| (pane.entry.clone(), reason.clone())));
                return;
            }
        };
        self.sessions.insert(key, made.session.clone());
        let mut last = made.pane;
        if !window.panes.iter().any(|pane| self.out.panes.contains_key(&pane.entry)) {
            self.keep(&tmux, first, Ok(made.pane));
        }
        for pane in &window.panes {
            if let Some((_, standing)) = self.out.panes.get(&pane.entry) {
                last = *standing;
                continue;
            }
            let next = self.program(pane, |program| tmux.split(last, program)).map(|made| made.pane);
            if let Ok(id) = next {
                last = id;
            }
            self.keep(&tmux, pane, next);
        }
        self.furnish(&tmux, window, &made);
        self.made.push((window.clone(), made, new_session));
    }

    /// The window of which some panes stand already.
    fn standing(&self, window: &WindowBuild) -> Option<NewPane> {
        let (socket, pane) = window.panes.iter().find_map(|pane| self.out.panes.get(&pane.entry))?;
        let servers = &self.situation.view().servers;
        let (_, snapshot) = servers.iter().find(|(life, _)| Path::new(&life.socket) == socket)?;
        let (standing, _) = snapshot.pane(*pane)?;
        // Its user may have renamed the session meanwhile.
        let links = |session: &'a MuxSession| {
            session.links.iter().find(|link| link.window == standing.id).map(|link| (session, link))
        };
        let named = snapshot.sessions.iter().filter(|session| session.name == window.session);
        let (session, link) = named.chain(&snapshot.sessions).find_map(links)?;
        Some(NewPane {
            pane: *pane,
            window: standing.id.clone(),
            session: session.id.clone(),
            index: link.index,
        })
    }

    fn in_session(
        &mut self,
        tmux: &Tmux,
        session: &str,
        window: &WindowBuild,
        first: &PaneBuild,
    ) -> Result<NewPane, MuxError> {
        let name = Some(window.name.as_str());
        if !window.index_taken {
            let made =
                self.program(first, |program| tmux.new_window(session, Some(window.index), name, program));
            match made {
                // The index was taken meanwhile: the next free one does.
                Err(MuxError::Refused { .. }) => {}
                other => return other,
            }
        }
        let made = self.program(first, |program| tmux.new_window(session, None, name, program))?;
        self.out.notes.push(format!(
            "window {}:{} was taken; {} is {}:{} now",
            window.session, window.index, window.name, window.session, made.index
        ));
        Ok(made)
    }

    fn new_session(
        &mut self,
        tmux: &Tmux,
        window: &WindowBuild,
        first: &PaneBuild,
    ) -> Result<NewPane, MuxError> {
        let size = (window.width, window.height);
        let made = if self.live.contains(tmux.socket()) {
            self.program(first, |program| tmux.new_session(&window.session, &window.name, size, program))?
        } else {
            let without: Vec<&str> = reseat_core::ids::AgentKind::ALL
                .into_iter()
                .flat_map(|kind| reseat_agents::agent(kind).marker_variables().iter().copied())
                .collect();
            self.program(first, |program| {
                let (session, window) = (window.session.as_str(), window.name.as_str());
                tmux.start_server(&NewServer { session, window, size, program: *program, without: &without })
            })?
        };
        self.live.insert(tmux.socket().to_path_buf());
        Ok(made)
    }

    /// A new session begins with a window at tmux's own first index.
    fn at_its_index(&mut self, tmux: &Tmux, window: &WindowBuild, made: NewPane) -> NewPane {
        if made.index == window.index {
            return made;
        }
        match tmux.move_window(&made.session, made.index, window.index) {
            Ok(()) => NewPane { index: window.index, ..made },
            Err(error) => {
                let (session, index) = (&window.session, window.index);
                self.out.notes.push(format!("window {session}:{index} is not at its index: {error}"));
                made
            }
        }
    }

    /// Layout, name, active pane and zoom.
    fn furnish(&mut self, tmux: &Tmux, window: &WindowBuild, made: &NewPane) {
        let name = format!("{}:{}", window.session, window.index);
        let mut exact = true;
        if window.panes.len() > 1 && !window.layout.is_empty() {
            exact &= tmux.apply_layout(&made.window, &window.layout).is_ok();
        }
        if window.panes.iter().any(|pane| self.out.failed.contains_key(&pane.entry)) || !exact {
            self.out.notes.push(format!("layout not exact in window {name}"));
        }
        let named = tmux.name_window(&made.window, &window.name, window.automatic_name);
        let active = window.panes.iter().find(|pane| pane.active);
        let active = active.and_then(|pane| self.out.panes.get(&pane.entry)).map(|(_, id)| *id);
        let selected = active.map_or(Ok(()), |id| {
            tmux.select_pane(id)?;
            if window.zoomed { tmux.zoom(id) } else { Ok(()) }
        });
        for error in [named.err(), selected.err()].into_iter().flatten() {
            self.out.notes.push(format!("window {name} is not furnished as it was: {error}"));
        }
    }

    fn is_linked(&self, socket: &Path, session: &str, index: u32, window: &str) -> bool {
        self.situation.view().servers.iter().any(|(life, snapshot)| {
            Path::new(&life.socket) == socket
                && snapshot
                    .sessions
                    .iter()
                    .filter(|other| other.id == session)
                    .any(|other| other.links.iter().any(|link| link.index == index && link.window == window))
        })
    }

    /// Current windows, groups and links: after all windows are there.
    fn join(&mut self) {
        let made = std::mem::take(&mut self.made);
        let new: BTreeSet<(String, String)> = made
            .iter()
            .filter(|(_, _, new)| *new)
            .map(|(window, _, _)| (window.socket.clone(), window.session.clone()))
            .collect();
        let mut failed = Vec::new();
        for (window, first, _) in &made {
            let tmux = self.context.tmux_at(Path::new(&window.socket));
            if window.active && new.contains(&(window.socket.clone(), window.session.clone())) {
                failed.extend(tmux.select_window(&first.session, first.index).err());
            }
            for name in &window.group {
                let key = (tmux.socket().to_path_buf(), name.clone());
                self.sessions.entry(key).or_insert_with(|| {
                    failed.extend(tmux.new_grouped_session(name, &first.session).err());
                    String::new()
                });
            }
        }
        for (window, first, _) in &made {
            let tmux = self.context.tmux_at(Path::new(&window.socket));
            for (name, index) in &window.links {
                let key = (tmux.socket().to_path_buf(), name.clone());
                match self.sessions.get(&key).filter(|id| !id.is_empty()) {
                    Some(session) if self.is_linked(tmux.socket(), session, *index, &first.window) => {}
                    Some(session) => failed.extend(tmux.link_window(&first.window, session, *index).err()),
                    None => self.out.notes.push(format!("session {name} is not there to link a window into")),
                }
            }
        }
        self.out.notes.extend(failed.into_iter().map(|error| format!("not joined as it was: {error}")));
    }
}
