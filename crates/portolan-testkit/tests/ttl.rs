//! Times to live, where a conversation does not say it.

use std::time::Duration;

use portolan_cache::SnapshotCache;
use portolan_core::node_hash::from_fn;
use portolan_core::well_known::{CLUSTER, ENDPOINT, RUNTIME};
use portolan_core::{Node, Resource, Snapshot};
use portolan_engine::{Reason, Variant};
use portolan_testkit::{Client, Pair, PlainClient, Setup, Shelf, fixture};

const SECOND: Duration = Duration::from_secs(1);

/// A client that announces all there is about times to live.
fn announcing() -> Setup {
    let node = Node::new("n")
        .with_client_feature("xds.config.supports-resource-ttl")
        .with_client_feature("xds.config.resource-in-sotw");
    Setup::default().with_node(node)
}

/// A client that announces nothing and is told nevertheless, in state of the world by whole resources.
fn envoy() -> Setup {
    Setup::default().with_node(Node::new("n").with_user_agent("envoy", ""))
}

/// A client that asks for runtime layers `0` to `count`, which live for a while.
fn layers(client: PlainClient, count: usize, setup: Setup) -> Pair<PlainClient> {
    let shelf = Shelf::new();
    let name = |i: usize| format!("{i:05}");
    shelf.put((0..count).map(|i| fixture::runtime(name(i)).ttl(SECOND * 4)));
    let mut pair = Pair::open(client, &shelf, setup);
    let names: Vec<_> = (0..count).map(name).collect();
    match pair.client.variant() {
        Variant::Sotw => pair.client.ask(&RUNTIME, names),
        _ => pair
            .client
            .subscribe(&RUNTIME, names.iter().map(String::as_str)),
    }
    pair.drive();
    pair
}

#[test]
fn c306_the_features_of_a_client_may_decide_what_it_is_served() {
    let feature = "envoy.lb.does_not_support_overprovisioning";
    let hash = from_fn(move |node: &Node, _| {
        Ok(node.client_features().iter().any(|known| known == feature))
    });
    let (writer, reader) = SnapshotCache::new(hash).split();
    for (group, hosts) in [(false, "all"), (true, "healthy")] {
        let mut snapshot = Snapshot::builder();
        let endpoints = fixture::endpoints("c", hosts);
        snapshot.insert(endpoints.into()).unwrap();
        let _ = writer.set(&group, snapshot.build());
    }
    let versions = [Node::new("a"), Node::new("b").with_client_feature(feature)].map(|node| {
        let setup = Setup::default().with_node(node);
        let mut pair = Pair::open(PlainClient::delta(), &reader, setup);
        pair.client.subscribe(&ENDPOINT, ["c"]);
        pair.drive();
        let endpoints = pair.client.received()[0].resources.get("c").cloned();
        endpoints.unwrap().version().clone()
    });
    assert_ne!(versions[0], versions[1]);
}

#[test]
fn c292_however_many_are_due_a_response_refreshes_some_and_the_next_the_others() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let mut pair = layers(client, 2_500, announcing());
        pair.advance(SECOND * 2);
        let refreshed: Vec<_> = pair.client.received()[1..]
            .iter()
            .map(|response| response.heartbeats.len())
            .collect();
        assert_eq!(refreshed, [1_000, 1_000, 500]);
        pair.advance(SECOND * 2);
        assert_eq!(pair.client.received().len(), 7);
    }
}

#[test]
fn c292_heartbeats_share_responses_as_far_as_their_size_allows() {
    let max = 4_000;
    let config = Setup::default_config().with_max_response(max);
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let mut pair = layers(client, 100, announcing().with_config(config.clone()));
        let first = pair.client.received().len();
        pair.advance(SECOND * 2);
        let refreshes = &pair.client.received()[first..];
        let heartbeats = refreshes.iter().map(|response| response.heartbeats.len());
        assert_eq!(heartbeats.sum::<usize>(), 100);
        // Each has some hundred bytes.
        assert!((3..=6).contains(&refreshes.len()), "{}", refreshes.len());
    }
}

#[test]
fn c301_what_is_sent_in_full_again_keeps_to_the_size_of_responses() {
    let max = 4_000;
    let config = Setup::default_config().with_max_response(max);
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let mut pair = layers(client, 100, announcing().with_config(config.clone()));
        let first = pair.client.received().len();
        assert!(first > 2);
        pair.set_window(0);
        pair.advance(SECOND * 10);
        pair.set_window(usize::MAX);
        pair.drive();
        let again = &pair.client.received()[first..];
        let resources = again.iter().map(|response| response.resources.len());
        assert_eq!(resources.sum::<usize>(), 100);
        for response in pair.client.received() {
            let len: usize = response.parts().iter().map(bytes::Bytes::len).sum();
            assert!(len < max, "{len}");
        }
    }
}

/// How many of five layers of `len` bytes each response refreshes.
fn refreshed_in_full(len: usize, max: usize) -> Vec<usize> {
    let shelf = Shelf::new();
    let body = "x".repeat(len);
    shelf.put(
        ["a", "b", "c", "d", "e"]
            .map(|name| Resource::builder(RUNTIME, name, body.clone()).ttl(SECOND * 4)),
    );
    let setup = envoy().with_config(Setup::default_config().with_max_response(max));
    let mut pair = Pair::open(PlainClient::sotw(), &shelf, setup);
    pair.client.ask(&RUNTIME, ["a", "b", "c", "d", "e"]);
    pair.drive();
    let first = pair.client.received().len();
    pair.advance(SECOND * 2);
    let refreshes = pair.client.received()[first..].iter();
    refreshes.map(|refresh| refresh.resources.len()).collect()
}

