//! What a delta client subscribes, and what it must be answered.

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_testkit::{Pair, PlainClient, Shelf, fixture};

fn routes() -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put([fixture::route("a", ["c"]), fixture::route("b", ["c"])]);
    let pair = Pair::new(PlainClient::delta(), &shelf);
    (shelf, pair)
}

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
fn names_are_added_and_taken_away_and_acks_change_nothing() {
    // C-145, C-146, C-151, C-152
    let (shelf, mut pair) = routes();
    pair.client.subscribe(&ROUTE, ["a", "b"]);
    pair.drive();
    pair.expect(["> RDS +[a b]", "< RDS n1 [a b]", "> ACK RDS n1"]);
    pair.client.unsubscribe(&ROUTE, ["a"]);
    pair.drive();
    pair.expect(["> RDS -[a]"]);
    shelf.put([fixture::route("a", ["d"])]);
    pair.drive();
    pair.expect_quiet();
    shelf.put([fixture::route("b", ["d"])]);
    pair.drive();
    pair.expect(["< RDS n2 [b@2]", "> ACK RDS n2"]);
}

#[test]
fn a_missing_name_is_reported_once_and_stays_subscribed() {
    // C-147, C-281, C-283
    let (shelf, mut pair) = routes();
    pair.client.subscribe(&ROUTE, ["a", "x"]);
    pair.drive();
    pair.expect(["> RDS +[a x]", "< RDS n1 [a] -[x]", "> ACK RDS n1"]);
    shelf.put([fixture::route("a", ["d"])]);
    pair.drive();
    pair.expect(["< RDS n2 [a@2]", "> ACK RDS n2"]);
    shelf.put([fixture::route("x", ["d"])]);
    pair.drive();
    pair.expect(["< RDS n3 [x]", "> ACK RDS n3"]);
}

#[test]
fn of_many_only_what_changed_is_sent() {
    // C-149
    let shelf = Shelf::new();
    let names: Vec<_> = (0..100).map(|i| format!("r{i:02}")).collect();
    shelf.put(names.iter().map(|n| fixture::route(n, ["c"])));
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client
        .subscribe(&ROUTE, names.iter().map(String::as_str));
    pair.drive();
    pair.skip();
    shelf.put([fixture::route("r42", ["d"])]);
    pair.drive();
    pair.expect(["< RDS n2 [r42@2]", "> ACK RDS n2"]);
}

#[test]
fn a_deleted_resource_is_reported_and_comes_back_when_it_does() {
    // C-150
    let (shelf, mut pair) = routes();
    pair.client.subscribe(&ROUTE, ["a"]);
    pair.drive();
    pair.skip();
    shelf.remove(&ROUTE, ["a"]);
    pair.drive();
    pair.expect(["< RDS n2 [] -[a]", "> ACK RDS n2"]);
    shelf.put([fixture::route("a", ["c"])]);
    pair.drive();
    pair.expect(["< RDS n3 [a]", "> ACK RDS n3"]);
}

#[test]
fn giving_up_what_was_never_wanted_is_no_error() {
    // C-153
    let (_, mut pair) = routes();
    pair.client.subscribe(&ROUTE, ["a"]);
    pair.drive();
    pair.skip();
    pair.client.unsubscribe(&ROUTE, ["never"]);
    pair.drive();
    pair.expect(["> RDS -[never]"]);
    assert!(pair.error().is_none());
}

#[test]
fn every_subscription_is_answered_known_or_not() {
    // C-154
    let (_, mut pair) = routes();
    for nonce in 1..4 {
        pair.client.subscribe(&ROUTE, ["a", "x"]);
        pair.drive();
        pair.expect([
            "> RDS +[a x]".to_owned(),
            format!("< RDS n{nonce} [a] -[x]"),
            format!("> ACK RDS n{nonce}"),
        ]);
    }
}

#[test]
fn giving_up_and_subscribing_again_is_answered() {
    // C-155
    let (_, mut pair) = routes();
    pair.client.subscribe(&ROUTE, ["a"]);
    pair.drive();
    pair.skip();
    pair.client.unsubscribe(&ROUTE, ["a"]);
    pair.client.subscribe(&ROUTE, ["a"]);
    pair.drive();
    pair.expect(["> RDS -[a]", "> RDS +[a]", "< RDS n2 [a]", "> ACK RDS n2"]);
}

