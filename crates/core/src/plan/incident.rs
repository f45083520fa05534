//! Groups losses by what caused them, and says which of them are meant by default.

use super::{Incident, Policy};
use crate::ending::{Ending, LiveView, Loss};
use crate::fact::{Order, Stamp};
use crate::fold::{Binding, Folded};
use crate::ids::{EntryId, digest};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the incidents, newest first.
pub(super) fn find(folded: &Folded, endings: &[Ending], view: &LiveView) -> Vec<Incident> {
    let mut groups: BTreeMap<(Loss, String), Vec<&Binding>> = BTreeMap::new();
    for (binding, ending) in folded.bindings.iter().zip(endings) {
        let loss = match ending {
            Ending::Lost(loss) => *loss,
            // Ended without a known cause on a life that is over belongs to that life's end.
            Ending::EndedUnknown(_) => over(binding, view).unwrap_or(Loss::Killed),
            _ => continue,
        };
        groups.entry((loss, group_key(loss, binding))).or_default().push(binding);
    }
    let mut out: Vec<(Order, Incident)> = groups
        .into_iter()
        .map(|((loss, key), bindings)| {
            let newest = newest(&bindings, folded);
            let count = bindings.len();
            let socket = match loss {
                Loss::ServerDied | Loss::Killed => bindings[0].life.as_ref().map(|life| life.socket.clone()),
                Loss::HostRebooted | Loss::ContainerRestarted => None,
            };
            let agents = if count == 1 { "1 agent".to_owned() } else { format!("{count} agents") };
            let leftover = bindings[0].life.as_ref().is_some_and(crate::mux::ServerLife::is_a_guess);
            let text = match loss {
                _ if leftover => format!("{agents} left traces; nothing was watching when they ended"),
                Loss::Killed => format!("{agents} ended while the tmux server lived on"),
                Loss::ServerDied => {
                    format!(
                        "tmux server {} died, {agents}",
                        crate::text::plain(socket.as_deref().unwrap_or("?"))
                    )
                }
                Loss::HostRebooted => format!("the host was restarted, {agents}"),
                Loss::ContainerRestarted => format!("the container was restarted, {agents}"),
            };
            let incident = Incident {
                id: digest("i-", 12, &[Ending::Lost(loss).code(), &key]),
                code: if leftover { "left-behind" } else { Ending::Lost(loss).code() }.to_owned(),
                text,
                socket,
                last_seen_ms: newest.wall_ms,
                entries: bindings.iter().map(|binding| binding.entry()).collect(),
            };
            (newest.order(), incident)
        })
        .collect();
    out.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
    out.into_iter().map(|(_, incident)| incident).collect()
}

/// Returns the entries in scope: incidents that no restore or dismissal came after, and the rest of the one that
/// the last such decision concerned; with `--older`, all.
pub(super) fn scope(incidents: &[Incident], folded: &Folded, policy: &Policy) -> BTreeMap<EntryId, String> {
    let orders: BTreeMap<EntryId, Order> =
        folded.bindings.iter().map(|binding| (binding.entry(), newest(&[binding], folded).order())).collect();
    let mut out = BTreeMap::new();
    for incident in incidents {
        let newest = incident.entries.iter().filter_map(|entry| orders.get(entry)).max();
        let settled_after =
            folded.last_settled.as_ref().is_some_and(|at| newest.is_none_or(|newest| newest < at));
        let concerned = incident.entries.iter().any(|entry| folded.last_settled_entries.contains(entry));
        if policy.selection.older || !policy.selection.is_default() || !settled_after || concerned {
            for entry in &incident.entries {
                out.insert(entry.clone(), incident.id.clone());
            }
        }
    }
    out
}

fn over(binding: &Binding, view: &LiveView) -> Option<Loss> {
    match crate::ending::life_now(binding.life.as_ref()?, view) {
        crate::ending::LifeNow::Over(loss) => Some(loss),
        _ => None,
    }
}

fn group_key(loss: Loss, binding: &Binding) -> String {
    let boot = &binding.process.boot;
    match loss {
        Loss::HostRebooted | Loss::ContainerRestarted => {
            format!("{}/{}/{}/{}", boot.host, boot.id, boot.pidns, boot.init_start)
        }
        Loss::ServerDied => {
            let life = binding.life.as_ref();
            life.map(|life| format!("{}/{}/{}/{}", life.socket, boot.id, life.server.pid, life.server.start))
                .unwrap_or_default()
        }
        Loss::Killed => binding.entry().0,
    }
}

/// The newest sign of life of some bindings or of the server they ran in.
fn newest<'a>(bindings: &[&'a Binding], folded: &'a Folded) -> &'a Stamp {
    let mut lives = BTreeSet::new();
    let mut best = &bindings[0].last_seen;
    for binding in bindings {
        let look = binding
            .life
            .as_ref()
            .filter(|life| lives.insert(*life))
            .and_then(|life| folded.lives.get(life))
            .and_then(|life| life.last_look.as_ref());
        let gone = binding.gone.as_ref().map(|(at, _)| at);
        for stamp in [Some(&binding.last_seen), look, gone].into_iter().flatten() {
            if stamp.order() > best.order() {
                best = stamp;
            }
        }
    }
    best
}
