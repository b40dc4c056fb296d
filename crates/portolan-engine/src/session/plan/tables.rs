//! Keeps route tables that are gone while connections use them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use portolan_core::well_known::ROUTE;
use portolan_core::{Name, ResourceSet, TypeUrl};

use super::{Step, leads};
use crate::session::Session;
use crate::{Event, Release, Retention};

impl Step<'_> {
    /// A client asks for a table that no listener names any more as long as connections of an old listener use it.
    pub(super) fn linger(
        &self,
        session: &mut Session,
        at: usize,
        from: &ResourceSet,
        to: &ResourceSet,
    ) {
        let before = core::mem::take(&mut session.types[at].plan.lingering);
        let (mut lingering, mut retained) = (BTreeMap::new(), Vec::new());
        let mut over = Vec::new();
        for name in to.diff_from(from).removals() {
            let known = before.get(name).copied();
            let state = &session.types[at];
            // What was rejected is not what connections use.
            let held = from.held(name);
            let is_named = |table| state.subscription.names_resource(table);
            let drains = held.is_some_and(is_named)
                && !state.suspects.contains(name)
                && (known.is_some() || !self.is_named(session, name, |url| self.target.set(url)));
            if !drains {
                continue;
            }
            // While a listener stays that names it, because what replaces that waits, nothing drains yet.
            let stays = self.is_named(session, name, |url| self.shown(url));
            let since = known.filter(|_| !stays).unwrap_or(self.now);
            if since.saturating_add(self.times.linger()) <= self.now {
                over.push(name.clone());
                continue;
            }
            if known.is_none() {
                retained.push(name.clone());
            }
            lingering.insert(name.clone(), since);
        }
        let ended = before
            .into_keys()
            .filter(|name| !lingering.contains_key(name));
        let (over, given_up): (Vec<_>, Vec<_>) = ended.partition(|name| over.contains(name));
        session.types[at].plan.lingering = lingering;
        tell_retained(session, at, retained, Retention::Subscribed);
        tell_released(session, at, over, Release::Silence);
        tell_released(session, at, given_up, Release::Accepted);
    }

    /// Whether something in these sets names the table, of which there is one for each type.
    fn is_named<'a>(
        &self,
        session: &Session,
        name: &Name,
        set: impl Fn(&TypeUrl) -> Option<&'a ResourceSet>,
    ) -> bool {
        let gate = &session.types[self.gate].resource_type;
        let types = self.config.types().iter();
        let mut parents = types.filter(|t| leads(t, gate));
        parents.any(|parent| {
            let set = set(parent.url());
            set.is_some_and(|set| set.refers_to(self.references(), &ROUTE, name))
        })
    }

    /// What is shown of a type, as far as that is decided.
    fn shown(&self, url: &TypeUrl) -> Option<&ResourceSet> {
        let mut instead = self.sets.iter().filter(|(shown, _)| shown == url);
        let instead = instead.next().map(|(_, set)| set);
        instead.or_else(|| self.target.set(url))
    }
}

pub(super) fn tell_retained(
    session: &mut Session,
    at: usize,
    names: Vec<Name>,
    because: Retention,
) {
    if !names.is_empty() {
        session.events.push_back(Event::Retained {
            type_url: session.types[at].url().clone(),
            names,
            because,
        });
    }
}

pub(super) fn tell_released(session: &mut Session, at: usize, names: Vec<Name>, because: Release) {
    if !names.is_empty() {
        session.events.push_back(Event::Released {
            type_url: session.types[at].url().clone(),
            names,
            because,
        });
    }
}
