//! The configuration file: what to leave alone, how agents are launched, what may be carried over.

use reseat_os::env::Env;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// `$XDG_CONFIG_HOME/reseat/config.toml`. An unknown key is an error that names it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Config {
    /// The `tmux` program, when it is not the one on PATH.
    pub tmux: Option<PathBuf>,
    /// Agents started at once by a restore; 4 when not given.
    pub parallel: Option<usize>,
    /// Sessions resumed by one restore at most; without it there is no limit.
    pub capacity: Option<usize>,
    /// Whether flags that lift safety are carried over.
    pub carry_dangerous: CarryDangerous,
    /// What is left alone.
    pub exclude: Exclude,
    /// Programs that start agents.
    pub launcher: Vec<Launcher>,
    /// Further homes of agents to look into.
    pub agent_home: Vec<AgentHome>,
}

/// Whether flags that lift safety are carried over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarryDangerous {
    /// Only when asked for by `--carry-dangerous`, or answered at the prompt.
    #[default]
    Ask,
    /// Never.
    Never,
    /// Always, as far as the agent had them last.
    Always,
}

/// What is left alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exclude {
    /// Directories and all below them.
    pub directories: Vec<String>,
    /// Names of tmux sessions.
    pub sessions: Vec<String>,
}

/// A program that starts an agent, and how it resumes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// Name of the program that was seen to start the agent.
    #[serde(rename = "match")]
    pub name: String,
    /// The command that resumes; `{session}` stands for the id, as one argument or part of one.
    pub argv: Vec<String>,
}

/// A home of an agent that is not its default one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentHome {
    /// The agent.
    pub agent: reseat_core::ids::AgentKind,
    /// The directory.
    pub path: PathBuf,
}

/// The configuration cannot be used. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It could not be understood.
    #[error("cannot understand {}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A launcher without a place for the session.
    #[error("launcher {name:?} in {} has no {{session}} in its argv", path.display())]
    Launcher {
        /// The file.
        path: PathBuf,
        /// The launcher.
        name: String,
    },
}

impl Config {
    /// Where the configuration lies.
    pub fn path(env: &Env, home: &Path) -> PathBuf {
        if let Some(path) = env.get("RESEAT_CONFIG") {
            return PathBuf::from(path);
        }
        let base = env.get("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
        base.join("reseat").join("config.toml")
    }

    /// Reads a configuration; a missing file is the default one.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(ConfigError::Read { path: path.into(), source }),
        };
        let config: Self = toml::from_str(&text)
            .map_err(|source| ConfigError::Parse { path: path.into(), source: Box::new(source) })?;
        for launcher in &config.launcher {
            if !launcher.argv.iter().any(|arg| arg.contains("{session}")) {
                return Err(ConfigError::Launcher { path: path.into(), name: launcher.name.clone() });
            }
        }
        Ok(config)
    }

    /// The launcher for a program that was seen to start an agent.
    pub fn launcher(&self, through: &[String]) -> Option<&Launcher> {
        self.launcher.iter().find(|launcher| through.contains(&launcher.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Config, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        Config::load(&path)
    }

    #[test]
    fn a_whole_configuration_is_read() {
        let config = load(
            "parallel = 2\ncarry_dangerous = \"never\"\n[exclude]\ndirectories = [\"/tmp\"]\n[[launcher]]\nmatch = \"corp\"\nargv = [\"corp\", \"--resume={session}\"]\n",
        )
        .unwrap();
        assert_eq!(config.parallel, Some(2));
        assert_eq!(config.carry_dangerous, CarryDangerous::Never);
        assert_eq!(config.exclude.directories, ["/tmp"]);
        assert_eq!(config.launcher(&["corp".into()]).map(|found| found.argv.len()), Some(2));
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        assert!(matches!(load("parrallel = 2"), Err(ConfigError::Parse { .. })));
        assert!(matches!(load("= ="), Err(ConfigError::Parse { .. })));
        assert!(matches!(
            load("[[launcher]]\nmatch = \"x\"\nargv = [\"x\"]"),
            Err(ConfigError::Launcher { .. })
        ));
    }

    #[test]
    fn a_missing_file_is_the_default() {
        assert_eq!(Config::load(Path::new("/nonexistent/reseat.toml")).unwrap(), Config::default());
    }
}
