//! `reseat undo`: takes the last restore back.

use super::Outcome;
use crate::exit::{Exit, Failure};
use crate::show;
use reseat_recovery::context::Context;
use reseat_recovery::restore::undo;

pub(crate) fn run(context: &Context, yes: bool, json: bool) -> Outcome {
    if !yes {
        let answer = show::ask("close the panes that the last restore made, with the agents in them? [y/N]");
        match answer.as_deref().map(str::to_lowercase).as_deref() {
            Some("y" | "yes") => {}
            Some(_) => return Ok(Exit::NeedsPerson),
            None => {
                return Err(Failure {
                    exit: Exit::NeedsPerson,
                    code: "needs-answer",
                    text: "nothing was done: undo closes panes and asks first".into(),
                    hint: "--yes goes ahead without a question".into(),
                });
            }
        }
    }
    let report = undo(context)?;
    if json {
        show::json(&report);
    } else {
        show::out(&format!("{} panes closed", report.undone.len()));
        for (entry, why) in &report.left {
            show::err(&format!("  left alone: {entry}: {}", reseat_core::text::plain(why)));
        }
    }
    Ok(match (report.undone.is_empty(), report.left.is_empty()) {
        (true, true) => Exit::Nothing,
        (true, false) => Exit::Failed,
        (false, true) => Exit::Done,
        (false, false) => Exit::Some,
    })
}
