use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use portolan_core::{Name, Resource};

use crate::fixture::{Body, word};

/// The listener manager: listeners that serve, listeners that wait for their routes, and the route tables.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    active: BTreeMap<Name, Listener>,
    warming: BTreeMap<Name, (Listener, Duration)>,
    routes: BTreeMap<Name, String>,
    /// Route tables that connections of an old listener still use, and until when.
    draining: Vec<(Duration, Name)>,
}

#[derive(Debug)]
struct Listener {
    body: Box<str>,
    route: Option<Name>,
}

impl Listener {
    fn new(resource: &Resource) -> Self {
        let body = Body::parse(&resource.body());
        Self {
            route: body.value(word::RDS).map(Name::from),
            body: body.into_text().into(),
        }
    }
}

impl Listeners {
    /// Adds or changes a listener. `drained` is when the connections of the one that it replaces will have ended.
    pub(super) fn upsert(&mut self, now: Duration, drained: Duration, resource: &Resource) {
        let (name, listener) = (resource.name(), Listener::new(resource));
        let warming = self.warming.get(name).map(|(listener, _)| listener);
        let newest = warming.or_else(|| self.active.get(name));
        if newest.is_some_and(|l| l.body == listener.body) {
            return;
        }
        if self.has_route(&listener) {
            self.activate(name.clone(), listener, drained);
        } else {
            self.warming.insert(name.clone(), (listener, now));
        }
    }

    pub(super) fn remove(&mut self, drained: Duration, name: &Name) {
        self.warming.remove(name);
        if let Some(Listener { route, .. }) = self.active.remove(name) {
            self.draining.extend(route.map(|route| (drained, route)));
        }
    }

    pub(super) fn names(&self) -> BTreeSet<Name> {
        let names = self.active.keys().chain(self.warming.keys());
        names.cloned().collect()
    }

    pub(super) fn route_names(&self) -> BTreeSet<Name> {
        let warming = self.warming.values().map(|(listener, _)| listener);
        let listeners = self.active.values().chain(warming);
        let draining = self.draining.iter().map(|(_, route)| route.clone());
        listeners
            .filter_map(|l| l.route.clone())
            .chain(draining)
            .collect()
    }

    pub(super) fn retain_routes(&mut self, used: &BTreeSet<Name>) {
        self.routes.retain(|name, _| used.contains(name));
    }

    /// Takes a route table; listeners that waited for it go live.
    pub(super) fn route(&mut self, drained: Duration, resource: &Resource) {
        let text = Body::parse(&resource.body()).into_text();
        self.routes.insert(resource.name().clone(), text);
        self.warm_up(drained, |routes, listener, _| has_route(routes, listener));
    }

    /// Listeners that waited long enough go live without routes; drained ones let go of theirs.
    pub(super) fn expire(&mut self, now: Duration, timeout: Duration, drained: Duration) -> usize {
        self.draining.retain(|(until, _)| *until > now);
        self.warm_up(drained, |_, _, since| since + timeout <= now)
    }

    pub(super) fn deadline(&self, timeout: Duration) -> Option<Duration> {
        let warming = self.warming.values().map(|(_, since)| *since + timeout);
        warming
            .chain(self.draining.iter().map(|(until, _)| *until))
            .min()
    }

    pub(super) fn warming(&self) -> Vec<Name> {
        self.warming.keys().cloned().collect()
    }

    pub(super) fn active(&self) -> BTreeMap<Name, String> {
        let active = self.active.iter();
        active
            .map(|(n, l)| (n.clone(), l.body.to_string()))
            .collect()
    }

    pub(super) fn routes(&self) -> &BTreeMap<Name, String> {
        &self.routes
    }

    fn has_route(&self, listener: &Listener) -> bool {
        has_route(&self.routes, listener)
    }

    fn activate(&mut self, name: Name, listener: Listener, drained: Duration) {
        self.warming.remove(&name);
        let route = listener.route.clone();
        let old = self.active.insert(name, listener);
        let left = old
            .and_then(|old| old.route)
            .filter(|old| route.as_ref() != Some(old));
        self.draining.extend(left.map(|route| (drained, route)));
    }

    fn warm_up(
        &mut self,
        drained: Duration,
        ready: impl Fn(&BTreeMap<Name, String>, &Listener, Duration) -> bool,
    ) -> usize {
        let waiting = self.warming.iter();
        let names = waiting.filter(|(_, (listener, since))| ready(&self.routes, listener, *since));
        let names: Vec<_> = names.map(|(name, _)| name.clone()).collect();
        for name in &names {
            if let Some((listener, _)) = self.warming.remove(name) {
                self.activate(name.clone(), listener, drained);
            }
        }
        names.len()
    }
}

fn has_route(routes: &BTreeMap<Name, String>, listener: &Listener) -> bool {
    let route = listener.route.as_ref();
    route.is_none_or(|route| routes.contains_key(route))
}
