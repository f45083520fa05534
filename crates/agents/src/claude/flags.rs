//! How Claude Code reads its arguments: which flags take values, which are worth carrying over to a resumed
//! process. Follows its parser, commander: a required value is the next argument whatever it looks like, optional
//! and further values end at the next argument that begins with a dash.

/// How many values a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    One,
    Maybe,
    Many,
}

/// What becomes of a flag when its conversation is continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carry {
    /// It is kept.
    Yes,
    /// It is kept with the values that are no inline JSON: those hold secrets.
    Paths,
    /// It belongs to one start, to a program that reads the output, or is a prompt.
    No,
}

struct Known {
    names: &'static [&'static str],
    takes: Takes,
    carry: Carry,
}

const fn known(names: &'static [&'static str], takes: Takes, carry: Carry) -> Known {
    Known { names, takes, carry }
}

const KNOWN: &[Known] = &[
    known(&["--model"], Takes::One, Carry::Yes),
    known(&["--permission-mode"], Takes::One, Carry::Yes),
    known(&["--effort"], Takes::One, Carry::Yes),
    known(&["--append-system-prompt"], Takes::One, Carry::Yes),
    known(&["--system-prompt"], Takes::One, Carry::Yes),
    known(&["--add-dir"], Takes::Many, Carry::Yes),
    known(&["--mcp-config"], Takes::Many, Carry::Paths),
    known(&["--strict-mcp-config"], Takes::Nothing, Carry::Yes),
    known(&["--settings"], Takes::One, Carry::Paths),
    known(&["--plugin-dir"], Takes::One, Carry::Yes),
    known(&["--setting-sources"], Takes::One, Carry::Yes),
    known(&["--agent"], Takes::One, Carry::Yes),
    known(&["--verbose"], Takes::Nothing, Carry::Yes),
    known(&["--allowedTools", "--allowed-tools"], Takes::Many, Carry::Yes),
    known(&["--disallowedTools", "--disallowed-tools"], Takes::Many, Carry::Yes),
    known(&["--tools"], Takes::Many, Carry::Yes),
    known(&["--dangerously-skip-permissions"], Takes::Nothing, Carry::Yes),
    known(&["--allow-dangerously-skip-permissions"], Takes::Nothing, Carry::Yes),
    known(&["--ide"], Takes::Nothing, Carry::Yes),
    known(&["--chrome"], Takes::Nothing, Carry::Yes),
    // Known only so that their values are not taken for prompts or flags.
    known(
        &["-p", "--print", "-c", "--continue", "--fork-session", "-v", "--version", "-h", "--help"],
        Takes::Nothing,
        Carry::No,
    ),
    known(
        &["-r", "--resume", "-w", "--worktree", "--from-pr", "-d", "--debug", "--remote", "--teleport"],
        Takes::Maybe,
        Carry::No,
    ),
    known(
        &["--session-id", "-n", "--name", "--output-format", "--input-format", "--json-schema"],
        Takes::One,
        Carry::No,
    ),
    known(
        &["--max-turns", "--max-budget-usd", "--max-thinking-tokens", "--fallback-model"],
        Takes::One,
        Carry::No,
    ),
    known(
        &["--agents", "--permission-prompt-tool", "--debug-file", "--resume-session-at", "--rewind-files"],
        Takes::One,
        Carry::No,
    ),
    known(
        &["--system-prompt-file", "--append-system-prompt-file", "--prefill", "--plugin-url"],
        Takes::One,
        Carry::No,
    ),
    known(&["--betas", "--file"], Takes::Many, Carry::No),
];

/// One argument, or a flag with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Arg<'a> {
    /// A flag by the first of its names, long before short.
    Flag(Flag<'a>),
    /// A word that belongs to no flag: a prompt or a subcommand.
    Word(&'a str),
}

/// A flag as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flag<'a> {
    /// Its name as given: `--model`, `-r`.
    pub(super) name: &'a str,
    /// Its values.
    pub(super) values: Vec<&'a str>,
    /// The value was joined by `=` or followed a short name at once.
    joined: bool,
    /// What becomes of it.
    pub(super) carry: Carry,
}

