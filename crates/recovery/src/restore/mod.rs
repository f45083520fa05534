//! Restore: does what a plan says, as a saga that survives its own death.
//!
//! take (one transaction) → intend (written before the effect) → effect (a pane that runs `reseat exec`) → verify →
//! finish. Killed at any instant, the next run finishes or returns what it finds ([`recover`]).

mod build;
pub mod exec;
mod login;
mod order;
mod recover;
mod report;
mod shared_server;
mod slots;
mod undo;
mod verify;

pub use order::Order;
pub use report::{EntryResult, Report, outcome_name};
pub use undo::{UndoReport, undo};

use crate::capture::look::look;
use crate::context::Context;
use crate::situation::Situation;
use reseat_core::fact::{Body, Decision, Fact};
use reseat_core::ids::{EntryId, FlightId, PlanId, SessionId, SurfaceId, digest};
use reseat_core::plan::{Entry, PickError, Plan, Policy, Verdict};
use reseat_os::lock::{Guard, LockError, LockFile};
use reseat_store::error::StoreError;
use reseat_store::flights::{Flight, FlightEntry, State};
use reseat_store::store::{Writer, ord_of};
use std::time::Duration;

/// How long a restore waits for the store.
const STORE_DEADLINE: Duration = Duration::from_secs(20);

/// What a restore is asked to do.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Which losses, and what is allowed.
    pub policy: Policy,
    /// Flags that lift safety may be carried over.
    pub carry_dangerous: bool,
    /// A person's answers.
    pub picks: Vec<(SurfaceId, SessionId)>,
    /// The plan that was shown; another one is refused.
    pub shown: Option<PlanId>,
    /// How long to wait for an agent to report its session.
    pub patience: Option<Duration>,
}

/// A restore could not begin. Nothing was made.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Another one runs.
    #[error("a restore is running already ({by})")]
    Running {
        /// Who runs it, as far as the lock tells.
        by: String,
    },
    /// The world is no longer the one that was shown.
    #[error("what would be done has changed since {shown} was shown; it is {now} now")]
    Changed {
        /// The plan that was shown.
        shown: PlanId,
        /// The plan as it is now.
        now: PlanId,
    },
    /// An answer cannot be followed.
    #[error(transparent)]
    Pick(#[from] PickError),
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] reseat_os::dirs::DirError),
    /// The lock cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The process table cannot be read, so nothing can be proven gone.
    #[error("the process table cannot be read, so nothing can be proven gone")]
    Blind,
}

