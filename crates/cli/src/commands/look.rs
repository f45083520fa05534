//! `reseat look`: looks and keeps what it saw.

use super::Outcome;
use crate::exit::{Exit, Failure, sentence};
use reseat_os::env::{Env, names};
use reseat_recovery::capture::{look, request};
use std::path::Path;

pub(crate) fn run(env: &Env, detached: bool, state: Option<&Path>, json: bool) -> Outcome {
    let env = with(env, state, None);
    let context = super::gather(&env)?;
    reseat_os::dirs::ensure_private(&context.env, &context.state)?;
    if detached {
        request::run(&context);
        return Ok(Exit::Done);
    }
    let looked = look::look(&context).map_err(|error| {
        Failure::failed("cannot-keep", sentence(&error), "free some space, or set RESEAT_STATE_DIR")
    })?;
    if json {
        crate::show::json(&serde_json::json!({
            "schema": reseat_core::plan::SCHEMA,
            "facts": looked.facts,
            "servers": looked.servers,
            "closing": looked.closing,
        }));
    } else {
        crate::show::err(&format!("{} servers answered, {} facts kept", looked.servers, looked.facts));
    }
    Ok(if looked.servers == 0 { Exit::Nothing } else { Exit::Done })
}

/// The environment with places that were named on the command line.
pub(crate) fn with(env: &Env, state: Option<&Path>, config: Option<&Path>) -> Env {
    let mut vars = env.vars().clone();
    if let Some(state) = state {
        vars.insert(names::RESEAT_STATE_DIR.into(), state.display().to_string());
    }
    if let Some(config) = config {
        vars.insert(names::RESEAT_CONFIG.into(), config.display().to_string());
    }
    Env::from_pairs(vars)
}
