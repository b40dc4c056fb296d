//! A route moves to another cluster, and the one that it left is retired.

use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ENDPOINT, ROUTE};
use portolan_engine::{Event, Release};
use portolan_testkit::{EnvoyMux, Pair, PlainClient, Shelf, fixture};

use crate::bed::*;

#[test]
fn b30_c244_c245_a_route_moves_when_its_cluster_is_ready_and_the_old_one_goes_last() {
    let (shelf, mut pair) = serving(EnvoyMux::Legacy, leading_to("a"));
    publish(&shelf, leading_to("b"));
    pair.drive();
    pair.expect([
        "< CDS v2 n5 [a b]",
        "> EDS [a b] v=v1 n=n2",
        "< EDS v2 n6 [b]",
        "> ACK CDS n5",
        "> ACK EDS n6",
        "< RDS v2 n7 [r@2]",
        "> ACK RDS n7",
    ]);
    pair.advance(times().grace());
    pair.expect([
        "-- 5s",
        "< CDS v3 n8 [b]",
        "> EDS [b] v=v2 n=n6",
        "> ACK CDS n8",
    ]);

    let (shelf, mut pair) = serving(EnvoyMux::Delta, leading_to("a"));
    publish(&shelf, leading_to("b"));
    pair.drive();
    pair.expect([
        "< CDS n5 [b]",
        "> EDS +[b]",
        "< EDS n6 [b]",
        "> ACK CDS n5",
        "> ACK EDS n6",
        "< RDS n7 [r@2]",
        "> ACK RDS n7",
    ]);
    pair.advance(times().grace());
    pair.expect([
        "-- 5s",
        "< CDS n8 [] -[a]",
        "< EDS n9 [] -[a]",
        "> EDS -[a]",
        "> ACK CDS n8",
        "> ACK EDS n9",
    ]);
}

#[test]
fn a_route_waits_for_endpoints_that_come_late() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("b");
        next.retain(|fixture| fixture.clone().build().type_url() != &ENDPOINT);
        publish(&shelf, next);
        pair.advance(secs(3));
        assert_eq!(pair.client.envoy.routes()["r"], "to=a");
        publish(&shelf, leading_to("b"));
        pair.drive();
        assert_eq!(pair.client.envoy.routes()["r"], "to=b");
        pair.advance(times().grace());
        assert_eq!(clusters(&pair), ["b"]);
        expect_no_faults(&pair);
        assert_eq!(expired(&pair.take_events()), 0);
    }
}

#[test]
fn c251_c252_a_route_waits_so_long_and_no_longer_and_goes_with_the_newest_content() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        for revision in 0..19 {
            let mut next = leading_to("b");
            next.retain(|fixture| fixture.clone().build().type_url() != &ENDPOINT);
            next.pop();
            next.push(fixture::route("r", ["b"]).revision(revision));
            publish(&shelf, next);
            pair.advance(secs(1));
        }
        assert_eq!(pair.client.envoy.routes()["r"], "to=a", "{kind:?}");
        pair.advance(secs(1));
        let table = &pair.client.envoy.routes()["r"];
        assert_eq!(table, "to=b rev=18", "{kind:?}\n{}", pair.transcript());
        assert_eq!(expired(&pair.take_events()), 1);
    }
}

/// Some response with its endpoints is always under way.
#[test]
fn endpoints_that_change_all_the_time_keep_no_cluster_from_being_ready() {
    for kind in EnvoyMux::ALL {
        let setup = setup().with_latency(Duration::from_millis(50));
        let (shelf, mut pair) = serving_with(kind, setup, leading_to("a"));
        publish(&shelf, leading_to("b"));
        for revision in 0..200 {
            shelf.put([fixture::endpoints("b", revision)]);
            pair.advance(Duration::from_millis(10));
        }
        assert_eq!(pair.client.envoy.routes()["r"], "to=b", "{kind:?}");
        expect_no_faults(&pair);
        assert_eq!(expired(&pair.take_events()), 0);
    }
}

