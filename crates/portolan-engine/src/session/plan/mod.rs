//! What a stream is permitted to see of a snapshot: with routes as before until their clusters are ready, and with the
//! clusters that something still leads to.

mod clusters;
mod empty;
mod holdings;
mod holds;
mod predecessor;
mod tables;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use portolan_core::well_known::{LISTENER, ROUTE};
use portolan_core::{
    Name, References, ResourceSet, ResourceType, ResponseSplit, Snapshot, TypeUrl, View,
};

pub(super) use self::empty::tell_assigned;
use self::holds::tell_permitted;
pub(super) use self::predecessor::{arrive, awaits_clusters};
use self::tables::tell_released;
use super::Session;
use crate::transition::{Hold, SafeTimes};
use crate::type_state::TypeState;
use crate::{Nonce, Release, Scope, SessionConfig};

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
    let gate = gate(session);
    if gate.is_some_and(|gate| moves_nothing(session, gate, target)) {
        session.plan.rest_on(target);
        return target.clone();
    }
    let config = Arc::clone(&session.config);
    let gate = gate.filter(|_| !has_alternatives(session, target));
    let ends = gate.and_then(|gate| Some((gate, ends(session, gate, target)?)));
    let (Some((gate, (from, to))), Some(times)) = (ends, config.transitions().safe()) else {
        if session.plan.shown.is_some() {
            end(session, now);
        }
        return predecessor::before_clusters(session, target);
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
    step.unasked(session);
    step.forget_drained(session);
    step.clusters(session);
    step.finish(session)
}

