//! Answers the types one after the other, in rank order, from one publication.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use portolan_core::{
    Generation, MissingName, Name, Publication, Resource, ResourceSet, Selection, Snapshot,
    TypeUrl, Version, View,
};

use super::{Session, plan, refresh};
use crate::answer::{Answer, Circumstances, Outcome, compose};
use crate::everything;
use crate::type_state::TypeState;
use crate::window::{InFlight, Sent};
use crate::{Event, Nonce, Reason, Response, Scope, Unsettled, Variant};

/// Most bytes of a response besides its type URL and what it tells: version, nonce, and their keys.
const HEAD: usize = 256;

/// One round through the types of a stream.
#[derive(Debug)]
pub(super) struct Turn {
    publication: Publication,
    /// What of it the client is to see now.
    permitted: Snapshot,
    /// The type that was looked at last.
    after: Option<(u16, TypeUrl)>,
    /// A type has changes that wait for its previous response to be read. What may refer to them waits with them: a
    /// route must not overtake its cluster.
    waits: bool,
    /// Whether everything that the stream subscribes has been told.
    told_all: bool,
    /// What is left of an answer that was too large for one response.
    rest: Option<Rest>,
}

#[derive(Debug)]
struct Rest {
    type_url: TypeUrl,
    parts: VecDeque<Answer>,
    /// Names in it of what is gone and was wanted by an alias, of which the subscription does not know.
    gone_aliased: BTreeSet<Name>,
}

impl Rest {
    fn of(state: &TypeState, parts: VecDeque<Answer>) -> Self {
        let removed = parts.iter().flat_map(|part| &part.removed);
        let aliased = removed.filter(|name| !state.subscription.covers_name(name));
        Self {
            type_url: state.url().clone(),
            gone_aliased: aliased.cloned().collect(),
            parts,
        }
    }
}

pub(super) fn next(session: &mut Session, now: Duration, view: &dyn View) -> Option<Response> {
    loop {
        let mut turn = match session.turn.take() {
            Some(turn) => turn,
            None if !session.dirty => return None,
            None => {
                session.dirty = false;
                let publication = view.load()?;
                Turn {
                    permitted: plan::permit(session, publication.snapshot(), view, now),
                    publication,
                    after: None,
                    waits: false,
                    told_all: true,
                    rest: None,
                }
            }
        };
        if let Some(response) = next_part(session, &mut turn, now) {
            session.turn = Some(turn);
            return Some(response);
        }
        if session.plan.arrived {
            // Of what the client has asked for meanwhile it may have something that is to stay.
            turn.permitted = plan::permit(session, turn.publication.snapshot(), view, now);
        }
        while let Some(at) = turn.advance(session) {
            if let Some(response) = answer(session, at, &mut turn, now) {
                session.turn = Some(turn);
                return Some(response);
            }
        }
        if let Some(response) = refresh::next(session, &turn, now) {
            session.turn = Some(turn);
            return Some(response);
        }
        plan::end_turn(session, !turn.waits, now);
        tell_settled(session, &turn);
    }
}

/// Tells, at the end of a turn, that there is nothing left to say or to hear of its publication.
fn tell_settled(session: &mut Session, turn: &Turn) {
    let all = turn.told_all && !plan::is_pending(session);
    let settled = all && session.types.iter().all(|state| state.window.is_settled());
    if !settled || session.types.is_empty() {
        return;
    }
    let (generation, snapshot) = (turn.generation(), turn.snapshot());
    let is_rejected = |state: &TypeState| {
        snapshot
            .set(state.url())
            .is_some_and(|set| state.is_rejected(set))
    };
    let mut suspected = session.types.iter().filter(|s| !s.suspects.is_empty());
    let rejecting = suspected.any(is_rejected);
    if session.settled.replace((generation, rejecting)) != Some((generation, rejecting)) {
        session.events.push_back(Event::Settled {
            generation,
            rejecting,
        });
    }
}

