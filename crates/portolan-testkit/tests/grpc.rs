//! Proxyless gRPC: state of the world, everything by name.

use portolan_core::well_known::CLUSTER;
use portolan_engine::Event;
use portolan_testkit::{GrpcClient, Pair, Shelf, fixture};

fn service() -> (Shelf, Pair<GrpcClient>) {
    let shelf = Shelf::new();
    shelf.put([
        fixture::listener("svc", "r"),
        fixture::route("r", ["a"]),
        fixture::cluster("a").service("e"),
        fixture::endpoints("e", "1"),
    ]);
    // What is not this client's is none of its business (C-381).
    shelf.put((0..50).map(|i| fixture::cluster(format!("other{i}"))));
    let pair = Pair::new(GrpcClient::new(["svc"]), &shelf);
    (shelf, pair)
}

fn started() -> (Shelf, Pair<GrpcClient>) {
    let (shelf, mut pair) = service();
    pair.drive();
    pair.skip();
    (shelf, pair)
}

#[test]
fn each_type_is_answered_as_soon_as_it_is_asked_for() {
    // C-380, C-381
    let (_, mut pair) = service();
    pair.drive();
    pair.expect([
        "> LDS [svc] v= n=",
        "< LDS v1 n1 [svc]",
        "> ACK LDS n1",
        "> RDS [r] v= n=",
        "< RDS v1 n2 [r]",
        "> ACK RDS n2",
        "> CDS [a] v= n=",
        "< CDS v1 n3 [a]",
        "> ACK CDS n3",
        "> EDS [e] v= n=",
        "< EDS v1 n4 [e]",
        "> ACK EDS n4",
    ]);
}

#[test]
fn moving_to_another_cluster_asks_for_both_and_then_for_one() {
    let (shelf, mut pair) = started();
    shelf.put([
        fixture::cluster("b").service("f"),
        fixture::endpoints("f", "1"),
    ]);
    shelf.put([fixture::route("r", ["a", "b"])]);
    pair.drive();
    pair.expect([
        "< RDS v2 n5 [r@2]",
        "> ACK RDS n5",
        "> CDS [a b] v=v1 n=n3",
        "< CDS v2 n6 [a b]",
        "> ACK CDS n6",
        "> EDS [e f] v=v1 n=n4",
        "< EDS v2 n7 [f]",
        "> ACK EDS n7",
    ]);
    shelf.put([fixture::route("r", ["b"])]);
    pair.drive();
    pair.expect([
        "< RDS v3 n8 [r@3]",
        "> ACK RDS n8",
        "> CDS [b] v=v2 n=n6",
        "> EDS [f] v=v2 n=n7",
    ]);
}

#[test]
fn b17_c063_a_cluster_that_returns_finds_its_endpoints_though_they_did_not_change() {
    let (shelf, mut pair) = started();
    shelf.remove(&CLUSTER, ["a"]);
    pair.drive();
    assert!(pair.client.clusters().is_empty());
    pair.expect(["< CDS v2 n5 []", "> ACK CDS n5", "> EDS [] v=v1 n=n4"]);
    shelf.put([fixture::cluster("a").service("e")]);
    pair.drive();
    pair.expect([
        "< CDS v1 n6 [a]",
        "> ACK CDS n6",
        "> EDS [e] v=v1 n=n4",
        "< EDS v1 n7 [e]",
        "> ACK EDS n7",
    ]);
    assert_eq!(pair.client.endpoints()["e"], "host=1");
}

#[test]
fn c274_a_changed_cluster_may_bring_its_endpoints_again() {
    // Unasked, unchanged, and accepted.
    let (shelf, mut pair) = started();
    shelf.put([fixture::cluster("a").service("e").revision(2)]);
    pair.drive();
    pair.expect([
        "< CDS v2 n5 [a@2]",
        "< EDS v1 n6 [e]",
        "> ACK CDS n5",
        "> ACK EDS n6",
    ]);
}