/// A client that takes one cluster only is not followed any more, and nothing waits for it.
#[test]
fn what_waits_is_told_to_wait_no_longer_when_the_wildcard_ends() {
    let shelf = Shelf::new();
    publish(&shelf, leading_to("a"));
    let mut pair = Pair::open(PlainClient::delta(), &shelf, setup());
    for (url, names) in [
        (&CLUSTER, vec!["*"]),
        (&ENDPOINT, vec!["a", "b"]),
        (&ROUTE, vec!["r"]),
    ] {
        pair.client.want(url, names);
    }
    pair.drive();
    pair.client.set_acks(false);
    publish(&shelf, leading_to("b"));
    pair.advance(secs(1));
    pair.take_events();
    pair.client.subscribe(&CLUSTER, ["b"]);
    pair.client.unsubscribe(&CLUSTER, ["*"]);
    pair.drive();
    let events = pair.take_events();
    let goes =
        |event: &Event| matches!(event, Event::Permitted { name, .. } if name.as_str() == "r");
    assert!(events.iter().any(goes), "{events:?}");
    let leaves = |event: &Event| matches!(event, Event::Released { names, because: Release::Unfollowed, .. } if *names == ["a".into()]);
    assert!(events.iter().any(leaves), "{events:?}");
}

/// An unrelated cluster keeps Envoy from acknowledging any.
#[test]
fn a_cluster_that_never_warms_holds_no_route_but_its_own() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("b");
        next.push(fixture::cluster("x"));
        publish(&shelf, next);
        pair.drive();
        assert_eq!(pair.client.envoy.warming_clusters(), ["x".into()]);
        assert_eq!(pair.client.envoy.routes()["r"], "to=b", "{kind:?}");
        pair.advance(times().grace());
        assert_eq!(shelf.snapshot().unwrap().set(&CLUSTER).unwrap().len(), 2);
        assert!(
            !clusters(&pair).contains(&"a".into()),
            "{}",
            pair.transcript()
        );
        expect_no_faults(&pair);
    }
}

#[test]
fn c247_what_a_client_rejects_to_leave_stays_until_it_accepts() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("b");
        next.pop();
        next.push(fixture::route("r", ["b"]).bad());
        publish(&shelf, next);
        pair.advance(secs(300));
        assert_eq!(
            clusters(&pair),
            ["a", "b"],
            "{kind:?}\n{}",
            pair.transcript()
        );
        assert_eq!(pair.client.envoy.routes()["r"], "to=a");
        publish(&shelf, leading_to("b"));
        pair.drive();
        assert_eq!(pair.client.envoy.routes()["r"], "to=b");
        pair.advance(times().grace());
        assert_eq!(clusters(&pair), ["b"], "{kind:?}\n{}", pair.transcript());
        expect_no_faults(&pair);
    }
}

#[test]
fn what_is_rejected_in_the_middle_of_a_turn_is_not_taken_for_accepted() {
    for kind in EnvoyMux::ALL {
        let setup = setup().with_latency(Duration::from_millis(20));
        let all = |table: fixture::Fixture, listener: fixture::Fixture| {
            [fixture::static_cluster("b"), listener, table]
        };
        let listener = || fixture::listener("l", "r");
        let mut first = all(fixture::route("r", ["a"]), listener()).to_vec();
        first.push(fixture::static_cluster("a"));
        let (shelf, mut pair) = serving_with(kind, setup, first);
        let bad = || fixture::route("r", ["b"]).bad();
        publish(&shelf, all(bad(), listener()));
        pair.advance(Duration::ZERO);
        // Of the next publication it is sent one half now, and the other when it has rejected the table.
        pair.set_window(1);
        let mut next = all(bad(), listener().revision(2)).to_vec();
        next.push(fixture::static_cluster("c"));
        publish(&shelf, next);
        pair.advance(Duration::from_millis(100));
        pair.set_window(usize::MAX);
        pair.advance(secs(30));
        assert_eq!(
            clusters(&pair),
            ["a", "b", "c"],
            "{kind:?}\n{}",
            pair.transcript()
        );
        expect_no_faults(&pair);
    }
}

