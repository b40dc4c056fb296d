//! Endpoints are answered again when their cluster was sent, since the client warms it until they come.

use std::time::Duration;

use portolan_core::ResourceTypes;
use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_testkit::{EnvoyClient, EnvoyMux, Pair, PlainClient, Setup, Shelf, fixture};

fn envoy(kind: EnvoyMux) -> (Shelf, Pair<EnvoyClient>) {
    let shelf = Shelf::new();
    shelf.put([
        fixture::cluster("a"),
        fixture::cluster("b"),
        fixture::endpoints("a", "1"),
        fixture::endpoints("b", "1"),
    ]);
    let mut pair = Pair::new(EnvoyClient::new(kind), &shelf);
    pair.drive();
    assert!(pair.client.warming_clusters().is_empty());
    pair.skip();
    (shelf, pair)
}

#[test]
fn c273_no_envoy_waits_for_the_end_of_its_patience() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = envoy(kind);
        for revision in 2..5 {
            shelf.put([fixture::cluster("a").revision(revision)]);
            shelf.put([fixture::cluster("b").revision(revision)]);
            pair.advance(Duration::from_secs(5));
            assert!(pair.client.warming_clusters().is_empty(), "{kind:?}");
            let a = &pair.client.clusters()["a"];
            assert_eq!(*a, format!("eds=a rev={revision}"), "{kind:?}");
        }
        pair.disconnect();
        shelf.put([fixture::cluster("a")]);
        pair.connect();
        pair.advance(Duration::from_secs(5));
        assert_eq!(pair.client.clusters()["a"], "eds=a", "{kind:?}");
        assert_eq!(pair.client.fetch_timeouts(), 0, "{kind:?}");
    }
}

#[test]
fn c266_the_answer_goes_behind_the_clusters_though_the_client_reads_neither() {
    // The two are on their way before the client says anything.
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = envoy(kind);
        pair.set_reading(false);
        shelf.put([fixture::cluster("a").revision(2)]);
        pair.drive();
        let said = pair.transcript().lines();
        let order: Vec<_> = said[said.len() - 2..].iter().map(|l| &l[..5]).collect();
        assert_eq!(order, ["< CDS", "< EDS"], "{kind:?}");
        pair.set_reading(true);
        pair.drive();
        assert!(pair.client.warming_clusters().is_empty(), "{kind:?}");
    }
}

#[test]
fn c265_of_a_hundred_clusters_only_the_changed_one_is_answered_again() {
    for kind in EnvoyMux::ALL {
        let shelf = Shelf::new();
        let names: Vec<_> = (0..100).map(|i| format!("c{i:02}")).collect();
        shelf.put(names.iter().map(fixture::cluster));
        shelf.put(names.iter().map(|n| fixture::endpoints(n, "1")));
        let mut pair = Pair::new(EnvoyClient::new(kind), &shelf);
        pair.drive();
        assert_eq!(pair.client.clusters().len(), 100);
        pair.skip();
        shelf.put([fixture::cluster("c42").revision(2)]);
        pair.drive();
        let answers = pair.transcript().lines().iter().rev().take(5);
        let answer = answers
            .filter(|l| l.starts_with("< EDS"))
            .collect::<Vec<_>>();
        assert_eq!(answer.len(), 1, "{kind:?}");
        assert!(answer[0].ends_with("[c42]"), "{kind:?}: {}", answer[0]);
        assert!(pair.client.warming_clusters().is_empty());
    }
}

#[test]
fn a_new_cluster_gets_its_endpoints_once() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = envoy(kind);
        shelf.put([fixture::cluster("c")]);
        shelf.put([fixture::endpoints("c", "1")]);
        pair.drive();
        let lines = pair.transcript().lines();
        let told = lines
            .iter()
            .filter(|l| l.starts_with("< EDS") && l.ends_with("[c]"));
        assert_eq!(told.count(), 1, "{kind:?}\n{}", pair.transcript());
        assert_eq!(pair.client.endpoints("c"), Some("host=1"));
    }
}

#[test]
fn clusters_and_endpoints_that_change_together_are_sent_once() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = envoy(kind);
        shelf.put([
            fixture::cluster("a").revision(2),
            fixture::endpoints("a", "2"),
        ]);
        pair.drive();
        let lines = pair.transcript().lines();
        let told = lines
            .iter()
            .filter(|l| l.starts_with("< EDS") && l.contains("a@2"));
        assert_eq!(told.count(), 1, "{kind:?}\n{}", pair.transcript());
        assert_eq!(pair.client.endpoints("a"), Some("host=2"));
    }
}

