//! A response with changes waits while the previous one of its type is unread, and for nothing else.

use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_engine::{Event, Locator, Transitions};
use portolan_testkit::{Pair, PlainClient, Setup, Shelf, fixture};

/// A client that acknowledges nothing, has all clusters and the endpoints of one, and was just sent a change of
/// cluster `a` as `n3`.
fn one_change_unread() -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::endpoints("e", "1")]);
    let mut pair = Pair::new(PlainClient::sotw().without_acks(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.client.ask(&ENDPOINT, ["e"]);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.skip();
    (shelf, pair)
}

#[test]
fn a_change_waits_while_the_previous_one_is_unread() {
    let (shelf, mut pair) = one_change_unread();
    shelf.put([fixture::static_cluster("a").revision(3)]);
    pair.drive();
    pair.expect_quiet();
    pair.client.ack(&CLUSTER);
    pair.drive();
    pair.expect(["> ACK CDS n3", "< CDS v3 n4 [a@3]"]);
}

#[test]
fn a_rejection_is_a_sign_of_reading() {
    let (shelf, mut pair) = one_change_unread();
    shelf.put([fixture::static_cluster("a").revision(3)]);
    pair.client.nack(&CLUSTER);
    pair.drive();
    pair.expect(["> NACK CDS n3", "< CDS v3 n4 [a@3]"]);
}

#[test]
fn of_five_quick_publications_only_the_newest_is_sent() {
    let (shelf, mut pair) = one_change_unread();
    for revision in 3..8 {
        shelf.put([fixture::static_cluster("a").revision(revision)]);
        pair.drive();
    }
    pair.expect_quiet();
    pair.client.ack(&CLUSTER);
    pair.drive();
    let newest = shelf.snapshot().unwrap();
    assert_eq!(
        pair.client.held(&CLUSTER)["a"].version(),
        newest.set(&CLUSTER).unwrap().get("a").unwrap().version()
    );
    pair.expect(["> ACK CDS n3", "< CDS v3 n4 [a@3]"]);
}

#[test]
fn an_ack_of_what_was_sent_later_shows_that_the_change_was_read() {
    let (shelf, mut pair) = one_change_unread();
    shelf.put([fixture::endpoints("e", "2")]);
    pair.drive();
    pair.expect(["< EDS v2 n4 [e@2]"]);
    shelf.put([fixture::static_cluster("a").revision(3)]);
    pair.drive();
    pair.expect_quiet();
    pair.client.ack(&ENDPOINT);
    pair.drive();
    pair.expect(["> ACK EDS n4", "< CDS v3 n5 [a@3]"]);
}

#[test]
fn an_ack_of_what_was_sent_earlier_shows_nothing() {
    let (shelf, mut pair) = one_change_unread();
    shelf.put([fixture::static_cluster("a").revision(3)]);
    pair.client.answer(&CLUSTER, "1", None);
    pair.client.answer(&ENDPOINT, "2", None);
    pair.drive();
    pair.expect(["> ACK CDS n1", "> ACK EDS n2"]);
}

#[test]
fn nobody_waits_longer_than_five_seconds() {
    let (shelf, mut pair) = one_change_unread();
    pair.take_events();
    shelf.put([fixture::static_cluster("a").revision(3)]);
    pair.advance(Duration::from_millis(4_999));
    pair.expect_quiet();
    pair.advance(Duration::from_millis(1));
    pair.expect(["-- 5s", "< CDS v3 n4 [a@3]"]);
    let events = pair.take_events();
    assert!(
        matches!(
            &events[..],
            [Event::Held { type_url: held }, Event::UnreadTooLong { type_url, .. }]
                if *held == CLUSTER && *type_url == CLUSTER
        ),
        "{events:?}"
    );
}

#[test]
fn a_wait_is_told_once_however_much_is_published_meanwhile() {
    let (shelf, mut pair) = one_change_unread();
    pair.take_events();
    let held = |pair: &mut Pair<PlainClient>| {
        let events = pair.take_events();
        let is_held = |event: &&Event| matches!(event, Event::Held { .. });
        events.iter().filter(is_held).count()
    };
    for revision in 3..6 {
        shelf.put([fixture::static_cluster("a").revision(revision)]);
        pair.drive();
        assert!(pair.session().unwrap().is_holding());
    }
    assert_eq!(held(&mut pair), 1);
    pair.client.ack(&CLUSTER);
    pair.drive();
    assert!(!pair.session().unwrap().is_holding());
    assert_eq!(held(&mut pair), 0);
    shelf.put([fixture::static_cluster("a").revision(6)]);
    pair.drive();
    assert_eq!(held(&mut pair), 1, "the next wait is another one");
}

#[test]
fn the_wait_is_counted_from_the_unread_response_and_again_from_the_next() {
    let (shelf, mut pair) = one_change_unread();
    pair.advance(Duration::from_secs(4));
    shelf.put([fixture::static_cluster("a").revision(3)]);
    pair.advance(Duration::from_secs(1));
    pair.expect(["-- 5s", "< CDS v3 n4 [a@3]"]);
    shelf.put([fixture::static_cluster("a").revision(4)]);
    pair.advance(Duration::from_millis(4_999));
    pair.expect_quiet();
    pair.advance(Duration::from_millis(1));
    pair.expect(["-- 10s", "< CDS v4 n5 [a@4]"]);
}

#[test]
fn a_client_that_reads_late_needs_no_timer() {
    let (_, mut pair) = one_change_unread();
    pair.advance(Duration::from_secs(60));
    pair.expect_quiet();
    assert_eq!(pair.session().unwrap().poll_timeout(), None);
    assert!(
        !pair
            .take_events()
            .iter()
            .any(|e| matches!(e, Event::UnreadTooLong { .. }))
    );
}

#[test]
fn what_was_taken_back_while_it_waited_is_not_waited_for() {
    let (shelf, mut pair) = one_change_unread();
    let sent = shelf.snapshot().unwrap();
    shelf.put([fixture::static_cluster("a").revision(3)]);
    pair.drive();
    pair.take_events();
    assert!(pair.session().unwrap().poll_timeout().is_some());
    shelf.publish(sent);
    pair.drive();
    assert_eq!(pair.session().unwrap().poll_timeout(), None);
    pair.advance(Duration::from_secs(6));
    pair.expect_quiet();
    assert_eq!(pair.take_events(), []);
}

#[test]
fn answers_to_requests_are_not_paced() {
    let (shelf, mut pair) = one_change_unread();
    shelf.put([fixture::endpoints("f", "1")]);
    pair.client.ask(&ENDPOINT, ["e", "f"]);
    pair.drive();
    pair.expect(["> ACK EDS n2 [e f]", "< EDS v2 n4 [f]"]);
    pair.client.ask(&CLUSTER, ["*", "a"]);
    pair.drive();
    pair.expect(["> ACK CDS n3 [* a]", "< CDS v2 n5 [a@2]"]);
}

#[test]
fn an_answer_to_a_request_does_not_make_changes_wait() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let mut pair = Pair::new(PlainClient::sotw().without_acks(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.expect(["> CDS [] v= n=", "< CDS v1 n1 [a]", "< CDS v2 n2 [a@2]"]);
}

#[test]
fn nor_does_one_that_holds_a_cluster_which_is_new_to_the_client() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::static_cluster("b")]);
    let mut pair = Pair::new(PlainClient::sotw().without_acks(), &shelf);
    pair.client.ask(&CLUSTER, ["a"]);
    pair.drive();
    pair.client.ask(&CLUSTER, ["a", "b"]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.expect(["< CDS v2 n3 [a@2 b]"]);
}

