//! What a client that comes back says it has, type by type, and what is made of that.

use std::collections::BTreeMap;
use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_core::{Resource, TypeUrl};
use portolan_engine::{Scope, Variant};
use portolan_testkit::fixture::{self, Fixture};
use portolan_testkit::{Client, Pair, PlainClient, Setup, Shelf};

use crate::bed::*;

/// A client that was there, and what it has.
struct Back {
    shelf: Shelf,
    pair: Pair<PlainClient>,
    had: BTreeMap<TypeUrl, (String, Vec<Resource>)>,
}

impl Back {
    /// It had all of this, by the wildcard where that is possible, and is away.
    fn from(client: PlainClient, first: Vec<Fixture>, tables: &[&str]) -> Self {
        let wanted = [&CLUSTER, &ENDPOINT, &LISTENER, &ROUTE];
        Self::on(setup(), &wanted, client, first, tables)
    }

    /// The same, of these types on such a stream.
    fn on(
        setup: Setup,
        wanted: &[&TypeUrl],
        client: PlainClient,
        first: Vec<Fixture>,
        tables: &[&str],
    ) -> Self {
        let shelf = Shelf::new();
        publish(&shelf, first);
        let mut pair = Pair::open(client, &shelf, setup);
        let names = |url: &TypeUrl| match url {
            url if *url == ENDPOINT => vec!["a"],
            url if *url == ROUTE => tables.to_vec(),
            _ => Vec::new(),
        };
        for url in wanted {
            pair.client.want(url, names(url));
        }
        pair.drive();
        let had = wanted.iter().map(|&url| {
            let version = pair.client.sotw_request(url, names(url)).version;
            let held = pair.client.held(url).into_values().collect();
            (url.clone(), (version, held))
        });
        let had = had.collect();
        pair.disconnect();
        Self { shelf, pair, had }
    }

    /// It is back when this is published, and has asked for nothing yet.
    fn to(mut self, next: impl IntoIterator<Item = Fixture>) -> Self {
        publish(&self.shelf, next);
        self.pair.connect();
        self
    }

    fn ask(&mut self, url: &TypeUrl, names: &[&str]) {
        let (version, held) = self.had[url].clone();
        match self.pair.client.variant() {
            Variant::Sotw => self.ask_with(url, names, &version),
            _ => {
                let held = held
                    .iter()
                    .map(|r| (r.name().as_str(), r.version().as_str()));
                let names = names.iter().copied();
                self.pair.client.resume(url, names, held);
                self.pair.drive();
            }
        }
    }

    /// In state of the world, with this version.
    fn ask_with(&mut self, url: &TypeUrl, names: &[&str], version: &str) {
        let names = names.iter().copied();
        let mut request = self.pair.client.sotw_request(url, names);
        request.nonce.clear();
        version.clone_into(&mut request.version);
        self.pair.client.send(request);
        self.pair.drive();
    }

    fn body(&self, url: &TypeUrl, name: &str) -> String {
        let body = self.pair.client.held(url)[name].body().to_vec();
        String::from_utf8(body).expect("bodies of fixtures are texts")
    }

    fn clusters(&self) -> Vec<String> {
        let names = self.pair.client.held_names(&CLUSTER).into_iter();
        names.map(|name| name.to_string()).collect()
    }
}

/// What leads to `a`, and leads to `b` when the client is back.
fn to_another(client: PlainClient) -> Back {
    Back::from(client, leading_to("a"), &["r"]).to(leading_to("b"))
}

/// What else the client has it may still ask for, within the first second.
#[test]
fn a_client_that_comes_back_is_given_time_to_ask_before_a_cluster_is_on_its_way_out() {
    for client in both() {
        let mut back = to_another(client);
        back.ask(&CLUSTER, &[]);
        back.ask(&ENDPOINT, &["a", "b"]);
        back.ask(&ROUTE, &["r"]);
        let almost = times().grace() + Duration::from_millis(999);
        back.pair.advance(almost);
        assert_eq!(back.clusters(), ["a", "b"], "{}", back.pair.transcript());
        back.pair.advance(Duration::from_millis(1));
        assert_eq!(back.clusters(), ["b"], "{}", back.pair.transcript());
    }
}

/// It asked for them late, and has not accepted that they lead elsewhere.
#[test]
fn what_a_client_that_came_back_asks_for_late_keeps_its_cluster_too() {
    for client in both() {
        let mut back = to_another(client);
        back.ask(&CLUSTER, &[]);
        back.ask(&ENDPOINT, &["a", "b"]);
        back.pair.advance(secs(3));
        back.pair.client.set_acks(false);
        back.ask(&ROUTE, &["r"]);
        back.pair.advance(times().grace());
        assert_eq!(back.clusters(), ["a", "b"], "{}", back.pair.transcript());
        back.pair.client.set_acks(true);
        back.pair.client.ack(&ROUTE);
        back.pair.advance(times().grace());
        assert_eq!(back.clusters(), ["b"], "{}", back.pair.transcript());
    }
}

#[test]
fn b28_a_client_that_never_asks_for_clusters_is_told_what_leads_to_them_in_the_end() {
    for client in both() {
        let mut back = Back::from(client, inline(&["a"], "a"), &[]).to(inline(&["b"], "b"));
        back.ask(&ENDPOINT, &["a"]);
        back.ask(&LISTENER, &[]);
        back.pair.advance(times().hold() - secs(1));
        assert_eq!(back.body(&LISTENER, "l"), "to=a");
        back.pair.advance(secs(1));
        assert_eq!(back.body(&LISTENER, "l"), "to=b");
    }
}