#[test]
fn a_second_change_while_the_first_warms_is_applied_and_answered() {
    // Envoy acknowledges no clusters meanwhile; it reads them nevertheless.
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = envoy(kind);
        shelf.put([fixture::cluster("c")]);
        pair.drive();
        assert_eq!(pair.client.warming_clusters().len(), 1, "{kind:?}");
        shelf.put([fixture::cluster("a").revision(2)]);
        pair.drive();
        shelf.put([fixture::endpoints("a", "2")]);
        pair.drive();
        pair.advance(Duration::from_secs(5));
        assert_eq!(pair.client.clusters()["a"], "eds=a rev=2", "{kind:?}");
        assert_eq!(pair.client.warming_clusters().len(), 1, "{kind:?}");
        shelf.put([fixture::endpoints("c", "1")]);
        pair.drive();
        assert!(pair.client.warming_clusters().is_empty(), "{kind:?}");
        assert_eq!(pair.client.fetch_timeouts(), 0, "{kind:?}");
    }
}

#[test]
fn acknowledgements_withheld_while_warming_come_as_the_newest_or_as_all() {
    let run = |kind| {
        let (shelf, mut pair) = envoy(kind);
        shelf.put([fixture::cluster("c")]);
        pair.drive();
        for revision in 2..4 {
            shelf.put([fixture::static_cluster("s").revision(revision)]);
            pair.drive();
            shelf.put([fixture::endpoints("a", revision)]);
            pair.drive();
        }
        pair.skip();
        shelf.put([fixture::endpoints("c", "1")]);
        pair.drive();
        let lines = pair.transcript().lines().to_vec();
        lines
            .into_iter()
            .rev()
            .take(5)
            .filter(|l| l.starts_with("> ACK CDS"))
            .count()
    };
    assert_eq!(run(EnvoyMux::Legacy), 1);
    assert_eq!(run(EnvoyMux::Unified), 1);
    assert_eq!(run(EnvoyMux::Delta), 3);
}

#[test]
fn c270_a_changed_listener_does_not_bring_its_routes_again() {
    // Envoy keeps the table.
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = envoy(kind);
        shelf.put([fixture::listener("l", "r"), fixture::route("r", ["a"])]);
        pair.drive();
        pair.skip();
        shelf.put([fixture::listener("l", "r").revision(2)]);
        pair.drive();
        let last = pair.transcript().lines().last().unwrap().clone();
        assert!(last.starts_with("> ACK LDS"), "{kind:?}: {last}");
        assert_eq!(pair.client.listeners()["l"], "rds=r rev=2");
    }
}

#[test]
fn c271_a_listener_that_moves_to_another_table_gets_it() {
    let (shelf, mut pair) = envoy(EnvoyMux::Legacy);
    shelf.put([
        fixture::listener("l", "r1"),
        fixture::route("r1", ["a"]),
        fixture::route("r2", ["b"]),
    ]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::listener("l", "r2")]);
    pair.drive();
    pair.expect([
        "< LDS v3 n6 [l@2]",
        "> RDS [r1 r2] v=v1 n=n5",
        "< RDS v1 n7 [r2]",
        "> ACK LDS n6",
        "> ACK RDS n7",
    ]);
    pair.advance(Duration::from_secs(600));
    pair.expect(["-- 600s", "> RDS [r2] v=v1 n=n7"]);
}

#[test]
fn two_clusters_may_share_an_assignment() {
    for kind in EnvoyMux::ALL {
        let shelf = Shelf::new();
        shelf.put([
            fixture::cluster("a").service("s"),
            fixture::endpoints("s", "1"),
        ]);
        let mut pair = Pair::new(EnvoyClient::new(kind), &shelf);
        pair.drive();
        shelf.put([fixture::cluster("b").service("s")]);
        pair.drive();
        assert!(
            pair.client.warming_clusters().is_empty(),
            "{kind:?}\n{}",
            pair.transcript()
        );
    }
}

#[test]
fn endpoints_that_do_not_exist_yet_are_not_answered_but_sent_when_they_do() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = envoy(kind);
        shelf.edit(|snapshot| {
            snapshot.remove(&ENDPOINT, "a");
            snapshot
                .upsert(fixture::cluster("a").revision(2).into())
                .unwrap();
        });
        pair.drive();
        shelf.put([fixture::endpoints("a", "1")]);
        pair.drive();
        assert!(
            pair.client.warming_clusters().is_empty(),
            "{kind:?}\n{}",
            pair.transcript()
        );
        assert_eq!(pair.client.endpoints("a"), Some("host=1"), "{kind:?}");
    }
}

