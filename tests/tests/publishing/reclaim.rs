//! A group goes after its last node: the loop forgets it, and the cache frees it.

use std::time::Duration;

use portolan::translator::PublishConfig;
use portolan_testkit::fixture::static_cluster;
use portolan_testkit::{EnvoyClient, EnvoyMux};
use tokio::time::sleep;

use crate::bed::{Model, Plane};

const LINGER: Duration = Duration::from_secs(30);

fn plane() -> Plane {
    Plane::configured(PublishConfig::default().with_linger(LINGER))
}

#[tokio::test(start_paused = true)]
async fn a_group_is_freed_when_it_has_lingered_without_nodes() {
    let plane = plane();
    let mut pair = plane.node("n", EnvoyClient::new(EnvoyMux::Delta));
    plane.settle(Model::of([static_cluster("a")])).await;
    pair.drive();
    pair.disconnect();
    sleep(LINGER - Duration::from_secs(1)).await;
    assert_eq!(plane.snapshots.total_groups(), 1);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(plane.snapshots.total_groups(), 0);
    assert!(plane.publisher.reports().iter().next().is_none());

    // Whoever comes later is served anew, with publications that go on in number.
    pair.connect();
    plane.flush().await;
    pair.drive();
    assert!(pair.client.clusters().contains_key("a"));
    assert_eq!(
        plane.flush().await.outcome.generation().map(|g| g.get()),
        Some(2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_that_comes_back_in_time_finds_its_group() {
    let plane = plane();
    let mut pair = plane.node("n", EnvoyClient::new(EnvoyMux::Delta));
    plane.settle(Model::of([static_cluster("a")])).await;
    pair.drive();
    pair.disconnect();
    sleep(LINGER / 2).await;
    plane
        .settle(Model::of([static_cluster("a"), static_cluster("b")]))
        .await;
    pair.connect();
    pair.drive();
    assert!(pair.client.clusters().contains_key("b"));
    sleep(LINGER * 2).await;
    assert_eq!(plane.snapshots.total_groups(), 1);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_make_up_groups_leave_nothing_behind() {
    let plane = plane();
    plane
        .publisher
        .update(Model::of([static_cluster("a")]))
        .unwrap();
    for number in 0..1000 {
        drop(plane.node_of(
            &format!("g{number}"),
            "n",
            EnvoyClient::new(EnvoyMux::Delta),
        ));
        if number % 100 == 0 {
            plane.publisher.flush().await.unwrap();
        }
    }
    sleep(LINGER * 2).await;
    assert_eq!(plane.snapshots.total_groups(), 0);
    assert_eq!(plane.publisher.reports().iter().count(), 0);
}
