//! A new stream costs nothing where nothing changed, and never leaves a client waiting.

use std::time::Duration;

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE, VIRTUAL_HOST};
use portolan_core::{Snapshot, TypeUrl};
use portolan_engine::{Event, Limits, ProtocolError};
use portolan_testkit::{
    EnvoyClient, EnvoyMux, GrpcClient, Pair, PlainClient, Setup, Shelf, fixture,
};

fn everything(shelf: &Shelf) {
    shelf.put([
        fixture::cluster("a"),
        fixture::endpoints("a", "1"),
        fixture::listener("l", "r"),
        fixture::route("r", ["a"]),
    ]);
}

fn envoy(kind: EnvoyMux) -> (Shelf, Pair<EnvoyClient>) {
    let shelf = Shelf::new();
    everything(&shelf);
    let mut pair = Pair::new(EnvoyClient::new(kind), &shelf);
    pair.drive();
    pair.skip();
    (shelf, pair)
}

fn set_version(snapshot: &Snapshot, url: &TypeUrl) -> String {
    let set = snapshot.set(url).expect("it speaks for all types");
    set.version().as_str().to_owned()
}

#[test]
fn c085_c086_in_state_of_the_world_a_wildcard_at_the_current_content_is_silent_and_names_are_answered()
 {
    let (_, mut pair) = envoy(EnvoyMux::Legacy);
    pair.connect();
    pair.drive();
    pair.expect([
        "-- stream 2",
        "> CDS [] v=v1 n=",
        "> EDS [a] v=v1 n=",
        "< EDS v1 n1 [a]",
        "> LDS [] v=v1 n=",
        "> RDS [r] v=v1 n=",
        "< RDS v1 n2 [r]",
        "> ACK EDS n1",
        "> ACK RDS n2",
    ]);
}

#[test]
fn c086_a_wildcard_that_is_met_by_silence_is_one_that_asks_for_nothing_else_meanwhile() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, ["*"]);
    pair.drive();
    pair.connect();
    pair.set_window(0);
    pair.client.ask(&CLUSTER, ["*"]);
    pair.client.ask(&CLUSTER, ["*", "b"]);
    pair.drive();
    pair.skip();
    pair.set_window(usize::MAX);
    pair.drive();
    pair.expect(["< CDS v1 n1 [a]", "> ACK CDS n1"]);
}

#[test]
fn a_silent_reconnect_does_not_deafen() {
    let (shelf, mut pair) = envoy(EnvoyMux::Legacy);
    pair.connect();
    pair.drive();
    pair.skip();
    shelf.put([fixture::cluster("a").revision(2)]);
    pair.drive();
    pair.expect([
        "< CDS v2 n3 [a@2]",
        "< EDS v1 n4 [a]",
        "> EDS [a] v=v1 n=n1",
        "> ACK CDS n3",
        "> ACK EDS n4",
    ]);
}

#[test]
fn c087_what_changed_while_the_client_was_away_is_sent() {
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = envoy(kind);
        pair.disconnect();
        shelf.put([fixture::cluster("a").revision(2), fixture::cluster("b")]);
        shelf.put([fixture::endpoints("b", "1")]);
        shelf.remove(&LISTENER, ["l"]);
        pair.connect();
        pair.drive();
        assert_eq!(
            pair.client.clusters().len(),
            2,
            "{kind:?}\n{}",
            pair.transcript()
        );
        assert_eq!(pair.client.clusters()["a"], "eds=a rev=2");
        assert!(pair.client.listeners().is_empty());
        assert_eq!(pair.client.fetch_timeouts(), 0);
    }
}

#[test]
fn c087_c094_an_unknown_version_is_answered_in_full() {
    let shelf = Shelf::new();
    everything(&shelf);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    let mut request = pair.client.sotw_request(&CLUSTER, [""; 0]);
    request.version = "garbage".into();
    pair.client.send(request);
    pair.drive();
    pair.expect(["> CDS [] v=garbage n=", "< CDS v1 n1 [a]", "> ACK CDS n1"]);
}

#[test]
fn a_label_is_never_believed() {
    let shelf = Shelf::new();
    shelf.edit(|snapshot| {
        snapshot
            .upsert(fixture::static_cluster("a").into())
            .unwrap();
        snapshot.label(CLUSTER, "7");
    });
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    let mut request = pair.client.sotw_request(&CLUSTER, [""; 0]);
    request.version = "7".into();
    pair.client.send(request);
    pair.drive();
    pair.expect(["> CDS [] v=7 n=", "< CDS 7 n1 [a]", "> ACK CDS n1"]);
}