#[test]
fn c301_large_resources_do_not_make_a_refresh_larger_than_a_response_may_be() {
    assert_eq!(refreshed_in_full(1_500, 4_000), [2, 2, 1]);
}

#[test]
fn c301_what_is_larger_than_a_response_may_be_is_refreshed_by_itself() {
    assert_eq!(refreshed_in_full(5_000, 4_000), [1; 5]);
}

#[test]
fn c302_a_refresh_before_all_else_is_of_the_newest_publication() {
    let shelf = Shelf::new();
    let newest = shelf.put([fixture::runtime("a").version("7").ttl(SECOND * 4)]);
    let mut pair = Pair::open(PlainClient::delta(), &shelf, announcing());
    pair.client.resume(&RUNTIME, ["a"], [("a", "7")]);
    pair.drive();
    let [refresh] = pair.client.received() else {
        panic!("one response");
    };
    assert_eq!(refresh.heartbeats.len(), 1);
    assert_eq!(refresh.generation, newest);
}

/// A stream that cannot be written must not be woken again and again.
#[test]
fn c303_a_refresh_that_cannot_be_sent_is_due_once() {
    let mut pair = layers(PlainClient::delta(), 1, announcing());
    pair.set_window(0);
    pair.advance(SECOND * 3);
    assert_eq!(pair.session().unwrap().poll_timeout(), None);
    pair.disconnect();
    pair.advance(SECOND * 60);
    assert_eq!(pair.client.received().len(), 1);
}

/// A client that has `a`, whose change waits because the response with `b` is not read.
fn with_a_change_that_waits(client: PlainClient, setup: Setup) -> Pair<PlainClient> {
    let shelf = Shelf::new();
    let brief = |revision| fixture::runtime("a").revision(revision).ttl(SECOND * 4);
    shelf.put([brief(1)]);
    let mut pair = Pair::open(client, &shelf, setup);
    pair.client.want(&RUNTIME, ["a", "b"]);
    pair.drive();
    pair.client.set_acks(false);
    shelf.put([fixture::runtime("b")]);
    pair.drive();
    pair.skip();
    shelf.put([brief(2)]);
    pair
}

#[test]
fn c297_a_change_that_has_to_wait_is_not_sent_by_a_refresh() {
    let mut pair = with_a_change_that_waits(PlainClient::delta(), announcing());
    pair.advance(SECOND * 2);
    pair.expect(["-- 2s", "< RTDS n3 [] ~[a~4s]"]);
    pair.advance(SECOND * 3);
    let last = pair.client.received().last().unwrap().clone();
    assert_eq!(last.resources.len(), 1);
    assert!(last.heartbeats.is_empty());
}

#[test]
fn c297_nor_by_one_that_sends_the_whole_resource() {
    let mut pair = with_a_change_that_waits(PlainClient::sotw(), envoy());
    pair.advance(SECOND * 4);
    pair.expect_quiet();
    pair.advance(SECOND);
    pair.expect(["-- 5s", "< RTDS v3 n3 [a@2~4s]"]);
}

#[test]
fn c295_everything_is_not_sent_for_a_refresh_while_some_of_it_is_rejected() {
    let shelf = Shelf::new();
    let living = fixture::static_cluster("a").ttl(SECOND * 4);
    shelf.put([living, fixture::static_cluster("b")]);
    let mut pair = Pair::open(PlainClient::sotw(), &shelf, envoy());
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    pair.client.set_acks(false);
    shelf.put([fixture::static_cluster("b").revision(2)]);
    pair.drive();
    pair.client.nack(&CLUSTER);
    pair.drive();
    pair.skip();
    pair.advance(SECOND * 60);
    pair.expect_quiet();
}

/// A cluster that lives for four seconds.
fn living(revision: u32) -> fixture::Fixture {
    let cluster = fixture::static_cluster("a").revision(revision);
    cluster.ttl(SECOND * 4)
}

/// A client that has that cluster at 1, and to which 2 is published, which it does not acknowledge.
fn with_a_cluster_that_changes() -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put([living(1)]);
    let mut pair = Pair::open(PlainClient::sotw(), &shelf, announcing());
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    pair.client.set_acks(false);
    shelf.put([living(2)]);
    (shelf, pair)
}

#[test]
fn c295_a_refresh_of_clusters_does_not_send_a_change_that_has_to_wait() {
    let (shelf, mut pair) = with_a_cluster_that_changes();
    pair.drive();
    pair.skip();
    shelf.put([living(3)]);
    pair.advance(SECOND * 4);
    pair.expect_quiet();
    pair.advance(SECOND);
    pair.expect(["-- 5s", "< CDS v3 n3 [a@3~4s]"]);
}

#[test]
fn c295_a_refresh_of_clusters_waits_for_no_acknowledgement() {
    let (_, mut pair) = with_a_cluster_that_changes();
    pair.advance(SECOND * 2);
    let reasons = pair.client.received().iter().map(|r| r.reason);
    let expected = [Reason::Owed, Reason::Changed, Reason::Refresh];
    assert_eq!(reasons.collect::<Vec<_>>(), expected);
}
