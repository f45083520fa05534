//! Makes sessions, windows and panes, each by the id that tmux returned for it. Nothing here types a key.

use super::error::MuxError;
use super::rows;
use super::run::{Tmux, literal};
use reseat_core::mux::PaneId;

/// What a new pane runs, as an argument list that no shell sees.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The directory. It must exist: tmux silently uses another one otherwise.
    pub cwd: &'a str,
    /// At least two arguments; with one, tmux would hand it to a shell.
    pub argv: &'a [String],
}

/// A pane that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPane {
    /// The pane.
    pub pane: PaneId,
    /// Its window, `@N`.
    pub window: String,
    /// Its session, `$N`.
    pub session: String,
    /// The window's index in that session.
    pub index: u32,
}

const MADE: [&str; 4] = ["pane_id", "window_id", "session_id", "window_index"];

impl Tmux {
    /// Makes a detached session with one window of that size. Size 0 leaves tmux's default.
    pub fn new_session(
        &self,
        name: &str,
        window: &str,
        size: (u32, u32),
        program: &Program<'_>,
    ) -> Result<NewPane, MuxError> {
        let words = new_session_words(name, window, size, program);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.made(&self.call(&[&words])?)
    }

    /// Makes a session that shares all windows of another one.
    pub fn new_grouped_session(&self, name: &str, with: &str) -> Result<(), MuxError> {
        self.quiet(&[&["new-session", "-d", "-s", &literal(name), "-t", with]])
    }

    /// Makes a window in a session (`$N`), at that index if given and free.
    pub fn new_window(
        &self,
        session: &str,
        index: Option<u32>,
        name: Option<&str>,
        program: &Program<'_>,
    ) -> Result<NewPane, MuxError> {
        let target = index.map_or_else(|| format!("{session}:"), |index| format!("{session}:{index}"));
        let (format, cwd) = (rows::format('N', &MADE), literal(program.cwd));
        let name = name.map(literal);
        let mut words = vec!["new-window", "-d", "-P", "-F", &format, "-t", &target, "-c", &cwd];
        if let Some(name) = &name {
            words.extend(["-n", name]);
        }
        words.push("--");
        words.extend(program.argv.iter().map(String::as_str));
        self.made(&self.call(&[&words])?)
    }

    /// Makes a pane behind another one in its window. The window is tiled first, so that there is room.
    pub fn split(&self, behind: PaneId, program: &Program<'_>) -> Result<NewPane, MuxError> {
        let (format, cwd, target) = (rows::format('N', &MADE), literal(program.cwd), behind.to_string());
        let mut words = vec!["split-window", "-d", "-P", "-F", &format, "-t", &target, "-c", &cwd, "--"];
        words.extend(program.argv.iter().map(String::as_str));
        self.made(&self.call(&[&["select-layout", "-t", &target, "tiled"], &words])?)
    }

    /// Makes a pane in a window (`@N`) that lives, as its Nth pane from 0, or the last where it has fewer. Where there
    /// is no room the window is tiled first.
    pub fn split_window(&self, window: &str, at: u32, program: &Program<'_>) -> Result<NewPane, MuxError> {
        let panes = self.panes_of(window)?;
        let (behind, target) = match panes.get(at as usize) {
            Some(taken) => (false, taken),
            None => (true, panes.last().ok_or_else(|| self.garbled("a window without panes".into()))?),
        };
        let (format, cwd, target) = (rows::format('N', &MADE), literal(program.cwd), target.to_string());
        let mut words = vec!["split-window", "-d", "-P", "-F", &format, "-t", &target, "-c", &cwd];
        words.extend((!behind).then_some("-b"));
        words.push("--");
        words.extend(program.argv.iter().map(String::as_str));
        let made = self.call(&[&words]).or_else(|error| match error {
            MuxError::Refused { why, .. } if why.contains("no space") => {
                self.call(&[&["select-layout", "-t", &target, "tiled"], &words])
            }
            other => Err(other),
        });
        self.made(&made?)
    }

    /// The panes of a window in their order.
    pub fn panes_of(&self, window: &str) -> Result<Vec<PaneId>, MuxError> {
        let format = rows::format('L', &["pane_id"]);
        let bytes = self.call(&[&["list-panes", "-t", window, "-F", &format]])?;
        let rows = rows::parse(&bytes, |mark| (mark == 'L').then_some(1)).map_err(|why| self.garbled(why))?;
        let parsed = rows.iter().map(|row| PaneId::parse(&row.fields[0])).collect::<Result<_, _>>();
        parsed.map_err(|error| self.garbled(error.to_string()))
    }

    /// Replaces what runs in a pane. Whatever ran there is killed: only for panes that were proven idle or dead.
    pub fn respawn(&self, pane: PaneId, program: &Program<'_>) -> Result<(), MuxError> {
        let (cwd, target) = (literal(program.cwd), pane.to_string());
        let mut words = vec!["respawn-pane", "-k", "-t", &target, "-c", &cwd, "--"];
        words.extend(program.argv.iter().map(String::as_str));
        self.quiet(&[&words])
    }

