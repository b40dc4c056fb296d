//! Virtual hosts: delta only, on demand, and never simply missing.

use portolan_core::well_known::{CLUSTER, ENDPOINT, ROUTE, VIRTUAL_HOST};
use portolan_core::{ResourceTypes, Snapshot};
use portolan_engine::{Event, Scope, Variant};
use portolan_testkit::{Pair, PlainClient, Setup, Shelf, fixture};

fn table() -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put([fixture::route("r", [""; 0]).discovers_hosts()]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&ROUTE, ["r"]);
    pair.drive();
    pair.skip();
    (shelf, pair)
}

#[test]
fn an_empty_base_set_is_answered_so_that_the_wait_ends() {
    // Any name under the table's prefix ends it.
    let (_, mut pair) = table();
    pair.client.subscribe(&VIRTUAL_HOST, []);
    pair.drive();
    pair.expect(["> VHDS", "< VHDS n2 [] -[r/]", "> ACK VHDS n2"]);
}

#[test]
fn on_a_stream_of_their_own_the_wait_ends_too() {
    let shelf = Shelf::new();
    shelf.put([
        fixture::route("r1", [""; 0]).discovers_hosts(),
        fixture::route("r2", [""; 0]).discovers_hosts(),
        fixture::route("r3", [""; 0]),
    ]);
    let hosts = Scope::Single(ResourceTypes::well_known().get(VIRTUAL_HOST));
    let setup = Setup::default().with_scope(hosts);
    let mut pair = Pair::open(PlainClient::delta(), &shelf, setup);
    pair.client.subscribe(&VIRTUAL_HOST, []);
    pair.drive();
    pair.expect(["> VHDS", "< VHDS n1 [] -[r1/ r2/]", "> ACK VHDS n1"]);
}

#[test]
fn without_tables_an_empty_base_set_is_still_answered() {
    let shelf = Shelf::new();
    shelf.publish(Snapshot::empty());
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&VIRTUAL_HOST, []);
    pair.drive();
    pair.expect(["> VHDS", "< VHDS n1 []", "> ACK VHDS n1"]);
}

#[test]
fn the_base_set_is_what_is_not_on_demand() {
    // C-220
    let (shelf, mut pair) = table();
    shelf.put([
        fixture::virtual_host("r/base").on_demand(false),
        fixture::virtual_host("r/other"),
    ]);
    pair.client.subscribe(&VIRTUAL_HOST, []);
    pair.drive();
    pair.expect(["> VHDS", "< VHDS n2 [r/base]", "> ACK VHDS n2"]);
}

#[test]
fn an_unknown_host_is_told_without_a_body_and_sent_when_it_exists() {
    // C-221, C-222
    let (shelf, mut pair) = table();
    pair.client.subscribe(&VIRTUAL_HOST, []);
    pair.drive();
    pair.skip();
    pair.client.subscribe(&VIRTUAL_HOST, ["r/nope"]);
    pair.drive();
    pair.expect([
        "> VHDS +[r/nope]",
        "< VHDS n3 [] ?[r/nope]",
        "> ACK VHDS n3",
    ]);
    shelf.put([fixture::virtual_host("r/nope")]);
    pair.drive();
    pair.expect(["< VHDS n4 [r/nope]", "> ACK VHDS n4"]);
    shelf.remove(&VIRTUAL_HOST, ["r/nope"]);
    pair.drive();
    pair.expect(["< VHDS n5 [] -[r/nope]", "> ACK VHDS n5"]);
}

#[test]
fn hosts_that_nobody_named_stay_unsaid() {
    let (shelf, mut pair) = table();
    shelf.put([fixture::virtual_host("r/a"), fixture::virtual_host("r/b")]);
    pair.client.subscribe(&VIRTUAL_HOST, []);
    pair.client.subscribe(&VIRTUAL_HOST, ["r/a"]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::virtual_host("r/b").revision(2)]);
    pair.drive();
    pair.expect_quiet();
    shelf.put([fixture::virtual_host("r/a").revision(2)]);
    pair.drive();
    pair.expect(["< VHDS n4 [r/a@2]", "> ACK VHDS n4"]);
}

#[test]
fn c048_state_of_the_world_has_no_virtual_hosts() {
    let (shelf, _) = table();
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&VIRTUAL_HOST, ["r/a"]);
    pair.client.ask(&VIRTUAL_HOST, ["r/a", "r/b"]);
    pair.client.ask(&ROUTE, ["r"]);
    pair.drive();
    pair.expect([
        "> VHDS [r/a] v= n=",
        "> VHDS [r/a r/b] v= n=",
        "> RDS [r] v= n=",
        "< RDS v1 n1 [r]",
        "> ACK RDS n1",
    ]);
    let told = pair.take_events();
    let unsupported = |e: &&Event| matches!(e, Event::UnsupportedVariant { type_url, variant: Variant::Sotw } if *type_url == VIRTUAL_HOST);
    assert_eq!(told.iter().filter(unsupported).count(), 1);
}

#[test]
fn hosts_follow_the_table_that_discovers_them() {
    // C-223, C-243
    let (shelf, mut pair) = table();
    pair.client.subscribe(&VIRTUAL_HOST, ["r/a"]);
    pair.drive();
    pair.skip();
    shelf.put([
        fixture::virtual_host("r/a"),
        fixture::route("r", ["c"]).discovers_hosts(),
    ]);
    pair.drive();
    pair.expect([
        "< RDS n3 [r@2]",
        "< VHDS n4 [r/a]",
        "> ACK RDS n3",
        "> ACK VHDS n4",
    ]);
}

#[test]
fn an_empty_wildcard_of_another_type_names_nothing() {
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a")]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&CLUSTER, ["a"]);
    pair.client.subscribe(&ENDPOINT, ["*"]);
    pair.drive();
    let received = pair.client.received();
    assert_eq!(received.len(), 2, "{}", pair.transcript());
    assert!(received[1].removed.is_empty(), "{:?}", received[1].removed);
}
