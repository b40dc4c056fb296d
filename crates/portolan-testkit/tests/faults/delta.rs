//! Delta.

use std::time::Duration;

use portolan_core::ResourceError;
use portolan_core::well_known::{CLUSTER, ENDPOINT, EXTENSION_CONFIG, ROUTE, SECRET, VIRTUAL_HOST};
use portolan_engine::Event;
use portolan_testkit::{EnvoyClient, EnvoyMux, PlainClient, Setup, fixture};

use crate::bed::{Bed, both, snapshot};

fn clusters<const N: usize>(names: [&'static str; N]) -> Bed {
    Bed::with(names.map(fixture::static_cluster))
}

fn endpoints<const N: usize>(names: [&'static str; N]) -> Bed {
    Bed::with(names.map(|name| fixture::endpoints(name, "1")))
}

/// Elsewhere a resource was delivered once and its changes never, or each change many times over.
#[test]
fn b34_every_change_is_told_and_each_once() {
    let bed = Bed::with([fixture::extension_config("f")]);
    let mut pair = bed.pair(PlainClient::delta());
    pair.client.subscribe(&EXTENSION_CONFIG, ["f"]);
    pair.drive();
    pair.skip();
    for revision in 2..7 {
        bed.put([fixture::extension_config("f").revision(revision)]);
        pair.drive();
        pair.expect([
            format!("< ECDS n{revision} [f@{revision}]"),
            format!("> ACK ECDS n{revision}"),
        ]);
    }
    assert_eq!(bed.writer.streams(&bed.group), 1);
}

/// Elsewhere what was removed, or did not exist yet, was no longer subscribed, and never came.
#[test]
fn b35_what_is_removed_stays_subscribed() {
    let bed = endpoints(["a"]);
    let mut pair = bed.pair(PlainClient::delta());
    pair.client.subscribe(&ENDPOINT, ["a", "later"]);
    pair.drive();
    bed.remove(&ENDPOINT, ["a"]);
    pair.drive();
    bed.put(["a", "later"].map(|name| fixture::endpoints(name, "1")));
    pair.drive();
    pair.expect([
        "> EDS +[a later]",
        "< EDS n1 [a] -[later]",
        "> ACK EDS n1",
        "< EDS n2 [] -[a]",
        "> ACK EDS n2",
        "< EDS n3 [a later]",
        "> ACK EDS n3",
    ]);
}

/// Elsewhere who asked for what does not exist was told nothing, and waited as long as it would for an answer that is
/// late.
#[test]
fn b36_a_name_that_does_not_exist_is_reported_once_where_that_does_no_harm() {
    let bed = Bed::with([]);
    let mut pair = bed.pair(PlainClient::delta());
    pair.client.subscribe(&CLUSTER, ["x"]);
    // Proxies refuse requests for secrets that are said to be gone, so those are awaited in silence.
    pair.client.subscribe(&SECRET, ["s"]);
    pair.advance(Duration::from_secs(60));
    pair.expect([
        "> CDS +[x]",
        "< CDS n1 [] -[x]",
        "> SDS +[s]",
        "> ACK CDS n1",
    ]);
    bed.put([fixture::static_cluster("x"), fixture::secret("s")]);
    pair.drive();
    let held = [CLUSTER, SECRET].map(|url| pair.client.held(&url).len());
    assert_eq!(held, [1, 1]);
}

/// Elsewhere the first name that was added to a wildcard ended it.
#[test]
fn b38_only_a_star_that_is_given_up_ends_a_wildcard() {
    let bed = clusters(["a", "b"]);
    let mut pair = bed.pair(PlainClient::delta());
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    pair.client.subscribe(&CLUSTER, ["a"]);
    pair.drive();
    bed.put([fixture::static_cluster("b").revision(2)]);
    pair.drive();
    pair.expect([
        "> CDS",
        "< CDS n1 [a b]",
        "> ACK CDS n1",
        "> CDS +[a]",
        "< CDS n2 [a]",
        "> ACK CDS n2",
        "< CDS n3 [b@2]",
        "> ACK CDS n3",
    ]);
    pair.client.unsubscribe(&CLUSTER, ["*"]);
    pair.drive();
    bed.put([fixture::static_cluster("b").revision(3)]);
    pair.drive();
    pair.expect(["> CDS -[*]"]);
    bed.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.expect(["< CDS n4 [a@2]", "> ACK CDS n4"]);
    pair.client.unsubscribe(&CLUSTER, ["a"]);
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    bed.put([fixture::static_cluster("a").revision(3)]);
    pair.drive();
    pair.expect(["> CDS -[a]", "> CDS"]);
}

/// Elsewhere replicas numbered the same content differently: a proxy that moved was sent everything again, or was left
/// with what was old.
#[test]
fn b41_replicas_agree_on_versions_and_a_client_that_moves_is_sent_nothing() {
    let names = ["a", "b", "c", "d"];
    let one = clusters(names);
    let mut reversed = names;
    reversed.reverse();
    let two = Bed::new();
    for name in reversed {
        two.put([fixture::static_cluster(name)]);
    }
    let versions = |bed: &Bed| {
        let snapshot = bed.snapshot();
        let set = snapshot.set(&CLUSTER).expect("there are clusters").clone();
        let versions = set.iter().map(|c| (c.name().clone(), c.version().clone()));
        (versions.collect::<Vec<_>>(), set.version().to_string())
    };
    assert_eq!(versions(&one), versions(&two));
    for kind in EnvoyMux::ALL {
        let mut pair = one.pair(EnvoyClient::new(kind));
        pair.drive();
        pair.note("moved");
        pair.connect_to(&two.reader);
        pair.drive();
        let said = pair.transcript().to_string();
        let (_, said) = said.split_once("-- moved").expect("it moved");
        assert!(!said.contains("< CDS"), "{kind:?}{said}");
        two.put([fixture::static_cluster("a").revision(2)]);
        pair.drive();
        assert_eq!(pair.client.clusters()["a"], "rev=2", "{kind:?}");
        two.put([fixture::static_cluster("a")]);
    }
}

/// Elsewhere an update of one resource was taken for all there is, and the others were removed from their clients.
#[test]
fn b43_what_an_update_does_not_mention_stays() {
    for client in both() {
        let bed = endpoints(["a", "b", "c"]);
        let mut pair = bed.pair(client);
        pair.client.want(&ENDPOINT, ["a", "b", "c"]);
        pair.drive();
        let updated = bed.writer.update(&bed.group, |snapshot| {
            snapshot.upsert(fixture::endpoints("a", "2").into())?;
            Ok::<_, ResourceError>(())
        });
        assert!(updated.is_ok());
        pair.drive();
        let told = &pair.client.received()[1];
        assert_eq!((told.resources.len(), told.removed.len()), (1, 0));
        assert_eq!(pair.client.held(&ENDPOINT).len(), 3);
    }
}

/// Elsewhere an unsubscription was answered with a push, and the name that it gave up was still served.
#[test]
fn b44_giving_a_name_up_is_not_answered() {
    let bed = endpoints(["a", "b"]);
    let mut pair = bed.pair(PlainClient::delta());
    pair.client.subscribe(&ENDPOINT, ["a", "b"]);
    pair.drive();
    pair.skip();
    pair.client.unsubscribe(&ENDPOINT, ["a"]);
    pair.drive();
    bed.put([fixture::endpoints("a", "2")]);
    pair.drive();
    pair.expect(["> EDS -[a]"]);
    bed.put([fixture::endpoints("b", "2")]);
    pair.drive();
    pair.expect(["< EDS n2 [b@2]", "> ACK EDS n2"]);
}

/// Elsewhere the good half of a rejected response was taken for delivered, and was missing in the client for ever.
#[test]
fn b46_what_was_rejected_together_comes_again_together() {
    for accepted in [false, true] {
        let bed = endpoints(["a", "b"]);
        let mut pair = bed.pair(PlainClient::delta().without_acks());
        pair.client.subscribe(&ENDPOINT, ["a", "b"]);
        pair.drive();
        match accepted {
            true => pair.client.ack(&ENDPOINT),
            false => pair.client.nack(&ENDPOINT),
        }
        pair.advance(Duration::from_secs(60));
        assert_eq!(pair.client.received().len(), 1);
        pair.skip();
        bed.put([fixture::endpoints("b", "2")]);
        pair.drive();
        match accepted {
            true => pair.expect(["-- 60s", "< EDS n2 [b@2]"]),
            false => pair.expect(["-- 60s", "< EDS n2 [a b@2]"]),
        }
    }
}

/// Elsewhere the nonce was made of the version, so that an acknowledgement of one response passed for that of another.
#[test]
fn b48_each_response_has_a_nonce_of_its_own() {
    let bed = endpoints(["a", "b"]);
    let mut pair = bed.pair(PlainClient::delta().without_acks());
    pair.client.subscribe(&ENDPOINT, ["a"]);
    pair.client.subscribe(&ENDPOINT, ["b"]);
    pair.drive();
    let nonces = pair.client.received().iter().map(|r| r.nonce);
    let nonces: Vec<_> = nonces.collect();
    assert!(nonces.len() == 2 && nonces[0] != nonces[1], "{nonces:?}");
    let first = nonces[0].to_string();
    pair.client.answer(&ENDPOINT, &first, None);
    pair.drive();
    let told = pair.take_events().into_iter();
    let acked = told.filter_map(|event| match event {
        Event::Acked { nonce, .. } => Some(nonce),
        _ => None,
    });
    assert_eq!(acked.collect::<Vec<_>>(), nonces[..1]);
}

/// Elsewhere the empty first request for virtual hosts was taken for a wildcard over all of them.
///
/// Virtual hosts are on demand unless they say otherwise, and what is on demand is in no wildcard (C-220).
#[test]
fn b51_virtual_hosts_are_not_handed_out_unasked() {
    let bed = Bed::with(["rc/foo.com", "rc/bar.com"].map(fixture::virtual_host));
    bed.put([fixture::route("rc", [""; 0]).discovers_hosts()]);
    let mut pair = bed.pair(PlainClient::delta());
    pair.client.subscribe(&VIRTUAL_HOST, []);
    pair.drive();
    assert!(pair.client.held(&VIRTUAL_HOST).is_empty());
    pair.client.subscribe(&VIRTUAL_HOST, ["rc/foo.com"]);
    pair.drive();
    assert_eq!(pair.client.held_names(&VIRTUAL_HOST), ["rc/foo.com".into()]);
    pair.skip();
    bed.put([fixture::virtual_host("rc/bar.com").revision(2)]);
    pair.drive();
    pair.expect_quiet();
}

/// Elsewhere only the first cluster that was asked for on demand came: the next request had no nonce, or an old one.
#[test]
fn b52_on_demand_subscriptions_are_each_answered_whatever_is_acknowledged() {
    let bed = Bed::with(["a", "b", "c"].map(|name| fixture::static_cluster(name).on_demand(true)));
    let mut pair = bed.pair(PlainClient::delta().without_acks());
    for name in ["a", "b", "c"] {
        pair.client.subscribe(&CLUSTER, [name]);
        pair.drive();
    }
    pair.expect([
        "> CDS +[a]",
        "< CDS n1 [a]",
        "> CDS +[b]",
        "< CDS n2 [b]",
        "> CDS +[c]",
        "< CDS n3 [c]",
    ]);
    for nonce in ["3", "2", "1"] {
        pair.client.answer(&CLUSTER, nonce, None);
    }
    pair.drive();
    pair.expect(["> ACK CDS n3", "> ACK CDS n2", "> ACK CDS n1"]);
    bed.remove(&CLUSTER, ["b"]);
    pair.drive();
    pair.expect(["< CDS n4 [] -[b]"]);
    // A change that nobody has acknowledged holds changes back, and no answers.
    pair.client.subscribe(&CLUSTER, ["a"]);
    pair.drive();
    pair.expect(["> CDS +[a]", "< CDS n5 [a]"]);
}

/// Elsewhere a response of many resources exceeded what a client of gRPC receives, and the stream was dropped and
/// opened again for ever.
#[test]
fn b53_a_large_response_is_cut() {
    const MAX: usize = 3 << 20;
    let text = "x".repeat(500);
    let hosts = (0..40_000).map(|number| {
        let name = format!("rc/{number:05}.example.com");
        fixture::virtual_host(name)
            .uses_secret(&text)
            .on_demand(false)
    });
    let bed = Bed::new();
    bed.set(snapshot(hosts));
    let config = Setup::default_config().with_max_response(MAX);
    let mut pair = bed.pair_set_up(PlainClient::delta(), Setup::default().with_config(config));
    pair.client.subscribe(&VIRTUAL_HOST, ["*"]);
    pair.drive();
    let told = pair.client.received();
    assert!(told.len() >= 7, "{} responses", told.len());
    for response in told {
        let len: usize = response.parts().iter().map(bytes::Bytes::len).sum();
        assert!(len <= MAX, "{len} bytes");
    }
    assert_eq!(pair.client.held(&VIRTUAL_HOST).len(), 40_000);
    let parts = told.len();
    let acked = |e: &Event| matches!(e, Event::Acked { .. });
    let acked = pair.take_events().iter().filter(|e| acked(e)).count();
    assert_eq!(acked, parts);
    bed.put([fixture::route("r", ["c"])]);
    pair.client.subscribe(&ROUTE, ["r"]);
    pair.drive();
    assert_eq!(
        pair.client.received().len(),
        parts + 1,
        "and nothing is sent again"
    );
}
