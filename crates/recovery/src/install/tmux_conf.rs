//! Our block in the user's tmux configuration.

use reseat_os::env::Env;
use std::path::{Path, PathBuf};

const BEGIN: &str = "# reseat: begin";
const END: &str = "# reseat: end";
/// Stands above it where the last line had no line end, so that it has none again afterwards.
const NO_NEWLINE: &str = "\n# reseat: no newline above\n";
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
    let made =
        text.is_none_or(|text| block(text).is_some_and(|(begin, end, _)| text[begin..end].contains(ALONE)));
    let rest = match text.map(|text| (text, uninstall(text))) {
        None | Some((_, None)) => String::new(),
        Some((_, Some(rest))) => rest,
    };
    let mut out = rest;
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(NO_NEWLINE);
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
    let Some((begin, end, after)) = block(text) else { return Some(text.to_owned()) };
    let mut before = text[..begin].to_owned();
    if let Some(cut) = before.strip_suffix(NO_NEWLINE) {
        // With something below, the line end is needed now.
        let keep = usize::from(after < text.len());
        before.truncate(cut.len() + keep);
    }
    let made = text[begin..end].contains(ALONE);
    before.push_str(&text[after..]);
    if made && before.is_empty() { None } else { Some(before) }
}

/// Where our block begins, where its last line begins, and where what follows it begins. A first line without a last
/// one is no block: everything down to another block would go with it.
fn block(text: &str) -> Option<(usize, usize, usize)> {
    let (mut at, mut begin) = (0, None);
    for piece in text.split_inclusive('\n') {
        match piece.trim_end_matches(['\n', '\r']) {
            BEGIN => begin = Some(at),
            END if begin.is_some() => return begin.map(|begin| (begin, at, at + piece.len())),
            _ => {}
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
        for before in
            ["", "\n", "set -g mouse on\n", "set -g mouse on", "a\r\n", "a\r\nb", "# reseat: other\nx"]
        {
            let once = install(Some(before), &lines);
            assert_eq!(install(Some(&once), &lines), once, "{before:?}");
            assert_eq!(uninstall(&once).as_deref(), Some(before), "{before:?}");
        }
        let made = install(None, &lines);
        assert_eq!(install(Some(&made), &lines), made);
        assert_eq!(uninstall(&made), None);
        assert_eq!(uninstall("nothing of ours\n").as_deref(), Some("nothing of ours\n"));
        // What a person wrote below since stays, on lines of its own.
        let once = install(Some("set -g mouse on"), &lines);
        assert_eq!(uninstall(&format!("{once}bind x y\n")).unwrap(), "set -g mouse on\nbind x y\n");
        assert_eq!(uninstall(&format!("{made}bind x y\n")).unwrap(), "bind x y\n");
        let moved = install(Some(&format!("{made}bind x y\n")), &lines);
        assert_eq!(moved, format!("bind x y\n{made}"));
        // Other lines of an older version are replaced.
        assert_eq!(
            install(Some(&install(Some("x\n"), &["old".into()])), &lines),
            install(Some("x\n"), &lines)
        );
    }

    /// A block that lost its last line takes nothing with it.
    #[test]
    fn c36_half_a_block_takes_nothing_with_it() {
        let lines = ["set-hook -g a b".to_owned()];
        let torn = format!("{BEGIN}\nset-hook -g old\nset -g mouse on\n");
        assert_eq!(uninstall(&torn).as_deref(), Some(torn.as_str()));
        let once = install(Some(&torn), &lines);
        assert_eq!(install(Some(&once), &lines), once);
        assert_eq!(uninstall(&once).as_deref(), Some(torn.as_str()));
        let end = format!("{END}\nx\n");
        assert_eq!(uninstall(&install(Some(&end), &lines)).as_deref(), Some(end.as_str()));
    }
}
