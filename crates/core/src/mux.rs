//! What a multiplexer looked like at one look. Always partial; pane ids mean nothing outside their server life.

use crate::ids::{BadId, SurfaceId, digest};
use crate::process::{Boot, ProcessKey};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One life of a multiplexer server: socket, pid and start ticks in one boot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServerLife {
    /// Absolute path of the socket.
    pub socket: String,
    /// The server process, with the boot it ran in.
    pub server: ProcessKey,
}

impl ServerLife {
    /// Whether nobody ever saw this life: it stands for "a server there was" and only its socket means something.
    pub const fn is_a_guess(&self) -> bool {
        self.server.pid == 0
    }

    /// The boot this life belongs to.
    pub const fn boot(&self) -> &Boot {
        &self.server.boot
    }

    /// Returns the surface id of a pane first seen by us in this life.
    pub fn surface(&self, pane: &PaneId) -> SurfaceId {
        let boot = self.boot();
        SurfaceId(digest(
            "p-",
            12,
            &[
                &boot.host,
                &boot.id,
                &boot.pidns.to_string(),
                &self.socket,
                &self.server.pid.to_string(),
                &self.server.start.to_string(),
                &pane.to_string(),
            ],
        ))
    }
}

/// A pane id within one server life (`%7`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PaneId(pub u32);

impl PaneId {
    /// Returns the id written `%N`.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        text.strip_prefix('%')
            .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok())
            .map(Self)
            .ok_or(BadId { what: "pane id", why: "expected % and a number" })
    }
}

impl fmt::Display for PaneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl TryFrom<String> for PaneId {
    type Error = BadId;
    fn try_from(text: String) -> Result<Self, BadId> {
        Self::parse(&text)
    }
}

impl From<PaneId> for String {
    fn from(id: PaneId) -> Self {
        id.to_string()
    }
}

/// All sessions of one server at one look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Snapshot {
    /// The multiplexer's own sessions, in the order it listed them.
    pub sessions: Vec<MuxSession>,
    /// All windows, each once, whatever number of sessions link them.
    pub windows: Vec<Window>,
    /// The server's version as it prints it (`3.3a`).
    pub version: String,
}

/// One session of the multiplexer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MuxSession {
    /// `$N`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The group it belongs to, if any; sessions of one group share their windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Where new windows start.
    pub path: String,
    /// Clients attached at the look.
    pub attached: u32,
    /// Its windows by index.
    pub links: Vec<WindowLink>,
}

/// One place of a window in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowLink {
    /// Index within the session.
    pub index: u32,
    /// `@N`.
    pub window: String,
    /// Whether it is the session's current window.
    pub active: bool,
}

/// One window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// `@N`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether the multiplexer names it after what runs in it.
    pub automatic_name: bool,
    /// The layout string of the *unzoomed* window.
    pub layout: String,
    /// Whether a pane was zoomed.
    pub zoomed: bool,
    /// Columns.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Its panes in layout order.
    pub panes: Vec<Pane>,
}

/// One pane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pane {
    /// Id within the life.
    pub id: PaneId,
    /// Index within the window.
    pub index: u32,
    /// Whether it is the window's active pane.
    pub active: bool,
    /// Whether its program ended and the pane stayed.
    pub dead: bool,
    /// The process the pane was created with.
    pub pid: u32,
    /// That process's start ticks; 0 when it was gone at the look.
    pub start: u64,
    /// Path of the pane's terminal.
    pub tty: String,
    /// Working directory; a trailing ` (deleted)` mark of the kernel is not part of it.
    pub cwd: String,
    /// Name of the foreground command.
    pub command: String,
    /// The pane's title.
    pub title: String,
    /// The command the pane was created with; empty for the default shell.
    pub start_command: String,
}

/// Where a pane stands: the first of its places, by session name and index.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Name of the multiplexer's session.
    pub session: String,
    /// Window index in that session.
    pub window: u32,
    /// Name of the window.
    pub window_name: String,
    /// Pane index in the window.
    pub pane: u32,
}

/// A pane among those of its window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stood {
    /// Where.
    pub place: Place,
    /// Its position among them, from 0.
    pub at: u32,
    /// How many they were.
    pub panes: u32,
    /// Their layout, as the multiplexer writes it.
    pub layout: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}.{}", self.session, self.window, self.pane)
    }
}

impl Snapshot {
    /// Returns every pane with its window.
    pub fn panes(&self) -> impl Iterator<Item = (&Window, &Pane)> {
        self.windows.iter().flat_map(|window| window.panes.iter().map(move |pane| (window, pane)))
    }

    /// Returns the pane of that id with its window.
    pub fn pane(&self, id: PaneId) -> Option<(&Window, &Pane)> {
        self.panes().find(|(_, pane)| pane.id == id)
    }

    /// Returns where a pane stands, and how its window looks around it.
    pub fn stood(&self, id: PaneId) -> Option<Stood> {
        let (window, _) = self.pane(id)?;
        Some(Stood {
            place: self.place(id)?,
            at: window.panes.iter().position(|pane| pane.id == id)? as u32,
            panes: window.panes.len() as u32,
            layout: window.layout.clone(),
        })
    }

    /// Returns where a pane stands. A linked or grouped window gives its place in the session listed first.
    pub fn place(&self, id: PaneId) -> Option<Place> {
        let (window, pane) = self.pane(id)?;
        self.sessions.iter().find_map(|session| {
            session.links.iter().find(|link| link.window == window.id).map(|link| Place {
                session: session.name.clone(),
                window: link.index,
                window_name: window.name.clone(),
                pane: pane.index,
            })
        })
    }

    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pane_ids_are_a_percent_sign_and_digits() {
        assert_eq!(PaneId::parse("%12"), Ok(PaneId(12)));
        for bad in ["", "%", "12", "%1a", "%-1", "%1 ", "%99999999999999"] {
            assert!(PaneId::parse(bad).is_err(), "{bad}");
        }
    }
}
