//! The main job with the real agents: work, crash, `reseat plan`, `reseat restore`, one more turn in each pane.

mod cast;
mod crashes;
mod late;
mod reseat;

use crate::install::Installed;
use crate::{Result, Rig};
use cast::Cast;
pub use crashes::Crash;
use reseat::Reseat;
use std::path::Path;

/// Tells how far a run is.
pub type Step<'a> = &'a dyn Fn(&str);

/// Every scenario by its name, in the order they are run.
pub const SCENARIOS: [&str; 3] = ["installed", "installed-late", "not-installed"];

/// Runs one scenario.
pub fn run(name: &str, agents: &Installed, binary: &Path, step: Step<'_>) -> Result<()> {
    match name {
        "installed" => installed(agents, binary, step),
        "installed-late" => late::installed_late(agents, binary, step),
        "not-installed" => late::not_installed(agents, binary, step),
        _ => Err(crate::Error::new(format!("no scenario {name}; there are {}", SCENARIOS.join(", ")))),
    }
}

/// Installed before anything ran; then crash after crash on the same conversations.
fn installed(agents: &Installed, binary: &Path, step: Step<'_>) -> Result<()> {
    let rig = Rig::untitled(agents, &["proj"])?;
    let reseat = Reseat::copied(&rig, binary)?;
    reseat.done(&["install"])?;
    let mut cast = Cast::start(&rig, step)?;
    for crash in Crash::ALL {
        if crash == Crash::Agents {
            cast.exec_in("main:1.0")?;
        }
        cast.wait_until_noted(&reseat)?;
        let before = cast.layout()?;
        crash.happen(&rig, &mut cast)?;
        step(&format!("{}: happened", crash.name()));
        cast.check_plan(&reseat.json(&["plan"], 0)?)?;
        let mut words = vec!["restore", "--yes"];
        words.extend(crash.restore_words());
        let report = reseat.json(&words, 0)?;
        cast.check_report(&report)?;
        step(&format!("{}: restored", crash.name()));
        cast.check_layout(&before)?;
        cast.turn_each()?;
        step(&format!("{}: each went on with its own conversation", crash.name()));
        let panes = rig.panes()?;
        reseat.json(&["restore", "--yes"], 4)?;
        if rig.panes()? != panes {
            return Err(crate::Error::new("a second restore changed the panes"));
        }
    }
    Ok(())
}
