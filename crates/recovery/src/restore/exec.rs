//! What runs in a restored pane: moves its entry to `started` once and for ever, proves again that nobody runs the
//! conversation, starts the agent as a shell would, and leaves the user's shell behind. A pane never wedges.

use super::order::{Effect, Order};
use super::{STORE_DEADLINE, login, shared_server, slots};
use crate::context::Context;
use crate::situation::Situation;
use reseat_agents::agent;
use reseat_core::fact::{Body, Decision, Fact};
use reseat_core::ids::{AgentKind, EntryId, FlightId, SessionKey};
use reseat_core::mux::{PaneId, ServerLife};
use reseat_core::plan::{Reason, Verdict};
use reseat_core::text::{plain, short};
use reseat_os::foreground::{self, Ended};
use reseat_store::claim::Claim;
use reseat_store::flights::State;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a start waits for others to be ready.
const SLOT_PATIENCE: Duration = Duration::from_mins(5);
/// How long a start holds its slot and its claim at most.
const READY_PATIENCE: Duration = Duration::from_secs(8);

/// Runs an entry in this pane. Returns only when not even a shell could be started.
pub fn exec(context: &Context, flight: &FlightId, entry: &EntryId, out: &mut dyn Write) -> std::io::Error {
    let Some((life, pane)) = own_pane(context) else {
        return std::io::Error::other("this runs in a tmux pane only, started by `reseat restore`");
    };
    match begin(context, flight, entry, &life, pane) {
        Ok(Turn::Ours(begun)) => run(context, *begun, out),
        Ok(Turn::Spent) => say(out, &format!("entry {entry} was spent before; this is a shell")),
        Ok(Turn::Late) => {
            return std::io::Error::other(format!("{entry} was brought back without this pane"));
        }
        Err(why) => {
            say(out, &format!("cannot begin {entry}: {why}; `reseat restore --entry {entry}` tries again"));
        }
    }
    shell(context, &life)
}

/// Whose turn it is.
enum Turn {
    /// The entry is ours to start.
    Ours(Box<Begun>),
    /// This pane began it before, or stood here before: its user keeps a shell.
    Spent,
    /// The pane came when its restore was over: tmux was asked by a restore that was killed in the middle of it.
    /// Nobody misses this pane.
    Late,
}

/// An entry that is ours to start.
struct Begun {
    flight: FlightId,
    order: Order,
    effect: Effect,
}

/// The pane we run in, by the environment and the process table.
fn own_pane(context: &Context) -> Option<(ServerLife, PaneId)> {
    let pane = PaneId::parse(context.env.get("TMUX_PANE")?).ok()?;
    let mut parts = context.env.get("TMUX")?.rsplitn(3, ',');
    let server: u32 = parts.nth(1)?.parse().ok()?;
    let socket = parts.next()?.to_owned();
    Some((ServerLife { socket, server: context.proc.key(&context.boot, server)? }, pane))
}

/// Moves the entry from intended to started. Of any number of processes that try, one wins, once.
fn begin(
    context: &Context,
    flight: &FlightId,
    entry: &EntryId,
    life: &ServerLife,
    pane: PaneId,
) -> Result<Turn, Box<dyn std::error::Error>> {
    let mut writer = context.writer(STORE_DEADLINE)?;
    let flights = writer.flights()?;
    let found = flights
        .iter()
        .filter(|other| other.flight == *flight)
        .find_map(|flight| flight.entries.iter().find(|other| other.entry == *entry));
    let Some(found) = found else { return Err("no restore took it".into()) };
    let order = Order::parse(&found.body).ok_or("its order cannot be read")?;
    let effect = Effect { life: Some(life.clone()), pane: Some(pane), ..Effect::default() };
    let placed = Fact {
        stamp: context.stamp(),
        body: Body::Decision(Decision::Placed {
            surface: order.surface.id.clone(),
            entry: entry.clone(),
            life: life.clone(),
            pane,
        }),
    };
    let won = writer.advance(
        flight,
        entry,
        &[State::Intended],
        State::Started,
        Some(&effect.to_json()),
        &[placed],
    )?;
    let before = Effect::parse(found.effect.as_deref());
    Ok(if won {
        Turn::Ours(Box::new(Begun { flight: flight.clone(), order, effect }))
    } else if order.respawn || (before.life.as_ref(), before.pane) == (Some(life), Some(pane)) {
        Turn::Spent
    } else {
        Turn::Late
    })
}

