//! The order in which types go out when several changed.

use std::time::Duration;

use portolan_core::well_known::{
    CLUSTER, ENDPOINT, EXTENSION_CONFIG, LISTENER, ROUTE, RUNTIME, SCOPED_ROUTE, SECRET,
    VIRTUAL_HOST,
};
use portolan_core::{ResourceTypes, TypeUrl};
use portolan_engine::{Scope, Transitions};
use portolan_testkit::{EnvoyClient, EnvoyMux, Pair, PlainClient, Setup, Shelf, fixture};

fn all(shelf: &Shelf, revision: u32) {
    shelf.put(
        [
            fixture::cluster("a"),
            fixture::endpoints("a", "1"),
            fixture::listener("l", "r"),
            fixture::route("r", ["a"]),
            fixture::scoped_route("s", "r"),
            fixture::virtual_host("r/h"),
            fixture::secret("x"),
            fixture::runtime("t"),
            fixture::extension_config("e"),
        ]
        .map(|fixture| fixture.revision(revision)),
    );
}

#[test]
fn c238_c239_c240_c241_c243_what_is_referred_to_goes_before_what_refers() {
    let shelf = Shelf::new();
    all(&shelf, 1);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    for (url, names) in [
        (VIRTUAL_HOST, &["r/h"][..]),
        (ROUTE, &["r"]),
        (LISTENER, &[]),
        (SCOPED_ROUTE, &[]),
        (EXTENSION_CONFIG, &["e"]),
        (ENDPOINT, &["a"]),
        (CLUSTER, &[]),
        (SECRET, &["x"]),
        (RUNTIME, &["t"]),
    ] {
        pair.client.subscribe(&url, names.iter().copied());
    }
    pair.drive();
    pair.skip();
    pair.client.set_acks(false);
    all(&shelf, 2);
    pair.drive();
    pair.expect([
        "< RTDS n11 [t@2]",
        "< SDS n12 [x@2]",
        "< CDS n13 [a@2]",
        "< EDS n14 [a@2]",
        "< ECDS n15 [e@2]",
        "< LDS n16 [l@2]",
        "< SRDS n17 [s@2]",
        "< RDS n18 [r@2]",
        "< VHDS n19 [r/h@2]",
    ]);
}

#[test]
fn requests_that_wait_together_are_answered_in_that_order_too() {
    let shelf = Shelf::new();
    all(&shelf, 1);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.set_window(0);
    pair.client.ask(&ROUTE, ["r"]);
    pair.client.ask(&LISTENER, [""; 0]);
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    pair.skip();
    pair.set_window(10);
    pair.client.set_acks(false);
    pair.drive();
    pair.expect([
        "< CDS v1 n1 [a]",
        "< EDS v1 n2 [a]",
        "< LDS v1 n3 [l]",
        "< RDS v1 n4 [r]",
    ]);
}

#[test]
fn c248_c250_a_type_alone_goes_at_once() {
    let shelf = Shelf::new();
    all(&shelf, 1);
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    pair.client.subscribe(&ROUTE, ["r"]);
    pair.drive();
    pair.skip();
    shelf.put([
        fixture::route("r", ["a"]).revision(2),
        fixture::cluster("b"),
    ]);
    pair.drive();
    pair.expect(["< RDS n2 [r@2]"]);
}

#[test]
fn c242_a_new_listener_with_its_route_and_cluster_serves_without_waiting() {
    for kind in EnvoyMux::ALL {
        let shelf = Shelf::new();
        all(&shelf, 1);
        let mut pair = Pair::new(EnvoyClient::new(kind), &shelf);
        pair.drive();
        shelf.put([
            fixture::cluster("b"),
            fixture::endpoints("b", "1"),
            fixture::listener("m", "q"),
            fixture::route("q", ["b"]),
        ]);
        pair.drive();
        assert!(pair.client.listeners().contains_key("m"), "{kind:?}");
        assert!(pair.client.warming_clusters().is_empty(), "{kind:?}");
        assert_eq!(pair.client.fetch_timeouts(), 0);
    }
}

#[test]
fn c253_within_a_type_nothing_overtakes_what_was_published_before() {
    let shelf = Shelf::new();
    all(&shelf, 0);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.client.ask(&ROUTE, ["r"]);
    pair.drive();
    for revision in 1..100 {
        pair.set_window(revision as usize % 3);
        pair.client.set_acks(revision % 4 < 2);
        all(&shelf, revision);
        pair.advance(Duration::from_secs(1));
    }
    for url in [CLUSTER, ENDPOINT, ROUTE] {
        let of_type = pair.client.received().iter().filter(|r| r.type_url == url);
        let generations: Vec<_> = of_type.map(|r| r.generation).collect();
        assert!(generations.len() > 5);
        assert!(generations.is_sorted(), "{url}: {generations:?}");
    }
}

#[test]
fn c254_streams_of_single_types_do_not_wait_for_each_other() {
    let shelf = Shelf::new();
    all(&shelf, 1);
    let of_type = |url: &TypeUrl| {
        let resource_type = ResourceTypes::well_known().get(url);
        let setup = Setup::default().with_scope(Scope::Single(resource_type));
        let mut pair = Pair::open(PlainClient::sotw().without_acks(), &shelf, setup);
        let names: &[&str] = if *url == ROUTE { &["r"] } else { &[] };
        pair.client.want(url, names.iter().copied());
        pair.drive();
        pair
    };
    let (mut clusters, mut routes) = (of_type(&CLUSTER), of_type(&ROUTE));
    clusters.set_window(0);
    shelf.put([fixture::cluster("b"), fixture::route("r", ["b"])]);
    clusters.drive();
    routes.drive();
    assert_eq!(clusters.client.received().len(), 1);
    assert_eq!(routes.client.received().len(), 2);
}

#[test]
fn c257_an_aggregate_cluster_comes_with_its_members() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let shelf = Shelf::new();
        all(&shelf, 1);
        let mut pair = Pair::new(client, &shelf);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        let aggregate = fixture::static_cluster("aggregate")
            .leads_to("m1")
            .leads_to("m2");
        shelf.put([aggregate, fixture::cluster("m1"), fixture::cluster("m2")]);
        pair.drive();
        let last = pair.client.received().last().expect("it was served");
        for name in ["aggregate", "m1", "m2"] {
            assert!(last.resources.get(name).is_some(), "{}", pair.transcript());
        }
    }
}

/// What refers to a change that waits waits with it, unless types are to go by themselves.
#[test]
fn listeners_wait_for_clusters_that_wait_unless_everything_goes_at_once() {
    for (transitions, waits) in [
        (Transitions::Ordered, true),
        (Transitions::Immediate, false),
    ] {
        let shelf = Shelf::new();
        shelf.put([fixture::static_cluster("a"), fixture::listener("l", "r")]);
        let config = Setup::default_config().with_transitions(transitions);
        let setup = Setup::default().with_config(config);
        let mut pair = Pair::open(PlainClient::sotw().without_acks(), &shelf, setup);
        pair.client.ask(&CLUSTER, [""; 0]);
        pair.client.ask(&LISTENER, [""; 0]);
        pair.drive();
        shelf.put([fixture::static_cluster("a").revision(2)]);
        pair.drive();
        pair.skip();
        shelf.put([
            fixture::static_cluster("a").revision(3),
            fixture::listener("l", "r").revision(2),
        ]);
        pair.drive();
        match waits {
            true => pair.expect_quiet(),
            false => pair.expect(["< LDS v2 n4 [l@2]"]),
        }
    }
}
