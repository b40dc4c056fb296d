//! Publications that follow each other, and resources that are encoded again.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use portolan::cache::SnapshotCache;
use portolan::core::Published;
use portolan::prelude::*;
use portolan::types::envoy::config::core::v3::Metadata;
use portolan_testkit::{Pair, PlainClient, Setup};
use portolan_tests::{Sotw, TestControlPlane, TestError};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::transport::Endpoint;
use well_known::{CLUSTER, LISTENER};

const GROUP: &str = "fleet";

/// Takes all clusters, accepts each response at once, and says which version it has.
async fn follow(address: SocketAddr, holds: watch::Sender<String>) -> Result<(), TestError> {
    let channel = Endpoint::try_from(format!("http://{address}"))?;
    let mut stream = Sotw::open(channel.connect().await?, GROUP, &[CLUSTER]).await?;
    loop {
        let response = stream.next().await?;
        stream.ack(&response);
        // The mark says that it was sent everything.
        let version = response.version_info.trim_end_matches('*');
        holds.send_replace(version.to_owned());
    }
}

/// Elsewhere a response could be acknowledged before its nonce was noted, and a proxy got no more updates after hours
/// of running.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b09_the_last_of_many_publications_arrives_however_fast_it_is_acknowledged()
-> Result<(), TestError> {
    const ROUNDS: u64 = 100;
    const PUBLISHERS: u64 = 64;
    const EACH: u64 = 32;
    let plane = Arc::new(TestControlPlane::start(GROUP).await?);
    let (holds, mut held) = watch::channel(String::new());
    let address = plane.address();
    let client =
        tokio::spawn(async move { follow(address, holds).await.map_err(|e| e.to_string()) });
    for round in 0..ROUNDS {
        let mut publishers = JoinSet::new();
        for publisher in 0..PUBLISHERS {
            let plane = Arc::clone(&plane);
            publishers.spawn_blocking(move || {
                let first = (round * PUBLISHERS + publisher) * EACH;
                (first..first + EACH).try_for_each(|number| {
                    let cluster = Resource::builder(CLUSTER, "c", number.to_be_bytes().to_vec());
                    plane.publish(|out| out.insert(cluster).map(drop))
                })
            });
        }
        while let Some(published) = publishers.join_next().await {
            published??;
        }
        let last = plane.version(&CLUSTER).ok_or("it was published")?;
        let arrived = held.wait_for(|version| *version == last);
        let arrived = timeout(Duration::from_secs(30), arrived).await;
        assert!(arrived.is_ok(), "round {round}: {last} did not arrive");
    }
    client.abort();
    Ok(())
}

/// A listener with a map of twenty entries inside of a packed message, filled in an order of its own.
fn listener(order: usize) -> impl TypedResource {
    let keys = (0..20).map(|at| (at * 7 + order) % 20);
    let entries = keys.map(|key| (format!("key{key}"), Default::default()));
    let mut routes = build::route_configuration("r", []);
    routes.metadata = Some(Metadata {
        filter_metadata: entries.collect(),
        ..Metadata::default()
    });
    build::inline_http_listener("l", (Ipv4Addr::LOCALHOST, 80).into(), routes)
}

/// Elsewhere maps were encoded in random order: each rebuilt listener was another, and all its connections were drained.
#[test]
fn b42_a_rebuilt_resource_with_maps_is_the_same() -> Result<(), TestError> {
    let (writer, reader) = SnapshotCache::new(NodeId::default()).split();
    let group = "n1".to_owned();
    let clients = [PlainClient::sotw(), PlainClient::delta()];
    let mut pairs = clients.map(|client| {
        let setup = Setup::default().with_node(Node::new("n1"));
        let mut pair = Pair::open(client, &reader, setup);
        pair.client.want(&LISTENER, []);
        pair
    });
    for order in 0..100 {
        let mut snapshot = Snapshot::builder();
        snapshot.add(&listener(order))?;
        let published = writer.set(&group, snapshot.build());
        assert_eq!(order > 0, matches!(published, Published::Unchanged(_)));
        for pair in &mut pairs {
            pair.drive();
            assert_eq!(pair.client.received().len(), 1);
        }
    }
    Ok(())
}
