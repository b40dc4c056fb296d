//! Reads requests. A request has three roles that do not depend on each other: it acknowledges, it subscribes, and it
//! may start over.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use portolan_core::{Name, ResourceType, ResourceTypes, TypeUrl, Version};

use super::{Session, acknowledge, bounds, plan};
use crate::early::Early;
use crate::escape::escape;
use crate::known::Known;
use crate::locator::text;
use crate::subscription::{InvalidName, SubscriptionChange};
use crate::transition::Brought;
use crate::type_state::TypeState;
use crate::{DeltaRequest, Event, ProtocolError, Request, Scope, SotwRequest, Unsettled, Variant};

/// Longest version that is looked for among those that were given.
const MAX_VERSION: usize = 256;

/// Longest foreign type URL that an error repeats.
const MAX_ECHO: usize = 256;

pub(super) fn handle(session: &mut Session, request: Request) -> Result<(), ProtocolError> {
    match (session.variant, request) {
        (Variant::Sotw, Request::Sotw(request)) => sotw(session, request),
        (Variant::Delta, Request::Delta(request)) => delta(session, request),
        (expected, request) => Err(ProtocolError::WrongVariant {
            expected,
            found: match request {
                Request::Sotw(_) => Variant::Sotw,
                Request::Delta(_) => Variant::Delta,
            },
        }),
    }
}

fn sotw(session: &mut Session, request: SotwRequest) -> Result<(), ProtocolError> {
    let at = begin(session, &request.type_url)?;
    let first = !session.types[at].begun;
    // A nonce means nothing on another stream, and a first request has none of this one (C-091). An empty nonce
    // after a response is a client that starts the type afresh (C-115); before one it just changes its mind.
    let fresh = first || (request.nonce.is_empty() && session.types[at].window.newest().is_some());
    if !fresh {
        acknowledge::sotw(session, at, &request.nonce, request.error);
    }
    bounds::check_sotw(session, at, &request.names, &request.locators)?;

    session.locates |= !request.locators.is_empty();
    let trusted = distrusted(session, at).is_none();
    let brought = brought(request.version);
    let state = &mut session.types[at];
    state.begun = true;
    let had_wildcard = state.subscription.is_wildcard();
    let legacy = session.config.has_legacy_wildcard(&state.resource_type);
    let (names, locators) = (&request.names, &request.locators);
    let change = state.subscription.apply_sotw(names, locators, legacy);
    let change = change.map_err(|InvalidName(field)| invalid(state, field))?;
    if fresh {
        // Who starts over is to be told all again, and waits for what its resources refer to.
        let known = core::mem::take(&mut state.known);
        let wildcard = state.subscription.is_wildcard();
        state.owed.everything(wildcard);
        // That it has something stays true until it was answered, however often it starts over.
        state.owed.even_nothing |= brought != Brought::Nothing || !known.is_nothing();
        let reconnects = first && trusted && state.subscription.is_pure_wildcard();
        if reconnects && let Brought::Version(version) = &brought {
            state.owed.unless_at = Some(version.clone());
        }
    } else {
        note_known(state, &change, had_wildcard);
        owe_newly_named(state, &change);
    }
    if first {
        plan::arrive(session, at, brought);
    }
    note_read(session, at, &change.added);
    tell_interest(session, at, change);
    Ok(())
}

/// What a version says of an earlier stream. One that is longer than any of ours is not kept: it matches none.
fn brought(version: String) -> Brought {
    match version.len() {
        0 => Brought::Nothing,
        1..=MAX_VERSION => Brought::Version(version),
        _ => Brought::Version(String::new()),
    }
}

fn distrusted(session: &Session, at: usize) -> Option<&Unsettled> {
    let url = session.types[at].url();
    session
        .distrusted
        .iter()
        .find(|unsettled| unsettled.type_url() == url)
}

/// What enters the subscription is not the client's yet, unless a wildcard brought it before; what a wildcard brought
/// is the client's no longer when that has ended (C-165), nor is what it brought under a name that it gives up and wants
/// no longer (C-151).
fn note_known(state: &mut TypeState, change: &SubscriptionChange, had_wildcard: bool) {
    let subscription = &state.subscription;
    if !subscription.is_wildcard() {
        let removed = change.removed.iter();
        removed.for_each(|name| state.known.give_up(name));
    }
    state.known.enter(&change.added, had_wildcard, subscription);
    if change.wildcard_changed {
        let named = subscription.names().iter().chain(&change.removed);
        let mut named: Vec<_> = named.collect();
        named.sort_unstable();
        state.known.keep_only(&named, subscription);
    }
}

