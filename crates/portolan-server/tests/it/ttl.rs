//! Times to live on the wire.

use std::sync::Arc;
use std::time::Duration;

use portolan_core::{Resource, Snapshot, well_known};
use portolan_server::{ClientFeatures, XdsServer};
use portolan_types::envoy::service::discovery::v3::{
    DeltaDiscoveryResponse, DiscoveryRequest, Resource as Wrapper,
};
use prost::Message;

use crate::client::{Client, DELTA, SOTW, clusters, delta_answer, delta_clusters};
use crate::source::TestSource;

const WRAPPER: &str = "type.googleapis.com/envoy.service.discovery.v3.Resource";

fn source() -> TestSource {
    let mut builder = Snapshot::builder();
    let cluster = Resource::builder(well_known::CLUSTER, "a", &b"1"[..]);
    builder
        .insert(cluster.ttl(Duration::from_millis(2_500)))
        .unwrap();
    let source = TestSource::default();
    source.publish_snapshot(builder.build());
    source
}

/// The first request of a client that announces everything, or nothing.
fn request(id: &str, announces: bool) -> DiscoveryRequest {
    let mut request = clusters(id);
    if announces {
        let features = [
            "xds.config.supports-resource-ttl",
            "xds.config.resource-in-sotw",
        ];
        let node = request.node.as_mut().unwrap();
        node.client_features = features.map(str::to_owned).into();
    }
    request
}

/// Whether a client is told of the time to live.
async fn is_told(xds: &XdsServer, request: &DiscoveryRequest) -> bool {
    let client = &mut Client::open(xds, SOTW).await;
    client.send(request);
    let response = client.response().await;
    response.resources[0].type_url == WRAPPER
}

/// A `Fetch` is told of times to live where a stream is, and each answer refreshes them.
#[tokio::test(start_paused = true)]
async fn c285_c287_a_fetch_is_told_as_a_stream_is() {
    const FETCH: &str = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters";
    let xds = XdsServer::builder(Arc::new(source())).build();
    for (announces, expected) in [(true, true), (false, false)] {
        let mut client = Client::open(&xds, FETCH).await;
        client.send(&request("n", announces));
        client.half_close();
        let response = client.response().await;
        let resource = &response.resources[0];
        assert_eq!(resource.type_url == WRAPPER, expected);
        if announces {
            let wrapper = Wrapper::decode(&*resource.value).unwrap();
            assert_eq!(wrapper.version, response.version_info);
            assert!(wrapper.ttl.is_some() && wrapper.resource.is_some());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn c307_the_embedder_says_of_a_node_what_it_can_do() {
    let all = ClientFeatures::default().with_ttl(true).with_wrapper(true);
    let xds = XdsServer::builder(Arc::new(source()))
        .with_client_features(move |node| match node.id() {
            "on" => all,
            "off" => ClientFeatures::default(),
            _ => ClientFeatures::of(node),
        })
        .build();
    for (id, announces, told) in [
        ("on", false, true),
        ("off", true, false),
        ("other", true, true),
        ("other", false, false),
    ] {
        assert_eq!(is_told(&xds, &request(id, announces)).await, told, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn c296_a_heartbeat_leaves_a_client_where_it_is() {
    let xds = XdsServer::builder(Arc::new(source())).build();
    let client = &mut Client::open(&xds, DELTA).await;
    let mut subscribe = delta_clusters("n");
    subscribe.node.as_mut().unwrap().user_agent_name = "envoy".to_owned();
    client.send(&subscribe);
    let first: DeltaDiscoveryResponse = client.message().await;
    client.send(&delta_answer(&first, None));
    client.pass(Duration::from_millis(1_200)).await;
    assert_eq!(xds.status().unsettled().count(), 0);
    let heartbeat: DeltaDiscoveryResponse = client.message().await;
    assert_ne!(heartbeat.nonce, first.nonce);
    assert_eq!(xds.status().unsettled().count(), 0);
    client.send(&delta_answer(&heartbeat, None));
    client.pass(Duration::from_millis(1_200)).await;
    assert_eq!(xds.status().unsettled().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn c287_c292_what_lives_for_a_while_is_wrapped_and_refreshed() {
    let xds = XdsServer::builder(Arc::new(source())).build();
    let client = &mut Client::open(&xds, SOTW).await;
    client.send(&request("n", true));
    let response = client.response().await;
    assert_eq!(response.type_url, well_known::CLUSTER.as_str());
    let wrapper = Wrapper::decode(&*response.resources[0].value).unwrap();
    assert_eq!(
        (&*wrapper.name, &*wrapper.version),
        ("a", &*response.version_info)
    );
    let ttl = wrapper.ttl.unwrap();
    assert_eq!((ttl.seconds, ttl.nanos), (2, 500_000_000));
    assert_eq!(wrapper.resource.unwrap().value, &b"1"[..]);

    let client = &mut Client::open(&xds, DELTA).await;
    let mut subscribe = delta_clusters("n");
    subscribe.node.as_mut().unwrap().user_agent_name = "envoy".to_owned();
    client.send(&subscribe);
    let first: DeltaDiscoveryResponse = client.message().await;
    client.send(&delta_answer(&first, None));
    client.pass(Duration::from_millis(1_200)).await;
    let second: DeltaDiscoveryResponse = client.message().await;
    let [sent, heartbeat] = [first, second].map(|mut r| r.resources.remove(0));
    assert!(sent.resource.is_some() && heartbeat.resource.is_none());
    assert_eq!(
        (sent.name, sent.version),
        (heartbeat.name, heartbeat.version)
    );
    assert_eq!(sent.ttl, heartbeat.ttl);
    assert!(sent.ttl.is_some());
}
