//! What a stream is permitted to see of a snapshot: with routes as before until their clusters are ready, and with the
//! clusters that something still leads to.

mod clusters;
mod holdings;
mod holds;
mod predecessor;
mod tables;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use portolan_core::well_known::{LISTENER, ROUTE};
use portolan_core::{Name, References, ResourceSet, ResponseSplit, Snapshot, TypeUrl, View};

pub(super) use self::predecessor::{arrive, awaits_clusters};
use super::Session;
use crate::transition::{Plan, SafeTimes};
use crate::type_state::TypeState;
use crate::{Nonce, Scope, SessionConfig};

/// What is permitted of `target`. Requests and publications are answered from it alike.
pub(super) fn permit(
    session: &mut Session,
    target: &Snapshot,
    view: &dyn View,
    now: Duration,
) -> Snapshot {
    predecessor::recall(session, target, view, now);
    if session.plan.rest == Some(target.id()) || session.config.transitions().safe().is_none() {
        return target.clone();
    }
    let Some((gate_at, from, to)) = gate(session, target) else {
        if session.plan.watching {
            end(session);
        }
        return predecessor::before_clusters(session, target);
    };
    if moves_nothing(session, gate_at, &from, &to, target) {
        follow(session, target);
        return target.clone();
    }
    let config = Arc::clone(&session.config);
    if !session.plan.watching {
        session.plan.watching = true;
        watch_parents(session, &config);
    }
    let (Some((gate, from, to)), Some(times)) =
        (gate(session, target), config.transitions().safe())
    else {
        return target.clone();
    };
    let mut step = Step {
        config: &config,
        times,
        now,
        target,
        gate_url: session.types[gate].url().clone(),
        gate,
        from,
        to,
        sets: Vec::new(),
        named: BTreeSet::new(),
        moves: session.plan.is_arriving(now),
        pinned: false,
        unread: false,
    };
    for at in 0..session.types.len() {
        if is_parent(session, gate, at) {
            step.parent(session, at);
        }
    }
    step.forget_drained(session);
    step.clusters(session);
    step.finish(session)
}

/// A turn has told all that is permitted, or all but what waits for clusters.
pub(super) fn end_turn(session: &mut Session, told: bool, now: Duration) {
    let config = Arc::clone(&session.config);
    let told = told && !session.plan.is_arriving(now);
    let Some(times) = config.transitions().safe().filter(|_| told) else {
        return;
    };
    if session.plan.removals.is_empty() {
        return;
    }
    let Some(gate) = session.types.iter().position(is_gate) else {
        return;
    };
    let mut parents = (0..session.types.len()).filter(|at| is_parent(session, gate, *at));
    // What was rejected during the turn is awaited no longer, and was not accepted.
    if parents.any(|at| is_pinned(&session.types[at])) {
        return;
    }
    let (sent, mut removals) = (
        Nonce::new(session.sent),
        core::mem::take(&mut session.plan.removals),
    );
    removals.told(sent, now, |sent| awaits(session, gate, sent));
    session.plan.removals = removals;
    note_deadline(session, times);
}

/// Whether the client is still to be told something of the publication that it is not permitted to see yet.
pub(super) fn is_pending(session: &Session) -> bool {
    let is_pending = |state: &TypeState| {
        let plan = &state.plan;
        plan.is_holding() || !plan.lingering.is_empty() || !plan.used.is_empty()
    };
    !session.plan.removals.is_empty() || session.types.iter().any(is_pending)
}

fn is_gate(state: &TypeState) -> bool {
    state.resource_type.reanswers().is_some()
}

/// The type that others wait for, as it was shown and as it is to be; `None` where the stream has none or nothing is
/// known of what the client has.
fn gate(session: &Session, target: &Snapshot) -> Option<(usize, ResourceSet, ResourceSet)> {
    if !matches!(session.scope, Scope::Aggregated) || has_alternatives(session, target) {
        return None;
    }
    let at = session.types.iter().position(is_gate)?;
    let state = session
        .types
        .get(at)
        .filter(|state| state.subscription.is_wildcard())?;
    Some((at, former(state)?.clone(), target.set(state.url())?.clone()))
}

/// Whether anything has constraints, or had: a name does not say then which resource something leads to, and what goes must
/// go in the response in which its replacement comes (C-322).
fn has_alternatives(session: &Session, target: &Snapshot) -> bool {
    let had = |state: &TypeState| former(state).is_some_and(ResourceSet::has_alternatives);
    target.sets().any(|(_, set)| set.has_alternatives()) || session.types.iter().any(had)
}

/// Follows all types that may refer to clusters, asked for or not: what newly leads to a cluster does so too for a client
/// that asks for it later.
fn watch_parents(session: &mut Session, config: &SessionConfig) {
    let Some(rank) = session
        .types
        .iter()
        .find(|state| is_gate(state))
        .map(|state| state.place().0)
    else {
        return;
    };
    for resource_type in config.types().iter() {
        if resource_type.rank() > rank && !resource_type.independent() {
            // At the limit of types a stream follows those that it has.
            let _ = session.type_index(resource_type.clone());
        }
    }
}

