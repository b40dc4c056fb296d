//! Keeps route tables that are gone while connections use them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use portolan_core::well_known::ROUTE;
use portolan_core::{Name, ResourceSet};

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
        let cap = self.times.drain().saturating_add(self.times.grace());
        let (mut lingering, mut retained) = (BTreeMap::new(), Vec::new());
        let mut over = Vec::new();
        for name in to.diff_from(from).removals() {
            let known = before.get(name).copied();
            let state = &session.types[at];
            // What was rejected is not what connections use.
            let resource = from.get(name);
            let is_named = |table| state.subscription.names_resource(table);
            let drains = resource.is_some_and(is_named)
                && !state.suspects.contains(name)
                && (known.is_some() || !self.is_named(session, name));
            if !drains {
                continue;
            }
            let since = known.unwrap_or(self.now);
            if since.saturating_add(cap) <= self.now {
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

    /// Whether a resource of the target names the table.
    fn is_named(&self, session: &Session, name: &Name) -> bool {
        let gate = &session.types[self.gate].resource_type;
        self.target.sets().any(|(url, set)| {
            *url != ROUTE
                && leads(&self.config.types().get(url), gate)
                && set.refers_to(self.references(), &ROUTE, name)
        })
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
