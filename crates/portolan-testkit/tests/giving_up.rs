//! What is given up before it was answered.

use portolan_core::well_known::{CLUSTER, ENDPOINT};
use portolan_engine::Variant;
use portolan_testkit::{Client, Pair, PlainClient, Shelf, fixture};

#[test]
fn c151_what_was_given_up_before_the_wildcard_was_is_not_answered() {
    let shelf = Shelf::new();
    shelf.put(["a", "b"].map(fixture::static_cluster));
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&CLUSTER, ["*", "a", "x"]);
    pair.drive();
    pair.skip();
    pair.set_window(0);
    pair.client.unsubscribe(&CLUSTER, ["a", "x"]);
    pair.client.unsubscribe(&CLUSTER, ["*"]);
    pair.drive();
    pair.set_window(1);
    pair.drive();
    pair.expect(["> CDS -[a x]", "> CDS -[*]"]);
}

#[test]
fn c151_nor_are_endpoints_of_clusters_when_their_wildcard_ended() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let shelf = Shelf::new();
        shelf.put([fixture::cluster("a"), fixture::endpoints("a", "1")]);
        let mut pair = Pair::new(client, &shelf);
        pair.client.want(&CLUSTER, ["*"]);
        pair.client.want(&ENDPOINT, ["*"]);
        pair.drive();
        shelf.put([fixture::cluster("a").revision(2)]);
        pair.set_window(1);
        pair.set_reading(false);
        pair.drive();
        match pair.client.variant() {
            Variant::Sotw => pair.client.ask(&ENDPOINT, [""; 0]),
            _ => pair.client.unsubscribe(&ENDPOINT, ["*"]),
        }
        pair.drive();
        pair.skip();
        pair.set_reading(true);
        pair.drive();
        let said = pair.transcript().lines().last();
        assert_eq!(said.map(String::as_str), Some("> ACK CDS n3"));
    }
}

#[test]
fn what_is_still_named_when_a_wildcard_ends_is_not_sent_again() {
    let shelf = Shelf::new();
    shelf.put(["a", "b"].map(fixture::static_cluster));
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&CLUSTER, ["*", "a"]);
    pair.drive();
    pair.client.set_acks(false);
    // `b` waits, so that of what was sent not all is known.
    for revision in 2..4 {
        shelf.put([fixture::static_cluster("b").revision(revision)]);
        pair.drive();
    }
    pair.client.subscribe(&CLUSTER, ["a"]);
    pair.drive();
    pair.client.unsubscribe(&CLUSTER, ["*"]);
    pair.client.ack(&CLUSTER);
    pair.drive();
    pair.expect([
        "> CDS +[* a]",
        "< CDS n1 [a b]",
        "> ACK CDS n1",
        "< CDS n2 [b@2]",
        "> CDS +[a]",
        "< CDS n3 [a]",
        "> CDS -[*]",
        "> ACK CDS n3",
    ]);
}
