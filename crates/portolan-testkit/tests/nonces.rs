//! What a nonce says, and what a request is worth whose nonce says nothing.

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER};
use portolan_engine::{Event, Limits};
use portolan_testkit::{Pair, PlainClient, Setup, Shelf, fixture};

fn endpoints(client: PlainClient) -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put(["a", "b", "c"].map(|name| fixture::endpoints(name, "1")));
    let mut pair = Pair::new(client.without_acks(), &shelf);
    pair.client.want(&ENDPOINT, ["a"]);
    pair.drive();
    pair.skip();
    pair.take_events();
    (shelf, pair)
}

fn acked(events: &[Event]) -> Vec<String> {
    let nonces = events.iter().filter_map(|e| match e {
        Event::Acked { nonce, .. } => Some(nonce.to_string()),
        _ => None,
    });
    nonces.collect()
}

#[test]
fn c097_c188_c203_an_ack_is_told_once_and_not_answered() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let (_, mut pair) = endpoints(client);
        pair.client.ack(&ENDPOINT);
        pair.client.ack(&ENDPOINT);
        pair.drive();
        assert_eq!(pair.client.received().len(), 1);
        assert_eq!(acked(&pair.take_events()), ["1"]);
    }
}

#[test]
fn c114_c193_a_foreign_nonce_says_nothing_and_names_count() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        for nonce in ["zzz", "0", "01", "-1", "99", "18446744073709551616"] {
            let (_, mut pair) = endpoints(client_like(&client));
            match portolan_testkit::Client::variant(&client) {
                portolan_engine::Variant::Sotw => {
                    let mut request = pair.client.sotw_request(&ENDPOINT, ["a", "b"]);
                    request.nonce = nonce.into();
                    pair.client.send(request);
                }
                _ => {
                    let mut request = PlainClient::delta_request(&ENDPOINT, ["b"], []);
                    request.nonce = nonce.into();
                    pair.client.send(request);
                }
            }
            pair.drive();
            let told = pair.take_events();
            assert_eq!(acked(&told), [""; 0]);
            assert!(told.iter().any(|e| matches!(e, Event::StaleNonce { .. })));
            assert_eq!(pair.client.held(&ENDPOINT).len(), 2, "{nonce}");
            assert!(pair.error().is_none());
        }
    }
}

#[test]
fn it_is_told_before_the_first_response_too() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let mut pair = Pair::new(client, &Shelf::new());
        pair.client.want(&ENDPOINT, ["a"]);
        pair.drive();
        pair.take_events();
        pair.client.answer(&ENDPOINT, "zzz", None);
        pair.drive();
        let told = pair.take_events();
        assert!(matches!(&told[..], [Event::StaleNonce { nonce, .. }] if nonce == "zzz"));
    }
}

fn client_like(client: &PlainClient) -> PlainClient {
    PlainClient::new(portolan_testkit::Client::variant(client))
}

#[test]
fn a_long_foreign_nonce_is_cut_in_what_is_told() {
    let (_, mut pair) = endpoints(PlainClient::sotw());
    let mut request = pair.client.sotw_request(&ENDPOINT, ["a"]);
    request.nonce = "x".repeat(1 << 16);
    pair.client.send(request);
    pair.drive();
    let told = pair.take_events();
    assert!(matches!(&told[..], [Event::StaleNonce { nonce, .. }] if nonce.len() == 64));
}

#[test]
fn a_type_that_starts_afresh_keeps_what_it_ever_named() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, ["a"]);
    pair.drive();
    pair.skip();
    let mut request = pair.client.sotw_request(&CLUSTER, [""; 0]);
    request.nonce.clear();
    pair.client.send(request);
    pair.drive();
    pair.expect(["> CDS [] v=v1 n="]);
}

