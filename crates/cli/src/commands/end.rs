//! `reseat end`: a person says that a session is over.

use super::Outcome;
use crate::exit::{Exit, Failure};
use crate::show;
use reseat_core::fact::{Body, Decision, Fact};
use reseat_recovery::context::Context;
use std::time::Duration;

pub(crate) fn run(context: &Context, id: &str, json: bool) -> Outcome {
    let situation = super::situation(context)?;
    let facts: Vec<Fact> = situation
        .folded
        .bindings
        .iter()
        .filter_map(|binding| {
            let session = binding.current.as_ref()?.session.clone();
            let named =
                binding.surface.as_str() == id || session.as_str() == id || binding.entry().as_str() == id;
            let surface = binding.surface.clone();
            named.then(|| Fact {
                stamp: context.stamp(),
                body: Body::Decision(Decision::Ended { surface, session }),
            })
        })
        .collect();
    if facts.is_empty() {
        return Err(Failure::usage(
            "unknown-id",
            format!("no surface, session or entry {id:?} is known"),
            "`reseat status` lists what is known",
        ));
    }
    context.writer(Duration::from_secs(5))?.append(&facts)?;
    if json {
        show::json(&serde_json::json!({ "schema": reseat_core::plan::SCHEMA, "ended": facts.len() }));
    } else {
        show::out("ended; it is not offered any more");
    }
    Ok(Exit::Done)
}
