//! Runs the `reseat` under test as a person of the rig would.

use crate::{Doing, Error, Result, Rig};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The binary, copied out of the build directory: an installed hook must not point into one.
pub(super) struct Reseat<'a> {
    rig: &'a Rig,
    path: PathBuf,
}

impl<'a> Reseat<'a> {
    pub(super) fn copied(rig: &'a Rig, binary: &Path) -> Result<Self> {
        let dir = rig.home().join(".local/bin");
        std::fs::create_dir_all(&dir)?;
        let path = dir.join("reseat");
        std::fs::copy(binary, &path).doing(format_args!(
            "copy {} (build it with `cargo build --release -p reseat`)",
            binary.display()
        ))?;
        Ok(Self { rig, path })
    }

    /// Runs it; any other exit code than 0 is an error.
    pub(super) fn done(&self, args: &[&str]) -> Result<String> {
        self.run(args, 0)
    }

    /// Runs it with `--json` and expects that exit code.
    pub(super) fn json(&self, args: &[&str], code: i32) -> Result<Value> {
        let mut all = args.to_vec();
        all.push("--json");
        let text = self.run(&all, code)?;
        serde_json::from_str(&text).doing(format_args!("JSON of reseat {}", args.join(" ")))
    }

    /// Whether it ends with 0.
    pub(super) fn succeeds(&self, args: &[&str]) -> bool {
        self.rig.command(&self.path).args(args).output().is_ok_and(|output| output.status.success())
    }

    pub(super) fn run(&self, args: &[&str], code: i32) -> Result<String> {
        let output = self.rig.command(&self.path).args(args).output().doing("run reseat")?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.code() == Some(code) {
            return Ok(out.into_owned());
        }
        Err(Error::new(format!(
            "reseat {} ended with {}, not {code}:\n{out}{err}",
            args.join(" "),
            output.status
        )))
    }
}
