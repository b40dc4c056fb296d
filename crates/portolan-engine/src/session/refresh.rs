//! Tells clients in time that what they may keep for a while lives on (C-292). A refresh brings nothing new, consumes
//! nothing and holds nothing back.

use alloc::vec::Vec;
use core::time::Duration;

use portolan_core::{MissingName, Name, Resource, ResourceSet, Selection};

use super::Session;
use super::turn::Turn;
use crate::lives::Life;
use crate::message::Heartbeat;
use crate::touched::Touched;
use crate::type_state::TypeState;
use crate::window::{InFlight, Sent};
use crate::{Event, Nonce, Reason, Response, Variant};

/// Most resources that one response refreshes. What is left has the next one.
const MAX_PER_RESPONSE: usize = 1_000;

/// What a heartbeat costs besides its name: a version, a time to live, and what they are wrapped in.
const HEARTBEAT: usize = 160;

/// The next refresh, when all else of a turn was said.
pub(super) fn next(session: &mut Session, turn: &Turn, now: Duration) -> Option<Response> {
    (0..session.types.len()).find_map(|at| refresh(session, at, turn, now))
}

/// Notes what is to be refreshed from now on though it was not sent: what has another time to live than the client
/// knows, and what it has from an earlier stream. To be called before `known` moves to `set`.
pub(super) fn note_untold(
    state: &mut TypeState,
    set: &ResourceSet,
    sent: &Selection,
    now: Duration,
) {
    let untold = |resource: &&Resource| {
        state.subscription.covers(resource) && sent.get(resource.name()).is_none()
    };
    let patched = state.known.patched_names();
    let patched = patched.filter_map(|name| set.entry(name));
    let patched: Vec<_> = patched.filter(untold).cloned().collect();
    let diff = state.known.has_base().then(|| state.known.diff_to(set));
    let retimed = diff.iter().flat_map(|diff| diff.retimed());
    let retimed: Vec<_> = retimed.filter(untold).cloned().collect();
    for resource in &patched {
        state.lives.retime(resource, now, true);
    }
    for resource in &retimed {
        state.lives.retime(resource, now, false);
    }
}

fn refresh(session: &mut Session, at: usize, turn: &Turn, now: Duration) -> Option<Response> {
    if session.types[at].lives.is_empty() {
        return None;
    }
    let variant = session.variant;
    let max = super::turn::max_payload(session, at);
    let rendering = session.rendering();
    let hears = variant == Variant::Delta || session.features.sotw_heartbeats();
    let state = &mut session.types[at];
    if !state.lives.is_due(now) || state.is_full_state(variant) {
        return None;
    }
    let set = turn.snapshot().set(state.url())?;
    let until = now.saturating_add(state.lives.slack());
    let in_full = !hears || must_be_in_full(state, variant);
    let (mut full, mut heartbeats, mut kept, mut len) = (Vec::new(), Vec::new(), Vec::new(), 0);
    while full.len() + kept.len() < MAX_PER_RESPONSE {
        let Some((name, life)) = state.lives.pop(until) else {
            break;
        };
        let beats = life.lasts(now) && !in_full && !awaits(state, variant, &name);
        let (resource, ttl) = match fate(state, set, &name, &life) {
            Fate::Ended => continue,
            Fate::Changes => (None, beats.then_some(life.ttl)),
            Fate::Lives(resource) => (Some(resource), resource.ttl().filter(|_| beats)),
        };
        let more = match (resource, ttl) {
            (_, Some(_)) => name.len() + HEARTBEAT,
            (Some(resource), None) => rendering.len(&Selection::of([resource.clone()])),
            (None, None) => 0,
        };
        if len > 0 && len + more > max {
            state.lives.restore(&name, life);
            break;
        }
        len += more;
        match (resource, ttl) {
            (_, Some(ttl)) => {
                heartbeats.push(Heartbeat::new(name.clone(), life.version.clone(), ttl));
                kept.push((name, life, Some(ttl)));
            }
            (Some(resource), None) => full.push(resource.clone()),
            (None, None) => kept.push((name, life, None)),
        }
    }
    for (name, life, ttl) in kept {
        match ttl {
            Some(ttl) => state.lives.refreshed(name, life, ttl, now),
            None => state.lives.postpone(name, life, now),
        }
    }
    if full.is_empty() && heartbeats.is_empty() {
        return None;
    }
    full.sort_unstable_by(|a, b| a.name().cmp(b.name()));
    heartbeats.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Some(send(session, at, Refresh { full, heartbeats }, turn, now))
}