#[test]
fn a_client_that_stops_watching_is_sent_nothing_more() {
    let (shelf, mut pair) = started();
    pair.client.unwatch("svc");
    pair.drive();
    pair.expect([
        "> LDS [] v=v1 n=n1",
        "> RDS [] v=v1 n=n2",
        "> CDS [] v=v1 n=n3",
        "> EDS [] v=v1 n=n4",
    ]);
    shelf.put([
        fixture::listener("svc", "r2"),
        fixture::cluster("a").revision(2),
        fixture::endpoints("e", "2"),
    ]);
    pair.drive();
    pair.expect_quiet();
    pair.client.watch("svc");
    pair.drive();
    assert!(pair.client.listeners().contains_key("svc"));
}

#[test]
fn a_missing_listener_is_remembered() {
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("x")]);
    let mut pair = Pair::new(GrpcClient::new(["svc"]), &shelf);
    pair.drive();
    pair.expect(["> LDS [svc] v= n="]);
    shelf.put([fixture::listener("svc", "r")]);
    pair.drive();
    pair.expect(["< LDS v1 n1 [svc]", "> ACK LDS n1", "> RDS [r] v= n="]);
}

#[test]
fn an_error_that_sticks_is_counted_once_and_names_count() {
    // C-385, AMB-05
    let (shelf, _) = service();
    shelf.put([
        fixture::route("r", ["a", "b"]),
        fixture::cluster("b").bad(),
        fixture::listener("svc2", "r2"),
        fixture::route("r2", ["c"]),
        fixture::static_cluster("c"),
    ]);
    let client = GrpcClient::new(["svc"]).with_sticky_errors(true);
    let mut pair = Pair::new(client, &shelf);
    pair.drive();
    pair.client.watch("svc2");
    pair.drive();
    // The new name is asked for with the old error; it is answered, and rejected again for the old reason.
    assert!(pair.client.clusters().contains_key("c"));
    let told = pair.take_events();
    let nacked: Vec<_> = told
        .iter()
        .filter_map(|e| match e {
            Event::Nacked {
                type_url, nonce, ..
            } => Some((type_url.clone(), nonce.to_string())),
            _ => None,
        })
        .collect();
    let mut once = nacked.clone();
    once.dedup();
    assert_eq!(nacked, once);
    assert!(nacked.iter().all(|(url, _)| *url == CLUSTER));
}

#[test]
fn the_good_half_of_a_rejected_response_is_used() {
    // C-383
    let (shelf, mut pair) = started();
    shelf.put([fixture::route("r", ["a", "b"]), fixture::cluster("b").bad()]);
    pair.drive();
    assert_eq!(pair.client.clusters().len(), 1);
    shelf.put([fixture::cluster("b"), fixture::endpoints("b", "1")]);
    pair.drive();
    assert_eq!(pair.client.endpoints()["b"], "host=1");
}

#[test]
fn names_may_shrink_and_grow_in_quick_succession() {
    // C-382, C-399
    let (shelf, mut pair) = started();
    shelf.put([
        fixture::listener("svc2", "r2"),
        fixture::route("r2", ["a", "b"]),
        fixture::cluster("b"),
        fixture::endpoints("b", "1"),
    ]);
    for _ in 0..3 {
        pair.client.watch("svc2");
        pair.drive();
        pair.client.unwatch("svc2");
        pair.client.watch("svc2");
        pair.drive();
        assert_eq!(pair.client.listeners().len(), 2);
        assert_eq!(pair.client.endpoints()["b"], "host=1");
        pair.client.unwatch("svc2");
        pair.drive();
    }
}

#[test]
fn a_server_asks_for_its_listener_by_address() {
    // C-392
    let name = "grpc/server?xds.resource.listening_address=127.0.0.1:50051";
    let shelf = Shelf::new();
    shelf.put([fixture::tcp_listener(name), fixture::tcp_listener("other")]);
    let mut pair = Pair::new(GrpcClient::new([name]), &shelf);
    pair.drive();
    assert_eq!(pair.client.listeners().len(), 1);
    let lines = pair.transcript().lines();
    assert!(lines.iter().all(|line| line.contains("LDS")), "{lines:?}");
}
