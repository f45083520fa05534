//! Selectors: which losses an act concerns.

use crate::ids::{AgentKind, EntryId};
use serde::{Deserialize, Serialize};

/// What the user named. Nothing named means the default scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Everything in scope, said explicitly.
    pub all: bool,
    /// Incidents before the last restore or dismissal too.
    pub older: bool,
    /// Names of multiplexer sessions.
    pub sessions: Vec<String>,
    /// Windows.
    pub windows: Vec<WindowSelector>,
    /// Panes.
    pub panes: Vec<PaneSelector>,
    /// Agents.
    pub agents: Vec<AgentKind>,
    /// Directories, and all below them.
    pub directories: Vec<String>,
    /// Entry ids, surface ids or session ids.
    pub ids: Vec<String>,
}

/// `SESSION:WINDOW` by index or name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSelector {
    /// Session name.
    pub session: String,
    /// Window index or name.
    pub window: String,
}

/// `SESSION:WINDOW.PANE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaneSelector {
    /// The window.
    pub window: WindowSelector,
    /// Pane index.
    pub pane: u32,
}

/// A selector could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {what} selector: {why}")]
pub struct BadSelector {
    /// window or pane.
    pub what: &'static str,
    /// What was expected.
    pub why: &'static str,
}

impl std::str::FromStr for WindowSelector {
    type Err = BadSelector;
    fn from_str(text: &str) -> Result<Self, BadSelector> {
        match text.rsplit_once(':') {
            Some((session, window)) if !session.is_empty() && !window.is_empty() => {
                Ok(Self { session: session.to_owned(), window: window.to_owned() })
            }
            _ => Err(BadSelector { what: "window", why: "expected SESSION:WINDOW" }),
        }
    }
}

impl std::str::FromStr for PaneSelector {
    type Err = BadSelector;
    fn from_str(text: &str) -> Result<Self, BadSelector> {
        let bad = BadSelector { what: "pane", why: "expected SESSION:WINDOW.PANE" };
        let (window, pane) = text.rsplit_once('.').ok_or_else(|| bad.clone())?;
        Ok(Self { window: window.parse().map_err(|_| bad.clone())?, pane: pane.parse().map_err(|_| bad)? })
    }
}

/// What a selector is held against.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The entry.
    pub entry: &'a EntryId,
    /// The surface.
    pub surface: &'a str,
    /// The agent, if any.
    pub agent: Option<AgentKind>,
    /// Sessions held, now or before.
    pub sessions: &'a [String],
    /// Name of the multiplexer session.
    pub mux_session: Option<&'a str>,
    /// Window index.
    pub window: Option<u32>,
    /// Window name.
    pub window_name: Option<&'a str>,
    /// Pane index.
    pub pane: Option<u32>,
    /// Directory.
    pub cwd: Option<&'a str>,
}

impl Selection {
    /// Whether nothing narrows the scope.
    pub fn is_default(&self) -> bool {
        !self.all && !self.narrows()
    }

    /// Whether something narrows it.
    pub fn narrows(&self) -> bool {
        !(self.sessions.is_empty()
            && self.windows.is_empty()
            && self.panes.is_empty()
            && self.agents.is_empty()
            && self.directories.is_empty()
            && self.ids.is_empty())
    }

    /// Whether whole sessions are meant, so that their windows without an agent come back too.
    pub fn means_sessions(&self) -> bool {
        self.windows.is_empty()
            && self.panes.is_empty()
            && self.ids.is_empty()
            && self.agents.is_empty()
            && self.directories.is_empty()
    }

    /// Whether a subject is meant. Different kinds of selectors narrow each other; several of one kind add up.
    pub fn matches(&self, subject: &Subject<'_>) -> bool {
        let place = self.sessions.is_empty() && self.windows.is_empty() && self.panes.is_empty()
            || self.sessions.iter().any(|name| subject.mux_session == Some(name))
            || self.windows.iter().any(|window| window_matches(window, subject))
            || self
                .panes
                .iter()
                .any(|pane| window_matches(&pane.window, subject) && subject.pane == Some(pane.pane));
        let agent = self.agents.is_empty() || subject.agent.is_some_and(|agent| self.agents.contains(&agent));
        let directory = self.directories.is_empty()
            || subject.cwd.is_some_and(|cwd| self.directories.iter().any(|above| is_below(cwd, above)));
        let id = self.ids.is_empty()
            || self.ids.iter().any(|id| {
                subject.entry.as_str() == id
                    || subject.surface == id
                    || subject.sessions.iter().any(|session| session == id)
            });
        place && agent && directory && id
    }
}

fn window_matches(selector: &WindowSelector, subject: &Subject<'_>) -> bool {
    subject.mux_session == Some(selector.session.as_str())
        && (selector.window.parse().is_ok_and(|index: u32| subject.window == Some(index))
            || subject.window_name == Some(selector.window.as_str()))
}

/// Whether a path is `above` or lies below it, by whole components.
pub fn is_below(path: &str, above: &str) -> bool {
    let above = above.trim_end_matches('/');
    path == above || path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_goes_by_whole_components() {
        assert!(is_below("/w/a/b", "/w/a"));
        assert!(is_below("/w/a", "/w/a/"));
        assert!(!is_below("/w/ab", "/w/a"));
        assert!(is_below("/anything", "/"));
    }

    #[test]
    fn selectors_are_read_from_their_ends() {
        assert_eq!(
            "a.b:c:1.2".parse::<PaneSelector>().unwrap(),
            PaneSelector { window: WindowSelector { session: "a.b:c".into(), window: "1".into() }, pane: 2 }
        );
        assert!("work".parse::<PaneSelector>().is_err());
        assert!("work:0.x".parse::<PaneSelector>().is_err());
        assert!(":1".parse::<WindowSelector>().is_err());
    }
}
