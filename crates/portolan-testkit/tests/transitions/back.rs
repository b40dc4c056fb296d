//! A client that was away, or whose server started anew, is moved as gently as one that was there all the time.

use std::time::Duration;

use portolan_core::well_known::CLUSTER;
use portolan_testkit::{EnvoyMux, Pair, Shelf, fixture};

use crate::bed::*;

/// What was sent on the newest stream.
fn told(pair: &Pair<Witness>) -> Vec<&str> {
    let lines = pair.transcript().lines();
    let from = lines.iter().rposition(|l| l.starts_with("-- stream"));
    let lines = lines[from.unwrap_or(0)..].iter().map(String::as_str);
    lines.filter(|line| line.starts_with('<')).collect()
}

#[test]
fn b25_b26_b30_a_client_that_was_away_goes_the_way_of_one_that_was_there() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        pair.disconnect();
        let mut next = leading_to("b");
        let late = next.remove(1);
        publish(&shelf, next);
        pair.connect();
        pair.advance(secs(10));
        assert_eq!(pair.client.envoy.routes()["r"], "to=a", "{kind:?}");
        shelf.put([late]);
        pair.drive();
        assert_eq!(pair.client.envoy.routes()["r"], "to=b", "{kind:?}");
        assert_eq!(clusters(&pair), ["a", "b"], "{kind:?}");
        pair.advance(times().grace() + secs(1));
        assert_eq!(clusters(&pair), ["b"], "{}", pair.transcript());
        expect_no_faults(&pair);
        assert_eq!(expired(&pair.take_events()), 0);
    }
}

/// In delta names and versions are enough; the content of what the client has is neither known nor needed.
#[test]
fn b26_b30_so_does_a_delta_client_whose_server_knows_of_nothing_before() {
    let (_, mut pair) = serving(EnvoyMux::Delta, leading_to("a"));
    let anew = Shelf::new();
    let mut next = leading_to("b");
    let late = next.remove(1);
    publish(&anew, next);
    pair.connect_to(&anew);
    pair.advance(secs(10));
    assert_eq!(pair.client.envoy.routes()["r"], "to=a");
    assert_eq!(clusters(&pair), ["a"]);
    anew.put([late]);
    pair.drive();
    assert_eq!(pair.client.envoy.routes()["r"], "to=b");
    pair.advance(times().grace() + secs(1));
    assert_eq!(clusters(&pair), ["b"], "{}", pair.transcript());
    expect_no_faults(&pair);
    assert_eq!(expired(&pair.take_events()), 0);
}

/// A version says something only to a server that had it: nothing is held that might not have to be.
#[test]
fn a_client_with_a_version_that_is_not_remembered_is_served_in_order() {
    for kind in [EnvoyMux::Legacy, EnvoyMux::Unified] {
        let (_, mut pair) = serving(kind, leading_to("a"));
        let anew = Shelf::new();
        publish(&anew, leading_to("b"));
        pair.connect_to(&anew);
        pair.drive();
        assert_eq!(pair.client.envoy.routes()["r"], "to=b", "{kind:?}");
        assert_eq!(clusters(&pair), ["b"], "{kind:?}");
    }
}

/// Content has one version on every replica and after every restart.
#[test]
fn what_is_published_again_after_a_restart_is_where_a_client_comes_from() {
    for kind in EnvoyMux::ALL {
        let (_, mut pair) = serving(kind, leading_to("a"));
        let anew = Shelf::new();
        publish(&anew, leading_to("a"));
        publish(&anew, leading_to("b"));
        pair.connect_to(&anew);
        pair.advance(secs(20));
        assert_eq!(clusters(&pair), ["b"], "{kind:?}\n{}", pair.transcript());
        expect_no_faults(&pair);
    }
}

#[test]
fn who_comes_back_to_the_same_is_told_nothing_and_waits_for_nothing() {
    let (shelf, mut pair) = serving(EnvoyMux::Delta, leading_to("a"));
    pair.connect();
    pair.advance(secs(2));
    assert_eq!(told(&pair), [""; 0], "{}", pair.transcript());
    // A removal alone goes at once again.
    shelf.put([fixture::static_cluster("spare")]);
    pair.drive();
    shelf.remove(&CLUSTER, ["spare"]);
    pair.drive();
    assert_eq!(clusters(&pair), ["a"]);
}