/// What was bad was replaced while the rejection was under way. What was good beside it must not be taken for rejected
/// ever after.
#[test]
fn what_was_rejected_beside_something_that_was_replaced_since_is_sent_again() {
    for kind in EnvoyMux::ALL {
        let setup = setup().with_latency(Duration::from_millis(10));
        let first = [
            fixture::static_cluster("a"),
            fixture::static_cluster("b"),
            fixture::listener("l", "r"),
            fixture::route("r", ["a"]),
        ];
        let (shelf, mut pair) = serving_with(kind, setup, first);
        let with = |table: fixture::Fixture| {
            [
                fixture::static_cluster("b"),
                fixture::listener("l", "p"),
                fixture::listener("m", "q"),
                fixture::route("q", ["b"]),
                table,
            ]
        };
        publish(&shelf, with(fixture::route("p", ["b"]).bad()));
        pair.advance(Duration::from_millis(25));
        publish(&shelf, with(fixture::route("p", ["b"])));
        pair.advance(DRAIN + secs(60));
        expect_only(&pair, "b");
        assert_eq!(rejections(&pair.take_events()), 1, "{kind:?}");
    }
}

/// The table that was good is what the client goes on with, though it rejected the response.
#[test]
fn what_was_rejected_beside_something_that_is_gone_or_given_up_since_is_sent_again() {
    for (kind, gone) in EnvoyMux::ALL
        .into_iter()
        .flat_map(|kind| [(kind, true), (kind, false)])
    {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("b");
        next[2] = fixture::listener("l", "q");
        next[3] = fixture::route("q", ["b"]);
        let mut more = next.clone();
        let bad = fixture::route("s", ["b"]).bad();
        more.extend([fixture::listener("m", "s"), bad.clone()]);
        next.extend((!gone).then_some(bad));
        publish(&shelf, more);
        pair.drive();
        publish(&shelf, next);
        pair.advance(DRAIN + secs(60));
        expect_only(&pair, "b");
        assert_eq!(rejections(&pair.take_events()), 1, "{kind:?}");
    }
}

/// A route to a rejected cluster is not sent, however long that takes.
#[test]
fn a_route_waits_for_a_cluster_that_was_rejected() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let mut next = leading_to("b");
        next[0] = fixture::cluster("b").bad();
        publish(&shelf, next);
        pair.advance(secs(300));
        assert_eq!(
            pair.client.envoy.routes()["r"],
            "to=a",
            "{}",
            pair.transcript()
        );
        publish(&shelf, leading_to("b"));
        pair.advance(secs(1));
        assert_eq!(
            pair.client.envoy.routes()["r"],
            "to=b",
            "{}",
            pair.transcript()
        );
        expect_no_faults(&pair);
    }
}

#[test]
fn what_is_wanted_again_stays() {
    for kind in EnvoyMux::ALL {
        for latency in [0, 20] {
            let setup = setup().with_latency(Duration::from_millis(latency));
            let (shelf, mut pair) = serving_with(kind, setup, leading_to("a"));
            for _ in 0..10 {
                for to in ["b", "a"] {
                    publish(&shelf, leading_to(to));
                    pair.advance(Duration::from_millis(30));
                }
            }
            pair.advance(times().grace() + secs(1));
            assert_eq!(clusters(&pair), ["a"], "{kind:?}\n{}", pair.transcript());
            assert_eq!(pair.client.envoy.routes()["r"], "to=a");
            expect_no_faults(&pair);
            assert_eq!(expired(&pair.take_events()), 0);
        }
    }
}