/// A client that was told of `b` by a change which it has not read, behind which another one waits; and the answers that
/// tell it of clusters when it has asked for the endpoints of `b`.
fn told_of_clusters(client: PlainClient, asks: impl FnOnce(&mut PlainClient)) -> usize {
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a"), fixture::endpoints("a", "1")]);
    let mut pair = Pair::new(client.without_acks(), &shelf);
    pair.client.want(&CLUSTER, []);
    pair.client.want(&ENDPOINT, ["a"]);
    pair.drive();
    shelf.put([fixture::cluster("b")]);
    pair.drive();
    shelf.put([fixture::static_cluster("c")]);
    pair.drive();
    let before = pair.client.received().len();
    asks(&mut pair.client);
    pair.drive();
    let told = pair.client.received()[before..].iter();
    told.filter(|r| r.type_url == CLUSTER).count()
}

#[test]
fn asking_for_what_only_a_change_told_of_shows_that_it_was_read() {
    // A client that warms a cluster withholds the acknowledgement until its endpoints come.
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let told = told_of_clusters(client, |client| client.want(&ENDPOINT, ["a", "b"]));
        assert_eq!(told, 1);
    }
}

#[test]
fn so_does_asking_for_it_with_parameters_of_which_the_change_knows_nothing() {
    let told = told_of_clusters(PlainClient::delta(), |client| {
        let mut request = PlainClient::delta_request(&ENDPOINT, [], []);
        let parameters = [("env".into(), "prod".into())];
        request.locators_subscribe = vec![Locator::new("b", parameters)];
        client.send(request);
    });
    assert_eq!(told, 1);
}

