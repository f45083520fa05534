//! Which session a pane holds: C01, C02, C03, C05, C17.

use crate::fixture::{Disk, HOME, Log, Now, Spot, id, life, lines, plan, snapshot};
use reseat_core::fact::{AgentEvent, Body, Grade, HookEvent, Launch, PaneClaim};
use reseat_core::ids::AgentKind;
use reseat_core::plan::Kind;

/// C01: three agents in one directory keep what each held; a fourth whose session was never read is asked about,
/// and is offered nothing that another pane holds.
#[test]
fn c01_one_directory_several_agents() {
    let life = life(1, 77);
    let at = |pane: u32| Spot::at(&life, pane, 500 + pane, 0, pane).cwd("/w/mono");
    let mut log = Log::new();
    for pane in 1..=3 {
        log.start(&at(pane), "startup", pane);
    }
    log.seen(&at(4), &[]);
    let mut disk = Disk::default();
    // Newest first by the file's time: U2, U3, U1, then one that nobody held.
    disk.by_directory.insert("/w/mono".into(), vec![2, 3, 1, 9]);
    let want = [
        "work:?.? resume proof (the agent's hook named this conversation last) claude --resume U1",
        "work:?.? resume proof (the agent's hook named this conversation last) claude --resume U2",
        "work:?.? resume proof (the agent's hook named this conversation last) claude --resume U3",
        "work:0.4 choose session-unknown (which conversation ran here is not known; these fit its directory) ?U9",
    ];
    let got = lines(&plan(&log, &Now::of(&log), &disk));
    assert_eq!(got, want.map(|line| line.replace("work:?.?", "?:?.?")));
    disk.by_directory.insert("/w/mono".into(), vec![1, 9, 3, 2]);
    assert_eq!(lines(&plan(&log, &Now::of(&log), &disk)), got, "times of files change nothing");
}

/// C02: clear, compact and resume move the binding; the history keeps each with its reason.
#[test]
fn c02_the_binding_follows_the_conversation() {
    let at = Spot::at(&life(1, 77), 1, 500, 0, 0);
    let mut log = Log::new();
    log.start(&at, "startup", 1).start(&at, "clear", 2).start(&at, "compact", 2).start(&at, "resume", 3);
    let folded = log.folded();
    let binding = &folded.bindings[0];
    assert_eq!(binding.current.as_ref().map(|held| held.session.clone()), Some(id(3)));
    let history: Vec<(String, &str)> =
        binding.history.iter().map(|change| (change.from.to_string(), change.reason.as_str())).collect();
    assert_eq!(history, [(id(1).to_string(), "clear"), (id(2).to_string(), "resume")]);
    assert_eq!(
        lines(&plan(&log, &Now::of(&log), &Disk::default())),
        ["?:?.? resume proof (the agent's hook named this conversation last) claude --resume U3"]
    );
}

/// C02, the variant: the conversation after `/clear` was never written. It is named, the one before is offered, and
/// nothing falls back by itself.
#[test]
fn c02_a_cleared_conversation_that_was_never_written() {
    let at = Spot::at(&life(1, 77), 1, 500, 0, 0);
    let mut log = Log::new();
    log.start(&at, "startup", 1).start(&at, "clear", 2);
    assert_eq!(
        lines(&plan(&log, &Now::of(&log), &Disk::default().without(2))),
        ["?:?.? choose no-conversation-yet (U2 holds no conversation; the one before it can be resumed) ?U1"]
    );
}

/// C03: a headless child agent in the same pane never moves the pane's binding, whatever it says it does; when the
/// pane's agent is gone, the next top-level one begins a binding of its own.
#[test]
fn c03_a_nested_agent_never_takes_the_pane() {
    let life = life(1, 77);
    let agent = Spot::at(&life, 1, 500, 0, 0);
    let child = Spot::at(&life, 1, 520, 0, 0).nested();
    let mut log = Log::new();
    log.start(&agent, "startup", 1);
    for source in ["startup", "compact", "resume", "clear"] {
        log.start(&child, source, 2);
        let folded = log.folded();
        assert_eq!(folded.bindings.len(), 1, "{source}");
        assert_eq!(folded.bindings[0].sessions(), [id(1)], "{source}");
    }
    let nested: Vec<_> = log.folded().unplaced.iter().map(|(_, event)| event.session.clone()).collect();
    assert_eq!(nested, [id(2), id(2), id(2), id(2)], "kept, as nobody's");
    log.gone(&agent, true, &[]).start(&Spot::at(&life, 1, 600, 0, 0), "startup", 3);
    let held: Vec<_> =
        log.folded().bindings.iter().map(|binding| (binding.process.pid, binding.sessions())).collect();
    assert_eq!(held, [(500, vec![id(1)]), (600, vec![id(3)])]);
    let now = Now::of(&log);
    assert_eq!(
        lines(&plan(&log, &now, &Disk::default())),
        [
            "?:?.? choose superseded (another agent was started in this pane afterwards) ?U1",
            "?:?.? resume proof (the agent's hook named this conversation last) claude --resume U3",
        ]
    );
}

/// C05: the pane is the one the agent runs in. A background agent without a pane is nobody's, and so is one whose
/// inherited variables name a pane that is not its terminal.
#[test]
fn c05_the_pane_of_the_agent_and_not_of_the_user() {
    let life = life(1, 77);
    let at = Spot::at(&life, 1, 500, 0, 0);
    let mut log = Log::new();
    log.start(&at, "startup", 1);
    let shown = snapshot("work", &[&[(1, "/w")], &[(2, "/w")]]);
    log.look(&life, &shown, &[&at]);
    let stranger = |pane| HookEvent {
        agent: AgentKind::Claude,
        home: HOME.into(),
        event: AgentEvent::Start { source: "startup".into() },
        session: id(2),
        process: Some(crate::fixture::process(1, 900)),
        pane,
        nested: false,
        launch: Launch::default(),
        mode: None,
    };
    log.put(Body::Hook(stranger(None)));
    let active = PaneClaim { life: life.clone(), pane: reseat_core::mux::PaneId(2), tty: 0, descends: false };
    log.put(Body::Hook(stranger(Some(active))));
    let folded = log.folded();
    let held: Vec<_> =
        folded.bindings.iter().map(|binding| (binding.pane.unwrap().0, binding.sessions())).collect();
    assert_eq!(held, [(1, vec![id(1)])]);
    assert_eq!(folded.unplaced.len(), 2);
    let now = Now::of(&log);
    let whole = plan(&log, &now, &Disk::default());
    assert_eq!(
        lines(&whole),
        ["work:0.0 resume proof (the agent's hook named this conversation last) claude --resume U1"]
    );
}

/// C17: a sub-agent's thread cannot be typed into: the pane keeps the newest conversation that can.
#[test]
fn c17_a_sub_agents_thread_is_never_the_panes() {
    let at = Spot::at(&life(1, 77), 1, 500, 0, 0);
    let mut log = Log::new();
    log.start(&at, "startup", 1).seen(&at, &[(Grade::OpenFile, 2)]);
    let mut disk = Disk::default();
    disk.talks.insert(2, reseat_core::plan::Known { kind: Kind::SubAgent, ..Disk::talk() });
    assert_eq!(
        lines(&plan(&log, &Now::of(&log), &disk)),
        [
            "work:0.0 resume proof (an open transcript or its lock named this conversation last) claude --resume U1"
        ]
    );
}