    /// Closes a pane. One that is gone already is closed.
    pub fn kill_pane(&self, pane: PaneId) -> Result<(), MuxError> {
        match self.quiet(&[&["kill-pane", "-t", &pane.to_string()]]) {
            Err(MuxError::Refused { why, .. }) if why.contains("can't find pane") => Ok(()),
            other => other,
        }
    }

    /// Gives a window a recorded layout; its panes take their places in order.
    pub fn apply_layout(&self, window: &str, layout: &str) -> Result<(), MuxError> {
        self.quiet(&[&["select-layout", "-t", window, layout]])
    }

    /// Names a window, or lets tmux name it.
    pub fn name_window(&self, window: &str, name: &str, automatic: bool) -> Result<(), MuxError> {
        let name = literal(name);
        let rename: &[&str] = &["rename-window", "-t", window, &name];
        if automatic {
            // Renaming turned the automatic names off for this window.
            self.quiet(&[rename, &["set-window-option", "-t", window, "automatic-rename", "on"]])
        } else {
            self.quiet(&[rename])
        }
    }

    /// Makes a pane the active one of its window.
    pub fn select_pane(&self, pane: PaneId) -> Result<(), MuxError> {
        self.quiet(&[&["select-pane", "-t", &pane.to_string()]])
    }

    /// Zooms a pane; one that is zoomed stays so.
    pub fn zoom(&self, pane: PaneId) -> Result<(), MuxError> {
        let (target, unzoomed) = (pane.to_string(), "#{?window_zoomed_flag,0,1}");
        let zoom = format!("resize-pane -Z -t {target}");
        self.quiet(&[&["if-shell", "-F", "-t", &target, unzoomed, &zoom]])
    }

    /// Makes a window (`$N:INDEX`) the current one of its session.
    pub fn select_window(&self, session: &str, index: u32) -> Result<(), MuxError> {
        self.quiet(&[&["select-window", "-t", &format!("{session}:{index}")]])
    }

    /// Moves a window to an index of its session, if that is free.
    pub fn move_window(&self, session: &str, from: u32, to: u32) -> Result<(), MuxError> {
        let (from, to) = (format!("{session}:{from}"), format!("{session}:{to}"));
        self.quiet(&[&["move-window", "-d", "-s", &from, "-t", &to]])
    }

    /// Links a window (`@N`) into another session (`$N`) at an index.
    pub fn link_window(&self, window: &str, session: &str, index: u32) -> Result<(), MuxError> {
        self.quiet(&[&["link-window", "-d", "-s", window, "-t", &format!("{session}:{index}")]])
    }

    /// The last lines that a pane shows.
    pub fn capture_tail(&self, pane: PaneId, lines: usize) -> Result<Vec<String>, MuxError> {
        let bytes = self.call(&[&["capture-pane", "-p", "-t", &pane.to_string()]])?;
        let text = String::from_utf8_lossy(&bytes);
        let all: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        Ok(all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect())
    }

    /// The process a pane was created with.
    pub fn pane_pid(&self, pane: PaneId) -> Result<u32, MuxError> {
        let bytes = self.call(&[&["display-message", "-p", "-t", &pane.to_string(), "#{pane_pid}"]])?;
        String::from_utf8_lossy(&bytes).trim().parse().map_err(|_| self.garbled("no pid".into()))
    }

    /// The server's default shell.
    pub fn default_shell(&self) -> Result<String, MuxError> {
        let bytes = self.call(&[&["show-options", "-gv", "default-shell"]])?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    fn made(&self, bytes: &[u8]) -> Result<NewPane, MuxError> {
        made(bytes).map_err(|why| self.garbled(why))
    }

    pub(super) fn garbled(&self, why: String) -> MuxError {
        MuxError::Garbled { socket: self.socket().to_path_buf(), why }
    }
}

pub(super) fn new_session_words(
    name: &str,
    window: &str,
    (width, height): (u32, u32),
    program: &Program<'_>,
) -> Vec<String> {
    let mut words: Vec<String> = ["new-session", "-d", "-P", "-F"].map(str::to_owned).into();
    words.extend([rows::format('N', &MADE), "-s".into(), literal(name), "-n".into(), literal(window)]);
    words.extend(["-c".into(), literal(program.cwd)]);
    if width > 0 && height > 0 {
        words.extend(["-x".into(), width.to_string(), "-y".into(), height.to_string()]);
    }
    words.push("--".into());
    words.extend(program.argv.iter().cloned());
    words
}

pub(super) fn made(bytes: &[u8]) -> Result<NewPane, String> {
    let rows = rows::parse(bytes, |mark| (mark == 'N').then_some(MADE.len()))?;
    let [row] = rows.as_slice() else { return Err("not one pane was made".into()) };
    Ok(NewPane {
        pane: PaneId::parse(&row.fields[0]).map_err(|error| error.to_string())?,
        window: row.fields[1].clone(),
        session: row.fields[2].clone(),
        index: row.fields[3].parse().map_err(|_| "no window index")?,
    })
}