impl Turn {
    /// What the client is to see.
    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.permitted
    }

    pub(super) fn generation(&self) -> Generation {
        self.publication.generation()
    }

    fn advance(&mut self, session: &Session) -> Option<usize> {
        let after = self.after.as_ref().map(|(rank, url)| (*rank, url));
        let is_next = |state: &TypeState| state.begun && Some(state.place()) > after;
        let at = session.types.iter().position(is_next)?;
        let (rank, url) = session.types[at].place();
        self.after = Some((rank, url.clone()));
        Some(at)
    }
}

fn answer(session: &mut Session, at: usize, turn: &mut Turn, now: Duration) -> Option<Response> {
    let snapshot = &turn.permitted;
    if plan::awaits_clusters(session, at, snapshot, now) {
        turn.told_all = false;
        return None;
    }
    let (read, rendering) = (session.read, session.rendering());
    let state = &mut session.types[at];
    // What waited may be gone: taken back, or no longer wanted. What still waits says so below.
    let waited = state.pace.is_waiting();
    state.pace.set_waiting(false);
    let Some(set) = snapshot.set(state.url()) else {
        // Nobody has said yet what there is of the type.
        turn.told_all = false;
        return None;
    };
    if state.is_full_state(session.variant) && state.lives.is_due(now) {
        state.owed.refresh = refresh::is_due_in_whole(state, set, now);
    }
    if !state.is_supported(session.variant) || (state.owed.is_empty() && state.known.is_at(set)) {
        return None;
    }
    if state.is_full_state(session.variant) && state.would_lose(set) {
        turn.told_all = false;
        return None;
    }
    state.subscription.names_mut().settle_on(set);
    // What a client may keep for a while only it must hear of.
    if !(rendering.timed && set.is_timed()) {
        believe(state, set);
    }

    let independent = state.resource_type.independent();
    let unread = state.pace.is_unread(read);
    let waits = turn.waits && session.config.transitions().keep_order();
    let hold = unread || (waits && !independent);
    let circumstances = Circumstances {
        variant: session.variant,
        config: &session.config,
        snapshot,
        hold,
        stand_ins: stand_ins(session, at, turn, set),
    };
    let outcome = compose(&session.types[at], set, &circumstances);

    if let Some(answer) = &outcome.answer {
        plan::tell_assigned(session, at, answer, snapshot);
    }
    // What the client claimed was compared, and what was not believed is in the answer, if anything is known of it.
    if !session.distrusted.is_empty() {
        note_compared(session, at, set);
    }
    let state = &mut session.types[at];
    let waits = unread && !outcome.complete;
    state.pace.set_waiting(waits);
    if waits && !waited {
        let type_url = state.url().clone();
        session.events.push_back(Event::Held { type_url });
    }
    turn.waits |= !independent && !outcome.complete;
    let awaited = state.awaits(set);
    turn.told_all &= outcome.complete && awaited.is_empty();
    state.owed.clear();
    awaited.into_iter().for_each(|name| state.owed.ask(name));
    note_told(state, session.variant, rendering.timed, set, &outcome, now);
    let answer = outcome.answer?;
    let max = max_payload(session, at);
    let mut parts = match session.types[at].is_full_state(session.variant) {
        true => VecDeque::from([answer]),
        false => {
            let rule = session.types[at].resource_type.split();
            answer.split(rendering, rule, max)
        }
    };
    let first = parts.pop_front()?;
    turn.rest = Some(Rest::of(&session.types[at], parts));
    session.types[at].window.begin_answer();
    Some(send(session, at, first, turn, now))
}

/// Of what is not believed of a type only that is left of which nothing could be said.
fn note_compared(session: &mut Session, at: usize, set: &ResourceSet) {
    let url = session.types[at].url();
    let compare = |unsettled: Unsettled| match unsettled.type_url() == url {
        true => unsettled.untold(set),
        false => Some(unsettled),
    };
    let distrusted = core::mem::take(&mut session.distrusted).into_iter();
    session.distrusted = distrusted.filter_map(compare).collect();
}