fn run(context: &Context, mut begun: Begun, out: &mut dyn Write) {
    let order = begun.order.clone();
    let Some(key) = order.key() else {
        let (code, text) = (&order.reason.code, plain(&order.reason.text));
        if order.agent.is_some() {
            let (agent, entry) = (order.agent.map_or("agent", AgentKind::title), &order.entry);
            say(out, &format!("{agent} was not resumed here ({code}): {text}"));
            if order.verdict != Verdict::Shell {
                say(out, &format!("to continue it: reseat restore --entry {entry}"));
            }
        } else if let Some(ran) = order.label.as_deref().filter(|ran| !ran.is_empty()) {
            say(out, &format!("this pane ran: {}", short(ran, 80)));
        }
        return;
    };
    if let Err(reason) = start(context, &mut begun, &key, out) {
        say(
            out,
            &format!("{} was not resumed ({}): {}", key.agent.title(), reason.code, plain(&reason.text)),
        );
        say(out, &format!("to continue it: reseat restore --entry {}", order.entry));
        begun.effect.ended = Some(reason);
        note(context, &begun);
    }
}

/// Starts the agent and waits for its end. An error means that it did not come up, or did not stay.
fn start(context: &Context, begun: &mut Begun, key: &SessionKey, out: &mut dyn Write) -> Result<(), Reason> {
    let order = begun.order.clone();
    let cwd = PathBuf::from(order.cwd.clone().unwrap_or_default());
    let (mut env, asked) = environment(context, begun);
    for kind in AgentKind::ALL {
        for marker in agent(kind).marker_variables() {
            env.remove(*marker);
        }
    }
    env.extend(order.env.clone());
    if !asked {
        begun.effect.notes.push("your shell did not answer in time; its start-up files were not read".into());
    }
    let slot = slots::wait(context, SLOT_PATIENCE);
    let claim = Claim::try_take(&context.state, key)
        .map_err(|error| Reason::new("claim-failed", error.to_string()))?
        .ok_or_else(|| Reason::new("already-starting", "another restore is starting this conversation"))?;
    shared_server::wait_until_free(context, key, &order.argv)?;
    check(context, &order, key, &cwd)?;
    let name = order.argv.first().cloned().unwrap_or_default();
    let home = env.get("HOME").map_or_else(|| context.home.clone(), PathBuf::from);
    let path = reseat_os::env::Env::from_pairs(env.clone());
    let program = crate::knowledge::find_program(&name, &path, &home)
        .ok_or_else(|| Reason::new("agent-not-installed", format!("{name} was not found on your PATH")))?;
    let label = order.label.as_deref().map(|label| format!(" ({})", short(label, 60))).unwrap_or_default();
    say(
        out,
        &format!(
            "continuing {} {}{label}: the conversation goes on, the scrollback does not",
            key.agent.title(),
            key.id
        ),
    );
    begun.effect.server_held = shared_server::holder(context, key).is_some();
    let begun_at = Instant::now();
    let held = std::cell::Cell::new(Some((slot, claim)));
    let mut pid = 0;
    let ended = foreground::run(&program, &order.argv, &cwd, &env, &mut |child| {
        pid = child;
        begun.effect.process = context.proc.key(&context.boot, child);
        note(context, begun);
        if let Some(held) = held.take() {
            release_when_ready(context.clone(), key.clone(), child, held);
        }
    });
    let mut ended = ended.map_err(|error| Reason::new("not-started", error.to_string()))?;
    while ended == Ended::Suspended {
        say(out, "the agent is suspended; leave this shell and it goes on");
        let (shell, argv) = user_shell(context, begun.effect.life.as_ref());
        let left = foreground::run(&shell, &argv, &cwd, context.env.vars(), &mut |_| {});
        left.map_err(|error| Reason::new("suspended", error.to_string()))?;
        ended = foreground::resume(pid).map_err(|error| Reason::new("suspended", error.to_string()))?;
    }
    let after = begun_at.elapsed().as_secs();
    match ended {
        // Whoever verified it saw it live; only what was not verified yet is told by this.
        Ended::Exited(code) => Err(Reason::new("exited", format!("exit {code} after {after} s"))),
        Ended::Signaled(signal) => Err(Reason::new("exited", format!("signal {signal} after {after} s"))),
        Ended::Suspended => Ok(()),
    }
    .or_else(|reason| {
        let verified = !still_started(context, begun);
        if verified { Ok(()) } else { Err(reason) }
    })
}

