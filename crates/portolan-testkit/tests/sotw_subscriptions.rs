//! What a state-of-the-world client subscribes: names, wildcards, and the ways from one to the other.

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE, RUNTIME};
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
fn a_request_replaces_the_names_of_the_one_before() {
    // C-051, C-071
    let (shelf, mut pair) = endpoints();
    pair.client.ask(&ENDPOINT, ["a", "b"]);
    pair.drive();
    pair.client.ask(&ENDPOINT, ["b", "c"]);
    pair.drive();
    pair.expect([
        "> EDS [a b] v= n=",
        "< EDS v1 n1 [a b]",
        "> ACK EDS n1",
        "> EDS [b c] v=v1 n=n1",
        "< EDS v1 n2 [c]",
        "> ACK EDS n2",
    ]);
    shelf.put([fixture::endpoints("a", "2")]);
    pair.drive();
    pair.expect_quiet();
}

#[test]
fn what_exists_is_not_kept_waiting_by_what_does_not() {
    // C-052, C-082, C-277, C-397
    let (shelf, mut pair) = endpoints();
    pair.client.ask(&ENDPOINT, ["a", "x"]);
    pair.drive();
    pair.expect(["> EDS [a x] v= n=", "< EDS v1 n1 [a]", "> ACK EDS n1"]);
    shelf.put([fixture::endpoints("x", "1")]);
    pair.drive();
    pair.expect(["< EDS v2 n2 [x]", "> ACK EDS n2"]);
}

#[test]
fn acks_of_a_client_that_lacks_something_are_not_answered() {
    // B06
    let (_, mut pair) = endpoints();
    pair.client.ask(&ENDPOINT, ["a", "ghost"]);
    pair.drive();
    for _ in 0..20 {
        pair.client.ack(&ENDPOINT);
    }
    pair.drive();
    assert_eq!(pair.client.received().len(), 1);
}

#[test]
fn thousands_of_names_in_one_request_are_answered() {
    // C-053
    let shelf = Shelf::new();
    let names: Vec<_> = (0..2_000).map(|i| format!("e{i:04}")).collect();
    shelf.put(names.iter().map(|name| fixture::endpoints(name, "1")));
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&ENDPOINT, &names);
    pair.drive();
    assert_eq!(pair.client.received().len(), 1);
    assert_eq!(pair.client.held(&ENDPOINT).len(), names.len());
}

#[test]
fn the_wildcard_machine_follows_the_specification() {
    // C-054 to C-061; B12
    let (shelf, mut pair) = clusters();
    let mut revision = 1;
    let mut change = |name: &str| {
        revision += 1;
        shelf.put([fixture::static_cluster(name).revision(revision)]);
    };
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    pair.expect(["> CDS [] v= n=", "< CDS v1 n1 [a b]", "> ACK CDS n1"]);
    change("b");
    pair.drive();
    pair.expect(["< CDS v2 n2 [a b@2]", "> ACK CDS n2"]);

    // The wildcard goes on, and `a` is newly named.
    pair.client.ask(&CLUSTER, ["*", "a"]);
    pair.drive();
    pair.expect([
        "> CDS [* a] v=v2 n=n2",
        "< CDS v2 n3 [a b@2]",
        "> ACK CDS n3",
    ]);
    change("b");
    pair.drive();
    pair.expect(["< CDS v3 n4 [a b@3]", "> ACK CDS n4"]);

    pair.client.ask(&CLUSTER, ["a"]);
    pair.drive();
    change("b");
    pair.drive();
    pair.expect(["> CDS [a] v=v3 n=n4"]);
    change("a");
    pair.drive();
    pair.expect(["< CDS v4 n5 [a@2]", "> ACK CDS n5"]);

    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    change("a");
    pair.drive();
    pair.expect(["> CDS [] v=v4 n=n5"]);
}

#[test]
fn a_star_that_is_given_up_leaves_nothing() {
    // C-056, C-061, C-064
    let (shelf, mut pair) = clusters();
    pair.client.ask(&CLUSTER, ["*"]);
    pair.drive();
    pair.expect(["> CDS [*] v= n=", "< CDS v1 n1 [a b]", "> ACK CDS n1"]);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.expect(["> CDS [] v=v1 n=n1"]);
    pair.client.ask(&CLUSTER, ["*"]);
    pair.drive();
    pair.expect(["> CDS [*] v=v1 n=n1", "< CDS v2 n2 [a@2 b]", "> ACK CDS n2"]);
}

#[test]
fn a_star_after_names_is_answered_though_there_is_nothing() {
    // C-064
    let (shelf, mut pair) = clusters();
    shelf.publish(portolan_core::Snapshot::empty());
    pair.client.ask(&CLUSTER, ["a"]);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.client.ask(&CLUSTER, ["*"]);
    pair.drive();
    pair.expect([
        "> CDS [a] v= n=",
        "> CDS [] v= n=",
        "> CDS [*] v= n=",
        "< CDS v1 n1 []",
        "> ACK CDS n1",
    ]);
}

