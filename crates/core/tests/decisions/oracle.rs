//! What facts mean for each process, asked question by question over the unsorted heap of them. Written against the
//! words of the design and without the fold's code: no state is carried from fact to fact.

use reseat_core::fact::{AgentEvent, Body, EndReason, Fact, Grade, HookEvent, Order};
use reseat_core::fold::Folded;
use reseat_core::ids::SessionId;
use reseat_core::mux::ServerLife;
use reseat_core::process::ProcessKey;
use std::collections::{BTreeMap, BTreeSet};

/// One process, as far as both sides can say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meaning {
    current: Option<(SessionId, BTreeSet<Grade>)>,
    history: Vec<(SessionId, String)>,
    disputed: Vec<SessionId>,
    argv: Option<SessionId>,
    prompted: BTreeSet<SessionId>,
    end: Option<EndReason>,
    gone: Option<(Order, bool)>,
    first_seen: Order,
    last_seen: Order,
}

/// One life: newest look, who lived then.
pub(crate) type Lives = BTreeMap<ServerLife, (Order, BTreeSet<(u32, u64)>)>;

pub(crate) fn of_fold(folded: &Folded) -> BTreeMap<ProcessKey, Meaning> {
    let meaning = |binding: &reseat_core::fold::Binding| Meaning {
        current: binding.current.as_ref().map(|held| (held.session.clone(), held.grades.clone())),
        history: binding.history.iter().map(|step| (step.from.clone(), step.reason.clone())).collect(),
        disputed: binding.disputed.iter().map(|reading| reading.session.clone()).collect(),
        argv: binding.argv_session.clone(),
        prompted: binding.prompted.clone(),
        end: binding.end.as_ref().map(|end| end.reason.clone()),
        gone: binding.gone.as_ref().map(|(at, gone)| (at.order(), gone.pane_left)),
        first_seen: binding.first_seen.order(),
        last_seen: binding.last_seen.order(),
    };
    folded.bindings.iter().map(|binding| (binding.process.clone(), meaning(binding))).collect()
}

pub(crate) fn lives_of_fold(folded: &Folded) -> Lives {
    folded
        .lives
        .iter()
        .filter_map(|(life, seen)| {
            Some((life.clone(), (seen.last_look.as_ref()?.order(), seen.alive.clone())))
        })
        .collect()
}

pub(crate) fn bindings(facts: &[Fact]) -> BTreeMap<ProcessKey, Meaning> {
    let processes: BTreeSet<ProcessKey> = facts.iter().filter_map(|fact| Some(named(fact)?.0)).collect();
    processes.into_iter().map(|process| (process.clone(), meaning(facts, &process))).collect()
}

pub(crate) fn lives(facts: &[Fact]) -> Lives {
    let mut out = Lives::new();
    for fact in facts {
        let Body::Look(look) = &fact.body else { continue };
        let seen = (fact.stamp.order(), look.alive.iter().copied().collect());
        let newest = out.entry(look.life.clone()).or_insert_with(|| seen.clone());
        if seen.0 > newest.0 {
            *newest = seen;
        }
    }
    out
}

/// The event, when the process told it of its own pane.
fn placed(fact: &Fact) -> Option<&HookEvent> {
    match &fact.body {
        Body::Hook(event) if !event.nested && event.pane.as_ref()?.descends => Some(event),
        _ => None,
    }
}

/// The process that a fact puts in a pane, and when.
fn named(fact: &Fact) -> Option<(ProcessKey, Order)> {
    let process = match (&fact.body, placed(fact)) {
        (_, Some(event)) => event.process.clone()?,
        (Body::Sighting(seen), _) => seen.process.clone(),
        _ => return None,
    };
    Some((process, fact.stamp.order()))
}

/// Each time something that may act said which session the process holds: by moment, with its words.
fn claims(facts: &[Fact], process: &ProcessKey) -> BTreeMap<Order, (SessionId, Grade, String)> {
    let mut out = BTreeMap::new();
    for fact in facts.iter().filter(|fact| named(fact).is_some_and(|(other, _)| other == *process)) {
        let claim = match (&fact.body, placed(fact).map(|event| (&event.event, &event.session))) {
            (_, Some((AgentEvent::Start { source }, session))) => {
                Some((session.clone(), Grade::Hook, source.clone()))
            }
            (_, Some((AgentEvent::Prompt, session))) => {
                Some((session.clone(), Grade::Hook, "prompt".to_owned()))
            }
            (Body::Sighting(seen), _) => seen
                .readings
                .iter()
                .find(|reading| !matches!(reading.grade, Grade::Guess | Grade::Imported | Grade::Argv))
                .map(|reading| (reading.session.clone(), reading.grade, reading.grade.name().to_owned())),
            _ => None,
        };
        out.extend(claim.map(|claim| (fact.stamp.order(), claim)));
    }
    out
}

