//! Reads a whole server in one call.

use super::error::MuxError;
use super::rows::{self, Row};
use super::run::Tmux;
use reseat_core::mux::{MuxSession, Pane, PaneId, ServerLife, Snapshot, Window, WindowLink};
use reseat_core::process::{Boot, ProcessKey};
use reseat_os::proc::{Proc, undeleted};
use std::collections::BTreeMap;
use std::time::Duration;

const SERVER: [&str; 3] = ["pid", "socket_path", "version"];
const SESSION: [&str; 5] =
    ["session_id", "session_name", "session_group", "session_path", "session_attached"];
const WINDOW: [&str; 10] = [
    "session_id",
    "window_index",
    "window_id",
    "window_active",
    "window_name",
    "automatic-rename",
    "window_layout",
    "window_zoomed_flag",
    "window_width",
    "window_height",
];
const PANE: [&str; 11] = [
    "window_id",
    "pane_id",
    "pane_index",
    "pane_active",
    "pane_dead",
    "pane_pid",
    "pane_tty",
    "pane_current_command",
    "pane_start_command",
    "pane_title",
    "pane_current_path",
];

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Which life.
    pub life: ServerLife,
    /// What it looks like.
    pub snapshot: Snapshot,
}

/// Asks a server for everything in one call. An answer that cannot be read whole is an error: a snapshot is never
/// partly read, and never empty because something failed.
pub fn look(tmux: &Tmux, proc: &Proc, boot: &Boot, deadline: Duration) -> Result<Found, MuxError> {
    let tmux = tmux.with_deadline(deadline);
    let (server, sessions) = (rows::format('V', &SERVER), rows::format('S', &SESSION));
    let (windows, panes) = (rows::format('W', &WINDOW), rows::format('P', &PANE));
    let answer = tmux.call(&[
        &["display-message", "-p", &server],
        &["list-sessions", "-F", &sessions],
        &["list-windows", "-a", "-F", &windows],
        &["list-panes", "-a", "-F", &panes],
    ]);
    let bytes = answer.map_err(|error| unreachable(&tmux, proc, error))?;
    let garbled = |why: String| MuxError::Garbled { socket: tmux.socket().to_path_buf(), why };
    let count = |mark| match mark {
        'V' => Some(SERVER.len()),
        'S' => Some(SESSION.len()),
        'W' => Some(WINDOW.len()),
        'P' => Some(PANE.len()),
        _ => None,
    };
    let rows = rows::parse(&bytes, count).map_err(&garbled)?;
    let head = rows.iter().find(|row| row.mark == 'V').ok_or_else(|| garbled("it says no pid".into()))?;
    let pid: u32 = number(&head.fields[0]).map_err(&garbled)?;
    let start = proc.stat(pid).map(|stat| stat.start);
    let Some(start) = start else {
        return Err(MuxError::ServerGone { socket: tmux.socket().to_path_buf() });
    };
    let told = &head.fields[1];
    let socket = if told.starts_with('/') { told.clone() } else { tmux.socket().display().to_string() };
    let life = ServerLife { socket, server: ProcessKey { boot: boot.clone(), pid, start } };
    let mut snapshot = build(&rows, proc).map_err(&garbled)?;
    snapshot.version.clone_from(&head.fields[2]);
    Ok(Found { life, snapshot })
}

/// A socket that is not there although its server lives.
fn unreachable(tmux: &Tmux, proc: &Proc, error: MuxError) -> MuxError {
    if !error.is_no_server() {
        return error;
    }
    let socket = tmux.socket();
    match super::sockets::listening(proc).into_iter().find(|(path, _)| path == socket) {
        Some((_, pid)) if !socket.exists() => MuxError::Unreachable { socket: socket.to_path_buf(), pid },
        _ => error,
    }
}