/// Whether nothing is under way and the target moves nothing: what may refer to clusters is the same, and neither clusters
/// nor endpoints are gone. So it is with most publications.
fn moves_nothing(
    session: &Session,
    gate: usize,
    from: &ResourceSet,
    to: &ResourceSet,
    target: &Snapshot,
) -> bool {
    let only_adds = |from: &ResourceSet, to: &ResourceSet| {
        from.id() == to.id() || to.diff_from(from).removals().is_empty()
    };
    let child = session.types[gate].resource_type.reanswers();
    let stays = |(at, state): (usize, &TypeState)| {
        let is_child = Some(state.url()) == child;
        if !is_child && !is_parent(session, gate, at) {
            return true;
        }
        match (state.plan.shown.as_ref(), target.set(state.url())) {
            (Some(from), Some(to)) if is_child => only_adds(from, to),
            (Some(from), Some(to)) => from.id() == to.id(),
            _ => is_child && !state.begun,
        }
    };
    session.plan.watching
        && session.plan.rest.is_some()
        && only_adds(from, to)
        && session.types.iter().enumerate().all(stays)
}

/// The stream sees all of the target.
fn follow(session: &mut Session, target: &Snapshot) {
    session.plan.rest = Some(target.id());
    for state in &mut session.types {
        if let (Some(shown), Some(set)) =
            (&mut state.plan.shown, target.set(state.resource_type.url()))
        {
            *shown = set.clone();
        }
    }
}

/// What the client was shown of a type before.
fn former(state: &TypeState) -> Option<&ResourceSet> {
    let shown = state.plan.shown.as_ref();
    shown.or_else(|| state.known.base())
}

/// What was shown, with what is gone again before it was sent as the client has it: that is what goes on at the client.
fn as_sent(state: &TypeState, shown: ResourceSet, to: &ResourceSet) -> ResourceSet {
    let Some(sent) = state.known.base() else {
        return shown;
    };
    let is_held = |set: &ResourceSet, name: &Name| {
        let resource = set.get(name);
        resource.is_some_and(|resource| state.known.holds(resource, &state.subscription))
    };
    let gone = to.diff_from(&shown);
    let unsent = gone.removals().iter().filter(|name| !is_held(&shown, name));
    let unsent: Vec<_> = unsent.filter(|name| is_held(sent, name)).cloned().collect();
    shown.keeping(sent, &unsent)
}

/// Whether resources of the type may refer to clusters.
fn is_parent(session: &Session, gate: usize, at: usize) -> bool {
    let resource_type = &session.types[at].resource_type;
    at > gate && !resource_type.independent() && !is_gate(&session.types[at])
}

/// Whether the client goes on with something because it rejected what would have replaced it.
fn is_pinned(state: &TypeState) -> bool {
    let mut pinned = state.plan.pins.names().into_iter();
    pinned.any(|name| state.subscription.covers_name(&name))
}

fn awaits(session: &Session, gate: usize, sent: Nonce) -> bool {
    let parents = (0..session.types.len()).filter(|at| is_parent(session, gate, *at));
    let mut states = parents.map(|at| &session.types[at]);
    states.any(|state| state.window.awaits_through(sent))
}

/// The stream has nothing more to do with plans.
fn end(session: &mut Session) {
    session.plan = Plan {
        clusters_first: session.plan.clusters_first,
        ..Plan::default()
    };
    session
        .types
        .iter_mut()
        .for_each(|state| state.plan.clear());
}

fn note_deadline(session: &mut Session, times: &SafeTimes) {
    let cap = times.drain().saturating_add(times.grace());
    let of_type = |state: &TypeState| {
        let held = state.plan.held.values().filter(|hold| !hold.rejected);
        let held = held.filter_map(|hold| hold.since);
        let held = held.min().map(|since| since.saturating_add(times.hold()));
        let lingering = state.plan.lingering.values().min();
        [held, lingering.map(|since| since.saturating_add(cap))]
    };
    let types = session.types.iter().flat_map(of_type).flatten();
    let removals = session.plan.removals.deadline(times);
    session.plan.deadline = types.chain(removals).chain(session.plan.arriving).min();
}

/// One look at what a stream is to see next.
struct Step<'a> {
    config: &'a SessionConfig,
    times: &'a SafeTimes,
    now: Duration,
    target: &'a Snapshot,
    gate: usize,
    gate_url: TypeUrl,
    /// Clusters as they were shown, and as they are to be.
    from: ResourceSet,
    to: ResourceSet,
    /// What is shown in the place of what there is.
    sets: Vec<(TypeUrl, ResourceSet)>,
    named: BTreeSet<Name>,
    moves: bool,
    pinned: bool,
    /// Something is shown as before of which it is not known where it leads.
    unread: bool,
}

