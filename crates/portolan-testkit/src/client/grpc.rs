use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_core::{Name, Resource, TypeUrl};
use portolan_engine::{Request, Response, Variant};

use super::Client;
use super::mux::Mux;
use super::taste::Taste;
use crate::fixture::{Body, word};

/// The code that gRPC rejects with, in most languages.
const INVALID_ARGUMENT: i32 = 3;

/// A client that behaves as proxyless gRPC does: state of the world, everything by name, listener to route to
/// cluster to endpoints, each asked for when its parent came.
///
/// A listener or cluster that is missing in a response is deleted, and with it everything that only it named; the
/// client then says `[]`. Responses are acknowledged before their children are asked for.
///
/// ```
/// use portolan_testkit::{GrpcClient, Pair, Shelf, fixture};
///
/// let shelf = Shelf::new();
/// shelf.put([
///     fixture::listener("svc", "r"),
///     fixture::route("r", ["a"]),
///     fixture::cluster("a"),
///     fixture::endpoints("a", "10.0.0.1"),
/// ]);
/// let mut pair = Pair::new(GrpcClient::new(["svc"]), &shelf);
/// pair.drive();
/// assert_eq!(pair.client.endpoints()["a"], "host=10.0.0.1");
/// ```
#[derive(Debug)]
pub struct GrpcClient {
    mux: Mux,
    taste: Taste,
    targets: BTreeSet<Name>,
    listeners: BTreeMap<Name, String>,
    routes: BTreeMap<Name, String>,
    clusters: BTreeMap<Name, String>,
    endpoints: BTreeMap<Name, String>,
}

impl GrpcClient {
    /// A client that calls these targets.
    #[must_use]
    pub fn new<N: Into<Name>>(targets: impl IntoIterator<Item = N>) -> Self {
        Self {
            mux: Mux::new(Variant::Sotw),
            taste: Taste::default(),
            targets: targets.into_iter().map(Into::into).collect(),
            listeners: BTreeMap::new(),
            routes: BTreeMap::new(),
            clusters: BTreeMap::new(),
            endpoints: BTreeMap::new(),
        }
    }

    /// Repeats an error with every request until a response is accepted, as gRPC in Node does. Default: off.
    #[must_use]
    pub fn with_sticky_errors(mut self, on: bool) -> Self {
        self.mux.set_sticky_errors(on);
        self
    }

    /// Which resources it rejects. Default: those that [`bad`](crate::fixture::Fixture::bad) marks.
    pub fn reject_when(&mut self, rejects: impl Fn(&Resource) -> bool + Send + Sync + 'static) {
        self.taste = Taste::rejecting(rejects);
    }

    /// Calls one more target.
    pub fn watch(&mut self, target: impl Into<Name>) {
        self.targets.insert(target.into());
        self.ask();
    }

    /// Calls a target no more.
    pub fn unwatch(&mut self, target: &str) {
        self.targets.remove(target);
        self.listeners.remove(target);
        self.ask();
    }

    /// Bodies of the listeners that it has.
    #[must_use]
    pub fn listeners(&self) -> &BTreeMap<Name, String> {
        &self.listeners
    }

    /// Bodies of the route tables that it has.
    #[must_use]
    pub fn routes(&self) -> &BTreeMap<Name, String> {
        &self.routes
    }

    /// Bodies of the clusters that it has.
    #[must_use]
    pub fn clusters(&self) -> &BTreeMap<Name, String> {
        &self.clusters
    }

    /// Assignments that it has, by EDS name.
    #[must_use]
    pub fn endpoints(&self) -> &BTreeMap<Name, String> {
        &self.endpoints
    }

    /// Says what is wanted now, and drops what is not.
    fn ask(&mut self) {
        let targets = self.targets.clone();
        self.ask_for(&LISTENER, targets);
        let routes = children(&self.listeners, word::RDS);
        self.routes.retain(|name, _| routes.contains(name));
        self.ask_for(&ROUTE, routes);
        let clusters = children(&self.routes, word::TO);
        self.clusters.retain(|name, _| clusters.contains(name));
        self.ask_for(&CLUSTER, clusters);
        let endpoints = children(&self.clusters, word::EDS);
        self.endpoints.retain(|name, _| endpoints.contains(name));
        self.ask_for(&ENDPOINT, endpoints);
    }

    fn ask_for(&mut self, url: &TypeUrl, names: BTreeSet<Name>) {
        if !names.is_empty() || self.mux.has_asked(url) {
            self.mux.ask(url, names);
        }
    }

    fn store(&mut self, url: &TypeUrl) -> (&mut BTreeMap<Name, String>, bool) {
        if *url == LISTENER {
            (&mut self.listeners, true)
        } else if *url == CLUSTER {
            (&mut self.clusters, true)
        } else if *url == ROUTE {
            (&mut self.routes, false)
        } else {
            (&mut self.endpoints, false)
        }
    }
}

fn children(parents: &BTreeMap<Name, String>, key: &str) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    for text in parents.values() {
        let body = Body::of(text);
        names.extend(body.values(key).map(Name::from));
    }
    names
}

impl Client for GrpcClient {
    fn variant(&self) -> Variant {
        Variant::Sotw
    }

    fn handle_connected(&mut self, _: Duration) {
        self.mux.connect();
        self.ask();
    }

    fn handle_response(&mut self, _: Duration, response: &Response) {
        let url = &response.type_url;
        if !self.mux.has_asked(url) {
            return;
        }
        let wanted = self.mux.names(url);
        let taste = self.taste.clone();
        let (store, full_state) = self.store(url);
        if full_state {
            let named = |name: &Name| response.resources.iter().any(|r| r.name() == name);
            store.retain(|name, _| named(name));
        }
        let good = response.resources.iter().filter(|r| !taste.rejects(r));
        for resource in good.filter(|r| wanted.contains(r.name())) {
            let text = Body::parse(&resource.body()).into_text();
            store.insert(resource.name().clone(), text);
        }
        let error = taste.judge(INVALID_ARGUMENT, response.resources.iter());
        self.mux.settle(response, error);
        self.ask();
    }

    fn poll_request(&mut self) -> Option<Request> {
        self.mux.poll()
    }
}
