//! `reseat log`: the story of a pane or a session.

use super::Outcome;
use crate::exit::Exit;
use crate::show;
use reseat_recovery::context::Context;
use reseat_recovery::story::story;

pub(crate) fn run(context: &Context, names: &[String], lines: usize, json: bool) -> Outcome {
    let facts = context.reader()?.facts()?;
    let all = story(&facts, names);
    let told = &all[all.len().saturating_sub(lines)..];
    if json {
        show::json(&serde_json::json!({ "schema": reseat_core::plan::SCHEMA, "lines": told }));
    } else {
        let rows: Vec<Vec<String>> = told
            .iter()
            .map(|line| {
                vec![
                    line.at.clone(),
                    format!("boot {}", line.boot),
                    line.surface.clone().unwrap_or_default(),
                    line.session.as_deref().map(super::status::short_id).unwrap_or_default(),
                    line.kind.to_owned(),
                    line.text.clone(),
                ]
            })
            .collect();
        show::table(&rows);
        if told.is_empty() {
            show::err("reseat: nothing is known of that");
        }
    }
    Ok(if told.is_empty() { Exit::Nothing } else { Exit::Done })
}