impl Flag<'_> {
    pub(super) fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.name)
    }

    /// Its first value.
    pub(super) fn value(&self) -> Option<&str> {
        self.values.first().copied()
    }

    /// Whether one of its values is one of these words.
    pub(super) fn holds(&self, words: &[&str]) -> bool {
        self.values.iter().any(|value| words.contains(value))
    }

    /// Appends it as it was given, if it is to be carried over. Without a value that it needs it would take the next
    /// flag for one.
    pub(super) fn carry_into(&self, argv: &mut Vec<String>) {
        let values: Vec<&str> = match self.carry {
            Carry::No => return,
            Carry::Yes => self.values.clone(),
            Carry::Paths => self.values.iter().copied().filter(|value| !is_json(value)).collect(),
        };
        let needs = look_up(self.name).is_some_and(|(takes, _)| matches!(takes, Takes::One | Takes::Many));
        if needs && values.is_empty() {
            return;
        }
        if self.joined {
            argv.extend(values.first().map(|value| format!("{}={value}", self.name)));
            return;
        }
        argv.push(self.name.to_owned());
        argv.extend(values.into_iter().map(str::to_owned));
    }
}

fn is_json(value: &str) -> bool {
    value.trim_start().starts_with(['{', '['])
}

/// Splits arguments, without the program, into flags and words.
pub(super) fn parse<'a>(args: &[&'a str]) -> Vec<Arg<'a>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(arg) = args.get(at).copied() {
        at += 1;
        if arg == "--" {
            out.extend(args[at..].iter().map(|word| Arg::Word(word)));
            break;
        }
        if !is_dashed(arg) {
            out.push(Arg::Word(arg));
        } else if let Some((takes, carry)) = look_up(arg) {
            let values = values_of(takes, &args[at..]);
            at += values.len();
            out.push(Arg::Flag(Flag { name: arg, values, joined: false, carry }));
        } else if arg.starts_with("--") {
            out.extend(joined_long(arg));
        } else {
            at += short_cluster(arg, &args[at..], &mut out);
        }
    }
    out
}

/// Every name that is known.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().flat_map(|known| known.names).copied()
}

fn look_up(name: &str) -> Option<(Takes, Carry)> {
    KNOWN.iter().find(|known| known.names.contains(&name)).map(|known| (known.takes, known.carry))
}

/// A lone dash is a word.
fn is_dashed(arg: &str) -> bool {
    arg.len() > 1 && arg.starts_with('-')
}

fn values_of<'a>(takes: Takes, rest: &[&'a str]) -> Vec<&'a str> {
    let undashed = || rest.iter().copied().take_while(|arg| !is_dashed(arg));
    match takes {
        Takes::Nothing => Vec::new(),
        Takes::One => rest.iter().copied().take(1).collect(),
        Takes::Maybe => undashed().take(1).collect(),
        Takes::Many => rest
            .iter()
            .copied()
            .take(1)
            .chain(rest.iter().skip(1).copied().take_while(|arg| !is_dashed(arg)))
            .collect(),
    }
}

/// `--flag=value`; a flag that is not known, or takes no value, is dropped with it.
fn joined_long(arg: &str) -> Option<Arg<'_>> {
    let (name, value) = arg.split_once('=')?;
    let (takes, carry) = look_up(name)?;
    (takes != Takes::Nothing).then(|| Arg::Flag(Flag { name, values: vec![value], joined: true, carry }))
}

/// `-pc` is two flags, `-rID` one with its value. Returns how many further arguments were used.
fn short_cluster<'a>(arg: &'a str, rest: &[&'a str], out: &mut Vec<Arg<'a>>) -> usize {
    for (at, char) in arg.char_indices().skip(1) {
        let Some(name) = short_name(char) else { return 0 };
        let Some((takes, carry)) = look_up(name) else { return 0 };
        let after = &arg[at + char.len_utf8()..];
        if takes == Takes::Nothing {
            out.push(Arg::Flag(Flag { name, values: Vec::new(), joined: false, carry }));
        } else if after.is_empty() {
            let values = values_of(takes, rest);
            let used = values.len();
            out.push(Arg::Flag(Flag { name, values, joined: false, carry }));
            return used;
        } else {
            out.push(Arg::Flag(Flag { name, values: vec![after], joined: true, carry }));
            return 0;
        }
    }
    0
}

fn short_name(char: char) -> Option<&'static str> {
    KNOWN
        .iter()
        .flat_map(|known| known.names)
        .copied()
        .find(|name| name.len() == 1 + char.len_utf8() && !name.starts_with("--") && name.ends_with(char))
}