/// Each removal waits for the changes that were under way when it began, not for those that follow.
#[test]
fn removals_overlap_the_moves_that_follow() {
    for kind in EnvoyMux::ALL {
        let setup = setup().with_latency(Duration::from_millis(20));
        let (shelf, mut pair) = serving_with(kind, setup, leading_to("c0"));
        for n in 1..=30 {
            publish(&shelf, leading_to(&format!("c{n}")));
            pair.advance(Duration::from_millis(400));
        }
        assert!(clusters(&pair).len() < 16, "{kind:?} {:?}", clusters(&pair));
        pair.advance(times().grace());
        assert_eq!(clusters(&pair), ["c30"], "{kind:?}\n{}", pair.transcript());
        expect_no_faults(&pair);
        assert_eq!(expired(&pair.take_events()), 0);
    }
}

#[test]
fn all_names_may_be_replaced_at_once() {
    for kind in EnvoyMux::ALL {
        let all = |n: u32| {
            [
                fixture::cluster(format!("c{n}")),
                fixture::endpoints(format!("c{n}"), n),
                fixture::listener("l", format!("r{n}")),
                fixture::route(format!("r{n}"), [format!("c{n}")]),
            ]
        };
        let (shelf, mut pair) = serving(kind, all(1));
        publish(&shelf, all(2));
        pair.advance(secs(10));
        assert_eq!(pair.client.envoy.listeners()["l"], "rds=r2", "{kind:?}");
        // Connections of the old listener use the old table.
        assert_eq!(
            clusters(&pair),
            ["c1", "c2"],
            "{kind:?}\n{}",
            pair.transcript()
        );
        pair.advance(DRAIN + times().grace());
        assert_eq!(clusters(&pair), ["c2"], "{kind:?}\n{}", pair.transcript());
        expect_no_faults(&pair);
    }
}

/// The listener that names it waits to be replaced, and only then do connections drain.
#[test]
fn a_table_stays_until_its_listener_has_drained_however_long_that_waited() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let next = [
            fixture::cluster("b"),
            fixture::tcp_listener("m").leads_to("b"),
        ];
        publish(&shelf, next.clone());
        pair.advance(secs(10));
        assert!(pair.client.envoy.listeners().contains_key("l"), "{kind:?}");
        shelf.put([fixture::endpoints("b", "1")]);
        pair.advance(DRAIN + secs(4));
        assert!(!pair.client.envoy.listeners().contains_key("l"), "{kind:?}");
        expect_no_faults(&pair);
        pair.advance(secs(60));
        expect_only(&pair, "b");
    }
}

/// The listener that replaces it has been sent, and takes its place only with a table of its own.
#[test]
fn a_table_stays_until_its_listener_has_drained_however_long_its_successor_waits_for_a_table() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving(kind, leading_to("a"));
        let next = [
            fixture::cluster("b"),
            fixture::listener("l", "s"),
            fixture::route("s", ["b"]),
        ];
        publish(&shelf, next);
        pair.advance(secs(14));
        shelf.put([fixture::endpoints("b", "1")]);
        pair.advance(DRAIN - secs(1));
        expect_no_faults(&pair);
        assert_eq!(clusters(&pair), ["a", "b"], "{kind:?}");
        pair.advance(secs(60));
        expect_only(&pair, "b");
    }
}

/// No connection uses it, and a bad one would be rejected together with what is good.
#[test]
fn a_table_that_is_gone_before_it_was_sent_is_never_sent() {
    for kind in EnvoyMux::ALL {
        let setup = setup().with_latency(Duration::from_millis(10));
        let (shelf, mut pair) = serving_with(kind, setup, leading_to("a"));
        let mut more = leading_to("a");
        more.extend([
            fixture::listener("m", "s"),
            fixture::route("s", ["a"]).bad(),
        ]);
        publish(&shelf, more);
        pair.advance(Duration::from_millis(15));
        pair.set_window(0);
        publish(&shelf, leading_to("b"));
        pair.advance(secs(1));
        pair.set_window(usize::MAX);
        pair.advance(DRAIN + secs(60));
        expect_only(&pair, "b");
        assert_eq!(rejections(&pair.take_events()), 0, "{kind:?}");
    }
}