/// When a wildcard has ended, nothing is owed for its sake: neither that what was given up under it is gone, nor what it
/// alone covered.
fn owe_wildcard(state: &mut TypeState, change: &SubscriptionChange) {
    state.owed.wildcard |= change.wildcard_asked;
    state.owed.wildcard &= state.subscription.is_wildcard();
    if change.wildcard_changed && !state.subscription.is_wildcard() {
        let names = state.subscription.names();
        state.owed.keep_only(|name| names.contains(name));
    }
}

/// What is newly named must be answered, known or not (C-066, C-067); what is no longer named need not be.
fn owe_newly_named(state: &mut TypeState, change: &SubscriptionChange) {
    owe_wildcard(state, change);
    if change.wildcard_changed || !change.added.is_empty() {
        // What was owed to a pure wildcard under a condition is owed now.
        state.owed.unless_at = None;
    }
    change
        .removed
        .iter()
        .for_each(|name| state.owed.forget(name));
    change
        .added
        .iter()
        .for_each(|name| state.owed.ask(name.clone()));
}

fn delta(session: &mut Session, request: DeltaRequest) -> Result<(), ProtocolError> {
    let at = begin(session, &request.type_url)?;
    let first = !session.types[at].begun;
    if !first && !request.nonce.is_empty() {
        acknowledge::delta(session, at, &request.nonce, request.error);
    }
    let versions = match first {
        true => request.initial_versions,
        // Later ones mean nothing (C-175).
        false => Vec::new(),
    };
    let subscribe = (&request.subscribe[..], &request.locators_subscribe[..]);
    let unsubscribe = (&request.unsubscribe[..], &request.locators_unsubscribe[..]);
    bounds::check_delta(session, at, subscribe, &versions)?;

    let early = match first {
        true => take_early(session, at),
        false => Early::default(),
    };
    let distrusted = distrusted(session, at).cloned();
    let state = &mut session.types[at];
    let had_wildcard = state.subscription.is_wildcard();
    let legacy = first && session.config.has_legacy_wildcard(&state.resource_type);
    let change = state
        .subscription
        .apply_delta(subscribe, unsubscribe, legacy);
    let change = change.map_err(|InvalidName(field)| invalid(state, field))?;
    note_known(state, &change, had_wildcard);
    if first {
        state.begun = true;
        let versions = claims(state, versions, distrusted.as_ref())?;
        let in_full = matches!(early, Early::Everything)
            || distrusted.is_some_and(|unsettled| unsettled.is_everything());
        state.owed.unless_claimed = !versions.is_empty() && !in_full;
        state.known = Known::claimed(versions.into_iter());
        state.owed.everything(change.wildcard_asked);
        owe_early(state, early);
        let brought = match state.known.claims_anything() {
            true => Brought::Versions,
            false => Brought::Nothing,
        };
        plan::arrive(session, at, brought);
    } else {
        owe_delta(state, &change);
    }
    note_read(session, at, &change.added);
    tell_interest(session, at, change);
    bounds::check_owed(session, at)
}

/// A client that asks for what only a response told it of has read that response.
fn note_read(session: &mut Session, at: usize, added: &[Name]) {
    let url = session.types[at].url().clone();
    let parents = session.types.iter_mut();
    let mut parents = parents.filter(|state| state.resource_type.reanswers() == Some(&url));
    // What refers to a name knows of no parameters.
    let mut stems = Vec::new();
    if !added.iter().all(Name::is_stem) {
        stems.extend(added.iter().map(Name::to_stem));
        stems.sort_unstable();
    }
    let asked = if stems.is_empty() { added } else { &stems };
    if let Some(nonce) = parents.find_map(|parent| parent.introduced.read_by(asked)) {
        session.note_read(nonce);
    }
}

/// What a client must be told of a type that it asks for the first time, whatever it has. Endpoints that are asked for
/// before their clusters, or on a stream of their own, belong to a cluster that warms: only an answer ends that (C-268).
fn take_early(session: &mut Session, at: usize) -> Early {
    let url = session.types[at].url().clone();
    let is_parent = |t: &ResourceType| t.reanswers() == Some(&url);
    if !session.config.types().iter().any(is_parent) {
        return Early::default();
    }
    let mut parents = session.types.iter_mut();
    match parents.find(|state| state.begun && is_parent(&state.resource_type)) {
        Some(parent) => core::mem::take(&mut parent.early),
        None => Early::Everything,
    }
}

fn owe_early(state: &mut TypeState, early: Early) {
    let Early::Names(names) = early else {
        return;
    };
    for name in names {
        if state.subscription.covers_name(&name) {
            state.reanswer(&name);
        }
    }
}