fn meaning(facts: &[Fact], process: &ProcessKey) -> Meaning {
    let of_it: Vec<&Fact> =
        facts.iter().filter(|fact| named(fact).is_some_and(|(other, _)| other == *process)).collect();
    let first_seen = of_it.iter().map(|fact| fact.stamp.order()).min().unwrap();
    let claims = claims(facts, process);
    let newest = claims.last_key_value();
    let current = newest.map(|(_, (session, ..))| {
        let same = claims.values().rev().take_while(|(other, ..)| other == session);
        (session.clone(), same.map(|(_, grade, _)| *grade).collect())
    });
    let in_order: Vec<&(SessionId, Grade, String)> = claims.values().collect();
    let history = in_order
        .windows(2)
        .filter(|pair| pair[0].0 != pair[1].0)
        .map(|pair| (pair[0].0.clone(), pair[1].2.clone()))
        .collect();
    Meaning {
        disputed: disputed(&of_it, newest.map(|(at, (session, ..))| (at, session))),
        current,
        history,
        argv: newest_of(&of_it, |fact| match &fact.body {
            Body::Sighting(seen) => {
                let argv = seen.readings.iter().find(|reading| reading.grade == Grade::Argv)?;
                Some(argv.session.clone())
            }
            _ => None,
        }),
        prompted: of_it
            .iter()
            .filter_map(|fact| placed(fact).filter(|event| event.event == AgentEvent::Prompt))
            .map(|event| event.session.clone())
            .collect(),
        end: end(&of_it, &claims),
        gone: facts
            .iter()
            .filter_map(|fact| match &fact.body {
                Body::Gone(gone) if gone.process == *process => Some((fact.stamp.order(), gone.pane_left)),
                _ => None,
            })
            .filter(|(at, _)| *at > first_seen)
            .min(),
        last_seen: last_seen(facts, &of_it, process, &first_seen),
        first_seen,
    }
}

fn newest_of<T>(facts: &[&Fact], ask: impl Fn(&Fact) -> Option<T>) -> Option<T> {
    facts
        .iter()
        .filter_map(|fact| Some((fact.stamp.order(), ask(fact)?)))
        .max_by_key(|(at, _)| at.clone())
        .map(|(_, told)| told)
}

/// Weaker evidence counts against the newest claim only when it is newer and names another session.
fn disputed(of_it: &[&Fact], newest: Option<(&Order, &SessionId)>) -> Vec<SessionId> {
    let mut weak: Vec<(Order, Grade, SessionId)> = Vec::new();
    for fact in of_it {
        let Body::Sighting(seen) = &fact.body else { continue };
        for reading in seen.readings.iter().filter(|reading| reading.grade <= Grade::Imported) {
            let at = fact.stamp.order();
            if newest.is_none_or(|(since, session)| at > *since && *session != reading.session) {
                weak.push((at, reading.grade, reading.session.clone()));
            }
        }
    }
    weak.sort();
    let mut out = Vec::new();
    for (_, _, session) in weak.into_iter().rev() {
        if !out.contains(&session) {
            out.push(session);
        }
    }
    out
}

/// The last word of the agent about what it then held, unless it spoke again.
fn end(of_it: &[&Fact], claims: &BTreeMap<Order, (SessionId, Grade, String)>) -> Option<EndReason> {
    let spoke = of_it
        .iter()
        .filter(|fact| placed(fact).is_some_and(|event| !matches!(event.event, AgentEvent::End { .. })))
        .map(|fact| fact.stamp.order())
        .max();
    newest_of(of_it, |fact| {
        let event = placed(fact)?;
        let AgentEvent::End { reason } = &event.event else { return None };
        let at = fact.stamp.order();
        let held = claims.range(..&at).next_back().map(|(_, (session, ..))| session);
        let about_current = held.is_none_or(|held| *held == event.session);
        let last_word = spoke.as_ref().is_none_or(|spoke| *spoke < at);
        (*reason != EndReason::Replaced && about_current && last_word).then(|| reason.clone())
    })
}

fn last_seen(facts: &[Fact], of_it: &[&Fact], process: &ProcessKey, first: &Order) -> Order {
    let spoke = of_it
        .iter()
        .filter(|fact| !placed(fact).is_some_and(|event| matches!(event.event, AgentEvent::End { .. })))
        .map(|fact| fact.stamp.order());
    let looked = facts
        .iter()
        .filter(|fact| match &fact.body {
            Body::Look(look) => {
                *look.life.boot() == process.boot && look.alive.contains(&(process.pid, process.start))
            }
            _ => false,
        })
        .map(|fact| fact.stamp.order())
        .filter(|at| at > first);
    spoke.chain(looked).chain([first.clone()]).max().unwrap()
}
