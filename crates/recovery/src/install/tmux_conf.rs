//! Our block in the user's tmux configuration.

use reseat_os::env::Env;
use std::path::{Path, PathBuf};

const BEGIN: &str = "# reseat: begin";
const END: &str = "# reseat: end";
/// Said in the block when there was no file before it, so that taking it out removes the file again.
const ALONE: &str = "# reseat: this file was made by reseat";

/// The file tmux reads: the first that is there, else the usual one.
pub(super) fn path(env: &Env, home: &Path) -> PathBuf {
    let usual = home.join(".tmux.conf");
    let config = env.get("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
    let other = config.join("tmux/tmux.conf");
    if !usual.exists() && other.exists() { other } else { usual }
}

/// Returns the text with our block at its end. Installing twice changes nothing; another block of ours is replaced.
pub(super) fn install(text: Option<&str>, lines: &[String]) -> String {
    let made = text.is_none_or(|text| text.contains(ALONE));
    let rest = match text.map(|text| (text, uninstall(text))) {
        None | Some((_, None)) => String::new(),
        Some((_, Some(rest))) => rest,
    };
    let mut out = rest;
    if !out.is_empty() && !out.ends_with('\n') {
        // The mark of a missing last line end, so that it is missing again afterwards.
        out.push_str("\n# reseat: no newline above\n");
    }
    out.push_str(BEGIN);
    out.push('\n');
    if made {
        out.push_str(ALONE);
        out.push('\n');
    }
    for line in lines {
        out.push_str(line);
        out.push('\n');
    }
    out.push_str(END);
    out.push('\n');
    out
}

/// Returns the text without our block, byte for byte what it was before; `None` when there was no file.
pub(super) fn uninstall(text: &str) -> Option<String> {
    let Some(begin) = line_start(text, BEGIN) else { return Some(text.to_owned()) };
    let Some(end) = line_start(&text[begin..], END).map(|at| begin + at) else {
        return Some(text.to_owned());
    };
    let after = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    let mut before = text[..begin].to_owned();
    if let Some(cut) = before.strip_suffix("\n# reseat: no newline above\n") {
        before.truncate(cut.len());
    }
    let made = text[begin..end].contains(ALONE);
    before.push_str(&text[after..]);
    if made && before.is_empty() { None } else { Some(before) }
}

fn line_start(text: &str, line: &str) -> Option<usize> {
    let mut at = 0;
    for piece in text.split_inclusive('\n') {
        if piece.trim_end_matches(['\n', '\r']) == line {
            return Some(at);
        }
        at += piece.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C36: what was there comes back byte for byte; twice is once.
    #[test]
    fn c36_uninstall_gives_back_the_bytes() {
        let lines = ["set-hook -g a b".to_owned(), "set-hook -g c d".to_owned()];
        for before in ["", "\n", "set -g mouse on\n", "set -g mouse on", "a\r\n", "# reseat: other\nx"] {
            let once = install(Some(before), &lines);
            assert_eq!(install(Some(&once), &lines), once, "{before:?}");
            assert_eq!(uninstall(&once).as_deref(), Some(before), "{before:?}");
        }
        let made = install(None, &lines);
        assert_eq!(install(Some(&made), &lines), made);
        assert_eq!(uninstall(&made), None);
        assert_eq!(uninstall("nothing of ours\n").as_deref(), Some("nothing of ours\n"));
    }
}
