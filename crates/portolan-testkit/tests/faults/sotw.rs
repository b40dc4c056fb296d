//! State of the world: rejections, names, wildcards, nonces, versions.

use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET};
use portolan_core::{ResourceError, Snapshot};
use portolan_engine::Event;
use portolan_testkit::fixture::Fixture;
use portolan_testkit::{EnvoyClient, EnvoyMux, PlainClient, fixture};

use crate::bed::{Bed, both, rejections, snapshot};

fn endpoints<const N: usize>(names: [&'static str; N]) -> Bed {
    Bed::with(names.map(|name| fixture::endpoints(name, "1")))
}

/// Elsewhere a rejected version looked like one that the client lacked, and went out again for ever.
#[test]
fn b01_c103_c104_c110_c196_c199_a_rejection_starts_no_loop_and_a_correction_goes_at_once() {
    for client in both() {
        let bed = Bed::with([fixture::static_cluster("c").bad()]);
        let mut pair = bed.pair(client);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        for round in 0..50 {
            pair.client.nack(&CLUSTER);
            bed.put([fixture::endpoints("e", round)]);
            pair.advance(Duration::from_secs(1));
        }
        assert_eq!(pair.client.received().len(), 1);
        assert_eq!(rejections(&pair.take_events()).len(), 1);
        let before = pair.now();
        bed.put([fixture::static_cluster("c")]);
        pair.drive();
        assert_eq!(pair.client.held_names(&CLUSTER), ["c".into()]);
        assert_eq!(pair.now(), before);
    }
}

/// Elsewhere a rejection was told by its old version, so that one of a new name at an unchanged version passed for
/// acceptance.
#[test]
fn b03_an_error_makes_a_rejection_and_a_version_does_not() {
    let bed = Bed::with([
        fixture::endpoints("a", "1"),
        fixture::endpoints("b", "1").bad(),
    ]);
    let mut pair = bed.pair(PlainClient::sotw());
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.client.ask(&ENDPOINT, ["a", "b"]);
    pair.advance(Duration::from_secs(60));
    pair.expect([
        "> EDS [a] v= n=",
        "< EDS v1 n1 [a]",
        "> ACK EDS n1",
        "> EDS [a b] v=v1 n=n1",
        "< EDS v1 n2 [b]",
        "> NACK EDS n2",
    ]);
    let told = pair.take_events();
    assert_eq!(rejections(&told), ["cannot use b"]);
    let acked = told.iter().filter_map(|event| match event {
        Event::Acked { nonce, .. } => Some(nonce.to_string()),
        _ => None,
    });
    assert_eq!(acked.collect::<Vec<_>>(), ["1"]);
    // An old version alone rejects nothing.
    bed.put([fixture::endpoints("a", "2")]);
    pair.client.set_acks(false);
    pair.drive();
    let mut request = pair.client.sotw_request(&ENDPOINT, ["a", "b"]);
    request.version = "old".to_owned();
    pair.client.send(request);
    pair.drive();
    let told = pair.take_events();
    assert!(told.iter().any(|e| matches!(e, Event::Acked { .. })));
    assert_eq!(rejections(&told), [""; 0]);
}

/// Elsewhere a name that was dropped and named again was not answered, for neither it nor the version had changed.
#[test]
fn b04_a_name_that_is_dropped_and_named_again_is_answered() {
    let make: [fn(&'static str) -> Fixture; 4] = [
        |name| fixture::endpoints(name, "1"),
        |name| fixture::route(name, ["c"]),
        fixture::secret,
        fixture::static_cluster,
    ];
    for (url, make) in [ENDPOINT, ROUTE, SECRET, CLUSTER].into_iter().zip(make) {
        let bed = Bed::with(["a", "b"].map(make));
        let mut pair = bed.pair(PlainClient::sotw());
        pair.client.ask(&url, ["a", "b"]);
        pair.drive();
        pair.client.ask(&url, ["b"]);
        pair.drive();
        assert_eq!(pair.client.received().len(), 1, "{url}");
        pair.client.forget(&url, |name| name.as_str() == "a");
        pair.client.ask(&url, ["a", "b"]);
        pair.drive();
        assert_eq!(pair.client.held(&url).len(), 2, "{url}");
    }
}

/// Elsewhere a client that lacked a name which did not exist was answered at every acknowledgement.
#[test]
fn b06_a_name_that_does_not_exist_starts_no_loop() {
    for client in both() {
        let bed = endpoints(["a"]);
        let mut pair = bed.pair(client);
        pair.client.want(&ENDPOINT, ["a", "ghost"]);
        pair.drive();
        for _ in 0..20 {
            pair.client.ack(&ENDPOINT);
            pair.advance(Duration::from_secs(1));
        }
        assert_eq!(pair.client.received().len(), 1);
        assert_eq!(pair.client.held_names(&ENDPOINT), ["a".into()]);
    }
}

/// Elsewhere the second of two requests without a nonce was dropped as old, and the names that it added never came.
#[test]
fn b08_names_of_a_second_request_without_a_nonce_count() {
    let bed = endpoints(["r1", "r2", "r3", "r4"]);
    let mut pair = bed.pair(PlainClient::sotw().without_acks());
    pair.set_reading(false);
    pair.client.ask(&ENDPOINT, ["r1"]);
    pair.drive();
    pair.client.ask(&ENDPOINT, ["r1", "r2", "r3", "r4"]);
    pair.drive();
    // The response was under way when the client spoke: its first request may as well be forgotten (C-115).
    pair.expect([
        "> EDS [r1] v= n=",
        "< EDS v1 n1 [r1]",
        "> EDS [r1 r2 r3 r4] v= n=",
        "< EDS v1 n2 [r1 r2 r3 r4]",
    ]);
}

/// Elsewhere a change of one cluster was sent alone, and clients deleted all others.
#[test]
fn b10_clusters_and_listeners_come_all_together() {
    let make: [fn(&'static str) -> Fixture; 2] = [fixture::static_cluster, fixture::tcp_listener];
    for (url, make) in [CLUSTER, LISTENER].into_iter().zip(make) {
        let bed = Bed::with(["a", "b", "c"].map(make));
        let mut all = bed.pair(PlainClient::sotw());
        all.client.ask(&url, [""; 0]);
        all.drive();
        let mut named = bed.pair(PlainClient::sotw());
        named.client.ask(&url, ["a", "b"]);
        named.drive();
        bed.put([make("a").revision(2)]);
        all.drive();
        named.drive();
        assert_eq!(all.client.held(&url).len(), 3);
        assert_eq!(named.client.held(&url).len(), 2);
        bed.remove(&url, ["b"]);
        all.drive();
        named.drive();
        assert_eq!(all.client.held_names(&url), ["a".into(), "c".into()]);
        assert_eq!(named.client.held_names(&url), ["a".into()]);
        bed.remove(&url, ["a", "c"]);
        all.drive();
        let last = all.client.received().last();
        assert!(last.is_some_and(|response| response.resources.is_empty()));
        assert_eq!(all.client.received().len(), 4);
    }
}

/// Elsewhere a deletion of a route table was pushed as an empty response, which says nothing and is acknowledged.
#[test]
fn b11_a_deletion_that_cannot_be_told_is_not_and_its_return_is() {
    let bed = Bed::with(["a", "b"].map(|name| fixture::route(name, ["c"])));
    let mut pair = bed.pair(PlainClient::sotw());
    pair.client.ask(&ROUTE, ["a", "b"]);
    pair.drive();
    pair.skip();
    bed.remove(&ROUTE, ["b"]);
    pair.drive();
    pair.expect_quiet();
    bed.put([fixture::route("b", ["c"])]);
    pair.drive();
    pair.expect(["< RDS v1 n2 [b]", "> ACK RDS n2"]);
}

/// Elsewhere `*` was looked up as a name, and a stream never got from names to the wildcard or back.
#[test]
fn b12_the_ways_between_names_and_the_wildcard_are_all_open() {
    let bed = Bed::with(["a", "b"].map(fixture::static_cluster));
    let mut pair = bed.pair(PlainClient::sotw());
    let mut revision = 1;
    let mut change = |name| {
        revision += 1;
        bed.put([fixture::static_cluster(name).revision(revision)]);
    };
    let mut heard = 0;
    let mut answered = |pair: &mut portolan_testkit::Pair<PlainClient>, with: usize| {
        pair.drive();
        let received = pair.client.received();
        let news: Vec<_> = received[heard..]
            .iter()
            .map(|r| r.resources.len())
            .collect();
        heard = received.len();
        let expected = if with == 0 { vec![] } else { vec![with] };
        assert_eq!(news, expected, "\n{}", pair.transcript());
    };
    pair.client.ask(&CLUSTER, [""; 0]);
    answered(&mut pair, 2);
    pair.client.ask(&CLUSTER, ["*", "a"]);
    // `a` is newly named, and a full-state type is answered with everything.
    answered(&mut pair, 2);
    change("b");
    answered(&mut pair, 2);
    pair.client.ask(&CLUSTER, ["a"]);
    answered(&mut pair, 0);
    change("b");
    answered(&mut pair, 0);
    change("a");
    answered(&mut pair, 1);
    pair.client.ask(&CLUSTER, [""; 0]);
    answered(&mut pair, 0);
    change("a");
    answered(&mut pair, 0);
    pair.client.ask(&CLUSTER, ["*"]);
    answered(&mut pair, 2);
}

/// Elsewhere a client that dropped its last secret was taken for one that wants all secrets of the node.
#[test]
fn b13_names_that_were_all_dropped_are_not_everything() {
    let bed = Bed::with([fixture::secret("s1")]);
    let mut pair = bed.pair(PlainClient::sotw());
    pair.client.ask(&SECRET, ["s1"]);
    pair.drive();
    pair.take_events();
    pair.client.ask(&SECRET, [""; 0]);
    pair.drive();
    let told = pair.take_events();
    let gone = told.iter().any(|event| {
        matches!(event, Event::Interest { removed, wildcard: false, .. } if removed == &["s1".into()])
    });
    assert!(gone, "{told:?}");
    bed.put([fixture::secret("s1").revision(2), fixture::secret("s2")]);
    pair.advance(Duration::from_secs(60));
    assert_eq!(pair.client.received().len(), 1);
    pair.skip();
    pair.client.ask(&SECRET, ["s2"]);
    pair.drive();
    pair.expect([
        "-- 60s",
        "> SDS [s2] v=v1 n=n1",
        "< SDS v2 n2 [s2]",
        "> ACK SDS n2",
    ]);
}

/// Elsewhere a response that waited in a queue went out after its names had been given up.
#[test]
fn b14_what_was_given_up_before_it_was_written_is_not_written() {
    for client in both() {
        let bed = Bed::with([fixture::secret("s")]);
        let mut pair = bed.pair(client);
        pair.client.want(&SECRET, ["s"]);
        pair.drive();
        pair.set_window(0);
        bed.put([fixture::secret("s").revision(2)]);
        pair.drive();
        match portolan_testkit::Client::variant(&pair.client) {
            portolan_engine::Variant::Sotw => pair.client.ask(&SECRET, [""; 0]),
            _ => pair.client.unsubscribe(&SECRET, ["s"]),
        }
        pair.drive();
        pair.set_window(1);
        pair.drive();
        assert_eq!(pair.client.received().len(), 1);
        pair.client.want(&SECRET, ["s"]);
        pair.drive();
        assert_eq!(pair.client.received().len(), 2);
    }
}

/// Elsewhere a counter began anew with the process, and a proxy that came back with "1" was believed to have what the
/// new "1" holds.
#[test]
fn b15_a_version_that_is_used_again_hides_nothing() {
    let labelled = |revision| {
        let listener = fixture::tcp_listener("l").revision(revision);
        let mut snapshot = snapshot([listener]).edit();
        snapshot.label(LISTENER, "1");
        let bed = Bed::new();
        bed.set(snapshot.build());
        bed
    };
    for kind in EnvoyMux::ALL {
        let mut pair = labelled(1).pair(EnvoyClient::new(kind));
        pair.drive();
        pair.connect_to(&labelled(2).reader);
        pair.drive();
        assert_eq!(pair.client.listeners()["l"], "rev=2", "{kind:?}");
    }
    // Equal content has an equal version wherever it is published, and is not told again.
    let bed = || Bed::with([fixture::tcp_listener("l")]);
    for kind in EnvoyMux::ALL {
        let mut pair = bed().pair(EnvoyClient::new(kind));
        pair.drive();
        pair.note("restart");
        pair.connect_to(&bed().reader);
        pair.drive();
        let said = pair.transcript().to_string();
        let (_, said) = said.split_once("-- restart").expect("it reconnected");
        assert!(!said.contains("< LDS"), "{kind:?}{said}");
    }
}

/// Elsewhere a name that was added at an unchanged version was believed to be there already.
#[test]
fn b16_a_new_name_at_an_old_version_is_sent() {
    let bed = endpoints(["a", "b"]);
    let mut pair = bed.pair(PlainClient::sotw());
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.skip();
    pair.client.ask(&ENDPOINT, ["a", "b"]);
    pair.drive();
    pair.expect(["> EDS [a b] v=v1 n=n1", "< EDS v1 n2 [b]", "> ACK EDS n2"]);
}

/// Elsewhere endpoints of a cluster that was removed and restored were believed to be with the client still.
#[test]
fn b17_a_cluster_that_returns_gets_its_endpoints() {
    let bed = Bed::with([fixture::cluster("a"), fixture::endpoints("a", "1")]);
    let mut pair = bed.pair(PlainClient::sotw());
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.skip();
    bed.remove(&CLUSTER, ["a"]);
    pair.drive();
    pair.client.ask(&ENDPOINT, [""; 0]);
    pair.drive();
    bed.put([fixture::cluster("a")]);
    pair.drive();
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.expect([
        "< CDS v2 n3 []",
        "> ACK CDS n3",
        "> EDS [] v=v1 n=n2",
        "< CDS v1 n4 [a]",
        "> ACK CDS n4",
        "> EDS [a] v=v1 n=n2",
        "< EDS v1 n5 [a]",
        "> ACK EDS n5",
    ]);
    for kind in EnvoyMux::ALL {
        let mut pair = bed.pair(EnvoyClient::new(kind));
        pair.drive();
        bed.remove(&CLUSTER, ["a"]);
        pair.drive();
        bed.put([fixture::cluster("a")]);
        pair.drive();
        assert_eq!(pair.client.endpoints("a"), Some("host=1"), "{kind:?}");
        assert!(pair.client.warming_clusters().is_empty(), "{kind:?}");
    }
}

/// Elsewhere the nonce and version of an earlier stream made the first request of a new one look old.
#[test]
fn b18_the_first_request_counts_whatever_nonce_it_brings() {
    let bed = Bed::new();
    let mut pair = bed.pair(PlainClient::sotw());
    let mut request = pair.client.sotw_request(&ROUTE, ["r"]);
    request.version = "7".to_owned();
    request.nonce = "99".to_owned();
    pair.client.send(request);
    pair.drive();
    pair.expect(["> RDS [r] v=7 n=n99"]);
    bed.put([fixture::route("r", ["c"])]);
    pair.drive();
    pair.expect(["< RDS v1 n1 [r]", "> ACK RDS n1"]);
}

/// Elsewhere a response held a resource twice, or a builder kept one of two silently; clients must reject the one, and
/// the other loses data.
#[test]
fn b20_c374_a_name_is_once_in_a_snapshot_and_once_in_a_response() {
    let mut builder = Snapshot::builder();
    let mut insert = |cluster: Fixture| builder.insert(cluster.into()).map(drop);
    insert(fixture::static_cluster("c")).expect("it is the first");
    let error = insert(fixture::static_cluster("c").revision(2));
    let error = error.expect_err("it is the second");
    assert!(matches!(error, ResourceError::Duplicate { .. }));
    assert!(error.to_string().contains("\"c\""), "{error}");
    for client in both() {
        let bed = Bed::with([fixture::static_cluster("c")]);
        let mut pair = bed.pair(client);
        pair.client.want(&CLUSTER, ["*", "c"]);
        pair.drive();
        assert_eq!(pair.client.received().len(), 1);
        assert_eq!(pair.client.received()[0].resources.len(), 1);
    }
}
