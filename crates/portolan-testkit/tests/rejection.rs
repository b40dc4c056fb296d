//! What a rejection means: it is told once, nothing rejected goes out again by itself, and no good neighbour is lost.

use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET};
use portolan_engine::{ErrorDetail, Event, Limits};
use portolan_testkit::{EnvoyClient, EnvoyMux, Pair, PlainClient, Setup, Shelf, fixture};

/// A delta client of three routes, which has rejected a response with two of them.
fn rejected_batch() -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put([
        fixture::route("good", ["c"]),
        fixture::route("poor", ["c"]),
        fixture::route("other", ["c"]),
    ]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&ROUTE, ["good", "poor", "other"]);
    pair.drive();
    shelf.put([
        fixture::route("good", ["d"]),
        fixture::route("poor", ["d"]).garbled(),
    ]);
    pair.drive();
    pair.expect([
        "> RDS +[good poor other]",
        "< RDS n1 [good other poor]",
        "> ACK RDS n1",
        "< RDS n2 [good@2 poor@2]",
        "> NACK RDS n2",
    ]);
    (shelf, pair)
}

#[test]
fn a_member_that_was_sent_since_is_of_the_batch_no_more() {
    let (shelf, mut pair) = rejected_batch();
    pair.client.subscribe(&ROUTE, ["good"]);
    pair.drive();
    shelf.put([fixture::route("poor", ["e"])]);
    pair.drive();
    pair.expect([
        "> RDS +[good]",
        "< RDS n3 [good@2]",
        "> ACK RDS n3",
        "< RDS n4 [poor@3]",
        "> ACK RDS n4",
    ]);
}

#[test]
fn nor_does_it_bring_the_rest_when_it_changes() {
    let (shelf, mut pair) = rejected_batch();
    pair.client.subscribe(&ROUTE, ["good"]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::route("good", ["e"])]);
    pair.drive();
    pair.expect(["< RDS n4 [good@3]", "> ACK RDS n4"]);
}

#[test]
fn so_does_a_good_member_that_changes() {
    let (shelf, mut pair) = rejected_batch();
    shelf.put([fixture::route("good", ["e"])]);
    pair.drive();
    pair.expect(["< RDS n3 [good@3 poor@2]", "> NACK RDS n3"]);
}

#[test]
fn a_member_that_was_given_up_is_not_told_to_be_gone() {
    let (shelf, mut pair) = rejected_batch();
    pair.client.unsubscribe(&ROUTE, ["poor"]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::route("good", ["e"])]);
    pair.drive();
    pair.expect(["< RDS n3 [good@3]", "> ACK RDS n3"]);
}

#[test]
fn a_member_that_is_deleted_brings_its_batch() {
    let (shelf, mut pair) = rejected_batch();
    shelf.remove(&ROUTE, ["poor"]);
    pair.drive();
    pair.expect(["< RDS n3 [good@2] -[poor]", "> ACK RDS n3"]);
}

#[test]
fn an_answer_with_a_changed_member_brings_its_batch_though_changes_wait() {
    let (shelf, mut pair) = rejected_batch();
    pair.client.set_acks(false);
    shelf.put([fixture::route("other", ["d"])]);
    pair.drive();
    shelf.put([
        fixture::route("other", ["e"]),
        fixture::route("poor", ["e"]),
    ]);
    pair.drive();
    pair.expect(["< RDS n3 [other@2]"]);
    pair.client.subscribe(&ROUTE, ["poor"]);
    pair.drive();
    pair.expect(["> RDS +[poor]", "< RDS n4 [good@2 poor@3]"]);
}

#[test]
fn what_was_sent_again_later_is_not_suspected_for_an_older_rejection() {
    let shelf = Shelf::new();
    shelf.put([fixture::route("a", ["c"]), fixture::route("b", ["c"])]);
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    pair.client.subscribe(&ROUTE, ["a", "b"]);
    pair.client.subscribe(&ROUTE, ["b"]);
    pair.drive();
    pair.client.answer(&ROUTE, "2", None);
    pair.client
        .answer(&ROUTE, "1", Some(ErrorDetail::new(13, "no")));
    pair.drive();
    pair.skip();
    shelf.put([fixture::route("a", ["d"])]);
    pair.drive();
    pair.expect(["< RDS n3 [a@2]"]);
}

#[test]
fn the_text_of_a_rejection_is_escaped_and_cut() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let limits = Limits::default().with_nack_text(20);
    let config = Setup::default_config().with_limits(limits);
    let setup = Setup::default().with_config(config);
    let mut pair = Pair::open(PlainClient::delta().without_acks(), &shelf, setup);
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    let text = format!("no\n{}", "x".repeat(10_000));
    pair.client
        .answer(&CLUSTER, "1", Some(ErrorDetail::new(13, text)));
    pair.drive();
    let told = pair.take_events();
    assert_eq!(nack_text(&told), format!("no\\n{}", "x".repeat(16)));
}

