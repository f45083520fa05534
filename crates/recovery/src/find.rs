//! Find: the exact id and resume command of a conversation, for a pane, a word or an id. Reads only.

use crate::context::Context;
use crate::knowledge::homes;
use crate::situation::Situation;
use crate::time::rfc3339;
use reseat_agents::{Found, Transcript, agent};
use reseat_core::ending::{Ending, judge};
use reseat_core::fold::Binding;
use reseat_core::ids::{AgentKind, SessionId, SessionKey};
use reseat_core::plan::{Command, Knowledge, SurfaceView};
use reseat_core::text::short;
use serde::Serialize;
use std::collections::BTreeMap;

/// `reseat find --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Matches {
    /// Version of this JSON.
    pub schema: u32,
    /// Best first: what is bound to a pane before what only lies on disk, the newest first.
    pub matches: Vec<Match>,
}

/// One conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The agent.
    pub agent: AgentKind,
    /// Its id.
    pub session: SessionId,
    /// The command that continues it; empty when it cannot be continued.
    pub argv: Vec<String>,
    /// Variables that the command needs.
    pub env: BTreeMap<String, String>,
    /// The directory to start it in.
    pub cwd: Option<String>,
    /// Its title or last prompt.
    pub title: Option<String>,
    /// RFC 3339 UTC of its last line.
    pub last_active: String,
    /// live, lost, ended or on-disk.
    pub state: &'static str,
    /// The surface that holds or held it.
    pub surface: Option<SurfaceView>,
    /// Worth knowing.
    pub notes: Vec<String>,
    #[serde(skip)]
    order: (u8, i64),
}

/// What is searched for.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Words that must all occur in id, title, prompt, directory or place; or a pane as `SESSION:W.P` or `%N`.
    pub words: Vec<String>,
    /// Only this agent.
    pub agent: Option<AgentKind>,
    /// Only this directory and all below it.
    pub directory: Option<String>,
    /// At most this many.
    pub limit: usize,
}

/// Finds conversations. Bound ones are looked at first; transcripts are read newest first until enough match.
pub fn find(context: &Context, situation: &Situation, query: &Query) -> Matches {
    let disk = situation.disk(context, false);
    let mut out: Vec<Match> = Vec::new();
    let mut bound: BTreeMap<SessionKey, (&Binding, &'static str)> = BTreeMap::new();
    for binding in &situation.folded.bindings {
        let state = match judge(binding, &situation.folded, situation.view()) {
            Ending::Live => "live",
            Ending::Lost(_) => "lost",
            _ => "ended",
        };
        let ids = binding
            .sessions()
            .into_iter()
            .chain(binding.argv_session.clone())
            .chain(binding.disputed.iter().map(|reading| reading.session.clone()));
        for id in ids {
            bound.insert(
                SessionKey { agent: binding.agent, home: binding.home.clone(), id },
                (binding, state),
            );
        }
    }
    let mut files: Vec<Found> = Vec::new();
    for (kind, home) in homes(&context.config, &context.home, &situation.folded.bindings) {
        if query.agent.is_none_or(|agent| agent == kind) {
            files.extend(agent(kind).list(&home));
        }
    }
    files.sort_by_key(|found| std::cmp::Reverse((bound.contains_key(&found.key), found.modified_ms)));
    files.dedup_by(|one, other| one.key == other.key);
    let exact = query.words.first().and_then(|word| SessionId::parse(word).ok());
    for found in files {
        if exact.as_ref().is_some_and(|id| *id != found.key.id) {
            continue;
        }
        let holder = bound.get(&found.key).copied();
        if out.len() >= query.limit && holder.is_none() {
            break;
        }
        let transcript = agent(found.key.agent).read(&found);
        if transcript.kind != reseat_agents::Kind::Interactive && exact.is_none() {
            continue;
        }
        let surface = holder.map(|(binding, _)| reseat_core::plan::surface_of(binding));
        if !matches(query, &transcript, surface.as_ref(), holder.and_then(|(binding, _)| binding.pane)) {
            continue;
        }
        let known = disk.transcript(&found.key);
        let command = match holder {
            Some((binding, _)) => disk.command(binding, &found.key, &known),
            None => disk.plain_command(&found.key),
        };
        out.push(row(&transcript, command, holder.map_or("on-disk", |(_, state)| state), surface));
    }
    out.sort_by_key(|found| std::cmp::Reverse(found.order));
    out.truncate(query.limit);
    Matches { schema: reseat_core::plan::SCHEMA, matches: out }
}

fn matches(
    query: &Query,
    transcript: &Transcript,
    surface: Option<&SurfaceView>,
    pane: Option<reseat_core::mux::PaneId>,
) -> bool {
    let within = query.directory.as_deref().is_none_or(|above| {
        [&transcript.project, &transcript.current]
            .into_iter()
            .flatten()
            .any(|cwd| reseat_core::select::is_below(cwd, above))
    });
    let place = surface.and_then(|surface| {
        Some(format!("{}:{}.{}", surface.session.as_deref()?, surface.window?, surface.pane?))
    });
    let text = [
        Some(transcript.key.id.as_str()),
        transcript.title.as_deref(),
        transcript.last_prompt.as_deref(),
        transcript.project.as_deref(),
        transcript.current.as_deref(),
        surface.map(|surface| surface.id.as_str()),
        surface.and_then(|surface| surface.window_name.as_deref()),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join("\n")
    .to_lowercase();
    within
        && query.words.iter().all(|word| {
            place.as_deref() == Some(word.as_str())
                || pane.is_some_and(|pane| pane.to_string() == *word)
                || text.contains(&word.to_lowercase())
        })
}

fn row(
    transcript: &Transcript,
    command: Command,
    state: &'static str,
    surface: Option<SurfaceView>,
) -> Match {
    let usable = transcript.conversation == reseat_agents::Conversation::Yes;
    let mut notes = transcript.notes.clone();
    if !usable {
        notes.push("it holds no conversation, so no agent can continue it".into());
    }
    if transcript.archived {
        notes.push("archived".into());
    }
    if let Some(program) = &command.missing_program {
        notes.push(format!("{program} was not found"));
    }
    notes.extend(command.notes);
    let rank = match state {
        "live" | "lost" => 2,
        "ended" => 1,
        _ => 0,
    };
    let cwd = match transcript.key.agent {
        AgentKind::Claude => transcript.project.clone().or_else(|| transcript.current.clone()),
        AgentKind::Codex => transcript.current.clone().or_else(|| transcript.project.clone()),
    };
    Match {
        agent: transcript.key.agent,
        session: transcript.key.id.clone(),
        argv: if usable { command.argv } else { Vec::new() },
        env: command.env,
        cwd,
        title: transcript.title.as_deref().or(transcript.last_prompt.as_deref()).map(|text| short(text, 80)),
        last_active: rfc3339(transcript.last_activity_ms),
        state,
        surface,
        notes,
        order: (rank, transcript.last_activity_ms),
    }
}