/// The connection is lost in the middle: what the client has is not what was published, but what it was permitted.
#[test]
fn b30_who_leaves_on_the_way_goes_on_from_there() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        publish(&shelf, leading_to("b"));
        pair.drive();
        assert_eq!(clusters(&pair), ["a", "b"]);
        publish(&shelf, leading_to("c"));
        pair.connect();
        pair.advance(Duration::from_millis(100));
        assert_eq!(
            clusters(&pair),
            ["a", "b", "c"],
            "{kind:?}\n{}",
            pair.transcript()
        );
        assert_eq!(pair.client.envoy.routes()["r"], "to=c", "{kind:?}");
        pair.advance(secs(20));
        assert_eq!(clusters(&pair), ["c"], "{kind:?}");
        expect_no_faults(&pair);
    }
}

/// While a cluster warms, Envoy asks for endpoints first and for clusters last.
#[test]
fn b28_what_leads_to_clusters_waits_until_those_are_asked_for() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("b");
        let late = next.remove(1);
        publish(&shelf, next);
        pair.drive();
        assert_eq!(pair.client.envoy.warming_clusters(), ["b".into()]);
        pair.disconnect();
        shelf.put([late]);
        pair.connect();
        pair.advance(secs(20));
        let first = told(&pair)[0].to_owned();
        assert!(
            first.starts_with("< EDS"),
            "{kind:?}\n{}",
            pair.transcript()
        );
        assert_eq!(clusters(&pair), ["b"], "{kind:?}\n{}", pair.transcript());
        expect_no_faults(&pair);
    }
}

/// A table that an answer leaves out is not taken away by that, and may still be used.
#[test]
fn a_table_that_was_left_out_of_the_last_answer_keeps_its_cluster() {
    let table = |name: &str| {
        vec![
            fixture::static_cluster("a"),
            fixture::listener("l", name),
            fixture::route(name, ["a"]),
        ]
    };
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, table("r"));
        publish(&shelf, table("q"));
        pair.drive();
        let mut bad = table("q");
        bad[2] = fixture::route("q", ["a"]).bad();
        pair.disconnect();
        publish(&shelf, bad);
        pair.connect();
        pair.drive();
        publish(&shelf, table("r"));
        pair.drive();
        assert!(pair.client.envoy.routes().contains_key("q"), "{kind:?}");
        pair.disconnect();
        publish(&shelf, leading_to("b"));
        pair.connect();
        pair.advance(secs(10));
        expect_no_faults(&pair);
        pair.advance(DRAIN + secs(60));
        expect_only(&pair, "b");
    }
}

/// In state of the world a version says what a client once accepted, and not that it still had it when it asked again.
#[test]
fn a_table_that_a_client_gave_up_and_asks_for_again_is_new_to_it() {
    let warming = |cluster: &str| {
        let mut resources = leading_to(cluster);
        drop(resources.remove(1));
        resources[1] = fixture::listener("l", "s");
        resources[2] = fixture::route("s", [cluster]);
        resources
    };
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("b"));
        publish(&shelf, warming("a"));
        shelf.put([fixture::endpoints("a", "1")]);
        pair.drive();
        publish(&shelf, leading_to("b"));
        pair.advance(DRAIN + secs(30));
        assert!(!pair.client.envoy.routes().contains_key("s"), "{kind:?}");
        publish(&shelf, warming("a"));
        pair.drive();
        pair.disconnect();
        publish(&shelf, warming("c"));
        pair.connect();
        pair.advance(secs(10));
        expect_no_faults(&pair);
        shelf.put([fixture::endpoints("c", "1")]);
        pair.advance(DRAIN + secs(60));
        expect_only(&pair, "c");
    }
}

/// Of an answer that it rejects a client may take what is good, and does not say so when it comes back.
#[test]
fn a_table_that_was_good_in_a_rejected_answer_keeps_its_cluster() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, [fixture::static_cluster("a")]);
        let tables = [
            fixture::static_cluster("a"),
            fixture::listener("l", "r"),
            fixture::listener("m", "bad"),
            fixture::route("r", ["a"]),
            fixture::route("bad", ["a"]).bad(),
        ];
        publish(&shelf, tables);
        pair.drive();
        assert_eq!(pair.client.envoy.routes()["r"], "to=a", "{kind:?}");
        pair.disconnect();
        let next = [
            fixture::static_cluster("b"),
            fixture::listener("l", "s"),
            fixture::route("s", ["b"]),
        ];
        publish(&shelf, next);
        pair.connect();
        pair.advance(DRAIN + secs(60));
        expect_only(&pair, "b");
    }
}
