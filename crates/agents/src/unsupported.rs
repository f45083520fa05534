//! Agents that are seen in panes and cannot be brought back: named with the reason, never guessed at.

use crate::ProcessView;

/// Agents without an adapter, by the name of their program.
const KNOWN: [&str; 13] = [
    "opencode",
    "gemini",
    "copilot",
    "qwen",
    "pi",
    "aider",
    "goose",
    "amp",
    "cursor-agent",
    "crush",
    "droid",
    "auggie",
    "kiro-cli",
];
/// Agents with one, where they run elsewhere.
const ADAPTED: [(&str, &str); 2] = [("claude", "Claude Code"), ("codex", "Codex")];
const RUNTIMES: [&str; 4] = ["node", "nodejs", "bun", "MainThread"];
/// Programs that show a terminal of another host.
const REMOTE: [&str; 5] = ["ssh", "autossh", "mosh", "mosh-client", "et"];
/// Programs that show a terminal of a container.
const CONTAINER: [&str; 12] = [
    "docker",
    "podman",
    "nerdctl",
    "kubectl",
    "oc",
    "lxc",
    "incus",
    "distrobox",
    "toolbox",
    "nsenter",
    "machinectl",
    "systemd-nspawn",
];

/// An agent that is not offered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unsupported {
    /// Its name.
    pub name: &'static str,
    /// Why it cannot be brought back.
    pub reason: String,
}

/// Names the agent a process is or shows, if it is one that cannot be brought back.
pub fn unsupported(process: &ProcessView) -> Option<Unsupported> {
    let program = [base(&process.comm), process.argv.first().map_or("", |arg| base(arg))];
    let is = |names: &[&str]| program.into_iter().find(|name| names.contains(name)).map(str::to_owned);
    let elsewhere = is(&REMOTE)
        .map(|through| format!("it runs on another host ({through}), which may not be up"))
        .or_else(|| {
            is(&CONTAINER).map(|through| format!("it runs in a container ({through}), which may not be up"))
        });
    if let Some(reason) = elsewhere {
        return Some(Unsupported { name: shown(&process.argv)?, reason });
    }
    let runtime = program.iter().any(|name| RUNTIMES.contains(name) || name.starts_with("python"));
    let script = process.argv.iter().skip(1).find(|arg| !arg.starts_with('-')).map(|arg| base(arg));
    let name =
        KNOWN.into_iter().find(|known| program.contains(known) || (runtime && script == Some(*known)))?;
    Some(Unsupported { name, reason: "how it resumes is not known here".into() })
}

/// The agent that a command line starts elsewhere. A command for another host is one argument or many.
fn shown(argv: &[String]) -> Option<&'static str> {
    argv.iter().skip(1).flat_map(|arg| arg.split_whitespace()).find_map(|word| {
        let word = base(word.trim_matches(['\'', '"', ';']));
        let adapted = ADAPTED.iter().find(|(program, _)| *program == word).map(|(_, title)| *title);
        adapted.or_else(|| KNOWN.into_iter().find(|known| *known == word && word.len() > 3))
    })
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(comm: &str, argv: &[&str]) -> Option<(&'static str, String)> {
        let argv = argv.iter().map(|arg| (*arg).to_owned()).collect();
        unsupported(&ProcessView { comm: comm.into(), argv, ..ProcessView::default() })
            .map(|found| (found.name, found.reason))
    }

    /// RBT-26: agents without an adapter, by the names a kernel shows for them.
    #[test]
    fn rbt_26_agents_without_an_adapter_are_named() {
        for (comm, argv, name) in [
            ("opencode", &["opencode"][..], "opencode"),
            ("node", &["node", "/usr/bin/gemini"], "gemini"),
            ("node", &["/usr/bin/node", "--max-old-space-size=1", "/x/bin/gemini", "-p"], "gemini"),
            ("MainThread", &["node", "/x/bin/copilot"], "copilot"),
            ("aider", &["/usr/bin/python3", "/h/.local/bin/aider"], "aider"),
            ("python3", &["/usr/bin/python3", "/h/.local/bin/aider", "--model", "x"], "aider"),
            ("bun", &["bun", "/x/qwen"], "qwen"),
            ("pi", &["pi"], "pi"),
        ] {
            assert_eq!(
                named(comm, argv),
                Some((name, "how it resumes is not known here".into())),
                "{argv:?}"
            );
        }
        for (comm, argv) in [
            ("vim", &["vim", "gemini"][..]),
            ("bash", &["bash", "-c", "aider"]),
            ("node", &["node", "server.js", "gemini"]),
            ("claude", &["claude", "ask gemini"]),
            ("codex", &["codex"]),
            ("node", &["node"]),
            ("", &[]),
        ] {
            assert_eq!(named(comm, argv), None, "{argv:?}");
        }
    }

    /// RBT-27: what runs on another host or in a container is said to, with what shows it.
    #[test]
    fn rbt_27_agents_elsewhere_are_named_with_the_reason() {
        let host = |through: &str| format!("it runs on another host ({through}), which may not be up");
        let container = |through: &str| format!("it runs in a container ({through}), which may not be up");
        for (comm, argv, name, reason) in [
            ("ssh", &["ssh", "-t", "box", "claude --resume x"][..], "Claude Code", host("ssh")),
            ("ssh", &["ssh", "box", "-t", "cd /w; exec '/h/bin/codex'"], "Codex", host("ssh")),
            ("mosh-client", &["mosh-client", "-#", "box", "claude"], "Claude Code", host("mosh-client")),
            ("docker", &["docker", "exec", "-it", "c", "claude"], "Claude Code", container("docker")),
            ("podman", &["/usr/bin/podman", "run", "img", "aider"], "aider", container("podman")),
            ("kubectl", &["kubectl", "exec", "-it", "pod", "--", "codex"], "Codex", container("kubectl")),
            (
                "systemd-nspawn",
                &["systemd-nspawn", "-D", "/x", "claude"],
                "Claude Code",
                container("systemd-nspawn"),
            ),
        ] {
            assert_eq!(named(comm, argv), Some((name, reason)), "{argv:?}");
        }
        for argv in [&["ssh", "box"][..], &["docker", "logs", "-f", "claudette"], &["ssh", "pi"]] {
            assert_eq!(named(argv[0], argv), None, "{argv:?}");
        }
    }
}