/// A version of it that was published and never sent is not what connections use, and may be bad.
#[test]
fn a_table_that_is_gone_stays_as_the_client_has_it() {
    for kind in EnvoyMux::ALL {
        let setup = setup().with_latency(Duration::from_millis(10));
        let (shelf, mut pair) = serving_with(kind, setup, leading_to("a"));
        let with = |table: fixture::Fixture| {
            let mut resources = leading_to("a");
            resources[3] = table;
            resources
        };
        publish(&shelf, with(fixture::route("r", ["a"]).revision(1)));
        pair.advance(Duration::ZERO);
        // It waits for the one before to be read.
        publish(&shelf, with(fixture::route("r", ["a"]).bad()));
        pair.advance(Duration::ZERO);
        let next = [
            fixture::static_cluster("b"),
            fixture::listener("l", "q"),
            fixture::route("q", ["b"]),
        ];
        publish(&shelf, next);
        pair.advance(secs(10));
        assert_eq!(pair.client.envoy.routes()["r"], "to=a rev=1", "{kind:?}");
        let events = pair.take_events();
        let is_rejected = |event: &Event| matches!(event, Event::Nacked { .. });
        assert!(!events.iter().any(is_rejected), "{}", pair.transcript());
        assert_eq!(clusters(&pair), ["a", "b"], "{kind:?}");
        pair.advance(DRAIN + times().grace());
        assert_eq!(clusters(&pair), ["b"], "{kind:?}\n{}", pair.transcript());
        expect_no_faults(&pair);
    }
}

/// Of routes that stand in a listener nothing tells when the last connection has left them.
#[test]
fn what_a_listener_leads_to_by_itself_stays_as_long_as_it_drains() {
    for kind in EnvoyMux::ALL {
        let all = |cluster: &str| {
            [
                fixture::cluster(cluster),
                fixture::endpoints(cluster, "1"),
                fixture::tcp_listener("l").leads_to(cluster),
            ]
        };
        let (shelf, mut pair) = serving(kind, all("a"));
        publish(&shelf, all("b"));
        pair.drive();
        assert_eq!(pair.client.envoy.listeners()["l"], "to=b", "{kind:?}");
        pair.advance(DRAIN + times().grace() - secs(1));
        assert_eq!(
            clusters(&pair),
            ["a", "b"],
            "{kind:?}\n{}",
            pair.transcript()
        );
        pair.advance(secs(1));
        assert_eq!(clusters(&pair), ["b"], "{kind:?}\n{}", pair.transcript());
        expect_no_faults(&pair);
    }
}

/// A listener that takes the port of another comes when that goes.
#[test]
fn listeners_that_replace_each_other_change_at_once() {
    for kind in EnvoyMux::ALL {
        let all = |listener: &str, cluster: &str| {
            [
                fixture::cluster(cluster),
                fixture::endpoints(cluster, "1"),
                fixture::tcp_listener(listener).leads_to(cluster),
            ]
        };
        let (shelf, mut pair) = serving(kind, all("l", "a"));
        let mut next = all("m", "b").to_vec();
        drop(next.remove(1));
        publish(&shelf, next);
        pair.advance(secs(2));
        let listeners: Vec<_> = pair.client.envoy.listeners().into_keys().collect();
        assert_eq!(listeners, ["l".into()], "{kind:?}\n{}", pair.transcript());
        publish(&shelf, all("m", "b"));
        pair.drive();
        let listeners: Vec<_> = pair.client.envoy.listeners().into_keys().collect();
        assert_eq!(listeners, ["m".into()], "{kind:?}\n{}", pair.transcript());
        expect_no_faults(&pair);
    }
}

/// Without transitions the same change loses requests, or these tests would show nothing.
#[test]
fn in_order_alone_requests_are_lost() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = serving_with(kind, in_order(), leading_to("a"));
        publish(&shelf, leading_to("b"));
        pair.drive();
        assert!(!pair.client.faults.is_empty(), "{kind:?}");
    }
}