/// A cluster that warms would go live without them. In state of the world nothing tells that endpoints are gone.
#[test]
fn b28_endpoints_that_are_gone_are_not_said_to_be_before_clusters_are_asked_for() {
    let mut back = to_another(PlainClient::delta());
    back.ask(&ENDPOINT, &["a"]);
    assert!(back.pair.client.held(&ENDPOINT).contains_key("a"));
    back.ask(&CLUSTER, &[]);
    back.pair.advance(secs(60));
    assert!(back.pair.client.held(&ENDPOINT).is_empty());
}

/// Nothing on it waits for anything.
#[test]
fn on_a_stream_of_its_own_endpoints_that_are_gone_are_said_to_be() {
    let endpoints = Setup::default_config().types().get(&ENDPOINT);
    let setup = setup().with_scope(Scope::Single(endpoints));
    let client = PlainClient::delta();
    let back = Back::on(setup, &[&ENDPOINT], client, leading_to("a"), &[]);
    let mut back = back.to([fixture::cluster("a")]);
    back.ask(&ENDPOINT, &["a"]);
    assert!(back.pair.client.held(&ENDPOINT).is_empty());
}

/// Tables by name are no sign of clusters that warm.
#[test]
fn a_client_that_asks_for_tables_by_name_first_is_answered() {
    for client in both() {
        let mut back = to_another(client);
        back.ask(&ROUTE, &["r"]);
        assert_eq!(back.body(&ROUTE, "r"), "to=b");
    }
}

/// It may have been waiting for the table, which leads to a cluster that is not ready.
#[test]
fn a_table_that_a_client_which_came_back_asks_for_later_waits_for_its_cluster() {
    for client in both() {
        let mut next = leading_to("a");
        next.extend([fixture::cluster("b"), fixture::route("s", ["b"])]);
        let mut back = Back::from(client, leading_to("a"), &["r"]).to(next);
        back.ask(&CLUSTER, &[]);
        back.ask(&ROUTE, &["r"]);
        back.ask(&ENDPOINT, &["a", "b"]);
        back.pair.client.want(&ROUTE, ["r", "s"]);
        back.pair.advance(secs(10));
        let tables = back.pair.client.held_names(&ROUTE);
        assert_eq!(tables, ["r".into()], "{}", back.pair.transcript());
        back.shelf.put([fixture::endpoints("b", "1")]);
        back.pair.drive();
        assert_eq!(back.body(&ROUTE, "s"), "to=b");
    }
}

/// In state of the world a version stands for everything that is had by the wildcard.
#[test]
fn what_a_client_that_came_back_has_by_the_wildcard_waits_and_keeps_its_cluster() {
    for client in both() {
        let mut next = inline(&["b"], "b");
        let late = next.remove(1);
        let mut back = Back::from(client, inline(&["a"], "a"), &[]).to(next);
        back.ask(&CLUSTER, &[]);
        back.ask(&ENDPOINT, &["a", "b"]);
        back.ask(&LISTENER, &[]);
        back.pair.advance(secs(10));
        assert_eq!(
            back.body(&LISTENER, "l"),
            "to=a",
            "{}",
            back.pair.transcript()
        );
        back.shelf.put([late]);
        back.pair.drive();
        assert_eq!(back.body(&LISTENER, "l"), "to=b");
        back.pair.advance(DRAIN + times().grace() - secs(1));
        assert_eq!(back.clusters(), ["a", "b"], "{}", back.pair.transcript());
        back.pair.advance(secs(1));
        assert_eq!(back.clusters(), ["b"], "{}", back.pair.transcript());
    }
}

/// Nobody knows to where its listeners led, and they may drain.
#[test]
fn a_version_of_listeners_that_is_not_remembered_keeps_clusters_as_long_as_they_drain() {
    let back = Back::from(PlainClient::sotw(), inline(&["a"], "a"), &[]);
    let mut back = back.to(inline(&["b"], "b"));
    back.ask(&CLUSTER, &[]);
    back.ask(&ENDPOINT, &["a", "b"]);
    back.ask_with(&LISTENER, &[], "unknown");
    back.pair.advance(DRAIN + times().grace());
    assert_eq!(back.clusters(), ["a", "b"], "{}", back.pair.transcript());
    back.pair.advance(DRAIN);
    assert_eq!(back.clusters(), ["b"], "{}", back.pair.transcript());
}

/// Endpoints lead nowhere.
#[test]
fn a_version_of_endpoints_that_is_not_remembered_keeps_nothing() {
    let mut back = to_another(PlainClient::sotw());
    back.ask(&CLUSTER, &[]);
    back.ask_with(&ENDPOINT, &["a", "b"], "unknown");
    back.ask(&ROUTE, &["r"]);
    back.pair.advance(secs(1) + times().grace());
    assert_eq!(back.clusters(), ["b"], "{}", back.pair.transcript());
}

/// A table that is gone and that the client still names may be used, and nobody knows what it leads to.
#[test]
fn a_version_of_tables_that_is_not_remembered_keeps_clusters_as_long_as_one_may_be_used() {
    let mut first = leading_to("a");
    first.extend([fixture::listener("m", "s"), fixture::route("s", ["a"])]);
    let back = Back::from(PlainClient::sotw(), first, &["r", "s"]);
    let mut back = back.to(leading_to("b"));
    back.ask(&CLUSTER, &[]);
    back.ask(&ENDPOINT, &["a", "b"]);
    back.ask_with(&ROUTE, &["r", "s"], "unknown");
    back.pair.advance(DRAIN);
    assert_eq!(back.clusters(), ["a", "b"], "{}", back.pair.transcript());
    back.pair.client.want(&ROUTE, ["r"]);
    back.pair.advance(times().grace());
    assert_eq!(back.clusters(), ["b"], "{}", back.pair.transcript());
}
