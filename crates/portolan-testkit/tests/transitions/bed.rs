use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use portolan_core::{Name, Snapshot};
use portolan_engine::{Event, Request, Response, SafeTimes, Transitions, Variant};
use portolan_testkit::fixture::{self, Fixture};
use portolan_testkit::{Client, EnvoyClient, EnvoyMux, Pair, PlainClient, Setup, Shelf};

/// How long connections of old listeners go on in these tests.
pub(crate) const DRAIN: Duration = Duration::from_secs(30);

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) fn times() -> SafeTimes {
    SafeTimes::default().with_drain(DRAIN)
}

/// Streams with safe transitions.
pub(crate) fn setup() -> Setup {
    let config = Setup::default_config().with_transitions(Transitions::Safe(times()));
    Setup::default().with_config(config)
}

/// Streams without them.
pub(crate) fn in_order() -> Setup {
    let config = Setup::default_config().with_transitions(Transitions::Ordered);
    Setup::default().with_config(config)
}

/// An Envoy that notes whenever it would fail a request.
#[derive(Debug)]
pub(crate) struct Witness {
    pub(crate) envoy: EnvoyClient,
    /// Clusters that listeners lead to by themselves, and until when; for ever while the listener lives.
    inline: BTreeMap<Name, BTreeSet<Name>>,
    draining: Vec<(Duration, BTreeSet<Name>)>,
    /// Bodies of listeners that are left out of account.
    replaced: BTreeMap<Name, String>,
    pub(crate) faults: Vec<String>,
}