#[test]
fn a_wildcard_that_starts_afresh_by_name_is_one_no_more() {
    let shelf = Shelf::new();
    shelf.put([fixture::endpoints("a", "1")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, ["*"]);
    pair.drive();
    pair.set_window(0);
    for names in [["*"], ["x"]] {
        let mut request = pair.client.sotw_request(&CLUSTER, names);
        request.nonce.clear();
        request.version.clear();
        pair.client.send(request);
    }
    pair.drive();
    pair.skip();
    pair.set_window(1);
    pair.drive();
    pair.expect_quiet();
}

#[test]
fn c090_c187_b48_nonces_are_unique_over_all_types() {
    let (shelf, mut pair) = endpoints(PlainClient::sotw());
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.client.ask(&LISTENER, [""; 0]);
    pair.drive();
    for revision in 2..300 {
        shelf.put([
            fixture::static_cluster("c").revision(revision),
            fixture::endpoints("a", revision),
        ]);
        pair.drive();
        pair.client.ack(&ENDPOINT);
        pair.client.ack(&CLUSTER);
        pair.drive();
    }
    let mut nonces: Vec<_> = pair.client.received().iter().map(|r| r.nonce).collect();
    let count = nonces.len();
    nonces.dedup();
    assert!(count > 500 && nonces.len() == count && nonces.is_sorted());
}

#[test]
fn more_unacknowledged_responses_than_are_remembered_are_taken_for_accepted() {
    let shelf = Shelf::new();
    let names: Vec<_> = (0..66).map(|i| format!("e{i:02}")).collect();
    shelf.put(names.iter().map(|n| fixture::endpoints(n, "1")));
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    for name in &names {
        pair.client.subscribe(&ENDPOINT, [name.as_str()]);
    }
    pair.drive();
    let told = pair.take_events();
    let assumed: Vec<_> = told
        .iter()
        .filter_map(|e| match e {
            Event::AssumedAccepted { nonce, .. } => Some(nonce.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(assumed, ["1", "2"]);
    pair.client.answer(&ENDPOINT, "1", None);
    pair.client.answer(&ENDPOINT, "3", None);
    pair.drive();
    assert_eq!(acked(&pair.take_events()), ["3"]);
    assert!(pair.error().is_none());
}

#[test]
fn the_number_that_is_remembered_is_configurable() {
    let shelf = Shelf::new();
    shelf.put([fixture::endpoints("a", "1"), fixture::endpoints("b", "1")]);
    let limits = Limits::default().with_unacked(1);
    let setup = Setup::default().with_config(Setup::default_config().with_limits(limits));
    let mut pair = Pair::open(PlainClient::sotw().without_acks(), &shelf, setup);
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.client.ask(&ENDPOINT, ["a", "b"]);
    pair.drive();
    let assumed = |e: &Event| matches!(e, Event::AssumedAccepted { .. });
    assert_eq!(pair.take_events().iter().filter(|e| assumed(e)).count(), 1);
}

#[test]
fn what_went_before_a_type_that_starts_afresh_is_answered_is_told() {
    // C-126
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a").bad()]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, ["a"]);
    pair.drive();
    pair.skip();
    pair.set_window(0);
    let mut afresh = pair.client.sotw_request(&CLUSTER, ["a"]);
    afresh.nonce.clear();
    pair.client.send(afresh);
    pair.drive();
    shelf.remove(&CLUSTER, ["a"]);
    pair.set_window(1);
    pair.drive();
    pair.expect(["> CDS [a] v= n=", "< CDS v2 n2 []", "> ACK CDS n2"]);
}

#[test]
fn an_acknowledgement_that_comes_twice_is_not_stale() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let shelf = Shelf::new();
        shelf.put([fixture::endpoints("a", "1")]);
        let mut pair = Pair::new(client, &shelf);
        pair.client.want(&ENDPOINT, ["a"]);
        pair.drive();
        pair.client.ack(&ENDPOINT);
        pair.drive();
        let told = pair.take_events();
        let acked = |e: &&Event| matches!(e, Event::Acked { .. });
        assert_eq!(told.iter().filter(acked).count(), 1, "{told:?}");
        let stale = |e: &Event| matches!(e, Event::StaleNonce { .. });
        assert!(!told.iter().any(stale), "{told:?}");
    }
}
