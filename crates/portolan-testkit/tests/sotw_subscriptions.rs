//! What a state-of-the-world client subscribes, where more is to be seen of it than a conversation.

use portolan_core::ResourceFailure;
use portolan_core::well_known::{CLUSTER, ENDPOINT};
use portolan_engine::Event;
use portolan_testkit::{Pair, PlainClient, Shelf, fixture};

fn endpoints() -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put(["a", "b", "c"].map(|name| fixture::endpoints(name, "1")));
    let pair = Pair::new(PlainClient::sotw(), &shelf);
    (shelf, pair)
}

fn clusters() -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put(["a", "b"].map(fixture::static_cluster));
    shelf.put([fixture::static_cluster("od").on_demand(true)]);
    let pair = Pair::new(PlainClient::sotw(), &shelf);
    (shelf, pair)
}

#[test]
fn c053_thousands_of_names_in_one_request_are_answered() {
    let shelf = Shelf::new();
    let names: Vec<_> = (0..10_000).map(|i| format!("e{i:05}")).collect();
    shelf.put(names.iter().map(|name| fixture::endpoints(name, "1")));
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&ENDPOINT, &names);
    pair.drive();
    assert_eq!(pair.client.received().len(), 1);
    assert_eq!(pair.client.held(&ENDPOINT).len(), names.len());
}

#[test]
fn c062_a_name_ends_the_legacy_wildcard_and_is_reported() {
    // On-demand clusters over state of the world do this, and delete all others.
    let (shelf, mut pair) = clusters();
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    pair.take_events();
    pair.client.ask(&CLUSTER, ["a"]);
    pair.drive();
    shelf.put([fixture::static_cluster("b").revision(2)]);
    pair.drive();
    pair.expect([
        "> CDS [] v= n=",
        "< CDS v1 n1 [a b]",
        "> ACK CDS n1",
        "> CDS [a] v=v1 n=n1",
        "< CDS v1 n2 [a]",
        "> ACK CDS n2",
    ]);
    let dropped =
        |e: &Event| matches!(e, Event::WildcardDropped { type_url } if *type_url == CLUSTER);
    assert!(pair.take_events().iter().any(dropped));
}

#[test]
fn what_is_named_no_more_is_owed_no_more() {
    let (_, mut pair) = endpoints();
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.skip();
    pair.set_window(0);
    pair.client.ask(&ENDPOINT, ["a", "b", "c"]);
    pair.client.ask(&ENDPOINT, ["a", "c"]);
    pair.drive();
    pair.set_window(1);
    pair.drive();
    pair.expect([
        "> EDS [a b c] v=v1 n=n1",
        "> EDS [a c] v=v1 n=n1",
        "< EDS v1 n2 [c]",
        "> ACK EDS n2",
    ]);
}

#[test]
fn a_wildcard_that_ended_before_its_answer_is_owed_none() {
    let shelf = Shelf::new();
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.client.ask(&CLUSTER, ["x"]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::static_cluster("a")]);
    pair.drive();
    pair.expect_quiet();
}

#[test]
fn who_only_names_drops_no_wildcard() {
    let (_, mut pair) = endpoints();
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.client.ask(&ENDPOINT, ["a", "b"]);
    pair.drive();
    let dropped = |e: &Event| matches!(e, Event::WildcardDropped { .. });
    assert!(!pair.take_events().iter().any(dropped));
}

#[test]
fn a_name_that_is_given_up_beside_a_star_asks_for_nothing() {
    let shelf = Shelf::new();
    shelf.put(["a", "b"].map(fixture::static_cluster));
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, ["*", "a"]);
    pair.drive();
    pair.client.ask(&CLUSTER, ["*"]);
    pair.drive();
    pair.expect([
        "> CDS [* a] v= n=",
        "< CDS v1 n1 [a b]",
        "> ACK CDS n1",
        "> CDS [*] v=v1 n=n1",
    ]);
}

#[test]
fn c126_c364_who_was_told_an_error_and_starts_over_is_told_that_it_is_gone() {
    let shelf = Shelf::new();
    shelf.edit(|builder| {
        let failure = ResourceFailure::unavailable("later");
        builder.fail(CLUSTER, "c", failure).expect("it is new");
    });
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, ["c"]);
    pair.drive();
    pair.skip();
    pair.set_window(0);
    shelf.remove(&CLUSTER, ["c"]);
    let mut afresh = pair.client.sotw_request(&CLUSTER, ["c"]);
    afresh.nonce.clear();
    afresh.version.clear();
    pair.client.send(afresh);
    pair.drive();
    pair.set_window(1);
    pair.drive();
    pair.expect(["> CDS [c] v= n=", "< CDS v2 n2 []", "> ACK CDS n2"]);
}

#[test]
fn c126_who_starts_over_twice_before_it_is_answered_is_told_what_is_gone() {
    let (shelf, mut pair) = clusters();
    pair.client.ask(&CLUSTER, ["a"]);
    pair.drive();
    pair.skip();
    pair.set_window(0);
    shelf.remove(&CLUSTER, ["a"]);
    let mut afresh = pair.client.sotw_request(&CLUSTER, ["a"]);
    afresh.nonce.clear();
    afresh.version.clear();
    pair.client.send(afresh.clone());
    pair.client.send(afresh);
    pair.drive();
    pair.set_window(1);
    pair.drive();
    pair.expect([
        "> CDS [a] v= n=",
        "> CDS [a] v= n=",
        "< CDS v2 n2 []",
        "> ACK CDS n2",
    ]);
}