fn build(rows: &[Row], proc: &Proc) -> Result<Snapshot, String> {
    let mut snapshot = Snapshot::default();
    let mut window_at: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let field = &row.fields;
        match row.mark {
            'S' => snapshot.sessions.push(MuxSession {
                id: field[0].clone(),
                name: field[1].clone(),
                group: Some(field[2].clone()).filter(|group| !group.is_empty()),
                path: field[3].clone(),
                attached: number(&field[4])?,
                links: Vec::new(),
            }),
            'W' => {
                let link = WindowLink {
                    index: number(&field[1])?,
                    window: field[2].clone(),
                    active: field[3] == "1",
                };
                let session = snapshot.sessions.iter_mut().find(|session| session.id == field[0]);
                session.ok_or("a window of no session")?.links.push(link);
                if !window_at.contains_key(&field[2]) {
                    window_at.insert(field[2].clone(), snapshot.windows.len());
                    snapshot.windows.push(Window {
                        id: field[2].clone(),
                        name: field[4].clone(),
                        automatic_name: field[5] == "1",
                        layout: field[6].clone(),
                        zoomed: field[7] == "1",
                        width: number(&field[8])?,
                        height: number(&field[9])?,
                        panes: Vec::new(),
                    });
                }
            }
            'P' => {
                let at = *window_at.get(&field[0]).ok_or("a pane of no window")?;
                let pane = pane(field, proc)?;
                let panes = &mut snapshot.windows[at].panes;
                // A linked window lists its panes once for each session.
                if !panes.iter().any(|other| other.id == pane.id) {
                    panes.push(pane);
                }
            }
            _ => {}
        }
    }
    Ok(snapshot)
}

fn pane(field: &[String], proc: &Proc) -> Result<Pane, String> {
    let pid: u32 = number(&field[5])?;
    let stat = proc.stat(pid);
    // The foreground program's directory, as tmux means it, but from the kernel: no mark of removal sticks to it.
    let cwd = stat
        .as_ref()
        .and_then(|stat| u32::try_from(stat.foreground).ok().filter(|group| *group > 0))
        .and_then(|group| proc.cwd(group))
        .or_else(|| proc.cwd(pid))
        .unwrap_or_else(|| undeleted(&field[10]));
    Ok(Pane {
        id: PaneId::parse(&field[1]).map_err(|error| error.to_string())?,
        index: number(&field[2])?,
        active: field[3] == "1",
        dead: field[4] == "1",
        pid,
        start: stat.map_or(0, |stat| stat.start),
        tty: field[6].clone(),
        cwd,
        command: field[7].clone(),
        title: field[9].clone(),
        start_command: field[8].clone(),
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    // Unset numbers print as nothing.
    let text = if text.is_empty() { "0" } else { text };
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

/// A pane and the command it was created with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaggedPane {
    /// The pane.
    pub pane: PaneId,
    /// Its window.
    pub window: String,
    /// The command it was created with, as tmux quotes it.
    pub start_command: String,
    /// What ran in it has ended, and tmux keeps it to be looked at.
    pub dead: bool,
}

impl Tmux {
    /// Returns every pane with the command it was created with.
    pub fn tagged_panes(&self) -> Result<Vec<TaggedPane>, MuxError> {
        let format = rows::format('T', &["pane_id", "window_id", "pane_dead", "pane_start_command"]);
        let bytes = self.call(&[&["list-panes", "-a", "-F", &format]])?;
        let garbled = |why: String| MuxError::Garbled { socket: self.socket().to_path_buf(), why };
        rows::parse(&bytes, |mark| (mark == 'T').then_some(4))
            .map_err(&garbled)?
            .into_iter()
            .map(|row| {
                let [pane, window, dead, start_command] =
                    <[String; 4]>::try_from(row.fields).map_err(|_| garbled("a short row".into()))?;
                let pane = PaneId::parse(&pane).map_err(|error| garbled(error.to_string()))?;
                Ok(TaggedPane { pane, window, start_command, dead: dead == "1" })
            })
            .collect()
    }
}
