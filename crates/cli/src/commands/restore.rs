//! `reseat restore`: shows the plan, asks once, brings back what was lost.

use super::Outcome;
use super::select;
use crate::args::RestoreArgs;
use crate::exit::{Exit, Failure};
use crate::show;
use reseat_core::ids::{PlanId, SessionId, SurfaceId};
use reseat_core::plan::{Plan, Verdict};
use reseat_core::text::plain;
use reseat_recovery::context::Context;
use reseat_recovery::restore::{EntryResult, Progress, Report, Request, outcome_name, restore};
use std::os::unix::process::CommandExt as _;
use std::time::Duration;

pub(crate) fn run(context: &Context, args: &RestoreArgs, json: bool) -> Outcome {
    let situation = super::situation(context)?;
    let policy = select::policy(context, &args.select, &args.allow)?;
    select::check(&policy.selection, &situation)?;
    let mut picks = args.pick.iter().map(|text| select::pick(text)).collect::<Result<Vec<_>, _>>()?;
    let plan = situation.plan(&situation.disk(context, args.allow.carry_dangerous), &policy);
    drop(situation);
    let mut shown = args.plan.clone().map(PlanId);
    if !args.yes && (plan.has_resumable() || plan.needs_person()) {
        if json || !show::can_ask() {
            if json {
                show::json(&plan);
            } else {
                super::plan::print(context, &plan);
                show::err("reseat: nothing was done; --yes restores this without a question");
            }
            return Ok(if plan.entries.is_empty() { Exit::Nothing } else { Exit::NeedsPerson });
        }
        super::plan::print(context, &plan);
        picks.extend(answers(&plan, &picks));
        if !plan.has_resumable() && picks.is_empty() {
            return Ok(super::plan::exit(&plan));
        }
        let resumes =
            plan.entries.iter().filter(|entry| entry.verdict == Verdict::Resume).count() + picks.len();
        let answer = show::ask(&format!("restore {resumes} sessions? [Y/n]"));
        if !answer.is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "" | "y" | "yes")) {
            show::err("reseat: nothing was done");
            return Ok(Exit::NeedsPerson);
        }
        shown = shown.or_else(|| Some(plan.plan.clone()));
    }
    let request = Request {
        policy,
        carry_dangerous: args.allow.carry_dangerous,
        picks,
        shown,
        patience: args.wait.map(Duration::from_secs),
    };
    let report = restore(context, &request, &mut |progress| tell(progress))?;
    if json {
        show::json(&report);
    } else {
        print(&report);
    }
    let exit = exit(&report, &plan);
    if args.attach && report.came_up() > 0 {
        return attach(&report);
    }
    Ok(exit)
}

fn tell(progress: &Progress<'_>) {
    match progress {
        Progress::Note(text) => show::err(&format!("  {}", plain(text))),
        Progress::Entry(result) => show::err(&line(result)),
    }
}

fn line(result: &EntryResult) -> String {
    let place = super::status::place(&result.surface);
    let who = result.agent.map_or("shell", |agent| agent.name());
    let id = result.session.as_ref().map(|id| super::status::short_id(id.as_str())).unwrap_or_default();
    let text =
        format!("{:9} {place} {who} {id} {}", outcome_name(result.outcome), plain(&result.reason.text));
    show::cut(&text, show::width().max(60))
}

fn print(report: &Report) {
    if report.results.is_empty() {
        show::out("nothing to restore");
        return;
    }
    let summary: Vec<String> =
        report.summary.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    show::out(&summary.join(", "));
    if let Some(attach) = &report.attach {
        let words: Vec<String> = attach.iter().map(|word| reseat_core::text::shell_word(word)).collect();
        show::out(&words.join(" "));
    }
}

/// 0 all, 1 none, 3 some; 4 when there was nothing, 5 when only a person can go on.
fn exit(report: &Report, plan: &Plan) -> Exit {
    let (up, failed) = (report.came_up(), report.failed());
    let waits = report.results.iter().any(|result| {
        result.agent.is_some() && result.reason.code != "already-restored" && needs_person(result, plan)
    });
    match (up, failed) {
        (0, 0) if waits => Exit::NeedsPerson,
        (0, 0) => Exit::Nothing,
        (0, _) => Exit::Failed,
        (_, 0) if !waits => Exit::Done,
        _ => Exit::Some,
    }
}

fn needs_person(result: &EntryResult, plan: &Plan) -> bool {
    let verdict = plan.entry(&result.entry).map(|entry| entry.verdict);
    !matches!(result.outcome, reseat_core::fact::Outcome::Restored | reseat_core::fact::Outcome::Started)
        && matches!(verdict, Some(Verdict::Choose | Verdict::Blocked | Verdict::Unknown))
}

/// Asks for each `choose` entry that has candidates. No answer leaves it as it is.
fn answers(plan: &Plan, given: &[(SurfaceId, SessionId)]) -> Vec<(SurfaceId, SessionId)> {
    let mut out = Vec::new();
    for entry in plan.entries.iter().filter(|entry| entry.verdict == Verdict::Choose) {
        let surface = &entry.surface.id;
        if entry.candidates.is_empty() || given.iter().any(|(other, _)| other == surface) {
            continue;
        }
        let place = super::status::place(&entry.surface);
        for (at, candidate) in entry.candidates.iter().enumerate() {
            let title = candidate.title.as_deref().map(plain).unwrap_or_default();
            show::err(&format!("  {} {} {title}", at + 1, candidate.session));
        }
        let answer =
            show::ask(&format!("{place}: which one? [1-{}, Enter for none]", entry.candidates.len()));
        let chosen = answer
            .and_then(|text| text.parse::<usize>().ok())
            .and_then(|number| entry.candidates.get(number.checked_sub(1)?));
        if let Some(candidate) = chosen {
            out.push((surface.clone(), candidate.session.clone()));
        }
    }
    out
}

/// Becomes the tmux client.
fn attach(report: &Report) -> Outcome {
    let Some((program, args)) = report.attach.as_deref().and_then(<[String]>::split_first) else {
        return Ok(Exit::Done);
    };
    let error = std::process::Command::new(program).args(args).env_remove("TMUX").exec();
    Err(Failure::failed("cannot-attach", format!("cannot run {program}: {error}"), "attach by hand"))
}
