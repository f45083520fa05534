//! Matching measured: thousands of crash worlds, no wrong resume, and a table of what became of the right ones.

use reseat_testkit::worlds::{Tally, run, table};

/// Worlds to run; `RESEAT_WORLDS` overrides.
const WORLDS: u64 = 2_000;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn no_world_resumes_a_wrong_session() {
    let first = number("RESEAT_WORLDS_FROM", 0);
    let end = first + number("RESEAT_WORLDS", WORLDS);
    let threads: Vec<_> = (0..2)
        .map(|offset| {
            std::thread::spawn(move || {
                let mut tally = Tally::default();
                for seed in (first + offset..end).step_by(2) {
                    tally.add(&run(seed));
                }
                tally
            })
        })
        .collect();
    let mut tally = Tally::default();
    for thread in threads {
        match thread.join() {
            Ok(part) => tally.add(&part),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    println!("{}", table(&tally));
    assert_eq!(tally.worlds, end - first);
}

/// For work on the planner: every violation of many worlds, grouped, with the first seeds of each.
#[test]
#[ignore = "a survey for people; the test above is the measure"]
fn survey() {
    let first = number("RESEAT_WORLDS_FROM", 0);
    let mut kinds: std::collections::BTreeMap<String, Vec<u64>> = std::collections::BTreeMap::new();
    let mut tally = Tally::default();
    for seed in first..first + number("RESEAT_WORLDS", WORLDS) {
        match std::panic::catch_unwind(|| run(seed)) {
            Ok(part) => tally.add(&part),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                let line = text.lines().next().unwrap_or_default();
                let kind = line.split_once(": ").map_or(line, |(_, kind)| kind).to_owned();
                kinds.entry(kind).or_default().push(seed);
            }
        }
    }
    println!("{}", table(&tally));
    for (kind, seeds) in kinds {
        println!("SURVEY {} x {kind}: {:?}", seeds.len(), &seeds[..seeds.len().min(12)]);
    }
}

/// A seed is a world: the same one every time.
#[test]
fn a_seed_gives_the_same_world_again() {
    for seed in 0..5 {
        assert_eq!(run(seed), run(seed));
    }
}
