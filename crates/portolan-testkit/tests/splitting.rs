//! What is too large for one response goes in several, as one unit.

use std::collections::BTreeSet;

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, SCOPED_ROUTE};
use portolan_core::{Resource, ResourceBuilder, TypeUrl};
use portolan_engine::{Event, Response};
use portolan_testkit::{Pair, PlainClient, Setup, Shelf, fixture};

/// Small enough that a hundred resources of the fixtures do not fit.
const MAX: usize = 2_000;

fn pair(client: PlainClient, shelf: &Shelf) -> Pair<PlainClient> {
    let config = Setup::default_config().with_max_response(MAX);
    Pair::open(client, shelf, Setup::default().with_config(config))
}

fn name(number: usize) -> String {
    format!("r{number:03}")
}

fn endpoints(range: std::ops::Range<usize>, addresses: &str) -> Vec<fixture::Fixture> {
    range
        .map(|n| fixture::endpoints(name(n).as_str(), addresses))
        .collect()
}

fn clusters(range: std::ops::Range<usize>) -> Vec<fixture::Fixture> {
    range
        .map(|n| fixture::static_cluster(name(n).as_str()))
        .collect()
}

fn len(response: &Response) -> usize {
    let removed: usize = response.removed.iter().map(|name| name.len() + 2).sum();
    response
        .parts()
        .iter()
        .map(bytes::Bytes::len)
        .sum::<usize>()
        + removed
}

fn names(response: &Response) -> BTreeSet<String> {
    response
        .resources
        .iter()
        .map(|r| r.name().to_string())
        .collect()
}

/// That the responses are small, name nothing twice, and together hold `expected` names.
fn check_parts(responses: &[Response], expected: usize) {
    assert!(responses.len() > 1, "{responses:?}");
    let mut seen = BTreeSet::new();
    let mut nonces = BTreeSet::new();
    for response in responses {
        assert!(len(response) <= MAX, "{} bytes", len(response));
        assert!(nonces.insert(response.nonce));
        for name in names(response) {
            assert!(seen.insert(name.clone()), "{name} was sent twice");
        }
    }
    assert_eq!(seen.len(), expected);
}

fn oversized(pair: &mut Pair<PlainClient>) -> usize {
    let events = pair.take_events().into_iter();
    events
        .filter(|event| matches!(event, Event::Oversized { .. }))
        .count()
}

#[test]
fn c140_c424_a_first_answer_of_many_resources_comes_in_parts() {
    let shelf = Shelf::new();
    shelf.put(endpoints(0..100, "1"));
    let all: Vec<_> = (0..100).map(name).collect();
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let mut pair = pair(client, &shelf);
        pair.client.want(&ENDPOINT, all.iter().map(String::as_str));
        pair.drive();
        check_parts(pair.client.received(), 100);
        assert_eq!(oversized(&mut pair), 0);
        let before = pair.client.received().len();
        shelf.put([fixture::endpoints("r000", "2")]);
        pair.drive();
        assert_eq!(
            pair.client.received().len(),
            before + 1,
            "the rest is known"
        );
        shelf.put([fixture::endpoints("r000", "1")]);
    }
}

#[test]
fn c425_a_wildcard_in_delta_comes_in_parts() {
    let shelf = Shelf::new();
    shelf.put(clusters(0..500));
    let mut pair = pair(PlainClient::delta(), &shelf);
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    check_parts(pair.client.received(), 500);
}

