//! Any order of arrival gives the same bindings, and those bindings are the ones the facts mean.
//!
//! Streams are made at random: several agent processes in a few panes over two server lives and two boots, with
//! hooks, live records, titles, open files, command lines, looks, ends, and what people and restores decided.

use crate::fixture::{HOME, Log, Spot, id, life, snapshot};
use crate::oracle;
use proptest::prelude::*;
use reseat_core::fact::{
    AgentEvent, Body, Decision, EndReason, Fact, Grade, HookEvent, KillMark, Launch, Outcome, PaneClaim,
    count_boots,
};
use reseat_core::fold::fold;
use reseat_core::ids::{AgentKind, FlightId, PlanId};
use reseat_core::mux::ServerLife;

const SOURCES: [&str; 5] = ["startup", "resume", "clear", "compact", "fork"];
const STRONG: [Grade; 4] = [Grade::Title, Grade::OpenFile, Grade::Registry, Grade::Recorded];
const WEAK: [Grade; 2] = [Grade::Guess, Grade::Imported];

/// One thing that happens to one of the agents.
#[derive(Debug, Clone)]
enum Step {
    Start(usize),
    Prompt,
    End(usize),
    /// A look reads it: strong, weak, and by its command line.
    Seen(Option<usize>, Option<usize>, bool),
    Gone(bool, bool),
    Look(u8),
    /// A hook that is below another agent, or whose terminal is another.
    Stray(bool),
    Decide(u8),
    Reboot,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..SOURCES.len()).prop_map(Step::Start),
        3 => Just(Step::Prompt),
        2 => (0..3_usize).prop_map(Step::End),
        5 => (prop::option::of(0..STRONG.len()), prop::option::of(0..WEAK.len()), any::<bool>())
            .prop_map(|(strong, weak, argv)| Step::Seen(strong, weak, argv)),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(pane, killed)| Step::Gone(pane, killed)),
        3 => any::<u8>().prop_map(Step::Look),
        1 => any::<bool>().prop_map(Step::Stray),
        2 => (0..6_u8).prop_map(Step::Decide),
        1 => Just(Step::Reboot),
    ]
}

/// Agent processes: two in one pane one after the other, one in another pane, one in another server.
fn spots(boot: u64) -> Vec<Spot> {
    let (first, second) = (life(boot, 70), life(boot, 71));
    vec![
        Spot::at(&first, 1, 500, 0, 0),
        Spot::at(&first, 1, 501, 0, 0),
        Spot::at(&first, 2, 502, 0, 1),
        Spot::at(&second, 1, 503, 0, 0),
    ]
}

/// The facts of a stream, in the order in which they happened.
fn facts_of(steps: &[(usize, u32, Step)]) -> Vec<Fact> {
    let mut log = Log::new();
    let shown = snapshot("work", &[&[(1, "/w"), (2, "/w")]]);
    for (who, session, step) in steps {
        let spots = spots(log.boot);
        let at = &spots[who % spots.len()];
        let session = 1 + session % 4;
        log.after(1);
        match step {
            Step::Start(source) => log.start(at, SOURCES[*source], session),
            Step::Prompt => log.event(at, AgentEvent::Prompt, session),
            Step::End(reason) => {
                let reasons = [EndReason::User, EndReason::Replaced, EndReason::Other];
                log.end(at, reasons[*reason].clone(), session)
            }
            Step::Seen(strong, weak, argv) => {
                let mut readings = Vec::new();
                readings.extend(weak.map(|weak| (WEAK[weak], 1 + session % 4)));
                readings.extend(strong.map(|strong| (STRONG[strong], session)));
                readings.extend(argv.then_some((Grade::Argv, 5)));
                log.seen(at, &readings)
            }
            Step::Gone(pane, killed) => {
                log.gone(at, *pane, if *killed { &[KillMark::RegistryLeft] } else { &[] })
            }
            Step::Look(mask) => {
                let alive: Vec<&Spot> = spots
                    .iter()
                    .enumerate()
                    .filter(|(number, other)| mask & (1 << number) != 0 && other.life == at.life)
                    .map(|(_, other)| other)
                    .collect();
                log.look(&at.life, &shown, &alive)
            }
            Step::Stray(nested) => log.put(stray(at, session, *nested)),
            Step::Decide(which) => log.put(Body::Decision(decision(at, session, *which))),
            Step::Reboot => {
                // The clock since boot begins anew: only the boot's number tells which came later.
                log.boot += 1;
                log.ns = 1;
                &mut log
            }
        };
    }
    log.facts
}

