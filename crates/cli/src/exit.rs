//! The one table of exit codes, and what every error turns into.

use reseat_recovery::context::ContextError;
use reseat_recovery::restore::RestoreError;
use reseat_store::error::StoreError;
use serde_json::json;
use std::error::Error;
use std::process::ExitCode;

/// How a call ended. The numbers are a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All that was selected is done.
    Done = 0,
    /// It failed; nothing came up.
    Failed = 1,
    /// The call cannot be understood.
    Usage = 2,
    /// Some of it is done.
    Some = 3,
    /// Nothing to do, nothing to resume, nothing found.
    Nothing = 4,
    /// Nothing was done: a person must choose.
    NeedsPerson = 5,
    /// Another one runs already.
    Running = 6,
    /// Nothing could be observed.
    Blind = 7,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// A call that cannot go on: what, and what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) code: &'static str,
    pub(crate) text: String,
    pub(crate) hint: String,
}

impl Failure {
    pub(crate) fn usage(code: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, code, text: text.into(), hint: hint.into() }
    }

    pub(crate) fn failed(code: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, code, text: text.into(), hint: hint.into() }
    }

    /// Says it: as JSON on standard output for a program, else on standard error.
    pub(crate) fn tell(&self, as_json: bool) -> ExitCode {
        let plain = reseat_core::text::plain;
        if as_json {
            let value = json!({
                "schema": reseat_core::plan::SCHEMA,
                "error": { "code": self.code, "text": plain(&self.text), "hint": plain(&self.hint) },
            });
            crate::show::json(&value);
        } else {
            crate::show::err(&format!("reseat: {}", plain(&self.text)));
            if !self.hint.is_empty() {
                crate::show::err(&format!("        {}", plain(&self.hint)));
            }
        }
        self.exit.into()
    }
}

/// An error with all its causes, as one sentence.
pub(crate) fn sentence(error: &dyn Error) -> String {
    let mut out = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !out.contains(&text) {
            out.push_str(": ");
            out.push_str(text.trim_end());
        }
        next = cause.source();
    }
    out
}

impl From<ContextError> for Failure {
    fn from(error: ContextError) -> Self {
        let text = sentence(&error);
        match error {
            ContextError::Home(_) => Self::failed("no-home", text, "set HOME"),
            ContextError::Boot(_) => {
                Self { exit: Exit::Blind, code: "boot-unknown", text, hint: "is /proc mounted?".into() }
            }
            ContextError::State(_) => {
                Self::failed("state-directory", text, "set RESEAT_STATE_DIR to a directory of your own")
            }
            ContextError::Config(_) => {
                Self::usage("bad-config", text, "correct it, or name another file with RESEAT_CONFIG")
            }
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let text = sentence(&error);
        match error {
            StoreError::Busy(_) => Self {
                exit: Exit::Running,
                code: "store-busy",
                text,
                hint: "another reseat is writing; try again in a moment".into(),
            },
            StoreError::Newer { .. } => Self::failed("store-newer", text, "update reseat"),
            StoreError::Damaged { .. } => Self::failed("store-damaged", text, "run `reseat doctor --repair`"),
            StoreError::Full { .. } => {
                Self::failed("disk-full", text, "free some space; facts wait in the spool")
            }
            StoreError::FlightOpen { .. } | StoreError::EntryTaken { .. } => Self {
                exit: Exit::Running,
                code: "already-running",
                text,
                hint: "wait for it, or run `reseat restore` again once it has ended".into(),
            },
            _ => Self::failed("store", text, "`reseat doctor` says more"),
        }
    }
}

impl From<RestoreError> for Failure {
    fn from(error: RestoreError) -> Self {
        let text = sentence(&error);
        match error {
            RestoreError::Running { .. } => {
                Self { exit: Exit::Running, code: "already-running", text, hint: "wait for it to end".into() }
            }
            RestoreError::Changed { .. } => Self {
                exit: Exit::NeedsPerson,
                code: "plan-changed",
                text,
                hint: "look at `reseat plan` and restore that one".into(),
            },
            RestoreError::Pick(_) => {
                Self::usage("bad-pick", text, "`reseat plan` lists surfaces and their candidates")
            }
            RestoreError::Store(error) => error.into(),
            RestoreError::State(_) => {
                Self::failed("state-directory", text, "set RESEAT_STATE_DIR to a directory of your own")
            }
            RestoreError::Lock(_) => Self::failed("lock", text, "is the state directory writable?"),
            RestoreError::Blind => {
                Self { exit: Exit::Blind, code: "blind", text, hint: "is /proc mounted and readable?".into() }
            }
        }
    }
}

impl From<reseat_os::dirs::DirError> for Failure {
    fn from(error: reseat_os::dirs::DirError) -> Self {
        Self::failed("state-directory", sentence(&error), "set RESEAT_STATE_DIR to a directory of your own")
    }
}
