//! `reseat-e2e selfcheck`: does the rig itself work with the real agents? `reseat-e2e recovery`: does `reseat`?

use reseat_e2e::{Agent, Kind, Pane, Result, Rig, Turn, install, recovery};
use std::io::{Write as _, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: reseat-e2e selfcheck|recovery [--npm DIR] [--reseat FILE] [SCENARIO...]
       default: target/e2e/npm, target/release/reseat, all scenarios";

/// Kind, extra arguments, first prompt, second prompt. First words are markers.
const CASES: [(Kind, &str, &str); 4] = [
    (Kind::Claude, "apricot is the first marker", "banana is the second one"),
    (Kind::Codex, "cherry is the first marker", "damson is the second one"),
    (Kind::Claude, "elderberry is the first marker", "fig is the second one"),
    (Kind::Codex, "gooseberry is the first marker", "hazelnut is the second one"),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (mut npm, mut binary) = (PathBuf::from("target/e2e/npm"), PathBuf::from("target/release/reseat"));
    let mut words: Vec<&str> = Vec::new();
    let mut rest = args.iter().map(String::as_str);
    while let Some(arg) = rest.next() {
        match (arg, rest.clone().next()) {
            ("--npm", Some(dir)) => npm = PathBuf::from(dir),
            ("--reseat", Some(file)) => binary = PathBuf::from(file),
            _ => {
                words.push(arg);
                continue;
            }
        }
        rest.next();
    }
    let result = match words.as_slice() {
        ["selfcheck"] => selfcheck(&npm),
        ["recovery", names @ ..] => recovery(&npm, &binary, names),
        _ => {
            let _ = writeln!(stderr(), "{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(stderr(), "reseat-e2e: {error}");
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) {
    let _ = writeln!(stdout(), "{text}");
}

/// Runs scenarios, all by default. Returns how many failed.
fn recovery(npm: &Path, binary: &Path, names: &[&str]) -> Result<usize> {
    let start = Instant::now();
    let installed = install::install(npm, install::CURRENT)?;
    let names = if names.is_empty() { &recovery::SCENARIOS[..] } else { names };
    let mut failed = 0;
    for name in names {
        let step = |text: &str| say(&format!("{:6.1} s  {name}: {text}", start.elapsed().as_secs_f32()));
        match recovery::run(name, &installed, binary, &step) {
            Ok(()) => step("passed"),
            Err(error) => {
                failed += 1;
                step(&format!("FAILED: {error}"));
            }
        }
    }
    say(&format!("{} passed, {failed} failed", names.len() - failed));
    Ok(failed)
}

/// Four conversations in one directory, a crash of everything, four resumes. Returns how many failed.
fn selfcheck(npm: &Path) -> Result<usize> {
    let start = Instant::now();
    let step = |text: &str| say(&format!("{:6.1} s  {text}", start.elapsed().as_secs_f32()));
    let installed = install::install(npm, install::CURRENT)?;
    step("agents installed");
    let rig = Rig::new(&installed, &["proj"])?;

    let panes = four_panes(&rig)?;
    let mut first: Vec<Turn> = Vec::new();
    let agents: Vec<Agent> =
        CASES.iter().zip(&panes).map(|(case, pane)| rig.start(case.0, pane, &[])).collect::<Result<_>>()?;
    step("2 Claude and 2 Codex ready in one directory");
    for (case, agent) in CASES.iter().zip(&agents) {
        first.push(rig.turn(agent, case.1)?);
    }
    step("one turn each");

    rig.crash_host()?;
    step("server and everything below it killed");

    let panes = four_panes(&rig)?;
    let mut failed = 0;
    for (case, (pane, first)) in CASES.iter().zip(panes.iter().zip(&first)) {
        let name = format!("{} {}", case.0.program(), first.session);
        match resume(&rig, case, pane, first) {
            Ok(()) => step(&format!("ok    {name}")),
            Err(error) => {
                failed += 1;
                step(&format!("FAIL  {name}: {error}"));
            }
        }
    }
    drop(rig);
    step("rig removed");
    say(&format!("{} passed, {failed} failed", CASES.len() - failed));
    Ok(failed)
}

fn four_panes(rig: &Rig) -> Result<Vec<Pane>> {
    let dir = rig.project("proj");
    let one = rig.new_session("main", &dir)?;
    let two = rig.split(&one, &dir)?;
    let three = rig.new_window("main", &dir)?;
    let four = rig.split(&three, &dir)?;
    Ok(vec![one, two, three, four])
}

fn resume(rig: &Rig, case: &(Kind, &str, &str), pane: &Pane, first: &Turn) -> Result<()> {
    let word = match case.0 {
        Kind::Claude => "--resume",
        Kind::Codex => "resume",
    };
    let agent = rig.start(case.0, pane, &[word, &first.session])?;
    let second = rig.turn(&agent, case.2)?;
    let marker = |prompt: &str| prompt.split(' ').next().unwrap_or_default().to_owned();
    let fail = |text: String| Err(reseat_e2e::Error::new(text));
    if second.session != first.session || second.transcript != first.transcript {
        return fail(format!("went on in {}", second.transcript.display()));
    }
    for earlier in [marker(case.1), first.reply.clone()] {
        if rig.api().carries(&marker(case.2), &earlier) != Some(true) {
            return fail(format!("the request with {:?} does not carry {earlier:?}", marker(case.2)));
        }
    }
    let others = CASES.iter().filter(|other| other.1 != case.1);
    for other in others.map(|other| marker(other.1)) {
        if rig.api().last_with(&marker(case.2)).is_some_and(|request| request.contains(&other)) {
            return fail(format!("the request carries {other:?} of another conversation"));
        }
    }
    Ok(())
}
