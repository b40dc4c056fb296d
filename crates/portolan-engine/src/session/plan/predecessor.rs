//! What a client that connects again has from before: where its way to the present publication begins.

use alloc::vec::Vec;
use core::time::Duration;

use portolan_core::{Name, ResourceSet, ResourceType, Snapshot, View};

use super::holdings::{Holdings, unspoken};
use super::{is_gate, is_parent, leads};
use crate::session::Session;
use crate::transition::{Brought, ClustersFirst};
use crate::{Scope, SessionConfig, Variant};

/// How long a client that connects again is given to ask for all that it has: no cluster is taken from it before.
const ARRIVAL: Duration = Duration::from_secs(1);

/// The first request of a type came, and said this of what the client has of it.
pub(in crate::session) fn arrive(session: &mut Session, at: usize, brought: Brought) {
    let takes_part = matches!(session.scope, Scope::Aggregated);
    if !takes_part || session.config.transitions().safe().is_none() {
        return;
    }
    let plan = &mut session.plan;
    plan.arrived = true;
    plan.rest = None;
    if is_gate(&session.types[at]) {
        plan.clusters_first = ClustersFirst::No;
    } else if brought != Brought::Nothing && is_early(session, at) {
        session.plan.clusters_first = ClustersFirst::Asked;
    }
    session.types[at].plan.brought = brought;
}

/// Whether endpoints, or everything of a type that leads to clusters, is asked for before these. A client that has
/// clusters does so as long as one of them warms.
fn is_early(session: &Session, at: usize) -> bool {
    let state = &session.types[at];
    let is_meant = gate_type(&session.config).is_some_and(|gate| {
        gate.reanswers() == Some(state.url())
            || (leads(&state.resource_type, gate) && state.subscription.is_wildcard())
    });
    let mut begun = session.types.iter().filter(|state| state.begun);
    is_meant && !begun.any(is_gate)
}

/// The type of clusters.
fn gate_type(config: &SessionConfig) -> Option<&ResourceType> {
    let mut types = config.types().iter();
    types.find(|resource_type| resource_type.reanswers().is_some())
}

/// Whether a type waits for clusters to be asked for, because the client has some and what leads to them is known with
/// them. It does not wait for longer than a route does for its cluster, nor where there are no clusters to send.
pub(in crate::session) fn awaits_clusters(
    session: &mut Session,
    at: usize,
    target: &Snapshot,
    now: Duration,
) -> bool {
    if session.plan.clusters_first == ClustersFirst::No {
        return false;
    }
    let config = session.config.clone();
    let (Some(times), Some(gate)) = (config.transitions().safe(), gate_type(&config)) else {
        return false;
    };
    if !leads(&session.types[at].resource_type, gate)
        || target.set(gate.url()).is_none_or(ResourceSet::is_empty)
    {
        return false;
    }
    if session.plan.clusters_first == ClustersFirst::Asked {
        let until = now.saturating_add(times.hold());
        session.plan.clusters_first = ClustersFirst::Until(until);
    }
    true
}

/// What is permitted until clusters are asked for: an assignment that is gone is not said to be, for the cluster that
/// refers to it may warm.
pub(super) fn before_clusters(session: &mut Session, target: &Snapshot) -> Snapshot {
    let is_silent = session.variant == Variant::Sotw;
    if is_silent || session.plan.clusters_first == ClustersFirst::No {
        return target.clone();
    }
    let Some(gate) = gate_type(&session.config) else {
        return target.clone();
    };
    let are_some = |clusters: &ResourceSet| !clusters.is_empty();
    let child = gate
        .reanswers()
        .filter(|_| target.set(gate.url()).is_some_and(are_some));
    let mut states = session.types.iter();
    let state = states.find(|state| state.begun && Some(state.resource_type.url()) == child);
    let Some((state, to)) = state.and_then(|state| target.set(state.url()).map(|to| (state, to)))
    else {
        return target.clone();
    };
    let shown = target.with_sets([(state.url().clone(), unspoken(state, to))]);
    session.plan.shown = Some(shown.clone());
    shown
}

