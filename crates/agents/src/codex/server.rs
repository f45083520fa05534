//! The server that front ends of one home share.

use serde_json::Value;
use std::path::Path;

/// A record is smaller than this.
const MAX_RECORD: u64 = 64 * 1024;

/// The shared server as its pid file names it; whether it lives is for the caller to prove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedServer {
    /// Its pid.
    pub pid: u32,
    /// Its start ticks.
    pub start: u64,
    /// The boot it was started in.
    pub boot_id: Option<String>,
}

/// Reads the pid file of a home. A torn one names nothing.
pub fn shared_server(home: &Path) -> Option<SharedServer> {
    let path = home.join("app-server-daemon").join("daemon.pid");
    let meta = std::fs::metadata(&path).ok().filter(|meta| meta.is_file() && meta.len() <= MAX_RECORD);
    meta?;
    let value: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let identity = value.get("processIdentity");
    let start = identity.and_then(|identity| identity.get("startTicks")).and_then(number)?;
    let boot_id = identity.and_then(|identity| identity.get("bootId")).and_then(Value::as_str);
    Some(SharedServer {
        pid: u32::try_from(number(value.get("pid")?)?).ok()?,
        start,
        boot_id: boot_id.map(str::to_owned),
    })
}

/// Numbers are written as such or as text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_pid_and_start_or_nothing() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("app-server-daemon");
        std::fs::create_dir(&dir).unwrap();
        let read = |text: &str| {
            std::fs::write(dir.join("daemon.pid"), text).unwrap();
            shared_server(home.path())
        };
        let want = SharedServer { pid: 7, start: 90, boot_id: Some("b".into()) };
        assert_eq!(read(r#"{"pid":7,"processIdentity":{"bootId":"b","startTicks":90}}"#), Some(want.clone()));
        assert_eq!(read(r#"{"pid":"7","processIdentity":{"bootId":"b","startTicks":"90"}}"#), Some(want));
        for torn in ["", "{", r#"{"pid":7}"#, "[]"] {
            assert_eq!(read(torn), None, "{torn}");
        }
    }
}