/// The environment of the user's own shell, and whether that shell answered.
fn environment(context: &Context, begun: &Begun) -> (BTreeMap<String, String>, bool) {
    let (shell, _) = user_shell(context, begun.effect.life.as_ref());
    let own = context.env.vars();
    match login::environment(&shell.display().to_string(), own, login::DEADLINE) {
        Some(mut env) => {
            for name in ["TMUX", "TMUX_PANE", "TERM"] {
                if let Some(value) = own.get(name) {
                    env.insert(name.to_owned(), value.clone());
                }
            }
            (env, true)
        }
        None => (own.clone(), false),
    }
}

/// The last look before the start: nobody runs the conversation, its directory is there.
fn check(context: &Context, order: &Order, key: &SessionKey, cwd: &Path) -> Result<(), Reason> {
    if !cwd.is_dir() {
        return Err(Reason::new("directory-missing", format!("directory missing: {}", cwd.display())));
    }
    let situation = Situation::read(context).map_err(|error| Reason::new("store", error.to_string()))?;
    if situation.blind() {
        return Err(Reason::new("blind", "the process table cannot be read"));
    }
    let holder = situation
        .view()
        .agents
        .iter()
        .find(|live| live.agent == key.agent && live.home == key.home && live.sessions.contains(&key.id));
    if let Some(live) = holder {
        let pid = live.process.pid;
        return Err(Reason::new("already-open", format!("{} is running as pid {pid}", key.id)));
    }
    let unproven = situation.folded.bindings.iter().any(|binding| {
        binding.agent == key.agent
            && binding.home == key.home
            && binding.sessions().first() == Some(&key.id)
            && matches!(
                situation.view().processes.get(&binding.process),
                Some(reseat_core::process::Liveness::CannotTell(_))
            )
    });
    if unproven && !order.force {
        return Err(Reason::new("cannot-tell", "it may still run where it cannot be seen from here"));
    }
    Ok(())
}

/// Gives the slot and the claim back when the agent reports its session: from then on the live binding is the guard.
fn release_when_ready(
    context: Context,
    key: SessionKey,
    pid: u32,
    held: (Option<reseat_os::lock::Guard>, Claim),
) {
    std::thread::spawn(move || {
        let until = Instant::now() + READY_PATIENCE;
        let ready = || {
            agent(key.agent)
                .registry(Path::new(&key.home))
                .iter()
                .any(|entry| entry.pid == pid && entry.session == key.id)
        };
        while Instant::now() < until && context.proc.stat(pid).is_some() && !ready() {
            std::thread::sleep(Duration::from_millis(100));
        }
        drop(held);
    });
}

/// Keeps what is known of the start beside the entry. Only a hint for whoever verifies: losing it loses nothing.
fn note(context: &Context, begun: &Begun) {
    if let Ok(mut writer) = context.writer(STORE_DEADLINE) {
        let _ = writer.advance(
            &begun.flight,
            &begun.order.entry,
            &[State::Started],
            State::Started,
            Some(&begun.effect.to_json()),
            &[],
        );
    }
}

fn still_started(context: &Context, begun: &Begun) -> bool {
    let flights = context.reader().and_then(|reader| reader.flights()).unwrap_or_default();
    flights
        .iter()
        .filter(|flight| flight.flight == begun.flight)
        .flat_map(|flight| &flight.entries)
        .any(|entry| entry.entry == begun.order.entry && entry.state == State::Started)
}

fn say(out: &mut dyn Write, text: &str) {
    let _ = writeln!(out, "reseat: {}", plain(text)).and_then(|()| out.flush());
}

/// The user's shell as the server would start it, and its arguments: a login shell.
fn user_shell(context: &Context, life: Option<&ServerLife>) -> (PathBuf, Vec<String>) {
    let told = life.and_then(|life| {
        let tmux = context.tmux_at(Path::new(&life.socket)).with_deadline(Duration::from_secs(1));
        tmux.default_shell().ok()
    });
    let shell = told
        .filter(|shell| shell.starts_with('/'))
        .or_else(|| context.env.get("SHELL").map(str::to_owned))
        .unwrap_or_else(|| "/bin/sh".into());
    let name = shell.rsplit('/').next().unwrap_or("sh").to_owned();
    (PathBuf::from(shell), vec![format!("-{name}")])
}

/// Becomes the user's shell. Returns only when neither it nor `/bin/sh` can be started.
fn shell(context: &Context, life: &ServerLife) -> std::io::Error {
    let (shell, argv) = user_shell(context, Some(life));
    let name = argv.first().map_or("-sh", String::as_str);
    let _ = Command::new(shell).arg0(name).exec();
    Command::new("/bin/sh").arg0("-sh").exec()
}
