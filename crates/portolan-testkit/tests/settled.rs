//! A publication is settled on a stream when nothing is left to say of it and nothing is left to hear.

use portolan_core::well_known::{CLUSTER, ENDPOINT};
use portolan_engine::{ErrorDetail, Event};
use portolan_testkit::{Client, Pair, PlainClient, Shelf, fixture};

/// The settlements told since the last call: publication, and whether it is rejected in part.
fn settled<C: Client>(pair: &mut Pair<C>) -> Vec<(u64, bool)> {
    let settlement = |event| match event {
        Event::Settled {
            generation,
            rejecting,
        } => Some((generation.get(), rejecting)),
        _ => None,
    };
    pair.take_events()
        .into_iter()
        .filter_map(settlement)
        .collect()
}

/// A client that has cluster `a` of publication 1, and acknowledges when the test says so.
fn one_cluster() -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let mut pair = Pair::new(PlainClient::sotw().without_acks(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    (shelf, pair)
}

#[test]
fn what_is_sent_settles_with_its_acknowledgement() {
    let (_, mut pair) = one_cluster();
    assert_eq!(settled(&mut pair), []);
    pair.client.ack(&CLUSTER);
    pair.drive();
    assert_eq!(settled(&mut pair), [(1, false)]);
    pair.client.ack(&CLUSTER);
    pair.drive();
    assert_eq!(settled(&mut pair), [], "told once");
}

#[test]
fn a_publication_that_does_not_concern_the_stream_settles_in_silence() {
    let (shelf, mut pair) = one_cluster();
    pair.client.ack(&CLUSTER);
    pair.drive();
    settled(&mut pair);
    shelf.put([fixture::endpoints("e", "1")]);
    pair.drive();
    assert_eq!(settled(&mut pair), [(2, false)]);
}

#[test]
fn what_waits_is_not_settled() {
    let (shelf, mut pair) = one_cluster();
    pair.client.ack(&CLUSTER);
    pair.drive();
    settled(&mut pair);
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(3)]);
    pair.drive();
    assert_eq!(settled(&mut pair), []);
    pair.client.ack(&CLUSTER);
    pair.drive();
    assert_eq!(settled(&mut pair), [], "the third is on its way");
    pair.client.ack(&CLUSTER);
    pair.drive();
    assert_eq!(settled(&mut pair), [(3, false)], "the second never settled");
}

#[test]
fn c235_what_is_not_known_yet_is_not_settled() {
    let shelf = Shelf::new();
    shelf.edit(|snapshot| {
        snapshot.pending(ENDPOINT, "b").unwrap();
    });
    shelf.put([fixture::endpoints("a", "1")]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&ENDPOINT, ["a", "b"]);
    pair.drive();
    assert_eq!(pair.client.held(&ENDPOINT).len(), 1);
    assert_eq!(settled(&mut pair), []);
    shelf.put([fixture::endpoints("b", "1")]);
    pair.drive();
    assert_eq!(settled(&mut pair), [(3, false)]);
}

#[test]
fn a_rejection_settles_too_and_until_it_is_mended_says_so() {
    let (shelf, mut pair) = one_cluster();
    pair.client.nack(&CLUSTER);
    pair.drive();
    assert_eq!(settled(&mut pair), [(1, true)]);
    shelf.put([fixture::endpoints("e", "1")]);
    pair.drive();
    assert_eq!(
        settled(&mut pair),
        [(2, true)],
        "the cluster is still rejected"
    );
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.client.ack(&CLUSTER);
    pair.drive();
    assert_eq!(settled(&mut pair), [(3, false)]);
}

#[test]
fn a_rejection_of_everything_is_about_all_that_was_not_accepted_before() {
    let (shelf, mut pair) = one_cluster();
    shelf.put([fixture::static_cluster("b")]);
    pair.drive();
    pair.client.nack(&CLUSTER);
    pair.drive();
    shelf.remove(&CLUSTER, ["b"]);
    pair.drive();
    settled(&mut pair);
    pair.client.nack(&CLUSTER);
    pair.drive();
    assert_eq!(settled(&mut pair), [(3, true)], "`a` was never accepted");
}

#[test]
fn so_it_is_when_the_older_rejection_comes_late() {
    let (shelf, mut pair) = one_cluster();
    let older = pair.client.nonce(&CLUSTER);
    shelf.put([fixture::static_cluster("b")]);
    pair.drive();
    let error = Some(ErrorDetail::new(13, "no"));
    pair.client.answer(&CLUSTER, &older, error);
    pair.client.nack(&CLUSTER);
    pair.drive();
    settled(&mut pair);
    shelf.remove(&CLUSTER, ["b"]);
    pair.drive();
    pair.client.nack(&CLUSTER);
    pair.drive();
    assert_eq!(settled(&mut pair), [(3, true)]);
}

#[test]
fn one_that_follows_a_fresh_start_is_about_all_that_came_since() {
    let (_, mut pair) = one_cluster();
    pair.client.ack(&CLUSTER);
    let mut afresh = pair.client.sotw_request(&CLUSTER, [""; 0]);
    afresh.nonce.clear();
    pair.client.send(afresh);
    pair.drive();
    settled(&mut pair);
    pair.client.nack(&CLUSTER);
    pair.drive();
    assert_eq!(settled(&mut pair), [(1, true)]);
}

#[test]
fn what_was_rejected_and_is_not_wanted_any_more_is_not_rejected() {
    let shelf = Shelf::new();
    shelf.put([fixture::endpoints("a", "1"), fixture::endpoints("b", "1")]);
    let mut pair = Pair::new(PlainClient::sotw().without_acks(), &shelf);
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.client.nack(&ENDPOINT);
    pair.drive();
    assert_eq!(settled(&mut pair), [(1, true)]);
    pair.client.ask(&ENDPOINT, ["b"]);
    pair.drive();
    pair.client.ack(&ENDPOINT);
    pair.drive();
    assert_eq!(settled(&mut pair), [(1, false)]);
}

#[test]
fn what_nobody_has_spoken_of_is_not_settled() {
    let shelf = Shelf::new();
    shelf.edit(|snapshot| {
        snapshot.only([ENDPOINT]);
    });
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, ["a"]);
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    assert_eq!(settled(&mut pair), []);
    shelf.put([fixture::static_cluster("b")]);
    pair.drive();
    assert_eq!(settled(&mut pair), [(2, false)]);
}

#[test]
fn a_stream_that_asks_for_nothing_settles_on_nothing() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.drive();
    assert_eq!(settled(&mut pair), []);
}