/// Whether a type whose answers hold everything is to be answered so that what is due lives on: a part of it would
/// delete the rest (C-295).
pub(super) fn is_due_in_whole(state: &mut TypeState, set: &ResourceSet, now: Duration) -> bool {
    let mut due = Vec::new();
    while let Some((name, life)) = state.lives.pop(now) {
        if !matches!(fate(state, set, &name, &life), Fate::Ended) && state.suspects.is_empty() {
            due.push((name, life));
        }
    }
    let is_due = !due.is_empty();
    for (name, life) in due {
        state.lives.postpone(name, life, now);
    }
    is_due
}

/// What became of a resource since the client heard of it.
enum Fate<'a> {
    /// It is gone, no longer wanted, or was rejected.
    Ended,
    /// There is other content, which is not sent yet.
    Changes,
    Lives(&'a Resource),
}

fn fate<'a>(state: &TypeState, set: &'a ResourceSet, name: &Name, life: &Life) -> Fate<'a> {
    let wanted = set.entry(name).filter(|r| state.subscription.covers(r));
    match wanted.filter(|_| !state.suspects.contains(name)) {
        None => Fate::Ended,
        Some(resource) if *resource.version() != life.version => Fate::Changes,
        Some(resource) => Fate::Lives(resource),
    }
}

/// Of virtual hosts a resource without a body says that there is no such host. In state of the world a client tells
/// heartbeats by the version that it accepted last; whether that is the one it was sent last is not known while
/// something was not acknowledged, or was rejected.
fn must_be_in_full(state: &TypeState, variant: Variant) -> bool {
    let in_doubt =
        variant == Variant::Sotw && (!state.window.is_settled() || !state.suspects.is_empty());
    in_doubt || state.resource_type.missing_name() == MissingName::Bodyless
}

/// Whether it is not known yet what the client makes of what it was sent of the name.
fn awaits(state: &TypeState, variant: Variant, name: &Name) -> bool {
    variant == Variant::Delta && state.window.awaited().any(|touched| touched.contains(name))
}

struct Refresh {
    full: Vec<Resource>,
    heartbeats: Vec<Heartbeat>,
}

fn send(
    session: &mut Session,
    at: usize,
    refresh: Refresh,
    turn: &Turn,
    now: Duration,
) -> Response {
    session.sent += 1;
    let nonce = Nonce::new(session.sent);
    let variant = session.variant;
    let wrapped = session.rendering().wrapped;
    let state = &mut session.types[at];
    let type_url = state.url().clone();
    let (version, generation) = match state.lives.shown() {
        Some(shown) => shown.clone(),
        None => {
            let version = super::turn::version(variant, state, turn.snapshot());
            (version, turn.generation())
        }
    };
    let sent = Sent {
        nonce,
        version: version.clone(),
        generation,
    };
    let mut heartbeats = refresh.heartbeats;
    if variant == Variant::Sotw {
        heartbeats
            .iter_mut()
            .for_each(|h| h.version = version.clone());
    }
    for resource in &refresh.full {
        state.lives.sent(resource, now);
    }
    let in_flight = match refresh.full.is_empty() {
        true => InFlight::heartbeat(sent),
        false => {
            let names = refresh.full.iter().map(|r| r.name().clone()).collect();
            InFlight::new(sent, Touched::Names(names))
        }
    };
    if let Some(oldest) = state.window.push(in_flight) {
        session.events.push_back(Event::AssumedAccepted {
            type_url: type_url.clone(),
            nonce: oldest.sent.nonce,
        });
    }
    let mut response = Response {
        variant,
        type_url,
        version,
        nonce,
        resources: Selection::of(refresh.full),
        errors: Vec::new(),
        heartbeats,
        timed: true,
        wrapped,
        bodyless: Vec::new(),
        removed: Vec::new(),
        generation,
        reason: Reason::Refresh,
    };
    state.subscription.spellings().respell(&mut response);
    response
}