/// Finds out what the client has of the types that it has begun to ask for, as far as that can be known.
pub(super) fn recall(session: &mut Session, target: &Snapshot, view: &dyn View, now: Duration) {
    if !core::mem::take(&mut session.plan.arrived) {
        return;
    }
    let begun = session.types.iter().position(is_gate);
    let Some(gate) = begun.filter(|at| session.types[*at].begun) else {
        return;
    };
    for at in 0..session.types.len() {
        let state = &mut session.types[at];
        let brought = core::mem::take(&mut state.plan.brought);
        // What was answered already it has from this stream.
        if brought == Brought::Settled || state.known.base().is_some() {
            continue;
        }
        // What else it has matters together with its clusters.
        let comes_back = brought != Brought::Nothing && state.subscription.is_wildcard();
        let matters = session.plan.resumed || (at == gate && comes_back);
        if !matters {
            continue;
        }
        let had = holdings(session, gate, at, &brought, target, view);
        session.plan.resumed |= had.is_some();
        if session.plan.resumed {
            take_up(session, (gate, at), had, target, now);
        }
    }
}

fn take_up(
    session: &mut Session,
    (gate, at): (usize, usize),
    had: Option<ResourceSet>,
    target: &Snapshot,
    now: Duration,
) {
    if at == gate || is_parent(session, gate, at) {
        session.plan.removals.restart(now);
        session.plan.arriving = Some(now.saturating_add(ARRIVAL));
    }
    if at == gate {
        session.plan.came_with.clone_from(&had);
    }
    match had {
        Some(had) => {
            let shown = session.plan.shown.take();
            let shown = shown.unwrap_or_else(|| answered(session, target));
            let url = session.types[at].url().clone();
            session.plan.shown = Some(shown.with_sets([(url, had)]));
        }
        // Whatever led to clusters may do so as long as it drains.
        None if is_parent(session, gate, at) => session.plan.unread_drain = Some(now),
        None => {}
    }
}

/// What there is, but of types that were answered what was sent.
fn answered(session: &Session, target: &Snapshot) -> Snapshot {
    let sent = session.types.iter().filter_map(|state| {
        let sent = state.known.base()?.clone();
        Some((state.url().clone(), sent))
    });
    target.with_sets(sent)
}

/// What the client has of a type, as far as it is known.
fn holdings(
    session: &Session,
    gate: usize,
    at: usize,
    brought: &Brought,
    target: &Snapshot,
    view: &dyn View,
) -> Option<ResourceSet> {
    let state = &session.types[at];
    let to = target.set(state.url())?;
    let by_name = is_parent(session, gate, at) && !state.subscription.is_wildcard();
    let new = match by_name {
        true => lead_to_new(session, gate, at, target),
        false => Vec::new(),
    };
    let holdings = Holdings {
        state,
        to,
        history: &view.history(state.url()),
        new: &new,
    };
    match brought {
        Brought::Settled => None,
        Brought::Nothing | Brought::Versions => Some(holdings.claimed()),
        Brought::Version(version) => match holdings.of_version(version) {
            Some(accepted) if by_name => Some(holdings.named_in(&accepted)),
            None if by_name => Some(holdings.unread()),
            accepted => accepted,
        },
    }
}

/// The names of a type that lead to clusters which the client did not come with: unless it has them they are new to it,
/// whenever it asks for them.
fn lead_to_new(session: &Session, gate: usize, at: usize, target: &Snapshot) -> Vec<Name> {
    let (references, url) = (session.config.references(), session.types[gate].url());
    let clusters = session.plan.came_with.as_ref().zip(target.set(url));
    let diff = clusters.map(|(from, to)| to.diff_from(from));
    let mut names = Vec::new();
    for cluster in diff.iter().flat_map(|diff| diff.upserts()) {
        let referrers = target.referrers(references, url, cluster.name());
        let of_type = referrers.filter(|referrer| referrer.type_url() == session.types[at].url());
        names.extend(of_type.map(|referrer| referrer.name().clone()));
    }
    names
}