fn stray(at: &Spot, session: u32, nested: bool) -> Body {
    let claim = PaneClaim { life: at.life.clone(), pane: at.pane, tty: 7, descends: nested };
    Body::Hook(HookEvent {
        agent: AgentKind::Claude,
        home: HOME.into(),
        event: AgentEvent::Start { source: "startup".into() },
        session: id(session),
        process: Some(at.process.clone()),
        pane: Some(claim),
        nested,
        launch: Launch::default(),
        mode: None,
    })
}

fn decision(at: &Spot, session: u32, which: u8) -> Decision {
    let (entry, surface) = (at.entry(), at.life.surface(&at.pane));
    let (flight, entries) = (FlightId("f".into()), vec![entry.clone()]);
    let outcome = |outcome| Decision::Outcome {
        flight: FlightId("f".into()),
        entry: entry.clone(),
        surface: surface.clone(),
        session: Some(id(session)),
        outcome,
        code: "exited".into(),
        text: "exit 1".into(),
        process: Some(at.process.clone()),
    };
    match which {
        0 => Decision::Ended { surface, session: id(session) },
        1 => Decision::Dismissed { entries },
        2 => Decision::Taken { flight, plan: PlanId("p".into()), entries },
        3 => outcome(Outcome::Restored),
        4 => outcome(Outcome::Started),
        _ => Decision::Placed { surface, entry, life: ServerLife { ..at.life.clone() }, pane: at.pane },
    }
}

fn stream() -> impl Strategy<Value = Vec<Fact>> {
    prop::collection::vec((0..4_usize, 0..4_u32, step()), 1..40).prop_map(|steps| facts_of(&steps))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// CRX-14, C26: facts in every order, and some of them twice, fold to the same.
    #[test]
    fn any_order_of_arrival_gives_the_same_fold(
        (facts, arrived) in stream().prop_flat_map(|facts| {
            let count = facts.len();
            let twice = prop::collection::vec(0..count.max(1), 0..=count);
            (Just(facts.clone()), twice).prop_flat_map(move |(facts, twice)| {
                let mut all = facts.clone();
                all.extend(twice.into_iter().map(|at| facts[at].clone()));
                (Just(facts), Just(all).prop_shuffle())
            })
        })
    ) {
        prop_assert_eq!(fold(&arrived), fold(&facts));
    }

    /// C02, RBT-10: what the fold says of each process is what its facts mean, judged without folding.
    #[test]
    fn bindings_are_what_the_facts_mean(facts in stream().prop_shuffle()) {
        let folded = fold(&facts);
        prop_assert_eq!(oracle::of_fold(&folded), oracle::bindings(&facts));
        prop_assert_eq!(oracle::lives_of_fold(&folded), oracle::lives(&facts));
    }
}

/// A fact whose boot could not be counted (a full disk) belongs where the other facts of its boot are.
#[test]
fn a_fact_of_an_uncounted_boot_joins_its_boot() {
    let mut log = Log::new();
    let at = Spot::at(&life(1, 70), 1, 500, 0, 0);
    log.start(&at, "startup", 1).after(1).start(&at, "clear", 2);
    let counted = fold(&log.facts);
    let after_restart = {
        log.boot = 2;
        log.ns = 1;
        log.start(&Spot::at(&life(2, 70), 1, 500, 0, 0), "startup", 3).facts.clone()
    };
    log.facts[1].stamp.boot_number = 0;
    count_boots(&mut log.facts);
    assert_eq!(log.facts, after_restart);
    assert_eq!(fold(&log.facts).bindings[0], counted.bindings[0]);
    // A boot that nobody counted comes after all others.
    log.facts[2].stamp.boot_number = 0;
    count_boots(&mut log.facts);
    assert!(log.facts[2].stamp.order() > log.facts[1].stamp.order());
}
