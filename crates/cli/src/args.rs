//! The command line.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Puts every coding-agent session back in its pane after a crash.
///
/// Without a command: what is live, what was lost, what to do next.
#[derive(Debug, Parser)]
#[command(name = "reseat", version, about, long_about, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Print JSON for programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const EXIT_CODES: &str = "Exit codes: 0 all selected done · 1 failed, none came up · 2 usage · 3 some done · \
4 nothing to do or resume · 5 nothing done, a person must choose · 6 already running · 7 nothing could be observed";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// How everything stands: live, lost, ended, unknown.
    Status,
    /// The exact id and resume command of a conversation.
    Find(FindArgs),
    /// What a restore would do, and why. Changes nothing.
    Plan(PlanArgs),
    /// Bring lost sessions back.
    Restore(RestoreArgs),
    /// Close the panes that the last restore made.
    Undo {
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Stop offering these losses. Their records stay.
    Dismiss {
        #[command(flatten)]
        select: SelectArgs,
    },
    /// Say that a session is over; it is never offered by default again.
    End {
        /// Surface, session or entry id.
        id: String,
    },
    /// The story of a pane or a session: each fact, each decision.
    Log {
        /// Surface, session or entry ids, panes (`%3`) or places (`work:0.1`); nothing means everything.
        names: Vec<String>,
        /// Only the newest lines.
        #[arg(long, short = 'n', default_value_t = 200)]
        lines: usize,
    },
    /// What tmux looked like.
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
    /// Set up the hooks: Claude Code, Codex's title, tmux.
    Install(InstallArgs),
    /// Take the hooks out again.
    Uninstall(InstallArgs),
    /// Check the whole chain and say what is missing.
    Doctor {
        /// Move a damaged store aside and bring back what can be.
        #[arg(long)]
        repair: bool,
        /// Unset agent markers in the environment of tmux servers.
        #[arg(long)]
        fix: bool,
    },
    /// Show the main job on a private tmux server with stub agents.
    Demo {
        /// Leave the server and its files to look at.
        #[arg(long)]
        keep: bool,
    },
    /// Print the completions of a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write man pages into a directory.
    Man {
        /// The directory.
        directory: PathBuf,
    },
    /// Keep an agent's or tmux's event. Runs inside agents.
    #[command(hide = true)]
    Hook {
        /// claude or tmux.
        source: String,
    },
    /// Look once and keep what was seen.
    #[command(hide = true)]
    Look {
        /// Look until nothing is pending, and say nothing.
        #[arg(long)]
        detached: bool,
        /// The state directory.
        #[arg(long)]
        state: Option<PathBuf>,
    },
    /// Bring one entry up in this pane. Runs inside panes.
    #[command(hide = true)]
    Exec {
        /// The state directory.
        #[arg(long)]
        state: PathBuf,
        /// The configuration file.
        #[arg(long)]
        config: Option<PathBuf>,
        /// The restore that made the pane.
        #[arg(long)]
        flight: String,
        /// The entry.
        entry: String,
    },
}

/// Which losses. Different kinds narrow each other, several of one kind add up.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SelectArgs {
    /// Everything in scope.
    #[arg(long)]
    pub(crate) all: bool,
    /// Earlier incidents too, and what was dismissed.
    #[arg(long)]
    pub(crate) older: bool,
    /// A tmux session by name.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Vec<String>,
    /// A window, as `SESSION:WINDOW`.
    #[arg(long, value_name = "S:W")]
    pub(crate) window: Vec<String>,
    /// A pane, as `SESSION:WINDOW.PANE`.
    #[arg(long, value_name = "S:W.P")]
    pub(crate) pane: Vec<String>,
    /// claude or codex.
    #[arg(long)]
    pub(crate) agent: Vec<String>,
    /// A directory and all below it.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Vec<PathBuf>,
    /// An entry of a plan.
    #[arg(long, value_name = "ID")]
    pub(crate) entry: Vec<String>,
    /// Entry, surface or session ids.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
}

/// What is allowed.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AllowArgs {
    /// Idle shells that stand where a lost agent stood may be replaced.
    #[arg(long)]
    pub(crate) into_idle: bool,
    /// Try again what failed twice, and what cannot be proven gone.
    #[arg(long)]
    pub(crate) force: bool,
    /// Carry over flags that lift safety, as far as the agent still had them.
    #[arg(long)]
    pub(crate) carry_dangerous: bool,
    /// Resume at most this many.
    #[arg(long, value_name = "N")]
    pub(crate) capacity: Option<usize>,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    #[command(flatten)]
    pub(crate) allow: AllowArgs,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RestoreArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    #[command(flatten)]
    pub(crate) allow: AllowArgs,
    /// Do not ask.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Only if the plan is still this one.
    #[arg(long, value_name = "ID")]
    pub(crate) plan: Option<String>,
    /// Answer a `choose` entry.
    #[arg(long, value_name = "SURFACE=SESSION")]
    pub(crate) pick: Vec<String>,
    /// Attach to what came up.
    #[arg(long)]
    pub(crate) attach: bool,
    /// Seconds to wait for an agent to report its session.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) wait: Option<u64>,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FindArgs {
    /// Words, an id, a pane (`%3`) or a place (`work:0.1`); nothing means the newest.
    pub(crate) query: Vec<String>,
    /// claude or codex.
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// A directory and all below it.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// At most this many.
    #[arg(long, short = 'n', default_value_t = 20)]
    pub(crate) limit: usize,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct InstallArgs {
    /// Show what would change.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// A further agent home, as `claude=DIR` or `codex=DIR`.
    #[arg(long, value_name = "AGENT=DIR")]
    pub(crate) agent_home: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SnapshotCommand {
    /// Look now and keep it.
    Take,
    /// The kept ones, newest first.
    List,
    /// One of them, whole.
    Show {
        /// Its id.
        id: String,
    },
    /// What differs between two.
    Diff {
        /// The earlier one.
        from: String,
        /// The later one.
        to: String,
    },
}