/// The versions that a client brings from an earlier stream. They are not a subscription (C-173). That it has something
/// is believed in any case.
///
/// A client that names something by an alias brings the version under the resource's own name. Whether it wants what has
/// that name shows only when that is compared with what there is, so no version is passed over here.
fn claims(
    state: &TypeState,
    versions: Vec<(Bytes, Bytes)>,
    distrusted: Option<&Unsettled>,
) -> Result<Vec<(Name, Version)>, ProtocolError> {
    let text = |bytes: &Bytes| match text(bytes, "initial_resource_versions") {
        Ok(text) => Ok(String::from(text)),
        Err(InvalidName(field)) => Err(invalid(state, field)),
    };
    let mut claims = Vec::with_capacity(versions.len());
    for (name, version) in &versions {
        let name = Name::from(text(name)?);
        let version = match distrusted.is_some_and(|unsettled| unsettled.contains(&name)) {
            // No resource has it.
            true => String::new(),
            false => text(version)?,
        };
        claims.push((name, Version::from(version)));
    }
    Ok(claims)
}

/// Each subscribed name is answered, tracked already or not (C-154); a name given up under a wildcard is answered
/// too (C-167).
fn owe_delta(state: &mut TypeState, change: &SubscriptionChange) {
    owe_wildcard(state, change);
    // What the client brought is no excuse for what it asks for after that.
    state.owed.unless_claimed &= !change.wildcard_asked;
    for name in &change.removed {
        // What is still wanted otherwise is answered, because a client may drop it with the name.
        let subscription = &state.subscription;
        if subscription.is_wildcard() {
            state.owed.give_up(name.clone());
        } else if state.known.has_linked(name, subscription) {
            state.owed.seek_elsewhere(name.clone());
        } else {
            state.owed.forget(name);
        }
    }
    change
        .asked
        .iter()
        .for_each(|name| state.owed.ask(name.clone()));
}

/// What every request has in common: its type, resolved and noted.
fn begin(session: &mut Session, type_url: &str) -> Result<usize, ProtocolError> {
    let resource_type = resolve(&session.scope, session.config.types(), type_url)?;
    let at = session.type_index(resource_type)?;
    let (variant, state) = (session.variant, &session.types[at]);
    if !state.begun {
        if !session.config.types().contains(state.url())
            && matches!(session.scope, Scope::Aggregated)
        {
            let type_url = state.url().clone();
            session
                .events
                .push_back(Event::UnregisteredType { type_url });
        }
        if !state.is_supported(variant) {
            let type_url = state.url().clone();
            session
                .events
                .push_back(Event::UnsupportedVariant { type_url, variant });
        }
    }
    Ok(at)
}

/// The type that a request is about (C-037 to C-039).
pub(crate) fn resolve(
    scope: &Scope,
    types: &ResourceTypes,
    type_url: &str,
) -> Result<ResourceType, ProtocolError> {
    bounds::check_type_url(type_url)?;
    match scope {
        Scope::Aggregated if type_url.is_empty() => Err(ProtocolError::EmptyTypeUrl),
        Scope::Aggregated => Ok(types.get(type_url)),
        Scope::Single(only) if type_url.is_empty() || only.url().as_str() == type_url => {
            Ok(only.clone())
        }
        Scope::Single(only) => Err(ProtocolError::WrongType {
            expected: only.url().clone(),
            found: escape(type_url, MAX_ECHO),
        }),
    }
}

fn invalid(state: &TypeState, field: &'static str) -> ProtocolError {
    ProtocolError::InvalidText {
        type_url: state.url().clone(),
        field,
    }
}

fn tell_interest(session: &mut Session, at: usize, change: SubscriptionChange) {
    let state = &session.types[at];
    let type_url: &TypeUrl = state.url();
    let wildcard_changed = change.wildcard_changed;
    if change.legacy_dropped && !state.subscription.names().is_empty() {
        let type_url = type_url.clone();
        session
            .events
            .push_back(Event::WildcardDropped { type_url });
    }
    let (added, removed) = state.subscription.interest(change);
    if wildcard_changed || !added.is_empty() || !removed.is_empty() {
        session.events.push_back(Event::Interest {
            type_url: type_url.clone(),
            added,
            removed,
            wildcard: state.subscription.is_wildcard(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_version_that_is_none_of_ours_is_kept_that_there_is_one() {
        assert_eq!(brought(String::new()), Brought::Nothing);
        let version = |len| Brought::Version("x".repeat(len));
        assert_eq!(brought("x".repeat(MAX_VERSION)), version(MAX_VERSION));
        assert_eq!(brought("x".repeat(MAX_VERSION + 1)), version(0));
    }
}
