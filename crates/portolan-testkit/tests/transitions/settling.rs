//! A publication is settled on a stream when nothing waits on its account, and nothing stays.

use portolan_core::well_known::{CLUSTER, ENDPOINT, ROUTE};
use portolan_engine::Event;
use portolan_testkit::fixture;
use portolan_testkit::{EnvoyMux, Pair, PlainClient, Shelf};

use crate::bed::*;

fn is_settled(events: &[Event]) -> bool {
    let is_told = |event: &Event| matches!(event, Event::Settled { .. });
    events.iter().any(is_told)
}

#[test]
fn a_route_that_waits_is_not_settled() {
    for client in both() {
        let shelf = Shelf::new();
        publish(&shelf, leading_to("a"));
        let mut pair = Pair::open(client, &shelf, setup());
        pair.client.want(&CLUSTER, []);
        pair.client.want(&ENDPOINT, ["a", "b"]);
        pair.client.want(&ROUTE, ["r"]);
        pair.drive();
        pair.take_events();
        let mut next = leading_to("a");
        next[3] = fixture::route("r", ["b"]);
        next.push(fixture::cluster("b"));
        publish(&shelf, next);
        pair.advance(secs(1));
        assert!(!is_settled(&pair.take_events()));
        shelf.put([fixture::endpoints("b", "1")]);
        pair.drive();
        assert!(is_settled(&pair.take_events()));
    }
}

#[test]
fn nor_is_a_cluster_that_stays() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        publish(&shelf, leading_to("b"));
        pair.advance(secs(1));
        assert!(!is_settled(&pair.take_events()), "{kind:?}");
        pair.advance(times().grace());
        assert!(is_settled(&pair.take_events()), "{kind:?}");
    }
}

#[test]
fn nor_is_a_table_that_stays() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("a");
        next.truncate(2);
        publish(&shelf, next);
        pair.advance(secs(1));
        assert!(!is_settled(&pair.take_events()), "{kind:?}");
        pair.advance(DRAIN);
        assert!(is_settled(&pair.take_events()), "{kind:?}");
    }
}

#[test]
fn nor_is_an_assignment_that_stays() {
    let shelf = Shelf::new();
    publish(&shelf, leading_to("a"));
    let mut pair = Pair::open(PlainClient::delta(), &shelf, setup());
    pair.client.want(&CLUSTER, []);
    pair.client.want(&ENDPOINT, ["a"]);
    pair.drive();
    pair.take_events();
    publish(&shelf, [fixture::cluster("a").revision(2)]);
    pair.advance(secs(30));
    assert!(pair.client.held(&ENDPOINT).contains_key("a"));
    assert!(!is_settled(&pair.take_events()));
    publish(&shelf, [fixture::static_cluster("a")]);
    pair.advance(secs(30));
    assert!(pair.client.held(&ENDPOINT).is_empty());
    assert!(is_settled(&pair.take_events()));
}
