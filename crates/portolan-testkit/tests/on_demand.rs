//! What a delta client loads on demand.

use portolan_core::well_known::CLUSTER;
use portolan_testkit::{Pair, PlainClient, Shelf, fixture};

fn clusters() -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::static_cluster("b")]);
    shelf.put([fixture::static_cluster("od").on_demand(true)]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    pair.expect(["> CDS", "< CDS n1 [a b]", "> ACK CDS n1"]);
    (shelf, pair)
}

#[test]
fn on_demand_resources_come_by_name_and_stay_live() {
    // C-228, C-230, C-232
    let (shelf, mut pair) = clusters();
    pair.client.subscribe(&CLUSTER, ["od", "nope"]);
    pair.drive();
    pair.expect(["> CDS +[od nope]", "< CDS n2 [od] -[nope]", "> ACK CDS n2"]);
    shelf.put([fixture::static_cluster("od").revision(2).on_demand(true)]);
    pair.drive();
    pair.expect(["< CDS n3 [od@2]", "> ACK CDS n3"]);
    shelf.remove(&CLUSTER, ["od"]);
    pair.drive();
    pair.expect(["< CDS n4 [] -[od]", "> ACK CDS n4"]);
}

#[test]
fn a_first_request_with_a_name_is_no_wildcard() {
    // C-229
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::static_cluster("od")]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&CLUSTER, ["od"]);
    pair.drive();
    pair.expect(["> CDS +[od]", "< CDS n1 [od]", "> ACK CDS n1"]);
}

#[test]
fn fifty_subscriptions_in_a_row_are_each_answered_without_an_ack() {
    // C-231
    let shelf = Shelf::new();
    let names: Vec<_> = (0..50).map(|i| format!("od{i:02}")).collect();
    shelf.put(names.iter().map(fixture::static_cluster));
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    for name in &names {
        pair.client.subscribe(&CLUSTER, [name.as_str()]);
    }
    pair.drive();
    let lines = pair.transcript().lines();
    for name in &names {
        let answer = format!("[{name}]");
        let told = lines
            .iter()
            .filter(|l| l.starts_with('<') && l.ends_with(&answer));
        assert_eq!(told.count(), 1, "{name}");
    }
}

#[test]
fn who_names_everything_gets_what_is_on_demand_too() {
    let shelf = Shelf::new();
    let names: Vec<_> = (0..40).map(|i| format!("{i:02}")).collect();
    let make = |name: &String| fixture::static_cluster(name.as_str()).on_demand(name == "07");
    shelf.put(names.iter().map(make));
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client
        .subscribe(&CLUSTER, names.iter().map(String::as_str));
    pair.drive();
    assert_eq!(pair.client.held_names(&CLUSTER).len(), 40);
}