#[test]
fn a_name_ends_the_legacy_wildcard_and_is_reported() {
    // C-062; on-demand clusters over state of the world do this, and delete all others.
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
fn a_star_and_names_are_the_union() {
    // C-057, C-168, C-237; B20
    let (_, mut pair) = clusters();
    pair.client.ask(&CLUSTER, ["*", "a", "od"]);
    pair.drive();
    pair.expect([
        "> CDS [* a od] v= n=",
        "< CDS v1 n1 [a b od]",
        "> ACK CDS n1",
    ]);
}

#[test]
fn emptied_names_are_no_wildcard() {
    // C-060, C-063; B13
    let (shelf, mut pair) = endpoints();
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.client.ask(&ENDPOINT, [""; 0]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::endpoints("a", "2"), fixture::endpoints("d", "1")]);
    pair.drive();
    pair.expect_quiet();
    shelf.put([fixture::endpoints("a", "1")]);
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.expect(["> EDS [a] v=v1 n=n1", "< EDS v2 n2 [a]", "> ACK EDS n2"]);
}

#[test]
fn what_was_ever_named_is_remembered_by_type_and_stream() {
    // C-065
    let (_, mut pair) = clusters();
    pair.client.ask(&ENDPOINT, ["e"]);
    pair.client.ask(&CLUSTER, ["a"]);
    pair.client.ask(&LISTENER, [""; 0]);
    pair.drive();
    pair.expect([
        "> EDS [e] v= n=",
        "> CDS [a] v= n=",
        "< CDS v1 n1 [a]",
        "> LDS [] v= n=",
        "< LDS v1 n2 []",
        "> ACK CDS n1",
        "> ACK LDS n2",
    ]);
    pair.connect();
    let mut request = pair.client.sotw_request(&CLUSTER, [""; 0]);
    request.version.clear();
    pair.client.send(request);
    pair.drive();
    pair.expect([
        "-- stream 2",
        "> CDS [] v= n=",
        "< CDS v1 n1 [a b]",
        "> ACK CDS n1",
    ]);
}

#[test]
fn a_name_that_is_dropped_and_named_again_is_answered() {
    // C-072, C-382; B04
    let (_, mut pair) = endpoints();
    pair.client.ask(&ENDPOINT, ["a", "b"]);
    pair.drive();
    pair.skip();
    pair.client.ask(&ENDPOINT, ["b"]);
    pair.client.ask(&ENDPOINT, ["a", "b"]);
    pair.drive();
    pair.expect([
        "> EDS [b] v=v1 n=n1",
        "> EDS [a b] v=v1 n=n1",
        "< EDS v1 n2 [a]",
        "> ACK EDS n2",
    ]);
}