#[test]
fn subscriptions_of_a_request_come_before_what_it_gives_up() {
    // C-156
    let (shelf, mut pair) = clusters();
    let request = PlainClient::delta_request(&LISTENER, ["*"], ["*"]);
    pair.client.send(request);
    let request = PlainClient::delta_request(&ROUTE, ["a"], ["a"]);
    pair.client.send(request);
    pair.drive();
    pair.expect(["> LDS +[*] -[*]", "> RDS +[a] -[a]"]);
    shelf.put([fixture::tcp_listener("l"), fixture::route("a", ["c"])]);
    pair.drive();
    pair.expect_quiet();
    pair.client.subscribe(&LISTENER, ["l"]);
    pair.drive();
    pair.expect(["> LDS +[l]", "< LDS n2 [l]", "> ACK LDS n2"]);
}

#[test]
fn so_they_do_in_later_requests() {
    let (_, mut pair) = routes();
    pair.client.subscribe(&ROUTE, ["a"]);
    pair.drive();
    pair.skip();
    let request = PlainClient::delta_request(&ROUTE, ["b", "x"], ["b", "x"]);
    pair.client.send(request);
    pair.drive();
    pair.expect(["> RDS +[b x] -[b x]"]);
}

#[test]
fn a_name_listed_twice_is_one_subscription() {
    // C-182
    let (_, mut pair) = routes();
    pair.client.subscribe(&ROUTE, ["a", "a"]);
    pair.drive();
    pair.expect(["> RDS +[a a]", "< RDS n1 [a]", "> ACK RDS n1"]);
}

#[test]
fn an_exchange_of_two_resources_is_one_response() {
    // C-185; decision: listeners change in one response, removals included.
    let shelf = Shelf::new();
    shelf.put([fixture::tcp_listener("old")]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&LISTENER, []);
    pair.drive();
    pair.skip();
    shelf.edit(|snapshot| {
        snapshot.remove(&LISTENER, "old");
        snapshot
            .upsert(fixture::tcp_listener("new").into())
            .unwrap();
    });
    pair.drive();
    pair.expect(["< LDS n2 [new] -[old]", "> ACK LDS n2"]);
}

#[test]
fn created_and_deleted_in_quick_succession_ends_absent() {
    // C-284
    let (shelf, mut pair) = clusters();
    pair.set_window(0);
    shelf.put([fixture::static_cluster("x")]);
    pair.drive();
    shelf.remove(&CLUSTER, ["x"]);
    pair.drive();
    pair.set_window(1);
    pair.drive();
    pair.expect_quiet();
}

#[test]
fn an_unchanged_publication_is_not_told() {
    // C-122, C-180, C-258
    let (shelf, mut pair) = clusters();
    for _ in 0..100 {
        shelf.publish(shelf.snapshot().unwrap().edit().build());
        pair.drive();
    }
    shelf.put([
        fixture::endpoints("e", "1"),
        fixture::static_cluster("od").revision(2).on_demand(true),
    ]);
    pair.drive();
    pair.expect_quiet();
}

#[test]
fn a_wildcard_gains_and_loses_members() {
    // C-157, C-159
    let (shelf, mut pair) = clusters();
    shelf.put([fixture::static_cluster("c")]);
    pair.drive();
    pair.expect(["< CDS n2 [c]", "> ACK CDS n2"]);
    shelf.remove(&CLUSTER, ["a"]);
    pair.drive();
    pair.expect(["< CDS n3 [] -[a]", "> ACK CDS n3"]);
}

#[test]
fn an_explicit_wildcard_may_come_at_any_time() {
    // C-158, C-162
    let (shelf, mut pair) = routes();
    pair.client.subscribe(&ROUTE, ["a"]);
    pair.drive();
    pair.skip();
    pair.client.subscribe(&ROUTE, ["*"]);
    pair.drive();
    pair.expect(["> RDS +[*]", "< RDS n2 [a b]", "> ACK RDS n2"]);
    pair.client.unsubscribe(&ROUTE, ["*"]);
    pair.drive();
    pair.expect(["> RDS -[*]"]);
    shelf.put([fixture::route("a", ["d"]), fixture::route("b", ["d"])]);
    pair.drive();
    pair.expect(["< RDS n3 [a@2]", "> ACK RDS n3"]);
}