/// What the client knows when it has heard the answer, if there is one.
fn note_told(
    state: &mut TypeState,
    variant: Variant,
    timed: bool,
    set: &ResourceSet,
    outcome: &Outcome,
    now: Duration,
) {
    if outcome.complete {
        if timed && (set.is_timed() || !state.lives.is_empty()) {
            let nothing = Selection::none();
            let sent = outcome.answer.as_ref().map_or(&nothing, |a| &a.resources);
            refresh::note_untold(state, set, sent, now);
        }
        match state.is_full_state(variant) {
            // What such an answer left out is gone.
            true => state.known.move_to(set),
            false => state.known.move_past(set),
        }
    } else if let Some(answer) = &outcome.answer {
        // What is said to be gone together with the reason is known by that.
        answer.removed.iter().for_each(|n| state.known.removed(n));
        answer.resources.iter().for_each(|r| state.known.sent(r));
    }
}

/// A client that reconnects with the version of the set has all of it, and is told only what it must hear again.
fn believe(state: &mut TypeState, set: &ResourceSet) {
    let version = state.owed.unless_at.as_deref();
    if version.is_some_and(|version| everything::is_version_of(version, set)) {
        state.known.move_to(set);
        state.owed.keep_names_only();
    }
}

/// The next part of an answer that was too large for one response, without what the client has given up or asked for
/// meanwhile.
fn next_part(session: &mut Session, turn: &mut Turn, now: Duration) -> Option<Response> {
    loop {
        let rest = turn.rest.as_mut()?;
        let Some(part) = rest.parts.pop_front() else {
            turn.rest = None;
            return None;
        };
        let mut types = session.types.iter();
        let at = types.position(|state| *state.url() == rest.type_url)?;
        let part = part.still_wanted(&session.types[at], &rest.gone_aliased);
        if !part.is_empty() {
            return Some(send(session, at, part, turn, now));
        }
    }
}

/// Room for an answer in a response that is not to be cut.
pub(super) fn max_payload(session: &Session, at: usize) -> usize {
    let head = session.types[at].url().as_str().len() + HEAD;
    session.config.max_response().saturating_sub(head)
}

/// Numbers a response and notes it wherever it counts.
fn send(session: &mut Session, at: usize, answer: Answer, turn: &Turn, now: Duration) -> Response {
    session.sent += 1;
    let nonce = Nonce::new(session.sent);
    tell_oversized(session, at, &answer, nonce);
    let rendering = session.rendering();
    let state = &mut session.types[at];
    let type_url = state.url().clone();
    let version = version(session.variant, state, turn.snapshot());
    let generation = turn.generation();
    if rendering.is_timed(&answer.resources) || !state.lives.is_empty() {
        let whole = state.is_full_state(session.variant);
        if whole {
            state.lives.clear();
        }
        answer.removed.iter().for_each(|name| state.lives.end(name));
        answer
            .resources
            .iter()
            .for_each(|r| state.lives.sent(r, now));
    }
    if rendering.timed {
        state.lives.show(version.clone(), generation);
    }
    if answer.reason == Reason::Changed {
        state.pace.sent(nonce, now);
    }
    state.suspects.sent_again(&answer.touched);
    state
        .plan
        .note_sent(&answer, state.subscription.is_wildcard());
    let sent = Sent {
        nonce,
        version: version.clone(),
        generation,
    };
    let in_flight = match answer.reason {
        Reason::Refresh => InFlight::heartbeat(sent),
        _ => InFlight::new(sent, answer.touched),
    };
    if let Some(oldest) = state.window.push(in_flight) {
        session.events.push_back(Event::AssumedAccepted {
            type_url: type_url.clone(),
            nonce: oldest.sent.nonce,
        });
    }
    owe_children(session, at, &answer.fresh, nonce);
    let mut resources = answer.resources;
    let errors = resources.take_failed();
    let mut response = Response {
        variant: session.variant,
        type_url,
        version,
        nonce,
        resources,
        errors,
        heartbeats: Vec::new(),
        timed: rendering.timed,
        wrapped: rendering.wrapped,
        bodyless: answer.bodyless,
        removed: answer.removed,
        generation,
        reason: answer.reason,
    };
    let spellings = session.types[at].subscription.spellings();
    spellings.respell(&mut response);
    response
}

