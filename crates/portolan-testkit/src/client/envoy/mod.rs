//! What Envoy 1.40 does with what it is sent, and what it says in return.

mod clusters;
mod listeners;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_core::{Name, Resource, TypeUrl};
use portolan_engine::{Request, Response, Variant};

use self::clusters::Clusters;
use self::listeners::Listeners;
use super::Client;
use super::mux::Mux;
use super::taste::{Taste, is_garbled};

/// The code that Envoy rejects with.
const INTERNAL: i32 = 13;

/// In which of its ways an Envoy speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvoyMux {
    /// State of the world, as by default: repeats its endpoints request when a cluster changed.
    Legacy,
    /// State of the world with the unified mux: silent when a cluster changed.
    Unified,
    /// Incremental: as silent.
    Delta,
}

impl EnvoyMux {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Legacy, Self::Unified, Self::Delta];

    /// The variant of the protocol.
    #[must_use]
    pub const fn variant(self) -> Variant {
        match self {
            Self::Legacy | Self::Unified => Variant::Sotw,
            Self::Delta => Variant::Delta,
        }
    }
}

/// A client that behaves as Envoy 1.40 does on an aggregated stream, for [fixtures](crate::fixture) of clusters,
/// endpoints, listeners and routes:
///
/// - it asks for clusters first, for endpoints by the names in its clusters, for listeners when the clusters are
///   answered and warm, for routes by the names in its listeners;
/// - a new or changed cluster warms until endpoints come after it, until it is told that they do not exist, or for
///   15 s; meanwhile it acknowledges and rejects no clusters, and afterwards only the newest (state of the world) or
///   all in a burst (delta);
/// - of a rejected response it applies the good half, or nothing where it cannot decode all of it; in delta it does
///   not count the good half as accepted;
/// - it keeps endpoints and routes that the server withdraws while they are in use;
/// - on a new stream it asks for everything again, in delta with the versions that it accepted, but not for clusters
///   while one of them warms.
///
/// ```
/// use portolan_testkit::{EnvoyClient, EnvoyMux, Pair, Shelf, fixture};
///
/// let shelf = Shelf::new();
/// shelf.put([fixture::cluster("a"), fixture::endpoints("a", "10.0.0.1")]);
/// let mut pair = Pair::new(EnvoyClient::new(EnvoyMux::Delta), &shelf);
/// pair.drive();
/// assert_eq!(pair.client.endpoints("a"), Some("host=10.0.0.1"));
///
/// // A changed cluster needs its endpoints again. They come, or it would warm for 15 s.
/// shelf.put([fixture::cluster("a").revision(2)]);
/// pair.drive();
/// assert!(pair.client.warming_clusters().is_empty());
/// ```
#[derive(Debug)]
pub struct EnvoyClient {
    kind: EnvoyMux,
    mux: Mux,
    taste: Taste,
    clusters: Clusters,
    listeners: Listeners,
    fetch_timeout: Duration,
    drain_time: Duration,
    /// Until when listeners wait for the first clusters. `None` when they need not wait any more.
    clusters_due: Option<Duration>,
    fetch_timeouts: usize,
}

impl EnvoyClient {
    /// An Envoy that was just started.
    #[must_use]
    pub fn new(kind: EnvoyMux) -> Self {
        Self {
            kind,
            mux: Mux::new(kind.variant()),
            taste: Taste::default(),
            clusters: Clusters::default(),
            listeners: Listeners::default(),
            fetch_timeout: Duration::from_secs(15),
            drain_time: Duration::from_secs(600),
            clusters_due: Some(Duration::ZERO),
            fetch_timeouts: 0,
        }
    }

    /// How long it waits for the first resources of a type, and for endpoints while warming. Default 15 s.
    #[must_use]
    pub fn with_fetch_timeout(mut self, wait: Duration) -> Self {
        self.fetch_timeout = wait;
        self
    }

    /// How long connections of a replaced listener keep using its route table. Default 600 s.
    #[must_use]
    pub fn with_drain_time(mut self, time: Duration) -> Self {
        self.drain_time = time;
        self
    }

    /// Which resources it rejects. Default: those that [`bad`](crate::fixture::Fixture::bad) marks.
    pub fn reject_when(&mut self, rejects: impl Fn(&Resource) -> bool + Send + Sync + 'static) {
        self.taste = Taste::rejecting(rejects);
    }

    /// Bodies of the clusters that serve.
    #[must_use]
    pub fn clusters(&self) -> BTreeMap<Name, String> {
        self.clusters.active()
    }

    /// Names of the clusters that wait for endpoints.
    #[must_use]
    pub fn warming_clusters(&self) -> Vec<Name> {
        self.clusters.warming()
    }

    /// The endpoints with which a cluster serves; `None` where no assignment ever came.
    #[must_use]
    pub fn endpoints(&self, cluster: &str) -> Option<&str> {
        self.clusters.endpoints(cluster)
    }

    /// Bodies of the listeners that serve.
    #[must_use]
    pub fn listeners(&self) -> BTreeMap<Name, String> {
        self.listeners.active()
    }

    /// Names of the listeners that wait for routes.
    #[must_use]
    pub fn warming_listeners(&self) -> Vec<Name> {
        self.listeners.warming()
    }

    /// Bodies of the route tables that it has.
    #[must_use]
    pub fn routes(&self) -> &BTreeMap<Name, String> {
        self.listeners.routes()
    }

    /// How often something that was waited for did not come in time.
    #[must_use]
    pub fn fetch_timeouts(&self) -> usize {
        self.fetch_timeouts
    }

