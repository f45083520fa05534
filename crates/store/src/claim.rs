//! The exclusive right to start one conversation, held by a live process and proved by the kernel.

use crate::error::StoreError;
use reseat_core::ids::{SessionKey, digest};
use reseat_os::lock::{Guard, LockFile};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// A claim. Given back when it is dropped or its process ends; closed on exec, so no agent ever inherits it.
#[derive(Debug)]
pub struct Claim {
    _guard: Guard,
}

impl Claim {
    /// Takes the claim on a conversation, or returns `None` while another process holds it.
    pub fn try_take(state: &Path, key: &SessionKey) -> Result<Option<Self>, StoreError> {
        let dir = state.join("claims");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)
            .map_err(|source| StoreError::Io { path: dir.clone(), source })?;
        let name = digest("", 24, &[key.agent.name(), &key.home, key.id.as_str()]);
        let guard = LockFile::new(dir.join(format!("{name}.lock"))).try_lock()?;
        Ok(guard.map(|guard| Self { _guard: guard }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reseat_core::ids::{AgentKind, SessionId};

    fn key(home: &str) -> SessionKey {
        let id = SessionId::parse("11111111-1111-4111-8111-111111111111").unwrap();
        SessionKey { agent: AgentKind::Claude, home: home.into(), id }
    }

    /// CRX-05: one conversation has one claim; the same id in another home is another conversation.
    #[test]
    fn crx_05_one_claim_per_conversation() {
        let dir = tempfile::tempdir().unwrap();
        let first = Claim::try_take(dir.path(), &key("/a")).unwrap();
        assert!(first.is_some());
        assert!(Claim::try_take(dir.path(), &key("/a")).unwrap().is_none());
        assert!(Claim::try_take(dir.path(), &key("/b")).unwrap().is_some());
        drop(first);
        assert!(Claim::try_take(dir.path(), &key("/a")).unwrap().is_some());
    }
}
