//! How clients are brought from one publication to the next, by node.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use portolan_server::{Transitions, XdsServer};
use portolan_types::envoy::service::discovery::v3::DeltaDiscoveryResponse;

use crate::client::{Client, DELTA, delta_answer, delta_clusters};
use crate::source::TestSource;

/// A client of that id says that it has a cluster which is gone, and is sent this first.
async fn comes_back(xds: &XdsServer, id: &str) -> (Client, DeltaDiscoveryResponse) {
    let mut client = Client::open(xds, DELTA).await;
    let mut request = delta_clusters(id);
    request.initial_resource_versions = BTreeMap::from([("gone".to_owned(), "1".to_owned())]);
    client.send(&request);
    let response = client.message().await;
    (client, response)
}

#[tokio::test(start_paused = true)]
async fn groups_differ_in_how_gently_their_clients_are_moved() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = XdsServer::builder(Arc::new(source))
        .with_transitions_for(|node, _| {
            let is_hasty = node.id().starts_with("hasty");
            is_hasty.then_some(Transitions::Ordered)
        })
        .build();
    let (_hasty, first) = comes_back(&xds, "hasty-1").await;
    assert_eq!(first.resources.len(), 1);
    assert_eq!(first.removed_resources, ["gone"]);

    let (mut client, first) = comes_back(&xds, "gateway-1").await;
    assert_eq!(first.resources.len(), 1);
    assert!(first.removed_resources.is_empty());
    client.send(&delta_answer(&first, None));
    client.pass(Duration::from_secs(5)).await;
    let second: DeltaDiscoveryResponse = client.message().await;
    assert_eq!(second.removed_resources, ["gone"]);
}
