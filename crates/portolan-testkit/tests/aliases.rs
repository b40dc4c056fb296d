//! What a client has by one identifier and asks for by another.

use portolan_core::well_known::{ROUTE, SECRET};
use portolan_testkit::{Pair, PlainClient, Shelf, fixture};

#[test]
fn what_goes_while_it_is_asked_for_by_one_more_identifier_is_said_to_be_gone() {
    let shelf = Shelf::new();
    let route = || fixture::route("n", [""; 0]).alias("x").alias("y");
    for (held, asked, gone) in [
        ("n", "x", "-[n x]"),
        ("x", "n", "-[n]"),
        ("x", "y", "-[n y]"),
    ] {
        shelf.put([route()]);
        let mut pair = Pair::new(PlainClient::delta(), &shelf);
        pair.client.subscribe(&ROUTE, [held]);
        pair.drive();
        pair.skip();
        pair.set_window(0);
        shelf.remove(&ROUTE, ["n"]);
        pair.client.subscribe(&ROUTE, [asked]);
        pair.drive();
        pair.set_window(1);
        pair.drive();
        let asks = format!("> RDS +[{asked}]");
        let answer = format!("< RDS n2 [] {gone}");
        pair.expect([asks.as_str(), answer.as_str(), "> ACK RDS n2"]);
    }
}

#[test]
fn what_was_given_up_with_an_alias_comes_again_though_nothing_was_read_meanwhile() {
    let shelf = Shelf::new();
    let route = || fixture::route("n", [""; 0]).alias("x");
    shelf.put([fixture::route("other", [""; 0]), route()]);
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    pair.client.subscribe(&ROUTE, ["other"]);
    pair.drive();
    // The first change is unread, so that the second waits, and of what was sent meanwhile not all is known.
    for revision in 2..4 {
        shelf.put([fixture::route("other", [""; 0]).revision(revision)]);
        pair.drive();
    }
    pair.client.subscribe(&ROUTE, ["x"]);
    pair.drive();
    pair.client.unsubscribe(&ROUTE, ["x"]);
    pair.drive();
    shelf.remove(&ROUTE, ["n"]);
    pair.client.subscribe(&ROUTE, ["x"]);
    pair.drive();
    shelf.put([route()]);
    pair.drive();
    pair.skip();
    pair.client.ack(&ROUTE);
    pair.drive();
    pair.expect(["> ACK RDS n4", "< RDS n5 [n other@3]"]);
}

#[test]
fn what_is_given_up_before_it_was_compared_is_sent_where_it_is_wanted_by_another_identifier() {
    let shelf = Shelf::new();
    let name = "xdstp://a/envoy.config.route.v3.RouteConfiguration/d/n";
    let glob = "xdstp://a/envoy.config.route.v3.RouteConfiguration/d/*";
    shelf.put([fixture::route(name, [""; 0]).alias("x")]);
    let snapshot = shelf.snapshot().unwrap();
    let version = snapshot.set(&ROUTE).unwrap().get(name).unwrap().version();
    for given_up in ["x", glob] {
        let mut pair = Pair::new(PlainClient::delta(), &shelf);
        pair.set_window(0);
        let brought = [(name, version.as_str())];
        pair.client.resume(&ROUTE, [name, given_up], brought);
        // With the identifier a client may drop what it has by it.
        pair.client.unsubscribe(&ROUTE, [given_up]);
        pair.drive();
        pair.skip();
        pair.set_window(1);
        pair.drive();
        let answer = format!("< RDS n1 [{name}]");
        pair.expect([answer.as_str(), "> ACK RDS n1"]);
    }
}

#[test]
fn what_is_given_up_before_a_wildcard_is_sent_where_it_is_wanted_by_another_identifier() {
    let shelf = Shelf::new();
    shelf.put([fixture::route("n", [""; 0]).alias("x")]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&ROUTE, ["*", "n", "x"]);
    pair.drive();
    pair.skip();
    pair.set_window(0);
    pair.client.unsubscribe(&ROUTE, ["x"]);
    pair.client.unsubscribe(&ROUTE, ["*"]);
    pair.drive();
    pair.set_window(1);
    pair.drive();
    pair.expect(["> RDS -[x]", "> RDS -[*]", "< RDS n2 [n]", "> ACK RDS n2"]);
}

/// Of a secret that does not exist nothing is said, unless it is given up under a wildcard.
#[test]
fn c208_what_was_given_up_under_a_wildcard_that_ended_is_not_said_to_be_gone_under_the_next() {
    let shelf = Shelf::new();
    shelf.put([fixture::secret("t")]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&SECRET, ["*", "s"]);
    pair.drive();
    pair.skip();
    pair.set_window(0);
    pair.client.unsubscribe(&SECRET, ["s"]);
    pair.client.unsubscribe(&SECRET, ["*"]);
    pair.client.subscribe(&SECRET, ["*"]);
    pair.drive();
    pair.skip();
    pair.set_window(1);
    pair.drive();
    pair.expect(["< SDS n2 [t]", "> ACK SDS n2"]);
}
