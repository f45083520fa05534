//! Codex's shared server, as far as a start depends on it: one process holds the threads of all panes.

use crate::context::Context;
use reseat_core::ids::{AgentKind, SessionKey};
use reseat_core::plan::Reason;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait until it lets go of a thread.
const PATIENCE: Duration = Duration::from_secs(90);

/// The pid of the living shared server that holds the writer lock of a thread.
pub(super) fn holder(context: &Context, key: &SessionKey) -> Option<u32> {
    if key.agent != AgentKind::Codex {
        return None;
    }
    let server = reseat_agents::codex::shared_server(Path::new(&key.home))?;
    context.proc.stat(server.pid).filter(|stat| stat.start == server.start)?;
    let lock = format!("{}.lock", key.id);
    context.proc.locked_files(server.pid).iter().any(|path| path.ends_with(&lock)).then_some(server.pid)
}

/// A thread that only the shared server still holds is not open. A start that needs it for itself waits until the
/// server lets go.
pub(super) fn wait_until_free(context: &Context, key: &SessionKey, argv: &[String]) -> Result<(), Reason> {
    if !reseat_agents::codex::needs_own_process(argv) {
        return Ok(());
    }
    let until = Instant::now() + PATIENCE;
    while let Some(pid) = holder(context, key) {
        if Instant::now() >= until {
            let text = format!("Codex's shared server (pid {pid}) still holds the thread");
            return Err(Reason::new("held-by-agent-server", text));
        }
        std::thread::sleep(Duration::from_millis(250));
    }
    Ok(())
}
