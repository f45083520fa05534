//! Bare `reseat`: what is live, what was lost, what next.

use super::Outcome;
use super::select;
use crate::args::{AllowArgs, SelectArgs};
use crate::exit::Exit;
use crate::show;
use reseat_core::plan::Verdict;
use reseat_recovery::context::Context;

pub(crate) fn run(context: &Context, json: bool) -> Outcome {
    let situation = super::situation(context)?;
    let status = situation.status(context);
    if json {
        show::json(&status);
        return Ok(Exit::Done);
    }
    let disk = situation.disk(context, false);
    let policy = select::policy(context, &SelectArgs::default(), &AllowArgs::default())?;
    let plan = situation.plan(&disk, &policy);
    let live = status.live.len();
    show::out(&format!("{live} live {}", if live == 1 { "agent" } else { "agents" }));
    let now = reseat_os::clock::wall_ms();
    for incident in &plan.incidents {
        let ago = reseat_recovery::time::ago(incident.last_seen_ms, now);
        show::out(&format!("{} ({ago} ago)", incident.text));
    }
    let count = |verdict| {
        plan.entries.iter().filter(|entry| entry.verdict == verdict && entry.agent.is_some()).count()
    };
    let (resume, choose, blocked, unknown) =
        (count(Verdict::Resume), count(Verdict::Choose), count(Verdict::Blocked), count(Verdict::Unknown));
    if plan.incidents.is_empty() && unknown == 0 {
        show::out("nothing was lost");
        let installed = super::install::anything_installed(context);
        if !installed {
            show::out("next: `reseat install` sets up the hooks, so that a crash loses nothing");
        }
        return Ok(Exit::Done);
    }
    show::out(&format!(
        "{resume} can be resumed, {choose} need your choice, {blocked} blocked, {unknown} unknown"
    ));
    show::out("next: `reseat plan` shows what would be done, `reseat restore` does it");
    Ok(Exit::Done)
}
