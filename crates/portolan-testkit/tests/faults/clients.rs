//! Clients other than a plain Envoy: proxyless gRPC, and proxies that drain.

use std::time::Duration;

use portolan_core::well_known::{CLUSTER, LISTENER, ROUTE};
use portolan_testkit::fixture::Fixture;
use portolan_testkit::{GrpcClient, PlainClient, Setup, fixture};

use crate::bed::{Bed, both};

/// Elsewhere a listener was matched by its form, or one client of a node was sent what another had asked for.
#[test]
fn b90_each_grpc_client_of_a_node_is_sent_its_own_listener_by_its_exact_name() {
    const SERVER: &str = "grpc/server?xds.resource.listening_address=0.0.0.0:8080";
    const TARGET: &str = "svc.ns:50051";
    const ABSENT: &str = "grpc/server?xds.resource.listening_address=[::]:8080";

    let bed = Bed::with([SERVER, TARGET].map(fixture::tcp_listener));
    // What a match that is not exact would find.
    bed.put([&SERVER[..SERVER.len() - 1], "SVC.ns:50051"].map(fixture::tcp_listener));
    let mut server = bed.pair(GrpcClient::new([SERVER]));
    let mut client = bed.pair(GrpcClient::new([TARGET]));
    let mut early = bed.pair(GrpcClient::new([ABSENT]));
    server.drive();
    client.drive();
    early.drive();
    server.expect([
        &format!("> LDS [{SERVER}] v= n="),
        &format!("< LDS v1 n1 [{SERVER}]"),
        "> ACK LDS n1",
    ]);
    client.expect([
        "> LDS [svc.ns:50051] v= n=",
        "< LDS v1 n1 [svc.ns:50051]",
        "> ACK LDS n1",
    ]);
    early.expect([format!("> LDS [{ABSENT}] v= n=")]);

    bed.put([fixture::tcp_listener(SERVER).revision(2)]);
    server.drive();
    client.drive();
    server.expect([&format!("< LDS v2 n2 [{SERVER}@2]"), "> ACK LDS n2"]);
    client.expect_quiet();
    early.drive();
    early.expect_quiet();
    bed.put([fixture::tcp_listener(ABSENT)]);
    early.drive();
    early.expect([&format!("< LDS v1 n1 [{ABSENT}]"), "> ACK LDS n1"]);
}

/// Elsewhere a gRPC client that asked for nothing was taken for a proxy that asks for everything.
#[test]
fn b92_asking_for_nothing_is_no_wildcard_where_that_is_switched_off() {
    for client in both() {
        let bed = Bed::with(["a", "b"].map(fixture::static_cluster));
        let config = Setup::default_config().with_legacy_wildcard(false);
        let mut pair = bed.pair_set_up(client, Setup::default().with_config(config));
        pair.client.want(&CLUSTER, []);
        pair.advance(Duration::from_secs(60));
        assert!(pair.client.received().is_empty());
        pair.client.want(&CLUSTER, ["*"]);
        pair.drive();
        assert_eq!(pair.client.held(&CLUSTER).len(), 2);
    }
}

/// A listener and its route table, both of which the client has, and which then are gone.
fn drained(client: PlainClient) -> (Bed, portolan_testkit::Pair<PlainClient>) {
    let resources: [Fixture; 2] = [fixture::listener("l", "r"), fixture::route("r", [""; 0])];
    let bed = Bed::with(resources);
    let mut pair = bed.pair(client);
    pair.client.want(&LISTENER, []);
    pair.client.want(&ROUTE, ["r"]);
    pair.drive();
    let mut edit = bed.snapshot().edit();
    edit.remove(&LISTENER, "l").remove(&ROUTE, "r");
    bed.set(edit.build());
    pair.drive();
    (bed, pair)
}

/// Elsewhere a listener that drained went on to ask for its deleted route, and each request was answered at once.
#[test]
fn b95_who_still_asks_for_what_is_gone_is_not_answered_again_and_again() {
    let (_bed, mut pair) = drained(PlainClient::sotw());
    let before = pair.client.received().len();
    for _ in 0..3 {
        pair.client.ask(&ROUTE, ["r"]);
        pair.advance(Duration::from_secs(1));
    }
    assert_eq!(pair.client.received().len(), before);

    // Missing routes are told as removed (C-147), each time that they are subscribed to and not otherwise.
    let (_bed, mut pair) = drained(PlainClient::delta());
    let before = pair.client.received().len();
    for answers in 1..=2 {
        pair.client.subscribe(&ROUTE, ["r"]);
        pair.advance(Duration::from_secs(60));
        let told = &pair.client.received()[before..];
        assert_eq!(told.len(), answers);
        assert_eq!(told[answers - 1].removed, ["r".into()]);
    }
}