#[test]
fn asking_for_something_else_shows_nothing() {
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a"), fixture::endpoints("a", "1")]);
    let mut pair = Pair::new(PlainClient::sotw().without_acks(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    shelf.put([fixture::cluster("b")]);
    pair.drive();
    shelf.put([fixture::static_cluster("c")]);
    pair.drive();
    pair.skip();
    pair.client.ask(&ENDPOINT, ["a", "x"]);
    pair.drive();
    pair.expect(["> ACK EDS n2 [a x]"]);
}

#[test]
fn an_answer_under_a_wait_leaves_the_rest_waiting() {
    let shelf = Shelf::new();
    shelf.put([fixture::endpoints("e", "1"), fixture::endpoints("f", "1")]);
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    pair.client.subscribe(&ENDPOINT, ["e"]);
    pair.drive();
    shelf.put([fixture::endpoints("e", "2")]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::endpoints("e", "3"), fixture::endpoints("f", "2")]);
    pair.client.subscribe(&ENDPOINT, ["f"]);
    pair.drive();
    pair.expect(["> EDS +[f]", "< EDS n3 [f]"]);
    pair.client.answer(&ENDPOINT, "2", None);
    pair.drive();
    pair.expect(["> ACK EDS n2", "< EDS n4 [e@3]"]);
}

/// A delta client that was sent a change of route `a` as `n2`, has not read it, and waits for the next.
fn routes_waiting(others: &[&'static str]) -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put(["a", "b", "x"].map(|name| fixture::route(name, ["c"])));
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    pair.client
        .subscribe(&ROUTE, others.iter().copied().chain(["a"]));
    pair.drive();
    for cluster in ["d", "e"] {
        shelf.put([fixture::route("a", [cluster])]);
        pair.drive();
    }
    pair.skip();
    (shelf, pair)
}

#[test]
fn what_was_given_up_under_a_wait_is_not_told_with_what_waited() {
    let (shelf, mut pair) = routes_waiting(&[]);
    pair.client.subscribe(&ROUTE, ["b"]);
    pair.drive();
    pair.client.unsubscribe(&ROUTE, ["b"]);
    shelf.remove(&ROUTE, ["b"]);
    pair.drive();
    pair.client.answer(&ROUTE, "2", None);
    pair.drive();
    pair.expect([
        "> RDS +[b]",
        "< RDS n3 [b]",
        "> RDS -[b]",
        "> ACK RDS n2",
        "< RDS n4 [a@3]",
    ]);
}

#[test]
fn what_was_told_as_gone_under_a_wait_is_not_told_again() {
    let (shelf, mut pair) = routes_waiting(&["x"]);
    shelf.remove(&ROUTE, ["x"]);
    pair.drive();
    pair.expect_quiet();
    pair.client.subscribe(&ROUTE, ["x"]);
    pair.drive();
    pair.client.answer(&ROUTE, "2", None);
    pair.drive();
    pair.expect([
        "> RDS +[x]",
        "< RDS n3 [] -[x]",
        "> ACK RDS n2",
        "< RDS n4 [a@3]",
    ]);
}

/// Nothing waits but for what was sent before it.
fn in_order() -> Setup {
    let config = Setup::default_config().with_transitions(Transitions::Ordered);
    Setup::default().with_config(config)
}

#[test]
fn endpoints_go_while_clusters_wait_and_what_refers_to_clusters_does_not() {
    let shelf = Shelf::new();
    shelf.put([
        fixture::static_cluster("a"),
        fixture::endpoints("e", "1"),
        fixture::listener("l", "r"),
        fixture::route("r", ["a"]),
    ]);
    let mut pair = Pair::open(PlainClient::delta().without_acks(), &shelf, in_order());
    pair.client.subscribe(&CLUSTER, []);
    pair.client.subscribe(&ENDPOINT, ["e"]);
    pair.client.subscribe(&LISTENER, []);
    pair.client.subscribe(&ROUTE, ["r"]);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.skip();

    // The route must not overtake the cluster that it leads to.
    shelf.put([
        fixture::static_cluster("b"),
        fixture::endpoints("e", "2"),
        fixture::listener("l", "r").revision(2),
        fixture::route("r", ["b"]),
    ]);
    pair.drive();
    pair.expect(["< EDS n6 [e@2]"]);
    pair.client.answer(&CLUSTER, "5", None);
    pair.drive();
    pair.expect([
        "> ACK CDS n5",
        "< CDS n7 [b]",
        "< LDS n8 [l@2]",
        "< RDS n9 [r@2]",
    ]);
}

#[test]
fn what_waits_behind_clusters_waits_no_longer_than_they_do() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::route("r", ["a"])]);
    let mut pair = Pair::open(PlainClient::delta().without_acks(), &shelf, in_order());
    pair.client.subscribe(&CLUSTER, []);
    pair.client.subscribe(&ROUTE, ["r"]);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::static_cluster("b"), fixture::route("r", ["b"])]);
    pair.drive();
    pair.expect_quiet();
    pair.advance(Duration::from_secs(5));
    pair.expect(["-- 5s", "< CDS n4 [b]", "< RDS n5 [r@2]"]);
}