#[test]
fn content_is_believed_whatever_the_label() {
    let shelf = Shelf::new();
    shelf.edit(|snapshot| {
        snapshot
            .upsert(fixture::static_cluster("a").into())
            .unwrap();
        snapshot.label(CLUSTER, "7");
    });
    let current = set_version(&shelf.snapshot().unwrap(), &CLUSTER);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    let mut request = pair.client.sotw_request(&CLUSTER, [""; 0]);
    request.version = format!("{current}*");
    pair.client.send(request);
    pair.drive();
    pair.expect(["> CDS [] v=v1 n="]);
}

#[test]
fn who_was_sent_what_it_named_is_not_taken_for_one_that_has_everything() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::static_cluster("b")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, ["a"]);
    pair.drive();
    pair.expect(["> CDS [a] v= n=", "< CDS v1 n1 [a]", "> ACK CDS n1"]);
    let mut request = pair.client.sotw_request(&CLUSTER, [""; 0]);
    request.version = set_version(&shelf.snapshot().unwrap(), &CLUSTER);
    request.nonce.clear();
    pair.connect();
    pair.skip();
    pair.client.send(request);
    pair.drive();
    pair.expect(["> CDS [] v=v1 n=", "< CDS v1 n1 [a b]", "> ACK CDS n1"]);
}

#[test]
fn c085_a_wildcard_beside_names_is_answered_at_the_current_content() {
    let shelf = Shelf::new();
    shelf.put([
        fixture::static_cluster("a"),
        fixture::static_cluster("od").on_demand(true),
    ]);
    let current = set_version(&shelf.snapshot().unwrap(), &CLUSTER);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    let mut request = pair.client.sotw_request(&CLUSTER, ["*", "od"]);
    request.version = current;
    pair.client.send(request);
    pair.drive();
    pair.expect(["> CDS [* od] v=v1 n=", "< CDS v1 n1 [a od]", "> ACK CDS n1"]);
}

/// A client that has all clusters, `a`, and says so on a new stream before anything is published there again.
fn back_with_everything() -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    let mut request = pair.client.sotw_request(&CLUSTER, [""; 0]);
    request.nonce.clear();
    shelf.clear();
    pair.connect();
    pair.skip();
    pair.client.send(request);
    (shelf, pair)
}

#[test]
fn a_condition_of_silence_holds_until_the_answer() {
    let (shelf, mut pair) = back_with_everything();
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    shelf.put([fixture::static_cluster("a")]);
    pair.drive();
    pair.expect(["> CDS [] v=v1 n=", "> CDS [] v=v1 n="]);
}

#[test]
fn a_condition_of_silence_ends_when_the_client_names_something() {
    let (shelf, mut pair) = back_with_everything();
    pair.client.ask(&CLUSTER, ["*", "a"]);
    pair.drive();
    shelf.put([fixture::static_cluster("a")]);
    pair.drive();
    pair.expect([
        "> CDS [] v=v1 n=",
        "> CDS [* a] v=v1 n=",
        "< CDS v1 n1 [a]",
        "> ACK CDS n1",
    ]);
}

#[test]
fn c170_c176_in_delta_equal_versions_are_skipped() {
    let (_, mut pair) = envoy(EnvoyMux::Delta);
    pair.connect();
    pair.drive();
    pair.expect([
        "-- stream 2",
        "> CDS irv[a]",
        "> EDS +[a] irv[a]",
        "> LDS irv[l]",
        "> RDS +[r] irv[r]",
    ]);
}