fn tell_oversized(session: &mut Session, at: usize, answer: &Answer, nonce: Nonce) {
    let len = answer.encoded_len(session.rendering());
    if len > max_payload(session, at) {
        session.events.push_back(Event::Oversized {
            type_url: session.types[at].url().clone(),
            nonce,
            len,
        });
    }
}

/// What a response shows as its version: the caller's label, or else that of the content.
pub(super) fn version(variant: Variant, state: &TypeState, snapshot: &Snapshot) -> Version {
    let shown = snapshot.version_info(state.url());
    match snapshot.set(state.url()) {
        // What a wildcard covers of alternatives depends on who asks.
        Some(set)
            if variant == Variant::Sotw
                && state.subscription.is_pure_wildcard()
                && !set.has_alternatives()
                && shown == *set.version() =>
        {
            everything::version_of(set)
        }
        _ => shown,
    }
}

/// What new or changed resources refer to is answered again behind them, where the stream subscribes it.
fn owe_children(session: &mut Session, at: usize, fresh: &Selection, nonce: Nonce) {
    let Some(child) = session.types[at].resource_type.reanswers().cloned() else {
        return;
    };
    let config = Arc::clone(&session.config);
    let facts = fresh
        .iter()
        .map(|resource| resource.facts(config.references()));
    let names = facts.flat_map(|facts| facts.references_to(&child));
    let Some(child) = session.types.iter().position(|state| *state.url() == child) else {
        for name in names {
            session.types[at].introduced.note(name, nonce);
            if session.variant == Variant::Delta && config.reanswers() {
                session.types[at].early.note(name);
            }
        }
        return;
    };
    for name in names {
        if !session.types[child].subscription.covers_name(name) {
            session.types[at].introduced.note(name, nonce);
        } else if config.reanswers() {
            session.types[child].reanswer(name);
        }
    }
    // A child of lower rank had its place in this turn already.
    session.dirty |= child < at && !session.types[child].owed.is_empty();
}

/// An empty set of virtual hosts leaves a client waiting unless something is named. What refers to the type says what
/// to name: `<route>/` for each route table whose hosts are discovered. On a stream of one type it is not known which
/// tables the client has, so all are named; a client passes over those that it did not ask about.
fn stand_ins(session: &Session, at: usize, turn: &Turn, set: &ResourceSet) -> Vec<Name> {
    let state = &session.types[at];
    let bodyless = state.resource_type.missing_name() == MissingName::Bodyless;
    if !bodyless || !state.owed.wildcard || set.wildcard_len() > 0 {
        return Vec::new();
    }
    let snapshot = turn.snapshot();
    let parents: Vec<_> = match session.scope {
        Scope::Single(_) => snapshot.sets().flat_map(|(_, set)| set.iter()).collect(),
        Scope::Aggregated => subscribed(session, snapshot).collect(),
    };
    let facts = parents
        .into_iter()
        .map(|resource| resource.facts(session.config.references()));
    let names = facts.flat_map(|facts| facts.references_to(state.url()));
    names.cloned().collect()
}

/// The resources of a snapshot that the client names.
fn subscribed<'a>(
    session: &'a Session,
    snapshot: &'a Snapshot,
) -> impl Iterator<Item = &'a Resource> {
    session.types.iter().flat_map(|state| {
        let names = state.subscription.names().iter();
        let set = snapshot.set(state.url());
        names.flat_map(move |name| {
            let resolve = |set| state.subscription.resolve(set, name);
            set.into_iter().flat_map(resolve)
        })
    })
}