#[test]
fn clusters_that_are_unread_but_unchanged_hold_nothing_back() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::route("r", ["a"])]);
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    pair.client.subscribe(&CLUSTER, []);
    pair.client.subscribe(&ROUTE, ["r"]);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::route("r", ["a"]).revision(2)]);
    pair.drive();
    pair.expect(["< RDS n4 [r@2]"]);
}

#[test]
fn a_new_route_is_answered_while_clusters_wait() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::route("r", ["a"])]);
    let mut pair = Pair::new(PlainClient::sotw().without_acks(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    for revision in 2..4 {
        shelf.put([fixture::static_cluster("a").revision(revision)]);
        pair.drive();
    }
    pair.skip();
    pair.client.ask(&ROUTE, ["r"]);
    pair.drive();
    pair.expect(["> RDS [r] v= n=", "< RDS v1 n3 [r]"]);
}

#[test]
fn what_a_client_lacks_of_a_type_that_it_resumes_is_sent_while_clusters_wait() {
    let shelf = Shelf::new();
    shelf.put([
        fixture::static_cluster("a"),
        fixture::route("r", ["a"]).version("2"),
    ]);
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    for revision in 2..4 {
        shelf.put([fixture::static_cluster("a").revision(revision)]);
        pair.drive();
    }
    pair.skip();
    pair.client.resume(&ROUTE, ["r"], [("r", "1")]);
    pair.drive();
    pair.expect(["> RDS +[r] irv[r@1]", "< RDS n3 [r@2]"]);
}

#[test]
fn a_reader_that_takes_nothing_is_asked_nothing_and_then_gets_the_newest() {
    let (shelf, mut pair) = one_change_unread();
    pair.client.ack(&CLUSTER);
    pair.drive();
    pair.skip();
    pair.set_window(0);
    for revision in 3..50 {
        shelf.put([fixture::static_cluster("a").revision(revision)]);
        pair.drive();
    }
    pair.expect_quiet();
    pair.set_window(1);
    pair.drive();
    pair.expect(["< CDS v3 n4 [a@3]"]);
    let held = pair.client.held(&CLUSTER)["a"].body();
    assert_eq!(held, &b"rev=49"[..]);
}

#[test]
fn one_turn_speaks_of_one_publication() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::listener("l", "r")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.client.ask(&LISTENER, [""; 0]);
    pair.drive();
    pair.skip();
    pair.set_window(0);
    let both = |revision| {
        shelf.put([
            fixture::static_cluster("a").revision(revision),
            fixture::listener("l", "r").revision(revision),
        ])
    };
    both(2);
    pair.drive();
    pair.set_window(1);
    pair.set_reading(false);
    pair.drive();
    pair.expect(["< CDS v2 n3 [a@2]"]);
    // A publication that comes between two types of a turn is the next turn's affair.
    both(3);
    pair.set_reading(true);
    pair.drive();
    pair.expect([
        "< LDS v2 n4 [l@2]",
        "> ACK CDS n3",
        "< CDS v3 n5 [a@3]",
        "> ACK LDS n4",
        "< LDS v3 n6 [l@3]",
        "> ACK CDS n5",
        "> ACK LDS n6",
    ]);
}

#[test]
fn an_answer_that_leaves_nothing_to_say_holds_nothing() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    pair.client.subscribe(&CLUSTER, ["a"]);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.client.subscribe(&CLUSTER, ["a"]);
    pair.drive();
    assert_eq!(pair.client.received().len(), 3, "{}", pair.transcript());
    assert!(!pair.session().unwrap().is_holding());
    let held = |event: &Event| matches!(event, Event::Held { .. });
    assert!(!pair.take_events().iter().any(held));
}

#[test]
fn a_change_that_goes_with_an_answer_is_paced() {
    let shelf = Shelf::new();
    shelf.put(["a", "b"].map(fixture::static_cluster));
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    pair.client.subscribe(&CLUSTER, ["a", "b"]);
    pair.drive();
    pair.set_window(0);
    pair.client.subscribe(&CLUSTER, ["a"]);
    shelf.put([fixture::static_cluster("b").revision(2)]);
    pair.drive();
    pair.set_window(1);
    pair.drive();
    pair.expect([
        "> CDS +[a b]",
        "< CDS n1 [a b]",
        "> CDS +[a]",
        "< CDS n2 [a b@2]",
    ]);
    shelf.put([fixture::static_cluster("b").revision(3)]);
    pair.drive();
    pair.expect_quiet();
    assert!(pair.session().unwrap().is_holding());
}