#[test]
fn endpoints_that_rank_before_clusters_are_answered_behind_them_all_the_same() {
    let types = ResourceTypes::well_known();
    let endpoints = types.get(&ENDPOINT).with_rank(50);
    let config = Setup::default_config().with_types(types.with(endpoints));
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a"), fixture::endpoints("a", "1")]);
    let setup = Setup::default().with_config(config);
    let mut pair = Pair::open(EnvoyClient::new(EnvoyMux::Delta), &shelf, setup);
    pair.drive();
    pair.skip();
    shelf.put([fixture::cluster("a").revision(2)]);
    pair.drive();
    pair.expect([
        "< CDS n4 [a@2]",
        "< EDS n5 [a]",
        "> ACK CDS n4",
        "> ACK EDS n5",
    ]);
}

#[test]
fn the_answer_can_be_switched_off() {
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a"), fixture::endpoints("a", "1")]);
    let config = Setup::default_config().with_reanswer(false);
    let setup = Setup::default().with_config(config);
    let mut pair = Pair::open(EnvoyClient::new(EnvoyMux::Delta), &shelf, setup);
    pair.drive();
    shelf.put([fixture::cluster("a").revision(2)]);
    pair.advance(Duration::from_millis(14_999));
    assert_eq!(pair.client.warming_clusters().len(), 1);
    pair.advance(Duration::from_millis(1));
    assert_eq!(pair.client.fetch_timeouts(), 1);
    assert_eq!(pair.client.endpoints("a"), Some("host=1"), "from its cache");
}

#[test]
fn switched_off_it_is_given_to_nobody_who_brings_endpoints_either() {
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a")]);
    shelf.put([fixture::endpoints("a", "1").version("1")]);
    for on in [true, false] {
        let config = Setup::default_config().with_reanswer(on);
        let setup = Setup::default().with_config(config);
        let mut pair = Pair::open(PlainClient::delta(), &shelf, setup);
        pair.client.subscribe(&CLUSTER, []);
        pair.drive();
        pair.client.resume(&ENDPOINT, ["a"], [("a", "1")]);
        pair.drive();
        assert_eq!(pair.client.held_names(&ENDPOINT).len(), usize::from(on));
    }
}

#[test]
fn no_answer_for_clusters_on_a_stream_of_their_own() {
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a"), fixture::endpoints("a", "1")]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&CLUSTER, []);
    pair.client.subscribe(&LISTENER, []);
    pair.client.subscribe(&ROUTE, ["r"]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::cluster("a").revision(2)]);
    pair.drive();
    pair.expect(["< CDS n4 [a@2]", "> ACK CDS n4"]);
}

#[test]
fn c115_clusters_that_start_afresh_bring_their_endpoints() {
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a"), fixture::endpoints("a", "1")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, ["a"]);
    pair.client.ask(&ENDPOINT, ["a"]);
    pair.drive();
    pair.skip();
    let mut afresh = pair.client.sotw_request(&CLUSTER, ["a"]);
    afresh.nonce.clear();
    pair.client.send(afresh);
    pair.drive();
    pair.expect([
        "> CDS [a] v=v1 n=",
        "< CDS v1 n3 [a]",
        "< EDS v1 n4 [a]",
        "> ACK CDS n3",
        "> ACK EDS n4",
    ]);
}

#[test]
fn c268_c086_a_wildcard_that_has_all_endpoints_is_sent_those_of_clusters_that_come_anew() {
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a"), fixture::endpoints("a", "1")]);
    shelf.put([fixture::endpoints("b", "1")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&ENDPOINT, ["*"]);
    pair.drive();
    let mut again = pair.client.sotw_request(&ENDPOINT, ["*"]);
    pair.disconnect();
    pair.connect();
    pair.skip();
    pair.set_window(0);
    again.nonce.clear();
    pair.client.send(again);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    pair.set_window(2);
    pair.drive();
    pair.expect([
        "> EDS [*] v=v1 n=",
        "> CDS [] v= n=",
        "< CDS v1 n1 [a]",
        "< EDS v1 n2 [a]",
        "> ACK CDS n1",
        "> ACK EDS n2",
    ]);
}
