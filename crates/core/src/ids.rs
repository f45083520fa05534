//! Ids as types. Every id that comes from outside is checked where it enters.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An id, a name or a path was refused. `what` says which kind, never the text itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a {what}: {why}")]
pub struct BadId {
    /// The kind of id that was expected.
    pub what: &'static str,
    /// The rule that was broken.
    pub why: &'static str,
}

/// An agent program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// Anthropic's Claude Code.
    Claude,
    /// OpenAI's Codex.
    Codex,
}

impl AgentKind {
    /// All agents with an adapter.
    pub const ALL: [Self; 2] = [Self::Claude, Self::Codex];

    /// The name used in JSON, in selectors and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// The name people know it by.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
        }
    }
}

impl fmt::Display for AgentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AgentKind {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or(BadId { what: "known agent", why: "expected claude or codex" })
    }
}

/// The id of one resumable conversation. Always a lower-case UUID in its usual form; both known agents use these.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// Returns when a time-ordered id, or the start of one, was made: milliseconds since 1970.
pub fn made_ms(id: &str) -> Option<i64> {
    if id.as_bytes().get(14) != Some(&b'7') {
        return None;
    }
    i64::from_str_radix(&format!("{}{}", id.get(..8)?, id.get(9..13)?), 16).ok()
}

impl SessionId {
    /// Returns the id, or refuses anything that is not a UUID (upper case is folded).
    pub fn parse(text: &str) -> Result<Self, BadId> {
        const DASHES: [usize; 4] = [8, 13, 18, 23];
        let right = text.len() == 36
            && text
                .bytes()
                .enumerate()
                .all(|(at, byte)| if DASHES.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() });
        if right {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(BadId {
                what: "session id",
                why: "expected a UUID such as 0f8fad5b-d9cb-469f-a165-70867728950e",
            })
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SessionId {
    type Error = BadId;
    fn try_from(text: String) -> Result<Self, BadId> {
        Self::parse(&text)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

/// A conversation: which agent, which of its homes, which id. Two homes may hold the same id; they are two sessions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey {
    /// The agent program.
    pub agent: AgentKind,
    /// The agent's home directory (`~/.claude`, `$CODEX_HOME`), absolute.
    pub home: String,
    /// The conversation.
    pub id: SessionId,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// A place a session runs on, under a name that outlives panes: `p-` and 12 hex digits for a pane first seen
    /// by us, any text for a surface that an orchestrator named.
    SurfaceId
);
text_id!(
    /// One line of a plan: `e-` and 12 hex digits, derived from surface and lost process, so that it is the same
    /// in every plan made of the same loss.
    EntryId
);
text_id!(
    /// A plan: `plan-` and 16 hex digits over the plan's content without ages.
    PlanId
);
text_id!(
    /// One spending of a plan.
    FlightId
);

/// Returns `prefix` and the first `digits` hex digits of SHA-256 over the parts, each with its length before it.
pub fn digest(prefix: &str, digits: usize, parts: &[&str]) -> String {
    use sha2::{Digest as _, Sha256};
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let mut out = String::from(prefix);
    for byte in hash.finalize() {
        for nibble in [byte >> 4, byte & 15] {
            out.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
    }
    out.truncate(prefix.len() + digits);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_a_uuid_and_nothing_else() {
        let good = "11111111-1111-4111-8111-11111111111A";
        assert_eq!(SessionId::parse(good).unwrap().as_str(), "11111111-1111-4111-8111-11111111111a");
        for bad in [
            "",
            "management",
            "11111111-1111-4111-8111-111111111111; touch PWNED",
            "../../etc/passwd",
            "1111111101111-4111-8111-111111111111",
            "-",
            "agent-aeb76f0",
        ] {
            assert!(SessionId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn digests_depend_on_where_parts_end() {
        assert_ne!(digest("x-", 12, &["ab", "c"]), digest("x-", 12, &["a", "bc"]));
        assert_eq!(digest("x-", 12, &["ab"]).len(), 14);
    }
}