#[test]
fn a_name_that_a_wildcard_brought_before_is_answered() {
    // C-067
    let shelf = Shelf::new();
    shelf.put([fixture::runtime("layer")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&RUNTIME, ["*"]);
    pair.client.ask(&RUNTIME, ["*", "layer"]);
    pair.drive();
    pair.expect([
        "> RTDS [*] v= n=",
        "< RTDS v1 n1 [layer]",
        "> RTDS [* layer] v= n=",
        "< RTDS v1 n2 [layer]",
        "> ACK RTDS n1",
        "> ACK RTDS n2",
    ]);
}

#[test]
fn a_new_name_of_a_full_state_type_is_answered_with_everything() {
    // C-068, C-069, C-396, C-399
    let (_, mut pair) = clusters();
    pair.client.ask(&CLUSTER, ["a"]);
    pair.drive();
    pair.client.ask(&CLUSTER, ["a", "b"]);
    pair.drive();
    pair.client.ask(&CLUSTER, ["b", "od"]);
    pair.drive();
    pair.expect([
        "> CDS [a] v= n=",
        "< CDS v1 n1 [a]",
        "> ACK CDS n1",
        "> CDS [a b] v=v1 n=n1",
        "< CDS v1 n2 [a b]",
        "> ACK CDS n2",
        "> CDS [b od] v=v1 n=n2",
        "< CDS v1 n3 [b od]",
        "> ACK CDS n3",
    ]);
}

#[test]
fn taking_names_away_is_not_answered() {
    // C-070
    let (_, mut pair) = clusters();
    pair.client.ask(&CLUSTER, ["a", "b"]);
    pair.drive();
    pair.skip();
    pair.client.ask(&CLUSTER, ["a"]);
    pair.drive();
    pair.expect(["> CDS [a] v=v1 n=n1"]);
}

#[test]
fn a_missing_name_of_a_full_state_type_is_not_answered_and_remembered() {
    // C-130, C-279
    let (shelf, mut pair) = clusters();
    pair.client.ask(&CLUSTER, ["a"]);
    pair.drive();
    pair.skip();
    pair.client.ask(&CLUSTER, ["a", "x"]);
    pair.drive();
    pair.expect(["> CDS [a x] v=v1 n=n1"]);
    shelf.put([fixture::static_cluster("x")]);
    pair.drive();
    pair.expect(["< CDS v2 n2 [a x]", "> ACK CDS n2"]);
}

#[test]
fn names_are_a_set_of_exact_texts() {
    // C-073, C-074, C-075, C-076
    let (_, mut pair) = endpoints();
    pair.client.ask(&ENDPOINT, ["a", "a", "b"]);
    pair.drive();
    pair.client.ask(&ENDPOINT, ["b", "a"]);
    pair.client.ask(&ENDPOINT, ["b", "a", "A", " a", ""]);
    pair.drive();
    pair.expect([
        "> EDS [a a b] v= n=",
        "< EDS v1 n1 [a b]",
        "> ACK EDS n1",
        "> EDS [b a] v=v1 n=n1",
        "> EDS [b a A  a ] v=v1 n=n1",
    ]);
}

#[test]
fn the_empty_name_is_a_name() {
    // C-076
    let (_, mut pair) = clusters();
    pair.client.ask(&CLUSTER, [""]);
    pair.drive();
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    pair.expect(["> CDS [] v= n=", "> CDS [] v= n="]);
}

#[test]
fn repeating_oneself_is_not_answered() {
    // C-077, C-120
    let (_, mut pair) = clusters();
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    pair.take_events();
    for _ in 0..20 {
        pair.client.ack(&CLUSTER);
    }
    pair.drive();
    assert_eq!(pair.client.received().len(), 1);
    assert_eq!(pair.take_events(), []);
}

#[test]
fn names_ride_on_acks_and_stand_alone() {
    // C-078, C-080, C-119
    let (_, mut pair) = endpoints();
    pair.client.set_acks(false);
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.client.ask(&ENDPOINT, ["a", "b"]);
    pair.client.ask(&ENDPOINT, ["a", "b", "c"]);
    pair.drive();
    pair.expect([
        "> EDS [a] v= n=",
        "< EDS v1 n1 [a]",
        "> ACK EDS n1 [a b]",
        "< EDS v1 n2 [b]",
        "> EDS [a b c] v=v1 n=n1",
        "< EDS v1 n3 [c]",
    ]);
    let acked = |e: &Event| matches!(e, Event::Acked { .. });
    assert_eq!(pair.take_events().iter().filter(|e| acked(e)).count(), 1);
}

#[test]
fn the_last_of_several_requests_wins() {
    // C-014, C-081
    let (_, mut pair) = endpoints();
    pair.set_window(0);
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.client.ask(&ENDPOINT, ["a", "b"]);
    pair.client.ask(&ENDPOINT, ["b"]);
    pair.drive();
    pair.set_window(1);
    pair.drive();
    assert_eq!(pair.client.held_names(&ENDPOINT), ["b".into()]);
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
fn what_nobody_asked_for_is_not_sent() {
    // C-012, C-084
    let (shelf, mut pair) = endpoints();
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::static_cluster("x"), fixture::endpoints("b", "2")]);
    shelf.put([fixture::route("r", ["x"]), fixture::tcp_listener("l")]);
    pair.drive();
    pair.expect_quiet();
}

#[test]
fn types_without_a_legacy_wildcard_have_none_and_a_star_works_for_all() {
    // C-088, C-089
    let (_, mut pair) = endpoints();
    pair.client.ask(&ENDPOINT, [""; 0]);
    pair.drive();
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.client.ask(&ENDPOINT, ["*"]);
    pair.drive();
    pair.expect([
        "> EDS [] v= n=",
        "> EDS [a] v= n=",
        "< EDS v1 n1 [a]",
        "> ACK EDS n1",
        "> EDS [*] v=v1 n=n1",
        "< EDS v1 n2 [a b c]",
        "> ACK EDS n2",
    ]);
}

#[test]
fn first_requests_come_in_any_order() {
    // C-013
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::endpoints("e", "1")]);
    shelf.put([fixture::tcp_listener("l"), fixture::route("r", ["a"])]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&ROUTE, ["r"]);
    pair.client.ask(&ENDPOINT, ["e"]);
    pair.client.ask(&LISTENER, [""; 0]);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    let types: Vec<_> = pair
        .client
        .received()
        .iter()
        .map(|r| r.type_url.clone())
        .collect();
    assert_eq!(types, [ROUTE, ENDPOINT, LISTENER, CLUSTER]);
}
