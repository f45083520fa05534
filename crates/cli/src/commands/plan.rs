//! `reseat plan`: what a restore would do, and why.

use super::Outcome;
use super::select;
use crate::args::PlanArgs;
use crate::exit::Exit;
use crate::show;
use reseat_core::plan::{Build, Entry, Plan, Verdict};
use reseat_core::text::plain;
use reseat_recovery::context::Context;

pub(crate) fn run(context: &Context, args: &PlanArgs, json: bool) -> Outcome {
    let situation = super::situation(context)?;
    let policy = select::policy(context, &args.select, &args.allow)?;
    select::check(&policy.selection, &situation)?;
    let plan = situation.plan(&situation.disk(context, args.allow.carry_dangerous), &policy);
    if json {
        show::json(&plan);
    } else {
        print(context, &plan);
    }
    Ok(exit(&plan))
}

/// 0 when something can be resumed outright, 5 when all that is left needs a person, 4 when there is nothing.
pub(super) fn exit(plan: &Plan) -> Exit {
    if plan.has_resumable() {
        Exit::Done
    } else if plan.needs_person() {
        Exit::NeedsPerson
    } else {
        Exit::Nothing
    }
}

pub(super) fn print(context: &Context, plan: &Plan) {
    let now = reseat_os::clock::wall_ms();
    if plan.entries.is_empty() {
        show::out("nothing to restore");
        return;
    }
    let rows: Vec<Vec<String>> = plan.entries.iter().map(|entry| row(context, entry)).collect();
    let mut under = None;
    for (entry, line) in plan.entries.iter().zip(show::lines(&rows)) {
        if under != Some(&entry.incident) {
            under = Some(&entry.incident);
            show::out(&heading(plan, entry, now));
        }
        show::out(&line);
        details(entry, now);
    }
    for build in &plan.builds {
        if let Build::Window(window) = build
            && window.index_taken
        {
            let (session, index) = (plain(&window.session), window.index);
            show::out(&format!("window {session}:{index} is taken: the next free index is used"));
        }
    }
    let summary: Vec<String> =
        plan.summary.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    show::out(&format!("{} · {}", plan.plan, summary.join(", ")));
}

fn heading(plan: &Plan, entry: &Entry, now: i64) -> String {
    match plan.incidents.iter().find(|incident| entry.incident.as_ref() == Some(&incident.id)) {
        Some(incident) => {
            let ago = reseat_recovery::time::ago(incident.last_seen_ms, now);
            format!("{} ({ago} ago)", plain(&incident.text))
        }
        None if entry.agent.is_none() => "other panes of these windows".into(),
        None => "besides".into(),
    }
}

fn row(context: &Context, entry: &Entry) -> Vec<String> {
    vec![
        format!("  {:7}", entry.verdict.name()),
        super::status::place(&entry.surface),
        entry.agent.map_or("shell", |agent| agent.name()).to_owned(),
        entry.session.as_ref().map(|id| super::status::short_id(id.as_str())).unwrap_or_default(),
        entry.label.clone().unwrap_or_default(),
        entry.cwd.as_deref().map(|cwd| show::directory(cwd, &context.home)).unwrap_or_default(),
        entry.entry.to_string(),
    ]
}

/// What follows an entry's line: the command where there is one, else why there is none.
fn details(entry: &Entry, now: i64) {
    const INDENT: &str = "          ";
    if entry.verdict == Verdict::Resume {
        let words: Vec<String> = entry
            .env
            .iter()
            .map(|(name, value)| format!("{name}={}", reseat_core::text::shell_word(value)))
            .chain(entry.argv.iter().map(|arg| reseat_core::text::shell_word(arg)))
            .collect();
        show::out(&format!("{INDENT}{}", plain(&words.join(" "))));
    }
    if entry.agent.is_some() {
        show::out(&format!("{INDENT}{}", plain(&entry.reason.text)));
    }
    for candidate in &entry.candidates {
        let mark = if entry.preselected.as_ref() == Some(&candidate.session) { "*" } else { " " };
        let ago = reseat_recovery::time::ago(candidate.last_active_ms, now);
        let title = candidate.title.as_deref().map(plain).unwrap_or_default();
        show::out(&format!(
            "{INDENT}{mark} --pick {}={}  {ago} ago  {title}",
            entry.surface.id, candidate.session
        ));
    }
    for note in &entry.notes {
        show::out(&format!("{INDENT}note: {}", plain(note)));
    }
}