#[test]
fn a_name_beside_the_legacy_wildcard_keeps_it_and_only_a_star_ends_it() {
    // C-162, C-163, C-166
    let (shelf, mut pair) = clusters();
    pair.client.subscribe(&CLUSTER, ["a"]);
    pair.drive();
    pair.expect(["> CDS +[a]", "< CDS n2 [a]", "> ACK CDS n2"]);
    shelf.put([fixture::static_cluster("b").revision(2)]);
    pair.drive();
    pair.expect(["< CDS n3 [b@2]", "> ACK CDS n3"]);
    pair.client.unsubscribe(&CLUSTER, ["*"]);
    pair.drive();
    shelf.put([
        fixture::static_cluster("a").revision(2),
        fixture::static_cluster("b"),
    ]);
    pair.drive();
    pair.expect(["> CDS -[*]", "< CDS n4 [a@2]", "> ACK CDS n4"]);
    pair.client.unsubscribe(&CLUSTER, ["a"]);
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(3)]);
    pair.drive();
    pair.expect(["> CDS -[a]", "> CDS"]);
}

#[test]
fn the_legacy_wildcard_ends_though_nothing_was_named() {
    // C-164
    let (shelf, mut pair) = clusters();
    pair.client.unsubscribe(&CLUSTER, ["*"]);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.expect(["> CDS -[*]"]);
}

#[test]
fn after_a_wildcard_ended_everything_is_new_again() {
    // C-165
    let (_, mut pair) = clusters();
    pair.client.unsubscribe(&CLUSTER, ["*"]);
    pair.client.subscribe(&CLUSTER, ["a"]);
    pair.drive();
    pair.expect(["> CDS -[*]", "> CDS +[a]", "< CDS n2 [a]", "> ACK CDS n2"]);
    pair.client.subscribe(&CLUSTER, ["*"]);
    pair.drive();
    pair.expect(["> CDS +[*]", "< CDS n3 [a b]", "> ACK CDS n3"]);
}

#[test]
fn clusters_of_a_renewed_wildcard_bring_their_endpoints() {
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a"), fixture::endpoints("a", "1")]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&CLUSTER, []);
    pair.client.subscribe(&ENDPOINT, ["a"]);
    pair.drive();
    pair.client.unsubscribe(&CLUSTER, ["*"]);
    pair.drive();
    pair.skip();
    pair.client.subscribe(&CLUSTER, ["*"]);
    pair.drive();
    pair.expect([
        "> CDS +[*]",
        "< CDS n3 [a]",
        "< EDS n4 [a]",
        "> ACK CDS n3",
        "> ACK EDS n4",
    ]);
}

#[test]
fn a_name_given_up_under_a_wildcard_is_answered() {
    // C-167
    let (_, mut pair) = clusters();
    pair.client.subscribe(&CLUSTER, ["a", "od", "x"]);
    pair.drive();
    pair.expect(["> CDS +[a od x]", "< CDS n2 [a od] -[x]", "> ACK CDS n2"]);
    pair.client.unsubscribe(&CLUSTER, ["a", "od", "x"]);
    pair.drive();
    pair.expect(["> CDS -[a od x]", "< CDS n3 [a] -[od x]", "> ACK CDS n3"]);
}

#[test]
fn so_is_one_given_up_before_the_first_answer() {
    let shelf = Shelf::new();
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&CLUSTER, []);
    pair.client.subscribe(&CLUSTER, ["x"]);
    pair.client.unsubscribe(&CLUSTER, ["x"]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::static_cluster("a")]);
    pair.drive();
    pair.expect(["< CDS n1 [a] -[x]", "> ACK CDS n1"]);
}

#[test]
fn a_resource_covered_twice_is_sent_once() {
    // C-168, C-169, C-377
    let (shelf, mut pair) = clusters();
    pair.client.subscribe(&CLUSTER, ["*", "a", "x"]);
    pair.drive();
    pair.expect(["> CDS +[* a x]", "< CDS n2 [a b] -[x]", "> ACK CDS n2"]);
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.expect(["< CDS n3 [a@2]", "> ACK CDS n3"]);
}

#[test]
fn a_wildcard_that_is_subscribed_again_is_answered_in_full() {
    // C-186
    let (_, mut pair) = clusters();
    pair.client.subscribe(&CLUSTER, ["*"]);
    pair.drive();
    pair.expect(["> CDS +[*]", "< CDS n2 [a b]", "> ACK CDS n2"]);
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
fn leaving_the_wildcard_set_is_a_removal() {
    let (shelf, mut pair) = clusters();
    shelf.put([fixture::static_cluster("b").on_demand(true)]);
    pair.drive();
    pair.expect(["< CDS n2 [] -[b]", "> ACK CDS n2"]);
    shelf.put([fixture::static_cluster("b")]);
    pair.drive();
    pair.expect(["< CDS n3 [b]", "> ACK CDS n3"]);
}