#[test]
fn c173_c178_what_a_client_brings_is_no_subscription() {
    let shelf = Shelf::new();
    shelf.put([
        fixture::route("a", ["c"]).version("1"),
        fixture::route("b", ["c"]).version("1"),
    ]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    let claims = [("a", "1"), ("b", "1"), ("gone", "1")];
    pair.client.resume(&ROUTE, ["a"], claims);
    pair.drive();
    pair.expect(["> RDS +[a] irv[a@1 b@1 gone@1]"]);
    shelf.put([fixture::route("b", ["c"]).version("2")]);
    shelf.remove(&ROUTE, ["b"]);
    pair.drive();
    pair.expect_quiet();
    let kept = format!("{:?}", pair.session().unwrap());
    assert!(!kept.contains("gone"), "nor is it kept: {kept}");
}

#[test]
fn more_than_the_allowed_versions_end_the_stream() {
    let shelf = Shelf::new();
    let limits = Limits::default().with_names(2);
    let config = Setup::default_config().with_limits(limits);
    let setup = Setup::default().with_config(config);
    let mut pair = Pair::open(PlainClient::delta(), &shelf, setup);
    pair.client
        .resume(&CLUSTER, [], [("a", "1"), ("b", "1"), ("c", "1")]);
    pair.drive();
    assert!(matches!(
        pair.error(),
        Some(ProtocolError::TooManyNames {
            field: "initial_resource_versions",
            max: 2,
            ..
        })
    ));
}

#[test]
fn c268_a_client_that_asks_for_endpoints_first_is_warming_and_gets_them() {
    // Clusters are not asked for until the warming ends.
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = envoy(kind);
        pair.set_window(1);
        shelf.put([fixture::cluster("a").revision(2)]);
        pair.set_reading(false);
        pair.drive();
        // The clusters arrive, the endpoints behind them do not.
        pair.set_window(0);
        pair.set_reading(true);
        pair.drive();
        assert_eq!(pair.client.warming_clusters().len(), 1, "{kind:?}");
        pair.connect();
        pair.set_window(usize::MAX);
        pair.skip();
        pair.drive();
        let lines = pair.transcript().lines();
        let from = lines.iter().rposition(|l| l == "-- stream 2").unwrap();
        assert!(lines[from + 1].starts_with("> EDS"), "{kind:?}");
        assert!(lines[from + 2].starts_with("< EDS"), "{kind:?}");
        assert!(pair.client.warming_clusters().is_empty(), "{kind:?}");
        assert_eq!(pair.client.fetch_timeouts(), 0);
    }
}

#[test]
fn a_cluster_that_changed_meanwhile_brings_endpoints_that_did_not() {
    // The client says what it has of both types in one go; it warms the cluster all the same.
    for kind in EnvoyMux::ALL {
        let (shelf, mut pair) = envoy(kind);
        pair.disconnect();
        shelf.put([fixture::cluster("a").revision(2)]);
        pair.connect();
        pair.advance(Duration::from_secs(1));
        assert!(
            pair.client.warming_clusters().is_empty(),
            "{kind:?}\n{}",
            pair.transcript()
        );
    }
}

#[test]
fn so_it_does_for_requests_that_cross_the_answer() {
    for kind in EnvoyMux::ALL {
        let shelf = Shelf::new();
        everything(&shelf);
        let setup = Setup::default().with_latency(Duration::from_millis(10));
        let mut pair = Pair::open(EnvoyClient::new(kind), &shelf, setup);
        pair.drive();
        pair.disconnect();
        shelf.put([fixture::cluster("a").revision(2)]);
        pair.connect();
        pair.advance(Duration::from_secs(1));
        assert!(
            pair.client.warming_clusters().is_empty(),
            "{kind:?}\n{}",
            pair.transcript()
        );
    }
}

#[test]
fn after_many_changed_clusters_all_endpoints_come_again() {
    let names: Vec<_> = (0..200).map(|i| format!("c{i:03}")).collect();
    let shelf = Shelf::new();
    shelf.put(names.iter().map(fixture::cluster));
    shelf.put(names.iter().map(|n| fixture::endpoints(n, "1")));
    let mut pair = Pair::new(EnvoyClient::new(EnvoyMux::Delta), &shelf);
    pair.drive();
    pair.disconnect();
    shelf.put(names.iter().map(|n| fixture::cluster(n).revision(2)));
    pair.connect();
    pair.advance(Duration::from_secs(1));
    assert!(pair.client.warming_clusters().is_empty());
}

#[test]
fn good_neighbours_of_a_rejected_cluster_are_not_counted_as_accepted() {
    let (shelf, mut pair) = envoy(EnvoyMux::Delta);
    shelf.put([
        fixture::static_cluster("good"),
        fixture::static_cluster("poor").bad(),
    ]);
    pair.drive();
    assert!(pair.client.clusters().contains_key("good"));
    pair.connect();
    pair.skip();
    pair.drive();
    let lines = pair.transcript().lines();
    let from = lines.iter().rposition(|l| l == "-- stream 2").unwrap();
    assert_eq!(lines[from + 1], "> CDS irv[a]");
    assert_eq!(lines[from + 2], "< CDS n1 [good poor]");
}