fn nack_text(events: &[Event]) -> &str {
    for event in events {
        if let Event::Nacked { message, .. } = event {
            return message;
        }
    }
    panic!("no rejection was told: {events:?}")
}

#[test]
fn by_default_four_kibibytes_of_a_rejection_are_kept() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    let text = "x".repeat(1 << 20);
    pair.client
        .answer(&CLUSTER, "1", Some(ErrorDetail::new(13, text)));
    pair.drive();
    let told = pair.take_events();
    assert_eq!(nack_text(&told).len(), 4096);
}

#[test]
fn c111_a_stale_rejection_is_told_and_changes_nothing() {
    // Decision: an event for its publication, no state.
    let shelf = Shelf::new();
    shelf.put([fixture::endpoints("a", "1"), fixture::endpoints("b", "1")]);
    let mut pair = Pair::new(PlainClient::sotw().without_acks(), &shelf);
    pair.client.ask(&ENDPOINT, ["a", "b"]);
    pair.drive();
    shelf.put([fixture::endpoints("b", "2")]);
    pair.drive();
    pair.client
        .answer(&ENDPOINT, "1", Some(ErrorDetail::new(13, "no")));
    pair.client.answer(&ENDPOINT, "2", None);
    pair.drive();
    let told = pair.take_events();
    let verdicts: Vec<_> = told
        .iter()
        .filter_map(|e| match e {
            Event::Nacked {
                stale, generation, ..
            } => Some(("nacked", *stale, generation.get())),
            Event::Acked { generation, .. } => Some(("acked", false, generation.get())),
            _ => None,
        })
        .collect();
    assert_eq!(verdicts, [("nacked", true, 1), ("acked", false, 2)]);
    pair.skip();
    shelf.put([fixture::endpoints("b", "3")]);
    pair.drive();
    pair.expect(["< EDS v3 n3 [b@3]"]);
}

#[test]
fn of_a_partial_type_a_rejection_is_about_its_own_response() {
    // What an older response was the last to hold is accepted with it, even where that one was rejected too late.
    for late in [false, true] {
        let shelf = Shelf::new();
        shelf.put(["a", "b"].map(|name| fixture::endpoints(name, "1")));
        let mut pair = Pair::new(PlainClient::sotw().without_acks(), &shelf);
        pair.client.ask(&ENDPOINT, ["a", "b"]);
        pair.drive();
        shelf.put([fixture::endpoints("b", "2")]);
        pair.drive();
        if late {
            let error = ErrorDetail::new(13, "no");
            pair.client.answer(&ENDPOINT, "1", Some(error));
        }
        pair.client.nack(&ENDPOINT);
        pair.drive();
        pair.skip();
        shelf.put([fixture::endpoints("a", "2")]);
        pair.drive();
        pair.expect(["< EDS v3 n3 [a@2]"]);
    }
}

#[test]
fn a_batch_says_nothing_of_a_member_that_went_where_that_is_not_said() {
    for (url, client) in [
        (ROUTE, PlainClient::sotw()),
        (SECRET, PlainClient::delta()),
        (SECRET, PlainClient::sotw()),
    ] {
        let shelf = Shelf::new();
        let make = |name, revision| fixture::Fixture::new(url.clone(), name).revision(revision);
        shelf.put([make("good", 1), make("gone", 1)]);
        let mut pair = Pair::new(client, &shelf);
        pair.client.want(&url, ["good", "gone"]);
        pair.drive();
        pair.client.set_acks(false);
        shelf.put([make("good", 2), make("gone", 2)]);
        pair.drive();
        pair.client.nack(&url);
        pair.drive();
        shelf.edit(|snapshot| {
            snapshot.remove(&url, "gone");
            let put = snapshot.upsert(make("good", 3).into());
            put.expect("a name and a type");
        });
        pair.drive();
        let received = pair.client.received();
        assert_eq!(received.len(), 3, "{}", pair.transcript());
        assert_eq!(received[2].resources.len(), 1);
        assert!(received[2].removed.is_empty(), "{:?}", received[2].removed);
    }
}

#[test]
fn envoy_keeps_the_good_half_and_gets_the_fixed_rest() {
    for kind in EnvoyMux::ALL {
        let shelf = Shelf::new();
        shelf.put([fixture::static_cluster("a")]);
        let mut pair = Pair::new(EnvoyClient::new(kind), &shelf);
        pair.drive();
        shelf.put([
            fixture::static_cluster("good"),
            fixture::static_cluster("poor").bad(),
        ]);
        pair.drive();
        assert_eq!(pair.client.clusters().len(), 2, "{kind:?}");
        shelf.put([fixture::static_cluster("poor")]);
        pair.drive();
        assert_eq!(pair.client.clusters().len(), 3, "{kind:?}");
    }
}