impl Witness {
    pub(crate) fn new(kind: EnvoyMux) -> Self {
        Self {
            envoy: EnvoyClient::new(kind).with_drain_time(DRAIN),
            inline: BTreeMap::new(),
            draining: Vec::new(),
            replaced: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    /// Leaves listeners out of account that were replaced, or are about to be: to which clusters they lead by themselves
    /// is known as long as their stream lasts.
    pub(crate) fn forget_replaced(&mut self) {
        self.draining.clear();
        let warming = self.envoy.warming_listeners();
        let serving = self.envoy.listeners().into_iter();
        let replaced = serving.filter(|(name, _)| warming.contains(name));
        self.replaced.extend(replaced);
        self.inline.retain(|name, _| !warming.contains(name));
    }

    fn note_listeners(&mut self, now: Duration) {
        let serving = self.envoy.listeners();
        let mut inline = BTreeMap::new();
        let is_known = |(name, body): &(&Name, &String)| self.replaced.get(*name) != Some(*body);
        for (name, body) in serving.iter().filter(is_known) {
            inline.insert(name.clone(), named(body, "to="));
        }
        for (name, before) in std::mem::replace(&mut self.inline, inline) {
            if self.inline.get(&name) != Some(&before) {
                self.draining.push((now + DRAIN, before));
            }
        }
        self.draining.retain(|(until, _)| *until > now);
    }

    /// What requests may be sent to by what serves.
    fn destinations(&self) -> BTreeSet<Name> {
        let routes = self.envoy.routes().values();
        let routed = routes.flat_map(|body| named(body, "to="));
        let inline = self.inline.values().flatten().cloned();
        let draining = self.draining.iter().flat_map(|(_, names)| names).cloned();
        let serving = !self.envoy.listeners().is_empty() || !self.draining.is_empty();
        let routed = routed.filter(|_| serving);
        routed.chain(inline).chain(draining).collect()
    }

    fn judge(&mut self, now: Duration, cause: &Response) {
        self.note_listeners(now);
        let clusters = self.envoy.clusters();
        for name in self.destinations() {
            let why = match clusters.get(&name) {
                None => "there is no such cluster",
                Some(body) if !body.contains("eds=") => continue,
                Some(_) => match self.envoy.endpoints(&name) {
                    Some(endpoints) if endpoints.contains("host=") => continue,
                    _ => "it has no endpoints",
                },
            };
            let (url, nonce) = (cause.type_url.message_name(), &cause.nonce);
            self.faults
                .push(format!("{now:?} {url} {nonce}: {name}: {why}"));
        }
    }
}

/// The names behind a key in a body.
fn named(body: &str, key: &str) -> BTreeSet<Name> {
    let words = body.split(' ').filter_map(|word| word.strip_prefix(key));
    words.map(Name::from).collect()
}

impl Client for Witness {
    fn variant(&self) -> Variant {
        self.envoy.variant()
    }

    fn handle_connected(&mut self, now: Duration) {
        self.envoy.handle_connected(now);
    }

    fn handle_response(&mut self, now: Duration, response: &Response) {
        self.envoy.handle_response(now, response);
        self.judge(now, response);
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.envoy.handle_timeout(now);
    }

    fn poll_request(&mut self) -> Option<Request> {
        self.envoy.poll_request()
    }

    fn poll_timeout(&self) -> Option<Duration> {
        self.envoy.poll_timeout()
    }
}

/// Publishes exactly these.
pub(crate) fn publish(shelf: &Shelf, resources: impl IntoIterator<Item = Fixture>) {
    let before = shelf.snapshot().unwrap_or_else(Snapshot::empty);
    let mut builder = Snapshot::builder_from(&before);
    for resource in resources {
        builder.insert(resource.into()).expect("names differ");
    }
    shelf.publish(builder.build());
}

/// A listener whose table `r` leads to one cluster with endpoints.
pub(crate) fn leading_to(cluster: &str) -> Vec<Fixture> {
    vec![
        fixture::cluster(cluster),
        fixture::endpoints(cluster, "1"),
        fixture::listener("l", "r"),
        fixture::route("r", [cluster]),
    ]
}

/// These clusters, with endpoints, and a listener that leads to one of them by itself.
pub(crate) fn inline(kept: &[&str], to: &str) -> Vec<Fixture> {
    let clusters = kept.iter().map(|name| fixture::cluster(*name));
    let endpoints = kept.iter().map(|name| fixture::endpoints(*name, "1"));
    let listener = fixture::tcp_listener("l").leads_to(to);
    clusters.chain(endpoints).chain([listener]).collect()
}

/// A client of each variant that does as it is told.
pub(crate) fn both() -> [PlainClient; 2] {
    [PlainClient::sotw(), PlainClient::delta()]
}

/// An Envoy that serves this.
pub(crate) fn serving(
    kind: EnvoyMux,
    resources: impl IntoIterator<Item = Fixture>,
) -> (Shelf, Pair<Witness>) {
    serving_with(kind, setup(), resources)
}

pub(crate) fn serving_with(
    kind: EnvoyMux,
    setup: Setup,
    resources: impl IntoIterator<Item = Fixture>,
) -> (Shelf, Pair<Witness>) {
    let shelf = Shelf::new();
    publish(&shelf, resources);
    let mut pair = Pair::open(Witness::new(kind), &shelf, setup);
    pair.drive();
    pair.skip();
    pair.take_events();
    (shelf, pair)
}

/// Asserts that no request failed.
#[track_caller]
pub(crate) fn expect_no_faults(pair: &Pair<Witness>) {
    assert!(
        pair.client.faults.is_empty(),
        "{:#?}\n{}",
        pair.client.faults,
        pair.transcript()
    );
}

/// Asserts that no other cluster than this serves, and that no request failed.
#[track_caller]
pub(crate) fn expect_only(pair: &Pair<Witness>, cluster: &str) {
    assert_eq!(clusters(pair), [cluster], "{}", pair.transcript());
    expect_no_faults(pair);
}

/// How many responses were rejected.
pub(crate) fn rejections(events: &[Event]) -> usize {
    let is_rejected = |event: &&Event| matches!(event, Event::Nacked { .. });
    events.iter().filter(is_rejected).count()
}

/// Names of the clusters that serve.
pub(crate) fn clusters(pair: &Pair<Witness>) -> Vec<String> {
    let clusters = pair.client.envoy.clusters().into_keys();
    clusters.map(|name| name.to_string()).collect()
}

/// How many waits for clusters ended because time was up.
pub(crate) fn expired(events: &[Event]) -> usize {
    let is_expired = |event: &&Event| matches!(event, Event::Permitted { ready: false, .. });
    events.iter().filter(is_expired).count()
}