#[test]
fn c141_c426_a_full_state_type_in_state_of_the_world_is_never_cut() {
    let shelf = Shelf::new();
    shelf.put(clusters(0..100));
    let mut pair = pair(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    assert_eq!(pair.client.received().len(), 1);
    assert_eq!(oversized(&mut pair), 1);
}

#[test]
fn c427_one_resource_that_is_too_large_goes_alone_and_is_told() {
    let shelf = Shelf::new();
    let large = "x".repeat(2 * MAX);
    shelf.put([
        fixture::endpoints("a", "1"),
        fixture::endpoints("large", &large),
        fixture::endpoints("z", "1"),
    ]);
    let mut pair = pair(PlainClient::delta(), &shelf);
    pair.client.subscribe(&ENDPOINT, ["a", "large", "z"]);
    pair.drive();
    let sent: Vec<_> = pair.client.received().iter().map(names).collect();
    assert_eq!(
        sent,
        [["a"], ["large"], ["z"]].map(|names| names.map(str::to_owned).into())
    );
    assert_eq!(oversized(&mut pair), 1);
}

/// A client that had two resources of a type, which then were replaced by a hundred others; what it was told.
fn replaced(url: &TypeUrl) -> Vec<Response> {
    let shelf = Shelf::new();
    let resource =
        |name: &str| -> ResourceBuilder { Resource::builder(url.clone(), name, vec![b'x'; 100]) };
    shelf.edit(|snapshot| {
        snapshot.upsert(resource("old-1")).expect("it is valid");
        snapshot.upsert(resource("old-2")).expect("it is valid");
    });
    let mut pair = pair(PlainClient::delta(), &shelf);
    pair.client.subscribe(url, ["*"]);
    pair.drive();
    let before = pair.client.received().len();
    shelf.edit(|snapshot| {
        snapshot.remove(url, "old-1").remove(url, "old-2");
        for number in 0..100 {
            snapshot
                .upsert(resource(&name(number)))
                .expect("it is valid");
        }
    });
    pair.drive();
    pair.client.received()[before..].to_vec()
}

fn removals(responses: &[Response]) -> Vec<usize> {
    responses
        .iter()
        .map(|response| response.removed.len())
        .collect()
}

#[test]
fn listeners_that_are_gone_are_told_first_and_clusters_last() {
    let listeners = replaced(&LISTENER);
    check_parts(&listeners, 100);
    assert_eq!(
        removals(&listeners).first(),
        Some(&2),
        "their ports may be needed"
    );
    let clusters = replaced(&CLUSTER);
    check_parts(&clusters, 100);
    assert_eq!(removals(&clusters).last(), Some(&2), "they may be in use");
    assert_eq!(removals(&clusters).iter().sum::<usize>(), 2);
}

#[test]
fn c211_scoped_routes_change_in_one_response() {
    let scopes = replaced(&SCOPED_ROUTE);
    assert_eq!(scopes.len(), 1);
    assert_eq!(scopes[0].removed.len(), 2);
}

#[test]
fn names_that_are_gone_are_cut_too() {
    let shelf = Shelf::new();
    shelf.put(clusters(0..300));
    let mut pair = pair(PlainClient::delta(), &shelf);
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    let before = pair.client.received().len();
    shelf.edit(|snapshot| {
        for number in 0..300 {
            snapshot.remove(&CLUSTER, &name(number));
        }
    });
    pair.drive();
    let told = &pair.client.received()[before..];
    assert!(told.len() > 1 && told.iter().all(|response| len(response) <= MAX));
    assert_eq!(removals(told).iter().sum::<usize>(), 300);
}

#[test]
fn parts_do_not_wait_for_each_other_and_the_next_change_waits_for_the_last() {
    let shelf = Shelf::new();
    shelf.put(endpoints(0..100, "1"));
    let mut pair = pair(PlainClient::delta(), &shelf);
    let all: Vec<_> = (0..100).map(name).collect();
    pair.client
        .subscribe(&ENDPOINT, all.iter().map(String::as_str));
    pair.drive();
    pair.client.set_acks(false);
    let before = pair.client.received().len();
    shelf.put(endpoints(0..100, "2"));
    pair.drive();
    let parts = pair.client.received()[before..].to_vec();
    check_parts(&parts, 100);

    shelf.put(endpoints(0..1, "3"));
    pair.drive();
    let first = parts[0].nonce.to_string();
    pair.client.answer(&ENDPOINT, &first, None);
    pair.drive();
    assert_eq!(
        pair.client.received().len(),
        before + parts.len(),
        "the last is unread"
    );
    let last = parts[parts.len() - 1].nonce.to_string();
    pair.client.answer(&ENDPOINT, &last, None);
    pair.drive();
    assert_eq!(pair.client.received().len(), before + parts.len() + 1);
}

#[test]
fn a_rejected_part_is_a_batch_of_its_own() {
    let shelf = Shelf::new();
    shelf.put(endpoints(0..100, "1"));
    let mut pair = pair(PlainClient::delta().without_acks(), &shelf);
    let all: Vec<_> = (0..100).map(name).collect();
    pair.client
        .subscribe(&ENDPOINT, all.iter().map(String::as_str));
    pair.drive();
    let parts = pair.client.received().to_vec();
    let rejected = parts[0].nonce.to_string();
    let error = portolan_engine::ErrorDetail::new(13, "no");
    pair.client.answer(&ENDPOINT, &rejected, Some(error));
    for part in &parts[1..] {
        pair.client.answer(&ENDPOINT, &part.nonce.to_string(), None);
    }
    pair.drive();
    shelf.put([fixture::endpoints("r000", "2")]);
    pair.drive();
    let again: BTreeSet<_> = pair.client.received()[parts.len()..]
        .iter()
        .flat_map(names)
        .collect();
    assert_eq!(again, names(&parts[0]));
}

#[test]
fn what_is_given_up_between_two_parts_is_not_sent() {
    // B14
    let shelf = Shelf::new();
    shelf.put(endpoints(0..100, "1"));
    let mut pair = pair(PlainClient::delta(), &shelf);
    pair.set_window(1);
    pair.set_reading(false);
    let all: Vec<_> = (0..100).map(name).collect();
    pair.client
        .subscribe(&ENDPOINT, all.iter().map(String::as_str));
    pair.drive();
    pair.client
        .unsubscribe(&ENDPOINT, all[50..].iter().map(String::as_str));
    pair.drive();
    pair.set_reading(true);
    pair.drive();
    let sent: BTreeSet<_> = pair.client.received().iter().flat_map(names).collect();
    assert_eq!(sent.len(), 50, "{sent:?}");
}