    fn take_clusters(&mut self, now: Duration, response: &Response) {
        for name in gone(self.kind, response, &self.clusters.names()) {
            self.clusters.remove(&name);
        }
        let subscribed = self.mux.names(&ENDPOINT);
        let mut repeat = false;
        for resource in response.resources.iter().filter(|r| !self.taste.rejects(r)) {
            let eds_name = self.clusters.upsert(now, resource);
            repeat |= eds_name.is_some_and(|name| subscribed.contains(&name));
        }
        let asked = self.ask_children(&ENDPOINT, self.clusters.eds_names());
        if repeat && !asked && self.kind == EnvoyMux::Legacy {
            self.mux.repeat(&ENDPOINT);
        }
        self.clusters.retain_assignments(&self.mux.names(&ENDPOINT));
        match self.clusters.is_warming() {
            true => {
                self.clusters_due = None;
                self.mux.pause(&CLUSTER);
            }
            false => self.start_listeners(),
        }
        self.settle(response);
        self.warmed_up();
    }

    fn take_endpoints(&mut self, response: &Response) {
        for resource in response.resources.iter().filter(|r| !self.taste.rejects(r)) {
            self.clusters.assign(resource);
        }
        response
            .removed
            .iter()
            .for_each(|n| self.clusters.unassign(n));
        self.warmed_up();
        self.settle(response);
    }

    fn take_listeners(&mut self, now: Duration, response: &Response) {
        let drained = now + self.drain_time;
        for name in gone(self.kind, response, &self.listeners.names()) {
            self.listeners.remove(drained, &name);
        }
        for resource in response.resources.iter().filter(|r| !self.taste.rejects(r)) {
            self.listeners.upsert(now, drained, resource);
        }
        self.ask_routes();
        self.settle(response);
    }

    fn take_routes(&mut self, now: Duration, response: &Response) {
        let drained = now + self.drain_time;
        // What it gave up meanwhile nobody takes.
        let asked = self.mux.names(&ROUTE);
        let wanted = response
            .resources
            .iter()
            .filter(|r| asked.contains(r.name()));
        for resource in wanted.filter(|r| !self.taste.rejects(r)) {
            self.listeners.route(drained, resource);
        }
        self.settle(response);
    }

    fn settle(&mut self, response: &Response) {
        let error = self.taste.judge(INTERNAL, response.resources.iter());
        self.mux.settle(response, error);
    }

    fn ask_routes(&mut self) {
        self.ask_children(&ROUTE, self.listeners.route_names());
        self.listeners.retain_routes(&self.mux.names(&ROUTE));
    }

    fn ask_children(&mut self, url: &TypeUrl, names: BTreeSet<Name>) -> bool {
        (!names.is_empty() || self.mux.has_asked(url)) && self.mux.ask(url, names)
    }

    /// Nothing warms any more: what was withheld goes out, and listeners may be asked for.
    fn warmed_up(&mut self) {
        if !self.clusters.is_warming() && self.mux.has_asked(&CLUSTER) {
            self.mux.resume(&CLUSTER);
            if self.clusters_due.is_none() {
                self.start_listeners();
            }
        }
    }

    fn start_listeners(&mut self) {
        self.clusters_due = None;
        self.mux.ask(&LISTENER, BTreeSet::new());
    }
}

/// The names that a response takes away: in state of the world all that it does not hold.
fn gone(kind: EnvoyMux, response: &Response, held: &BTreeSet<Name>) -> Vec<Name> {
    match kind.variant() {
        Variant::Sotw => {
            let named: BTreeSet<_> = response.resources.iter().map(Resource::name).collect();
            let missing = held.iter().filter(|name| !named.contains(name));
            missing.cloned().collect()
        }
        _ => response.removed.clone(),
    }
}

impl Client for EnvoyClient {
    fn variant(&self) -> Variant {
        self.kind.variant()
    }

    fn handle_connected(&mut self, now: Duration) {
        if self.mux.has_asked(&CLUSTER) {
            self.mux.connect();
        } else {
            self.clusters_due = Some(now + self.fetch_timeout);
            self.mux.ask(&CLUSTER, BTreeSet::new());
        }
    }

    fn handle_response(&mut self, now: Duration, response: &Response) {
        if !self.mux.has_asked(&response.type_url) {
            return;
        }
        if response.resources.iter().any(is_garbled) {
            self.settle(response);
        } else if response.type_url == CLUSTER {
            self.take_clusters(now, response);
        } else if response.type_url == ENDPOINT {
            self.take_endpoints(response);
        } else if response.type_url == LISTENER {
            self.take_listeners(now, response);
        } else {
            self.take_routes(now, response);
        }
    }

    fn handle_timeout(&mut self, now: Duration) {
        let late = self.clusters.expire(now, self.fetch_timeout);
        self.fetch_timeouts += late;
        if late > 0 {
            if self.kind == EnvoyMux::Legacy {
                self.mux.repeat(&ENDPOINT);
            }
            self.warmed_up();
        }
        if self.clusters_due.is_some_and(|due| due <= now) {
            self.fetch_timeouts += 1;
            self.start_listeners();
        }
        let drained = now + self.drain_time;
        self.fetch_timeouts += self.listeners.expire(now, self.fetch_timeout, drained);
        self.ask_routes();
    }

    fn poll_request(&mut self) -> Option<Request> {
        self.mux.poll()
    }

    fn poll_timeout(&self) -> Option<Duration> {
        let clusters = self.clusters.deadline(self.fetch_timeout);
        let listeners = self.listeners.deadline(self.fetch_timeout);
        [clusters, listeners, self.clusters_due]
            .into_iter()
            .flatten()
            .min()
    }
}