impl<'a> Step<'a> {
    fn references(&self) -> &'a dyn References {
        self.config.references()
    }

    /// Decides over the resources of a type that may refer to clusters.
    fn parent(&mut self, session: &mut Session, at: usize) {
        let state = &session.types[at];
        let Some(to) = self.target.set(state.url()).cloned() else {
            return;
        };
        // Of a client that has just come nothing is known, and nothing is new to it.
        let from = former(state).unwrap_or(&to).clone();
        let from = as_sent(state, from, &to);
        let is_wanted = |name: &Name| state.subscription.covers_name(name);
        self.pinned |= is_pinned(state);
        let told = !state.begun || state.known.is_at(&from);
        self.moves |= !told || !state.window.is_settled();
        self.moves |= to.diff_from(&from).names().any(is_wanted);
        self.hold(session, at, &from, &to);
        if *session.types[at].url() == ROUTE {
            self.linger(session, at, &from, &to);
        }
        let before = with_their_places(&session.types[at], &from, &to);
        let mut drains = core::mem::take(&mut session.plan.drains);
        let mut unread_drain = session.plan.unread_drain;
        let state = &session.types[at];
        self.note_named(state, &from, &to, &before, &mut drains, &mut unread_drain);
        session.plan.drains = drains;
        session.plan.unread_drain = unread_drain;
        self.show(session, at, to.keeping(&from, &before));
    }

    /// Notes the clusters to which something leads that is shown as before, or that drains.
    fn note_named(
        &mut self,
        state: &TypeState,
        from: &ResourceSet,
        to: &ResourceSet,
        before: &[Name],
        drains: &mut BTreeMap<Name, Duration>,
        unread_drain: &mut Option<Duration>,
    ) {
        let (references, gate) = (self.references(), self.gate_url.clone());
        let named = |name: &Name| {
            let former = from.get(name).map(|resource| resource.facts(references));
            let names = former
                .into_iter()
                .flat_map(|facts| facts.references_to(&gate));
            names.cloned().collect::<Vec<_>>()
        };
        self.named.extend(before.iter().flat_map(named));
        self.unread |= before.iter().any(|name| from.is_pending(name));
        if *state.url() == LISTENER {
            let diff = to.diff_from(from);
            let changed = diff
                .names()
                .filter(|name| before.binary_search(name).is_err());
            for listener in changed {
                let drained = named(listener).into_iter();
                drains.extend(drained.map(|name| (name, self.now)));
                if from.is_pending(listener) {
                    *unread_drain = Some(self.now);
                }
            }
        }
    }

    /// Whether a client acknowledged that a listener was replaced is not noted for each; it had time for that too.
    fn forget_drained(&self, session: &mut Session) {
        let time = self
            .times
            .drain()
            .saturating_add(self.times.removal_budget());
        let drains = &mut session.plan.drains;
        drains.retain(|_, since| since.saturating_add(time) > self.now);
        let unread_drain = &mut session.plan.unread_drain;
        *unread_drain = unread_drain.filter(|since| since.saturating_add(time) > self.now);
    }

    fn show(&mut self, session: &mut Session, at: usize, set: ResourceSet) {
        let state = &mut session.types[at];
        if self
            .target
            .set(state.url())
            .is_some_and(|there| there.id() != set.id())
        {
            self.sets.push((state.url().clone(), set.clone()));
        }
        state.plan.shown = Some(set);
    }

    fn finish(self, session: &mut Session) -> Snapshot {
        let rests = session.types.iter().all(|state| state.plan.is_at_rest());
        let rests = rests && session.plan.removals.is_empty();
        session.plan.rest = rests.then(|| self.target.id());
        if rests {
            session.plan.proofs.clear();
        }
        note_deadline(session, self.times);
        match self.sets.is_empty() {
            true => self.target.clone(),
            false => self.target.with_sets(self.sets),
        }
    }
}

/// What is shown as before, sorted. Resources that take each other's places, as listeners take ports, change at once: while
/// a new one is held, so are those that came and went with it.
fn with_their_places(state: &TypeState, from: &ResourceSet, to: &ResourceSet) -> Vec<Name> {
    let mut before = state.plan.as_before();
    let is_new = |name: &Name| from.held(name).is_none();
    let places = state.resource_type.split() != ResponseSplit::RemovalsLast;
    if places && state.plan.held.keys().any(is_new) {
        let diff = to.diff_from(from);
        if !diff.removals().is_empty() {
            let came = diff.upserts().iter().map(|resource| resource.name());
            before.extend(came.filter(|name| is_new(name)).cloned());
            before.extend(diff.removals().iter().cloned());
            before.sort_unstable();
            before.dedup();
        }
    }
    before
}
