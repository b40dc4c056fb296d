//! What is gone and stays on a stream: for what, and until when.

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE, VIRTUAL_HOST};
use portolan_testkit::fixture::{self, Fixture};
use portolan_testkit::{EnvoyMux, Pair, PlainClient, Shelf};

use crate::bed::*;

/// Says of the listener that it is not known yet what it is.
fn forget_the_listener(shelf: &Shelf) {
    shelf.edit(|snapshot| {
        snapshot.pending(LISTENER, "l").expect("a name");
    });
}

#[test]
fn a_cluster_that_goes_later_than_its_listener_stays_as_long_as_that_drains() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, inline(&["a", "b"], "a"));
        publish(&shelf, inline(&["a", "b"], "b"));
        pair.advance(secs(10));
        publish(&shelf, inline(&["b"], "b"));
        pair.advance(DRAIN - secs(10));
        assert_eq!(clusters(&pair), ["a", "b"], "{kind:?}");
        pair.advance(secs(10) + times().grace());
        expect_only(&pair, "b");
    }
}

#[test]
fn what_has_drained_keeps_no_cluster() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, inline(&["a", "b"], "a"));
        publish(&shelf, inline(&["a", "b"], "b"));
        pair.advance(DRAIN + times().removal_budget());
        publish(&shelf, inline(&["b"], "b"));
        pair.drive();
        expect_only(&pair, "b");
    }
}

/// Where it led is not known any more, when it is replaced.
#[test]
fn so_does_any_cluster_for_a_listener_that_was_not_known_meanwhile() {
    for wait in [secs(10), DRAIN + times().removal_budget()] {
        let (shelf, mut pair) = serving(EnvoyMux::Delta, inline(&["a", "b"], "a"));
        forget_the_listener(&shelf);
        pair.advance(secs(60));
        publish(&shelf, inline(&["a", "b"], "b"));
        pair.advance(wait);
        publish(&shelf, inline(&["b"], "b"));
        pair.drive();
        let stays = clusters(&pair) == ["a", "b"];
        assert_eq!(stays, wait == secs(10), "{}", pair.transcript());
        pair.advance(DRAIN + times().grace());
        expect_only(&pair, "b");
    }
}

/// Clients that ask for everything by wildcard, without listeners as yet.
fn without_listeners(shelf: &Shelf) -> [Pair<PlainClient>; 2] {
    both().map(|client| {
        let mut pair = Pair::open(client, shelf, setup());
        pair.client.want(&CLUSTER, []);
        pair.client.want(&ENDPOINT, ["a", "b"]);
        pair.drive();
        pair
    })
}

fn without_endpoints_of_b() -> Vec<Fixture> {
    vec![
        fixture::cluster("b"),
        fixture::tcp_listener("l").leads_to("b"),
    ]
}

#[test]
fn a_client_that_asks_for_listeners_later_gets_what_leads_to_the_cluster_that_stayed() {
    let shelf = Shelf::new();
    publish(&shelf, inline(&["a"], "a"));
    for mut pair in without_listeners(&shelf) {
        publish(&shelf, without_endpoints_of_b());
        pair.drive();
        assert!(pair.client.held(&CLUSTER).contains_key("a"));
        pair.client.want(&LISTENER, []);
        pair.drive();
        let body = pair.client.held(&LISTENER)["l"].body().clone();
        assert_eq!(body, &b"to=a"[..], "{}", pair.transcript());
        publish(&shelf, inline(&["a"], "a"));
    }
}

#[test]
fn a_listener_that_is_not_known_and_not_asked_for_may_lead_to_any_cluster() {
    let shelf = Shelf::new();
    for variant in 0..2 {
        publish(&shelf, inline(&["a"], "a"));
        let mut pair = without_listeners(&shelf).into_iter().nth(variant).unwrap();
        forget_the_listener(&shelf);
        pair.drive();
        publish(&shelf, without_endpoints_of_b());
        pair.drive();
        assert!(
            pair.client.held(&CLUSTER).contains_key("a"),
            "{}",
            pair.transcript()
        );
    }
}

/// Its reason to stay is a virtual host that the client has by another name than its own, and that is gone too.
#[test]
fn a_cluster_stays_until_the_client_knows_that_what_it_has_by_an_alias_is_gone() {
    let shelf = Shelf::new();
    let host = fixture::virtual_host("r/v")
        .leads_to("a")
        .alias("r/example.com");
    publish(&shelf, [fixture::static_cluster("a"), host]);
    let mut pair = Pair::open(PlainClient::delta(), &shelf, setup());
    pair.client.want(&CLUSTER, ["*"]);
    pair.client.want(&VIRTUAL_HOST, ["r/example.com"]);
    pair.drive();
    pair.client.set_acks(false);
    publish(&shelf, [fixture::static_cluster("b")]);
    pair.drive();
    assert!(pair.client.held(&CLUSTER).contains_key("a"));
    pair.client.set_acks(true);
    pair.client.ack(&VIRTUAL_HOST);
    pair.advance(times().grace());
    assert_eq!(pair.client.held_names(&CLUSTER), ["b".into()]);
}

/// What leads away from it waits behind a response that the client has not read, and then for the client itself.
#[test]
fn a_cluster_stays_until_what_leads_away_from_it_was_sent_and_accepted() {
    for client in both() {
        let shelf = Shelf::new();
        let clusters = || [fixture::static_cluster("a"), fixture::static_cluster("b")];
        publish(
            &shelf,
            clusters().into_iter().chain([fixture::route("r", ["a"])]),
        );
        let mut pair = Pair::open(client, &shelf, setup());
        pair.client.want(&CLUSTER, []);
        pair.client.want(&ROUTE, ["r"]);
        pair.drive();
        pair.client.set_acks(false);
        let changed = fixture::route("r", ["a"]).revision(2);
        publish(&shelf, clusters().into_iter().chain([changed]));
        pair.drive();
        publish(
            &shelf,
            [fixture::static_cluster("b"), fixture::route("r", ["b"])],
        );
        pair.drive();
        pair.client.ack(&ROUTE);
        pair.advance(times().grace() + secs(1));
        assert!(
            pair.client.held(&CLUSTER).contains_key("a"),
            "{}",
            pair.transcript()
        );
        pair.client.ack(&ROUTE);
        pair.advance(times().grace());
        assert_eq!(pair.client.held_names(&CLUSTER), ["b".into()]);
    }
}

/// A rejection that comes when all has left it is about something else.
#[test]
fn a_rejection_that_comes_later_keeps_nothing_longer() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        publish(&shelf, leading_to("b"));
        pair.advance(secs(1));
        let mut next = leading_to("b");
        next[3] = fixture::route("r", ["b"]).revision(2).bad();
        publish(&shelf, next);
        pair.advance(times().grace() - secs(1));
        expect_only(&pair, "b");
        assert_eq!(rejections(&pair.take_events()), 1);
    }
}
