//! Which route tables stay that are gone, and which do not.

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_testkit::fixture;
use portolan_testkit::{EnvoyMux, Pair, PlainClient, Shelf};

use crate::bed::*;

/// A delta client that asks for all that leads to `a`, and acknowledges what it is sent unless it is told to reject it.
fn plain() -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    publish(&shelf, leading_to("a"));
    let mut pair = Pair::open(PlainClient::delta(), &shelf, setup());
    pair.client.want(&CLUSTER, []);
    pair.client.want(&ENDPOINT, ["a"]);
    pair.client.want(&LISTENER, []);
    pair.client.want(&ROUTE, ["r"]);
    pair.drive();
    (shelf, pair)
}

/// No connection drains: the listener goes on, and nobody knows to where.
#[test]
fn a_table_that_a_listener_still_names_goes_at_once() {
    let (shelf, mut pair) = plain();
    let mut next = leading_to("a");
    next.truncate(3);
    publish(&shelf, next);
    pair.drive();
    assert!(pair.client.held(&ROUTE).is_empty(), "{}", pair.transcript());
}

/// It is not what connections use.
#[test]
fn a_table_that_was_rejected_goes_at_once() {
    let (shelf, mut pair) = plain();
    pair.client.set_acks(false);
    shelf.put([fixture::route("r", ["a"]).revision(2)]);
    pair.drive();
    pair.client.nack(&ROUTE);
    pair.drive();
    let mut next = leading_to("a");
    next.truncate(2);
    publish(&shelf, next);
    pair.drive();
    assert!(pair.client.held(&ROUTE).is_empty(), "{}", pair.transcript());
}

/// Nothing of it drains.
#[test]
fn a_table_that_the_client_does_not_ask_for_keeps_no_cluster() {
    let (shelf, mut pair) = plain();
    let mut more = leading_to("a");
    more.extend([
        fixture::static_cluster("spare"),
        fixture::route("q", ["spare"]),
    ]);
    publish(&shelf, more);
    pair.drive();
    assert_eq!(pair.client.held(&CLUSTER).len(), 2);
    publish(&shelf, leading_to("a"));
    pair.advance(times().grace());
    assert_eq!(pair.client.held_names(&CLUSTER), ["a".into()]);
}

/// Its listener is to be replaced by one that leads to a cluster which the client rejected, and that wait has no end.
#[test]
fn a_table_stays_as_long_as_the_listener_that_names_it() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let next = |cluster| [cluster, fixture::tcp_listener("m").leads_to("b")];
        publish(&shelf, next(fixture::static_cluster("b").bad()));
        pair.advance(secs(300));
        assert!(pair.client.envoy.listeners().contains_key("l"), "{kind:?}");
        assert!(pair.client.envoy.routes().contains_key("r"), "{kind:?}");
        publish(&shelf, next(fixture::static_cluster("b")));
        pair.advance(DRAIN + secs(60));
        expect_only(&pair, "b");
    }
}

/// Names of tables are not names of clusters.
#[test]
fn a_listener_does_not_wait_for_a_cluster_that_is_called_like_its_table() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("a");
        next[2] = fixture::listener("l", "b");
        next[3] = fixture::route("b", ["a"]);
        next.push(fixture::cluster("b"));
        publish(&shelf, next);
        pair.drive();
        assert!(pair.client.envoy.routes().contains_key("b"), "{kind:?}");
    }
}
