//! Installs the pinned agents from the npm registry, once.

use crate::{Doing, Error, Result};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A pair of agents in exact versions.
#[derive(Debug, Clone, Copy)]
pub struct Versions {
    /// Of Claude Code.
    pub claude: &'static str,
    /// Of Codex.
    pub codex: &'static str,
}

/// The versions the rig is written for: a native Claude Code, a Codex with a server shared between panes.
pub const CURRENT: Versions = Versions { claude: "2.1.332", codex: "0.171.0" };
/// The last Claude Code that is a node script and hides its arguments, and a Codex of one process.
pub const OLD: Versions = Versions { claude: "2.1.112", codex: "0.132.0" };

const CLAUDE_PACKAGE: &str = "@anthropic-ai/claude-code";
const CODEX_PACKAGE: &str = "@openai/codex";

/// Where the agents' executables are.
#[derive(Debug, Clone)]
pub struct Installed {
    /// Goes first on the rig's PATH; holds `claude` and `codex`.
    pub bin: PathBuf,
    /// The `claude` executable.
    pub claude: PathBuf,
    /// The `codex` executable (a node script that starts the native one).
    pub codex: PathBuf,
}

/// Installs both agents below `dir` (the repository uses directories below `target/e2e`, one for each pair), unless
/// they are there in these versions. About 800 MB. Safe to call from several processes at a time.
pub fn install(dir: &Path, versions: Versions) -> Result<Installed> {
    fs::create_dir_all(dir).doing(format_args!("make {}", dir.display()))?;
    let dir = fs::canonicalize(dir)?;
    // Held until return; the file stays.
    let lock = File::create(dir.join(".install.lock"))?;
    lock.lock().doing("lock the npm directory")?;

    let bin = dir.join("node_modules/.bin");
    let installed = Installed { claude: bin.join("claude"), codex: bin.join("codex"), bin };
    let wanted = [(CLAUDE_PACKAGE, versions.claude), (CODEX_PACKAGE, versions.codex)];
    if wanted.iter().all(|(package, version)| version_of(&dir, package).as_deref() == Some(version))
        && check(&installed, versions).is_ok()
    {
        return Ok(installed);
    }

    let output = Command::new("npm")
        .arg("install")
        .arg("--prefix")
        .arg(&dir)
        .args(["--no-audit", "--no-fund", "--save-exact", "--loglevel", "error"])
        .args(wanted.map(|(package, version)| format!("{package}@{version}")))
        .current_dir(&dir)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                Error::new("npm is not on PATH: the real-agent runs need Node.js 20 or newer with npm")
            }
            _ => Error::new(format!("run npm: {error}")),
        })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("npm install failed ({}): {}", output.status, text.trim())));
    }
    if check(&installed, versions).is_err() {
        // npm may be told not to run install scripts; this one only links the native binary.
        let package = dir.join("node_modules").join(CLAUDE_PACKAGE);
        let _ = Command::new("node").arg("install.cjs").current_dir(package).output();
    }
    check(&installed, versions)?;
    Ok(installed)
}

/// The version in an installed package's `package.json`.
fn version_of(dir: &Path, package: &str) -> Option<String> {
    let text = fs::read(dir.join("node_modules").join(package).join("package.json")).ok()?;
    let value: serde_json::Value = serde_json::from_slice(&text).ok()?;
    Some(value.get("version")?.as_str()?.to_owned())
}

/// Both executables run and say the wanted version.
fn check(installed: &Installed, versions: Versions) -> Result<()> {
    for (program, version) in [(&installed.claude, versions.claude), (&installed.codex, versions.codex)] {
        // Codex makes `~/.codex` even when only asked for its version: not in the real home.
        let output = Command::new(program)
            .arg("--version")
            .env("HOME", installed.bin.with_file_name(".home"))
            .env_remove("CODEX_HOME")
            .env_remove("CLAUDE_CONFIG_DIR")
            .stdin(Stdio::null())
            .output()
            .doing(format_args!("run {}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || !text.contains(version) {
            return Err(Error::new(format!(
                "{} --version says {:?} ({}), not {version}: {}",
                program.display(),
                text.trim(),
                output.status,
                String::from_utf8_lossy(&output.stderr).trim(),
            )));
        }
    }
    Ok(())
}