#[test]
fn virtual_hosts_come_back_by_name_and_the_wildcard_means_the_base_set() {
    // C-224; a host that was unknown is told without a body, and not removed in the same response (C-375).
    let shelf = Shelf::new();
    shelf.put([
        fixture::virtual_host("r/foo").version("2"),
        fixture::virtual_host("r/other").version("1"),
    ]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    let claims = [("r/foo", "1"), ("r/none", "x"), ("r/bar", "1")];
    pair.client
        .resume(&VIRTUAL_HOST, ["*", "r/foo", "r/none", "r/bar"], claims);
    pair.drive();
    pair.expect([
        "> VHDS +[* r/foo r/none r/bar] irv[r/foo@1 r/none@x r/bar@1]",
        "< VHDS n1 [r/foo@2] ?[r/bar r/none]",
        "> ACK VHDS n1",
    ]);
}

#[test]
fn grpc_gets_everything_by_name_and_nothing_twice() {
    let shelf = Shelf::new();
    everything(&shelf);
    let mut pair = Pair::new(GrpcClient::new(["l"]), &shelf);
    pair.drive();
    pair.connect();
    pair.skip();
    pair.drive();
    let lines = pair.transcript().lines();
    let from = lines.iter().rposition(|l| l == "-- stream 2").unwrap();
    let answers = lines[from..].iter().filter(|l| l.starts_with('<'));
    assert_eq!(answers.count(), 4);
    assert_eq!(pair.client.endpoints()["a"], "host=1");
}

#[test]
fn c126_a_named_cluster_that_was_deleted_meanwhile_is_told() {
    // Leaving it out is the only way to say so, though then nothing is left to send.
    let shelf = Shelf::new();
    everything(&shelf);
    let mut pair = Pair::new(GrpcClient::new(["l"]), &shelf);
    pair.drive();
    pair.disconnect();
    shelf.remove(&CLUSTER, ["a"]);
    pair.connect();
    pair.drive();
    assert!(pair.client.clusters().is_empty());
    // A client that has nothing is told nothing of what does not exist.
    let mut fresh = Pair::new(GrpcClient::new(["l"]), &shelf);
    fresh.drive();
    assert_eq!(
        fresh.transcript().lines().last().unwrap(),
        "> CDS [a] v= n="
    );
}

#[test]
fn c121_c177_a_replica_with_the_same_content_has_nothing_to_say() {
    let (_, mut pair) = envoy(EnvoyMux::Delta);
    let replica = Shelf::new();
    for generation in 0..3 {
        replica.put([fixture::static_cluster("old").revision(generation)]);
    }
    replica.remove(&CLUSTER, ["old"]);
    everything(&replica);
    pair.connect_to(&replica);
    pair.skip();
    pair.drive();
    let lines = pair.transcript().lines();
    let from = lines.iter().rposition(|l| l == "-- stream 2").unwrap();
    assert!(
        !lines[from..].iter().any(|l| l.starts_with('<')),
        "{}",
        pair.transcript()
    );
}

#[test]
fn c001_c091_c194_nonces_and_names_of_an_old_stream_mean_nothing() {
    let shelf = Shelf::new();
    everything(&shelf);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    let mut request = pair.client.sotw_request(&CLUSTER, [""; 0]);
    request.nonce = "17".into();
    request.version = "x".into();
    pair.client.send(request);
    pair.drive();
    pair.expect(["> CDS [] v=x n=n17", "< CDS v1 n1 [a]", "> ACK CDS n1"]);
    let mut told = pair.take_events();
    told.retain(|event| !matches!(event, Event::Settled { .. }));
    assert_eq!(told.len(), 2, "interest and one acknowledgement");
}

#[test]
fn c154_a_wildcard_that_is_subscribed_again_before_its_answer_is_answered_in_full() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let version = fixture::static_cluster("a").build().version().clone();
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.set_window(0);
    pair.client
        .resume(&CLUSTER, ["*"], [("a", version.as_str())]);
    pair.client.subscribe(&CLUSTER, ["*"]);
    pair.drive();
    pair.set_window(1);
    pair.drive();
    pair.expect([
        "> CDS +[*] irv[a]",
        "> CDS +[*]",
        "< CDS n1 [a]",
        "> ACK CDS n1",
    ]);
}

#[test]
fn c268_so_is_one_that_asked_for_listeners_before() {
    let shelf = Shelf::new();
    shelf.put([fixture::endpoints("a", "1").version("1")]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&LISTENER, []);
    pair.client.resume(&ENDPOINT, ["a"], [("a", "1")]);
    pair.drive();
    pair.expect([
        "> LDS",
        "< LDS n1 []",
        "> EDS +[a] irv[a@1]",
        "< EDS n2 [a@1]",
        "> ACK LDS n1",
        "> ACK EDS n2",
    ]);
}