#[test]
fn clusters_of_a_response_that_could_not_be_decoded_warm_when_they_come_again() {
    // Nothing of the rejected response was applied, so the unchanged neighbour is new to the client with the next.
    for kind in EnvoyMux::ALL {
        let shelf = Shelf::new();
        shelf.put([fixture::cluster("a"), fixture::endpoints("a", "1")]);
        let mut pair = Pair::new(EnvoyClient::new(kind), &shelf);
        pair.drive();
        shelf.put([
            fixture::cluster("a").revision(2),
            fixture::static_cluster("poor").garbled(),
        ]);
        pair.drive();
        assert_eq!(pair.client.clusters()["a"], "eds=a", "{kind:?}");
        shelf.put([fixture::static_cluster("poor")]);
        pair.advance(Duration::from_secs(1));
        assert_eq!(
            pair.client.clusters()["a"],
            "eds=a rev=2",
            "{kind:?}\n{}",
            pair.transcript()
        );
        // What was in doubt is so no longer.
        pair.skip();
        shelf.put([fixture::static_cluster("poor").revision(2)]);
        pair.drive();
        let lines = pair.transcript().lines();
        let tail = &lines[lines.len() - 2..];
        assert!(
            tail[0].starts_with("< CDS") && tail[1].starts_with("> ACK CDS"),
            "{tail:?}"
        );
    }
}

#[test]
fn listeners_and_routes_are_judged_apart() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::listener("l", "r")]);
    shelf.put([fixture::route("r", ["a"]).bad()]);
    let mut pair = Pair::new(EnvoyClient::new(EnvoyMux::Legacy), &shelf);
    pair.drive();
    assert_eq!(pair.client.warming_listeners(), ["l".into()]);
    shelf.put([fixture::route("r", ["a"])]);
    pair.drive();
    assert!(pair.client.listeners().contains_key("l"));
    let events = pair.take_events();
    let of = |url| {
        let nacked = events
            .iter()
            .filter(move |e| matches!(e, Event::Nacked { type_url, .. } if type_url == url));
        nacked.count()
    };
    assert_eq!((of(&ROUTE), of(&LISTENER)), (1, 0));
}

#[test]
fn nor_do_those_that_come_when_a_suspect_went_in_silence() {
    // State of the world cannot say that a route is gone.
    let shelf = Shelf::new();
    shelf.put(["good", "gone", "other"].map(|name| fixture::route(name, ["d"])));
    let mut pair = Pair::new(PlainClient::sotw().without_acks(), &shelf);
    pair.client.ask(&ROUTE, ["good", "gone", "other"]);
    pair.drive();
    pair.client.nack(&ROUTE);
    shelf.put([fixture::route("other", ["d"]).revision(2)]);
    pair.drive();
    pair.client.ack(&ROUTE);
    pair.drive();
    shelf.put(["good", "gone"].map(|name| fixture::route(name, ["d"]).revision(2)));
    pair.drive();
    pair.client.nack(&ROUTE);
    pair.drive();
    pair.skip();
    shelf.edit(|snapshot| {
        snapshot.remove(&ROUTE, "gone");
        let put = snapshot.upsert(fixture::route("other", ["d"]).revision(3).into());
        put.expect("a name and a type");
    });
    pair.drive();
    pair.expect(["< RDS v4 n4 [other@3]"]);
}

#[test]
fn what_went_in_silence_is_of_no_batch() {
    let shelf = Shelf::new();
    shelf.put([fixture::route("a", ["d"])]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&ROUTE, ["a", "b"]);
    pair.drive();
    shelf.edit(|snapshot| {
        snapshot.remove(&ROUTE, "a");
        let put = snapshot.upsert(fixture::route("b", ["d"]).bad().into());
        put.expect("a name and a type");
    });
    pair.drive();
    pair.skip();
    shelf.put([fixture::route("a", ["d"])]);
    pair.drive();
    pair.expect(["< RDS v3 n3 [a]", "> ACK RDS n3"]);
}

#[test]
fn rejections_that_cross_are_about_what_each_response_was_the_last_to_hold() {
    let shelf = Shelf::new();
    shelf.put(["a", "b"].map(|name| fixture::route(name, ["d"])));
    let mut pair = Pair::new(PlainClient::delta().without_acks(), &shelf);
    pair.client.subscribe(&ROUTE, ["a", "b"]);
    pair.drive();
    shelf.put([fixture::route("b", ["d"]).revision(2)]);
    pair.drive();
    for nonce in ["2", "1"] {
        let error = ErrorDetail::new(13, "no");
        pair.client.answer(&ROUTE, nonce, Some(error));
    }
    pair.drive();
    pair.skip();
    shelf.put([fixture::route("a", ["d"]).revision(2)]);
    pair.drive();
    pair.expect(["< RDS n3 [a@2]"]);
}