/// Something worth telling while it happens.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A sentence.
    Note(&'a str),
    /// An entry came out.
    Entry(&'a EntryResult),
}

/// Restores what `request` names. Durable on return: every outcome is in the log. A second restore meanwhile is
/// refused; a look meanwhile is put off, so a half-built server is never kept as what was.
pub fn restore(
    context: &Context,
    request: &Request,
    tell: &mut dyn FnMut(&Progress<'_>),
) -> Result<Report, RestoreError> {
    let _running = begin(context)?;
    repair(context, tell)?;
    let recovered = recover::recover(context, Some(request), tell)?;
    wait_for_resurrect(context, tell);
    let situation = Situation::read(context)?;
    if situation.blind() {
        return Err(RestoreError::Blind);
    }
    let disk = situation.disk(context, request.carry_dangerous);
    let mut plan = situation.plan(&disk, &request.policy);
    if let Some(shown) = &request.shown
        && *shown != plan.plan
    {
        return Err(RestoreError::Changed { shown: shown.clone(), now: plan.plan });
    }
    for (surface, session) in &request.picks {
        plan.pick(surface, session, &disk, &situation.folded, situation.view())?;
    }
    let mut report = Report::new(&plan);
    let acting = acting(&plan);
    if acting.is_empty() {
        report.add_rest(&plan, tell);
        if !recovered.is_empty() {
            report.take_in(recovered);
            let _ = look(context);
        }
        return Ok(report);
    }
    let flight = take(context, &plan, &acting, request)?;
    report.flight = Some(flight.flight.clone());
    let built = build::build(context, &situation, &plan, &flight, tell)?;
    verify::verify(context, &plan, &flight, built, request, &mut report, tell)?;
    context.writer(STORE_DEADLINE)?.finish(&flight.flight, &[])?;
    report.add_rest(&plan, tell);
    report.take_in(recovered);
    report.attach = report::attach_command(context, &plan);
    drop(situation.observed);
    let _ = look(context);
    Ok(report)
}

/// The lock that makes restores one at a time.
pub fn lock(context: &Context) -> LockFile {
    LockFile::new(context.state.join("restore.lock"))
}

fn begin(context: &Context) -> Result<Guard, RestoreError> {
    reseat_os::dirs::ensure_private(&context.env, &context.state)?;
    let lock = lock(context);
    lock.try_lock()?.ok_or_else(|| RestoreError::Running { by: lock.holder() })
}

/// Moves a damaged store aside before anything is taken from it.
fn repair(context: &Context, tell: &mut dyn FnMut(&Progress<'_>)) -> Result<(), RestoreError> {
    let (mut writer, done) =
        reseat_store::store::Store::open_repairing(&context.state, context.spool(), STORE_DEADLINE)?;
    writer.append(&[])?;
    for sentence in &done {
        tell(&Progress::Note(sentence));
    }
    Ok(())
}

/// While tmux-resurrect restores, panes appear that are not ours to judge yet.
fn wait_for_resurrect(context: &Context, tell: &mut dyn FnMut(&Progress<'_>)) {
    let runs = || {
        context.proc.table().unwrap_or_default().iter().any(|stat| {
            let argv = context.proc.cmdline(stat.pid);
            argv.iter().take(3).any(|arg| arg.ends_with("resurrect/scripts/restore.sh"))
        })
    };
    let until = std::time::Instant::now() + Duration::from_mins(1);
    let mut told = false;
    while runs() && std::time::Instant::now() < until {
        if !told {
            tell(&Progress::Note("waiting for tmux-resurrect to end its own restore"));
            told = true;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The entries that get a pane: all of every build in which something comes up.
fn acting(plan: &Plan) -> Vec<&Entry> {
    let comes_up = |entry: &Entry| {
        entry.verdict == Verdict::Resume || (entry.verdict == Verdict::Shell && entry.agent.is_some())
    };
    if !plan.entries.iter().any(comes_up) {
        return Vec::new();
    }
    let has_place = |entry: &&Entry| plan.builds.iter().any(|build| build.carries(&entry.entry));
    plan.entries.iter().filter(has_place).collect()
}

fn take(
    context: &Context,
    plan: &Plan,
    acting: &[&Entry],
    request: &Request,
) -> Result<Flight, RestoreError> {
    let stamp = context.stamp();
    let id = FlightId(digest("flight-", 12, &[&stamp.id()]));
    let entries: Vec<EntryId> = acting.iter().map(|entry| entry.entry.clone()).collect();
    let taken = Decision::Taken { flight: id.clone(), plan: plan.plan.clone(), entries };
    let fact = Fact { stamp, body: Body::Decision(taken) };
    let process = context.proc.key(&context.boot, std::process::id()).ok_or(RestoreError::Blind)?;
    let flight = Flight {
        flight: id,
        plan: plan.plan.clone(),
        caller: "owner".into(),
        process,
        finished: false,
        built: false,
        entries: acting
            .iter()
            .map(|entry| FlightEntry {
                entry: entry.entry.clone(),
                state: State::Taken,
                body: Order::of(entry, plan, request).to_json(),
                effect: None,
            })
            .collect(),
    };
    context.writer(STORE_DEADLINE)?.take(&flight, &ord_of(&fact), &[fact])?;
    Ok(flight)
}

/// Appends one decision. Durable on return.
fn decide(context: &Context, writer: &mut Writer, decision: Decision) -> Result<(), StoreError> {
    writer.append(&[Fact { stamp: context.stamp(), body: Body::Decision(decision) }])
}
