//! The order in which types go out when several changed.

use portolan_core::well_known::{
    CLUSTER, ENDPOINT, EXTENSION_CONFIG, LISTENER, ROUTE, RUNTIME, SCOPED_ROUTE, SECRET,
    VIRTUAL_HOST,
};
use portolan_testkit::{EnvoyClient, EnvoyMux, Pair, PlainClient, Shelf, fixture};

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
fn what_is_referred_to_goes_before_what_refers() {
    // C-238 to C-243
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
fn a_type_alone_goes_at_once() {
    // C-248, C-250
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
fn a_new_listener_with_its_route_and_cluster_serves_without_waiting() {
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
