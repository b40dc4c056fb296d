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
#[test]
fn what_fits_in_one_response_is_not_told_as_too_large() {
    let mut counts = BTreeSet::new();
    for max in 300..600 {
        let shelf = Shelf::new();
        shelf.put(endpoints(0..2, "1"));
        let config = Setup::default_config().with_max_response(max);
        let setup = Setup::default().with_config(config);
        let mut pair = Pair::open(PlainClient::delta(), &shelf, setup);
        pair.client.subscribe(&ENDPOINT, ["r000", "r001"]);
        pair.drive();
        let count = pair.client.received().len();
        if count == 1 {
            assert_eq!(oversized(&mut pair), 0, "{max}");
        }
        counts.insert(count);
    }
    assert_eq!(counts, [1, 2].into());
}

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

/// A client that subscribes a hundred assignments, and was sent them.
fn endpoints_sent(shelf: &Shelf, client: PlainClient) -> Pair<PlainClient> {
    shelf.put(endpoints(0..100, "1"));
    let mut pair = pair(client, shelf);
    let all: Vec<_> = (0..100).map(name).collect();
    pair.client.want(&ENDPOINT, all.iter().map(String::as_str));
    pair.drive();
    pair
}

#[test]
fn parts_do_not_wait_for_each_other_and_the_next_change_waits_for_the_last() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let shelf = Shelf::new();
        let mut pair = endpoints_sent(&shelf, client);
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
}

#[test]
fn nothing_comes_between_the_parts_of_an_answer() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let shelf = Shelf::new();
        shelf.put(endpoints(0..100, "1"));
        let mut pair = pair(client, &shelf);
        pair.set_window(1);
        pair.set_reading(false);
        let all: Vec<_> = (0..100).map(name).collect();
        pair.client.want(&ENDPOINT, all.iter().map(String::as_str));
        pair.drive();
        // A type that goes before endpoints, and content that is newer than what is under way.
        pair.client.want(&CLUSTER, ["c"]);
        shelf.put([
            fixture::static_cluster("c"),
            fixture::endpoints("r099", "2"),
        ]);
        pair.drive();
        pair.set_reading(true);
        pair.drive();
        let told = pair.client.received();
        let first = told[0].generation;
        let parts = told
            .iter()
            .take_while(|r| r.type_url == ENDPOINT && r.generation == first);
        let (parts, later) = told.split_at(parts.count());
        check_parts(parts, 100);
        let later: Vec<_> = later.iter().map(|r| (&r.type_url, names(r))).collect();
        let expected = [(&CLUSTER, "c"), (&ENDPOINT, "r099")];
        assert_eq!(
            later,
            expected.map(|(url, name)| (url, [name.to_owned()].into()))
        );
    }
}

/// Rejects one part and accepts the others, as a client that answers each in turn.
fn reject_one(pair: &mut Pair<PlainClient>, parts: &[Response], rejected: usize) {
    for (at, part) in parts.iter().enumerate() {
        let error = (at == rejected).then(|| portolan_engine::ErrorDetail::new(13, "no"));
        pair.client
            .answer(&ENDPOINT, &part.nonce.to_string(), error);
    }
    pair.drive();
}

#[test]
fn a_rejected_part_is_a_batch_of_its_own() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let shelf = Shelf::new();
        let mut pair = endpoints_sent(&shelf, client.without_acks());
        let parts = pair.client.received().to_vec();
        reject_one(&mut pair, &parts, 0);
        let events = pair.take_events();
        let stale = |event: &Event| matches!(event, Event::Nacked { stale: true, .. });
        assert!(!events.iter().any(stale), "no other answer came after it");
        let settled = events.iter().rev().find_map(|event| match event {
            Event::Settled { rejecting, .. } => Some(*rejecting),
            _ => None,
        });
        assert_eq!(settled, Some(true), "the answer was not accepted");

        shelf.put([fixture::endpoints("r000", "2")]);
        pair.drive();
        let again: BTreeSet<_> = pair.client.received()[parts.len()..]
            .iter()
            .flat_map(names)
            .collect();
        assert_eq!(again, names(&parts[0]));
    }
}

#[test]
fn a_part_that_another_answer_has_overtaken_is_rejected_too_late() {
    // C-111: in state of the world; in delta each response is answered on its own.
    let shelf = Shelf::new();
    let mut pair = endpoints_sent(&shelf, PlainClient::sotw().without_acks());
    let parts = pair.client.received().to_vec();
    shelf.put([fixture::endpoints("r099", "2")]);
    pair.drive();
    assert_eq!(pair.client.received().len(), parts.len() + 1);
    reject_one(&mut pair, &parts, 0);
    shelf.put([fixture::endpoints("r000", "2")]);
    pair.client.ack(&ENDPOINT);
    pair.drive();
    let again = names(&pair.client.received()[parts.len() + 1]);
    assert_eq!(again, ["r000".to_owned()].into());
}

#[test]
fn b14_what_is_given_up_between_two_parts_is_not_sent() {
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
    let nothing = |response: &Response| names(response).is_empty();
    assert!(!pair.client.received().iter().any(nothing));
}

#[test]
fn c167_what_is_asked_for_again_between_two_parts_is_not_said_to_be_gone() {
    let shelf = Shelf::new();
    shelf.put(endpoints(0..100, "1"));
    shelf.put([fixture::endpoints("x", "1").on_demand(true)]);
    let mut pair = pair(PlainClient::delta(), &shelf);
    pair.client.subscribe(&ENDPOINT, ["*", "x"]);
    pair.drive();
    let before = pair.client.received().len();
    pair.set_window(1);
    pair.set_reading(false);
    pair.client
        .send(PlainClient::delta_request(&ENDPOINT, ["*"], ["x"]));
    pair.drive();
    pair.client.subscribe(&ENDPOINT, ["x"]);
    pair.drive();
    pair.set_reading(true);
    pair.drive();
    let told = &pair.client.received()[before..];
    let removed: Vec<_> = told.iter().flat_map(|r| &r.removed).collect();
    assert!(removed.is_empty(), "{removed:?}");
    let last = told.last().map(names).expect("an answer");
    assert_eq!(last, ["x".to_owned()].into());
    check_parts(&told[..told.len() - 1], 100);
}