/// A turn has told all that is permitted, or all but what waits for clusters.
pub(super) fn end_turn(session: &mut Session, told: bool, now: Duration) {
    if !told || session.plan.removals.is_empty() || session.plan.is_arriving(now) {
        return;
    }
    let config = Arc::clone(&session.config);
    let gate = session.types.iter().position(is_gate);
    let (Some(times), Some(gate)) = (config.transitions().safe(), gate) else {
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

/// The type that others wait for; `None` where the stream has none, or not all of it.
fn gate(session: &Session) -> Option<usize> {
    if !matches!(session.scope, Scope::Aggregated) {
        return None;
    }
    let at = session.types.iter().position(is_gate)?;
    session.types[at].subscription.is_wildcard().then_some(at)
}

/// Whether anything has constraints, or had: a name does not say then which resource something leads to, and what goes must
/// go in the response in which its replacement comes (C-322).
fn has_alternatives(session: &Session, target: &Snapshot) -> bool {
    let had = |state: &TypeState| former(session, state).is_some_and(ResourceSet::has_alternatives);
    target.sets().any(|(_, set)| set.has_alternatives()) || session.types.iter().any(had)
}

/// Resources of a type as they were shown and as they are to be, where both are known.
fn ends(session: &Session, at: usize, target: &Snapshot) -> Option<(ResourceSet, ResourceSet)> {
    let state = &session.types[at];
    Some((
        former(session, state)?.clone(),
        target.set(state.url())?.clone(),
    ))
}

/// Whether nothing is under way and the target moves nothing: what may refer to clusters is the same, and neither clusters
/// nor endpoints are gone. So it is with most publications.
fn moves_nothing(session: &Session, gate: usize, target: &Snapshot) -> bool {
    let Some(shown) = session
        .plan
        .shown
        .as_ref()
        .filter(|_| session.plan.rest.is_some())
    else {
        return false;
    };
    let gate = &session.types[gate].resource_type;
    target.all_changed_sets(shown, |url, from, to| {
        match url == gate.url() || Some(url) == gate.reanswers() {
            true => to.keeps_all_of(from),
            false => !leads(&session.config.types().get(url), gate),
        }
    })
}

/// What the client was shown of a type before.
fn former<'a>(session: &'a Session, state: &'a TypeState) -> Option<&'a ResourceSet> {
    let shown = session.plan.shown.as_ref();
    let shown = shown.and_then(|shown| shown.set(state.url()));
    shown.or_else(|| state.known.base())
}

/// What was shown, with what is gone again before it was sent as the client has it, if it has it: that is what goes on at
/// the client.
fn as_sent(state: &TypeState, shown: ResourceSet, to: &ResourceSet) -> ResourceSet {
    let Some(sent) = state.known.base() else {
        return shown;
    };
    let is_held = |set: &ResourceSet, name: &Name| {
        let resource = set.get(name);
        resource.is_some_and(|resource| state.known.holds(resource, &state.subscription))
    };
    let is_had = |name: &Name| state.known.holds_name(name, &state.subscription);
    let gone = to.diff_from(&shown);
    let unsent = gone.removals().iter().filter(|name| !is_held(&shown, name));
    let (former, others): (Vec<_>, Vec<_>) = unsent.cloned().partition(|name| is_held(sent, name));
    let is_new = |name: &Name| shown.contains(name) && !is_had(name);
    let new: Vec<_> = others.into_iter().filter(is_new).collect();
    shown.keeping(sent, &former).keeping(to, &new)
}

/// Whether resources of the type may refer to clusters.
fn is_parent(session: &Session, gate: usize, at: usize) -> bool {
    leads(
        &session.types[at].resource_type,
        &session.types[gate].resource_type,
    )
}

/// The same of a type, asked for or not.
fn leads(resource_type: &ResourceType, gate: &ResourceType) -> bool {
    let is_later = resource_type.rank() > gate.rank();
    is_later && !resource_type.independent() && resource_type.reanswers().is_none()
}

/// Whether the client goes on with something because it rejected what would have replaced it.
fn is_pinned(state: &TypeState) -> bool {
    let sent = state.known.base();
    let is_wanted = |name: &Name| match sent {
        Some(sent) => is_wanted(state, sent, name),
        None => state.subscription.covers_name(name),
    };
    state.plan.pins.names().iter().any(is_wanted)
}

/// Whether the client asks for something, by its name or by an alias that it has in this set.
fn is_wanted(state: &TypeState, set: &ResourceSet, name: &Name) -> bool {
    let is_covered = |resource| state.subscription.covers(resource);
    state.subscription.covers_name(name) || set.get(name).is_some_and(is_covered)
}

fn awaits(session: &Session, gate: usize, sent: Nonce) -> bool {
    let parents = (0..session.types.len()).filter(|at| is_parent(session, gate, *at));
    let mut states = parents.map(|at| &session.types[at]);
    states.any(|state| state.window.awaits_through(sent))
}

/// The stream has nothing more to do with plans.
fn end(session: &mut Session, now: Duration) {
    let plan = core::mem::take(&mut session.plan);
    session.plan.clusters_first = plan.clusters_first;
    if let Some(gate) = session.types.iter().position(is_gate) {
        tell_released(session, gate, plan.removals.names(), Release::Unfollowed);
    }
    for at in 0..session.types.len() {
        let (held, lingering) = session.types[at].plan.clear();
        for (name, hold) in held {
            if let Some(since) = hold.since {
                let waited = now.saturating_sub(since);
                tell_permitted(session, at, name, waited, true);
            }
        }
        let names = lingering.into_keys().collect();
        tell_released(session, at, names, Release::Unfollowed);
    }
}

fn note_deadline(session: &mut Session, times: &SafeTimes) {
    let of_type = |state: &TypeState| {
        let held = state.plan.held.values().filter(|hold| !hold.rejected);
        let held = held.filter_map(|hold| hold.since);
        let held = held.min().map(|since| since.saturating_add(times.hold()));
        let lingering = state.plan.lingering.values().min();
        [
            held,
            lingering.map(|since| since.saturating_add(times.linger())),
        ]
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
        let from = former(session, state).unwrap_or(&to).clone();
        let from = as_sent(state, from, &to);
        if is_pinned(state) {
            self.pinned = true;
            self.unpin(&mut session.types[at], &to);
        }
        let state = &session.types[at];
        self.moves |= (state.begun && !state.known.is_at(&from)) || !state.window.is_settled();
        let diff = to.diff_from(&from);
        let mut changed = diff.names();
        self.moves |=
            changed.any(|name| is_wanted(state, &from, name) || is_wanted(state, &to, name));
        self.hold(session, at, &from, &to);
        if *session.types[at].url() == ROUTE {
            self.linger(session, at, &from, &to);
        }
        let state = &session.types[at];
        let (url, before) = (state.url().clone(), state.plan.as_before());
        let before = with_their_places(&state.resource_type, &state.plan.held, before, &from, &to);
        self.note_named(&from, &before);
        self.tell_led(session, at, (&from, &to), &before);
        if url == LISTENER {
            self.note_drains(session, &from, &to, &before);
        }
        self.show(url, to.keeping(&from, &before));
    }

    /// What was rejected together with something that is gone or replaced since is sent again where clusters stay for it.
    /// Nothing else would end that, and it may have been good. Where none stay, a stale rejection has no sequel (C-111).
    fn unpin(&self, state: &mut TypeState, to: &ResourceSet) {
        if self.to.keeps_all_of(&self.from) {
            return;
        }
        let is_there = |name: &Name| to.held(name).is_some() && is_wanted(state, to, name);
        for name in state.plan.pins.left_behind(is_there) {
            state.reanswer(&name);
        }
    }

    /// Decides over resources of types that the client did not ask for yet. What newly leads to a cluster does so too for a
    /// client that asks for it later.
    fn unasked(&mut self, session: &mut Session) {
        session.plan.unasked.clear();
        let Some(shown) = session.plan.shown.clone() else {
            return;
        };
        let gate = session.types[self.gate].resource_type.clone();
        let mut changed = Vec::new();
        self.target.all_changed_sets(&shown, |url, from, to| {
            let resource_type = self.config.types().get(url);
            let is_asked = session.types.iter().any(|state| state.url() == url);
            if !is_asked && leads(&resource_type, &gate) {
                changed.push((resource_type, from, to));
            }
            true
        });
        for (resource_type, from, to) in changed {
            let waiting = self.waiting(session, from, to).into_keys();
            let held: BTreeMap<_, _> = waiting.map(|name| (name, Hold::unasked())).collect();
            if held.is_empty() {
                continue;
            }
            let before = held.keys().cloned().collect();
            let before = with_their_places(&resource_type, &held, before, from, to);
            self.note_named(from, &before);
            let url = resource_type.url();
            self.show(url.clone(), to.keeping(from, &before));
            session.plan.unasked.insert(url.clone(), held);
        }
    }

    /// Notes the clusters to which something leads that is shown as before.
    fn note_named(&mut self, from: &ResourceSet, before: &[Name]) {
        let named = before.iter().flat_map(|name| self.clusters_of(from, name));
        let named: Vec<_> = named.collect();
        self.named.extend(named);
        self.unread |= before.iter().any(|name| from.is_pending(name));
    }

    /// Notes the clusters to which a listener leads by itself that drains.
    fn note_drains(
        &self,
        session: &mut Session,
        from: &ResourceSet,
        to: &ResourceSet,
        before: &[Name],
    ) {
        let diff = to.diff_from(from);
        let changed = diff
            .names()
            .filter(|name| before.binary_search(name).is_err());
        for listener in changed {
            let drained = self.clusters_of(from, listener).into_iter();
            session
                .plan
                .drains
                .extend(drained.map(|name| (name, self.now)));
            if from.is_pending(listener) {
                session.plan.unread_drain = Some(self.now);
            }
        }
    }

    /// The clusters to which a resource leads, and those to which these lead in turn, as aggregates do.
    fn clusters_of(&self, set: &ResourceSet, name: &Name) -> BTreeSet<Name> {
        let mut clusters = BTreeSet::new();
        let mut next: Vec<_> = set.get(name).into_iter().collect();
        while let Some(resource) = next.pop() {
            for name in resource
                .facts(self.references())
                .references_to(&self.gate_url)
            {
                if clusters.insert(name.clone()) {
                    next.extend(self.from.get(name));
                }
            }
        }
        clusters
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

    fn show(&mut self, url: TypeUrl, set: ResourceSet) {
        let there = self.target.set(&url);
        if there.is_some_and(|there| there.id() != set.id()) {
            self.sets.push((url, set));
        }
    }

    fn finish(self, session: &mut Session) -> Snapshot {
        let rests = session.types.iter().all(|state| state.plan.is_at_rest());
        let rests = rests && session.plan.removals.is_empty() && session.plan.unasked.is_empty();
        note_deadline(session, self.times);
        if rests {
            session.plan.proofs.clear();
            session.plan.rest_on(self.target);
            return self.target.clone();
        }
        let permitted = match self.sets.is_empty() {
            true => self.target.clone(),
            false => self.target.with_sets(self.sets),
        };
        session.plan.rest = None;
        session.plan.shown = Some(permitted.clone());
        permitted
    }
}

/// What is shown as before, sorted. Resources that take each other's places, as listeners take ports, change at once: while
/// a new one is held, so are those that came and went with it.
fn with_their_places(
    resource_type: &ResourceType,
    held: &BTreeMap<Name, Hold>,
    mut before: Vec<Name>,
    from: &ResourceSet,
    to: &ResourceSet,
) -> Vec<Name> {
    let is_new = |name: &Name| from.held(name).is_none();
    let places = resource_type.split() != ResponseSplit::RemovalsLast;
    if places && held.keys().any(is_new) {
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
