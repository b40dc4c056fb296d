//! What a publisher is told of its nodes, when the nodes are clients of real sessions.

use portolan::core::well_known::CLUSTER;
use portolan_testkit::fixture::{cluster, endpoints, static_cluster};
use portolan_testkit::{EnvoyClient, EnvoyMux, Pair, PlainClient};
use tokio::time::Instant;

use crate::bed::{Model, Plane, outcomes};

fn clusters(revision: u32) -> Model {
    Model::of([
        cluster("a").revision(revision),
        endpoints("a", revision),
        static_cluster("b"),
    ])
}

/// A client that wants all clusters, and acknowledges when the test says so.
fn silent(plane: &Plane, id: &str) -> Pair<PlainClient> {
    let mut pair = plane.node(id, PlainClient::sotw().without_acks());
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    pair
}

#[tokio::test(start_paused = true)]
async fn every_node_that_acknowledges_has_accepted() {
    let plane = Plane::new();
    let mut legacy = plane.node("legacy", EnvoyClient::new(EnvoyMux::Legacy));
    let mut delta = plane.node("delta", EnvoyClient::new(EnvoyMux::Delta));
    for revision in 1..=3 {
        let began = Instant::now();
        let waiting = plane.roll_out(clusters(revision)).await;
        let published = Instant::now();
        legacy.drive();
        assert!(!waiting.is_finished());
        delta.drive();
        let rollout = waiting.await.unwrap();
        assert_eq!(outcomes(&rollout), ["delta accepted", "legacy accepted"]);
        assert!(rollout.is_accepted());
        assert_eq!(
            began.elapsed(),
            published - began,
            "nothing else was waited for"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_rejects_says_what_and_why() {
    let plane = Plane::new();
    let mut good = plane.node("good", PlainClient::delta());
    good.client.subscribe(&CLUSTER, []);
    let mut bad = plane.node("picky", PlainClient::delta());
    bad.client.subscribe(&CLUSTER, []);
    bad.client
        .reject_when(|resource| resource.name().as_str() == "b");
    let waiting = plane.roll_out(clusters(1)).await;
    good.drive();
    bad.drive();
    let rollout = waiting.await.unwrap();
    let told = outcomes(&rollout);
    assert_eq!(told[0], "good accepted");
    assert!(
        told[1].starts_with("picky rejected: envoy.config.cluster.v3.Cluster: "),
        "{}",
        told[1]
    );

    // What is rejected stays rejected while it is published.
    let waiting = plane.roll_out(clusters(2)).await;
    good.drive();
    bad.drive();
    let told = outcomes(&waiting.await.unwrap());
    assert!(
        told[1].starts_with("picky rejected: envoy.config.cluster.v3.Cluster: "),
        "{}",
        told[1]
    );

    let waiting = plane.roll_out(Model::of([static_cluster("a")])).await;
    good.drive();
    bad.drive();
    assert_eq!(
        outcomes(&waiting.await.unwrap()),
        ["good accepted", "picky accepted"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_publication_that_does_not_concern_a_node_is_accepted_by_it() {
    let plane = Plane::new();
    let mut pair = silent(&plane, "n");
    let waiting = plane.roll_out(clusters(1)).await;
    pair.drive();
    pair.client.ack(&CLUSTER);
    pair.drive();
    assert!(waiting.await.unwrap().is_accepted());
    let model = Model::of([
        cluster("a").revision(1),
        endpoints("a", 2),
        static_cluster("b"),
    ]);
    let waiting = plane.roll_out(model).await;
    pair.skip();
    pair.drive();
    pair.expect_quiet();
    assert_eq!(outcomes(&waiting.await.unwrap()), ["n accepted"]);
}

#[tokio::test(start_paused = true)]
async fn unchanged_content_is_accepted_by_those_who_have_it() {
    let plane = Plane::new();
    let mut pair = plane.node("n", EnvoyClient::new(EnvoyMux::Legacy));
    plane.settle(clusters(1)).await;
    pair.drive();
    let waiting = plane.roll_out(clusters(1)).await;
    assert_eq!(outcomes(&waiting.await.unwrap()), ["n accepted"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_does_not_acknowledge_is_pending() {
    let plane = Plane::new();
    let mut pair = silent(&plane, "n");
    let began = Instant::now();
    let waiting = plane.roll_out(clusters(1)).await;
    pair.drive();
    assert_eq!(outcomes(&waiting.await.unwrap()), ["n pending"]);
    assert_eq!(began.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_skips_a_publication_is_superseded() {
    let plane = Plane::new();
    let mut pair = plane.node("n", EnvoyClient::new(EnvoyMux::Delta));
    plane.settle(clusters(1)).await;
    pair.drive();
    let waiting = plane.roll_out(clusters(2)).await;
    plane.settle(clusters(3)).await;
    pair.drive();
    let rollout = waiting.await.unwrap();
    assert_eq!(outcomes(&rollout), ["n superseded by 3"]);
    assert!(rollout.is_accepted());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_reconnects_is_followed_and_may_have_it_already() {
    let plane = Plane::new();
    let mut pair = plane.node("n", EnvoyClient::new(EnvoyMux::Delta));
    plane.settle(clusters(1)).await;
    pair.drive();
    let waiting = plane.roll_out(clusters(2)).await;
    pair.disconnect();
    pair.connect();
    pair.drive();
    assert_eq!(outcomes(&waiting.await.unwrap()), ["n accepted"]);

    // Nothing has to be sent to one that comes back with what it should have.
    pair.disconnect();
    pair.connect();
    let waiting = plane.roll_out(clusters(2)).await;
    pair.drive();
    assert_eq!(outcomes(&waiting.await.unwrap()), ["n accepted"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_does_not_come_back_is_gone() {
    let plane = Plane::new();
    let mut pair = plane.node("n", EnvoyClient::new(EnvoyMux::Legacy));
    let waiting = plane.roll_out(clusters(1)).await;
    pair.disconnect();
    let rollout = waiting.await.unwrap();
    assert_eq!(outcomes(&rollout), ["n gone"]);
    assert!(!rollout.is_accepted());
}

#[tokio::test(start_paused = true)]
async fn all_streams_of_a_node_count() {
    let plane = Plane::new();
    let mut first = silent(&plane, "n");
    let mut second = silent(&plane, "n");
    let waiting = plane.roll_out(clusters(1)).await;
    for pair in [&mut first, &mut second] {
        assert!(!waiting.is_finished());
        pair.drive();
        pair.client.ack(&CLUSTER);
        pair.drive();
    }
    assert_eq!(outcomes(&waiting.await.unwrap()), ["n accepted"]);
}

#[tokio::test(start_paused = true)]
async fn with_the_last_stream_nothing_of_it_is_left() {
    let plane = Plane::new();
    let mut pairs: Vec<_> = (0..10).map(|n| silent(&plane, &n.to_string())).collect();
    plane.settle(clusters(1)).await;
    pairs.iter_mut().for_each(Pair::drive);
    let waiting = plane.roll_out(clusters(2)).await;
    pairs.iter_mut().for_each(Pair::disconnect);
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    assert_eq!(
        format!("{:?}", plane.tracker),
        "DeliveryTracker { groups: 0, .. }"
    );
}
