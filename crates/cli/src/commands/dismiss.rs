//! `reseat dismiss`: stops offering losses.

use super::Outcome;
use super::select;
use crate::args::{AllowArgs, SelectArgs};
use crate::exit::Exit;
use crate::show;
use reseat_core::fact::{Body, Decision, Fact};
use reseat_core::ids::EntryId;
use reseat_recovery::context::Context;
use std::time::Duration;

pub(crate) fn run(context: &Context, args: &SelectArgs, json: bool) -> Outcome {
    let situation = super::situation(context)?;
    let policy = select::policy(context, args, &AllowArgs::default())?;
    select::check(&policy.selection, &situation)?;
    let plan = situation.plan(&situation.disk(context, false), &policy);
    let entries: Vec<EntryId> = plan
        .entries
        .iter()
        .filter(|entry| entry.incident.is_some())
        .map(|entry| entry.entry.clone())
        .collect();
    if !entries.is_empty() {
        let body = Body::Decision(Decision::Dismissed { entries: entries.clone() });
        context.writer(Duration::from_secs(5))?.append(&[Fact { stamp: context.stamp(), body }])?;
    }
    if json {
        show::json(&serde_json::json!({ "schema": reseat_core::plan::SCHEMA, "dismissed": entries }));
    } else if entries.is_empty() {
        show::out("nothing to dismiss");
    } else {
        show::out(&format!("{} dismissed; `reseat plan --older` still shows them", entries.len()));
    }
    Ok(if entries.is_empty() { Exit::Nothing } else { Exit::Done })
}
