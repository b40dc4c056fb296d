use portolan_types::envoy::config::cluster::v3::Cluster;
use portolan_types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan_types::envoy::config::listener::v3::Listener;
use portolan_types::envoy::config::route::v3::RouteConfiguration;
use portolan_types::envoy::service::cluster::v3::cluster_discovery_service_client::ClusterDiscoveryServiceClient;
use portolan_types::envoy::service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest};
use portolan_types::envoy::service::endpoint::v3::endpoint_discovery_service_client::EndpointDiscoveryServiceClient;
use portolan_types::envoy::service::listener::v3::listener_discovery_service_client::ListenerDiscoveryServiceClient;
use portolan_types::envoy::service::route::v3::route_discovery_service_client::RouteDiscoveryServiceClient;
use portolan_types::prost::Name;

use crate::client::{
    CDS, Change, Delta, EDS, LDS, NODE, RDS, SDS, Sotw, TYPES, connect, request, start, state,
};
use crate::generated::ClearStateRequest;

#[tokio::test]
async fn what_a_line_gives_is_served_as_it_is_whatever_its_type() {
    let (testbed, _adapter) = start().await;
    // Fields out of order, and one that no schema has.
    let cluster = b"\xfa\xff\x01\x01x\x0a\x01a";
    let line = format!(
        "give {NODE} v1 CDS=a=faff0101780A0161 {}=b=0a0162",
        SDS.url()
    );
    assert_eq!(testbed.answer(&line).line(), "ok");
    let mut client = Sotw::open(testbed.xds_address()).await;
    for (of, name, body) in [(CDS, "a", &cluster[..]), (SDS, "b", b"\x0a\x01b")] {
        client.subscribe(of, &[name]);
        let response = client.receive().await;
        assert_eq!(response.version_info, "v1");
        assert_eq!(response.resources.len(), 1);
        assert_eq!(&response.resources[0].value[..], body);
    }
    testbed.stop().await.unwrap();
}

#[tokio::test]
async fn a_delta_client_is_sent_only_what_changed() {
    let (testbed, mut adapter) = start().await;
    for of in TYPES {
        let resources = ["A", "B", "C"].map(|name| of.named(name));
        adapter.set_state(state("1", resources)).await.unwrap();
        let mut client = Delta::open(testbed.xds_address()).await;
        client.subscribe(of, &["A", "B", "C", "D"]);
        // B and C come as well; D is not there, which some types are told of.
        let first = client.accept(of).await;
        assert_eq!((first.version.as_str(), first.resources.len()), ("1", 3));

        let updated = adapter
            .update_resource(request(of, "A", "2"))
            .await
            .unwrap();
        assert!(updated.into_inner().success);
        assert_eq!(client.accept(of).await, Change::new("2", &["A"], &[]));

        let added = adapter.add_resource(request(of, "D", "2")).await.unwrap();
        assert!(added.into_inner().success);
        assert_eq!(client.accept(of).await, Change::new("2", &["D"], &[]));

        let removed = adapter
            .remove_resource(request(of, "B", "3"))
            .await
            .unwrap();
        assert!(removed.into_inner().success);
        assert_eq!(client.accept(of).await, Change::new("3", &[], &["B"]));

        adapter.add_resource(request(of, "B", "3")).await.unwrap();
        assert_eq!(client.accept(of).await, Change::new("3", &["B"], &[]));
    }
    testbed.stop().await.unwrap();
}

#[tokio::test]
async fn a_client_of_the_state_of_the_world_is_sent_what_its_type_asks_for() {
    let (testbed, mut adapter) = start().await;
    for of in TYPES {
        let resources = ["A", "B", "C"].map(|name| of.named(name));
        adapter.set_state(state("1", resources)).await.unwrap();
        let mut client = Sotw::open(testbed.xds_address()).await;
        let names = ["A", "B", "D"];
        client.subscribe(of, &names);
        let expect = |version: &str, names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            (version.to_owned(), names)
        };
        assert_eq!(client.accept(of, &names).await, expect("1", &["A", "B"]));

        // Full state for listeners and clusters, and what changed for the others.
        let is_full = ["LDS", "CDS"].contains(&of.service);
        adapter
            .update_resource(request(of, "A", "2"))
            .await
            .unwrap();
        let changed: &[_] = if is_full { &["A", "B"] } else { &["A"] };
        assert_eq!(client.accept(of, &names).await, expect("2", changed));

        adapter.add_resource(request(of, "D", "2")).await.unwrap();
        let changed: &[_] = if is_full { &["A", "B", "D"] } else { &["D"] };
        assert_eq!(client.accept(of, &names).await, expect("2", changed));
    }
    testbed.stop().await.unwrap();
}

#[tokio::test]
async fn a_removal_shows_in_the_state_of_the_world() {
    let (testbed, mut adapter) = start().await;
    let resources = [CDS.named("A"), CDS.named("B")];
    adapter.set_state(state("1", resources)).await.unwrap();
    let mut client = Sotw::open(testbed.xds_address()).await;
    client.subscribe(CDS, &[]);
    client.accept(CDS, &[]).await;
    // An empty version keeps the label.
    adapter
        .remove_resource(request(CDS, "A", ""))
        .await
        .unwrap();
    assert_eq!(
        client.accept(CDS, &[]).await,
        ("1".to_owned(), vec!["B".to_owned()])
    );
}

#[tokio::test]
async fn an_empty_type_has_the_label_and_can_be_added_to() {
    let (testbed, mut adapter) = start().await;
    adapter.set_state(state("7", [])).await.unwrap();
    let mut sotw = Sotw::open(testbed.xds_address()).await;
    for of in [CDS, LDS] {
        sotw.subscribe(of, &[]);
        assert_eq!(sotw.accept(of, &[]).await, ("7".to_owned(), vec![]));
        adapter.add_resource(request(of, "A", "7")).await.unwrap();
        assert_eq!(
            sotw.accept(of, &[]).await,
            ("7".to_owned(), vec!["A".to_owned()])
        );
    }
    let mut delta = Delta::open(testbed.xds_address()).await;
    for of in [RDS, EDS] {
        adapter.add_resource(request(of, "A", "8")).await.unwrap();
        delta.subscribe(of, &["A"]);
        assert_eq!(delta.accept(of).await, Change::new("8", &["A"], &[]));
    }
}

#[tokio::test]
async fn a_label_alone_sends_nothing() {
    let (testbed, mut adapter) = start().await;
    adapter
        .set_state(state("1", [CDS.named("A")]))
        .await
        .unwrap();
    let mut client = Delta::open(testbed.xds_address()).await;
    client.subscribe(CDS, &["*"]);
    client.accept(CDS).await;
    adapter
        .set_state(state("2", [CDS.named("A")]))
        .await
        .unwrap();
    // Had there been a response, it would come first.
    client.subscribe(LDS, &["*"]);
    assert_eq!(client.accept(LDS).await, Change::new("2", &[], &[]));
    adapter
        .update_resource(request(CDS, "A", "2"))
        .await
        .unwrap();
    assert_eq!(client.accept(CDS).await, Change::new("2", &["A"], &[]));
}

#[tokio::test]
async fn a_node_without_a_state_is_told_nothing_until_it_has_one() {
    let (testbed, mut adapter) = start().await;
    adapter
        .set_state(state("1", [CDS.named("A")]))
        .await
        .unwrap();
    let clear = || ClearStateRequest {
        node: NODE.to_owned(),
    };
    let cleared = adapter.clear_state(clear()).await.unwrap().into_inner();
    assert_eq!(cleared.response, r#"node "test-id" has no state any more"#);
    let cleared = adapter.clear_state(clear()).await.unwrap().into_inner();
    assert_eq!(cleared.response, r#"node "test-id" had no state"#);

    let mut client = Sotw::open(testbed.xds_address()).await;
    client.subscribe(CDS, &[]);
    adapter
        .set_state(state("2", [CDS.named("B")]))
        .await
        .unwrap();
    assert_eq!(
        client.accept(CDS, &[]).await,
        ("2".to_owned(), vec!["B".to_owned()])
    );
}

#[tokio::test]
async fn a_node_is_served_its_own_state() {
    let (testbed, mut adapter) = start().await;
    let mut other = state("9", [CDS.named("Z")]);
    other.node = "another".to_owned();
    adapter.set_state(other).await.unwrap();
    adapter
        .set_state(state("1", [CDS.named("A")]))
        .await
        .unwrap();
    let mut client = Sotw::open(testbed.xds_address()).await;
    client.subscribe(CDS, &[]);
    assert_eq!(
        client.accept(CDS, &[]).await,
        ("1".to_owned(), vec!["A".to_owned()])
    );
}

#[tokio::test]
async fn both_ways_change_one_state_and_status_tells_what_clients_say() {
    let (testbed, mut adapter) = start().await;
    assert_eq!(testbed.answer("set test-id 1 CDS=A").line(), "ok");
    let mut client = Sotw::open(testbed.xds_address()).await;
    client.subscribe(CDS, &[]);
    client.accept(CDS, &[]).await;
    adapter
        .update_resource(request(CDS, "A", "2"))
        .await
        .unwrap();
    let second = client.receive().await;
    client.answer(&second, &[], Some("no such thing"));
    // The rejection was read once what is asked behind it is answered.
    client.subscribe(LDS, &[]);
    client.accept(LDS, &[]).await;

    let status = testbed.answer("status test-id");
    let status: serde_json::Value =
        serde_json::from_str(status.line().strip_prefix("ok ").unwrap()).unwrap();
    assert_eq!(status["served"]["CDS"], "2");
    assert_eq!(status["streams"][0]["variant"], "sotw");
    let types = status["streams"][0]["types"].as_array().unwrap();
    let cds = types.iter().find(|of| of["type"] == "CDS").unwrap();
    assert_eq!(cds["wildcard"], true);
    assert_eq!((&cds["sent"], &cds["accepted"]), (&"2".into(), &"1".into()));
    assert_eq!(cds["rejected"]["version"], "2");
    assert_eq!(cds["rejected"]["code"], 3);
    assert_eq!(cds["rejected"]["message"], "no such thing");
}

/// Opens a stream of each variant of a discovery service, and expects `A` on it.
macro_rules! serves {
    ($testbed:expr, $client:ident, $stream:ident, $delta:ident, $message:ident) => {{
        let mut client = $client::new(connect($testbed.xds_address()).await);
        let node = portolan_types::envoy::config::core::v3::Node {
            id: NODE.to_owned(),
            ..Default::default()
        };
        let sotw = DiscoveryRequest {
            node: Some(node.clone()),
            type_url: $message::type_url(),
            resource_names: vec!["A".to_owned()],
            ..Default::default()
        };
        let requests = tokio_stream::iter([sotw]);
        let mut stream = client.$stream(requests).await.unwrap().into_inner();
        let response = stream.message().await.unwrap().unwrap();
        assert_eq!(response.version_info, "1");
        assert!(response.resources[0].is::<$message>());
        let delta = DeltaDiscoveryRequest {
            node: Some(node),
            type_url: $message::type_url(),
            resource_names_subscribe: vec!["A".to_owned()],
            ..Default::default()
        };
        let requests = tokio_stream::iter([delta]);
        let mut stream = client.$delta(requests).await.unwrap().into_inner();
        let response = stream.message().await.unwrap().unwrap();
        assert_eq!(response.system_version_info, "1");
        assert_eq!(response.resources[0].name, "A");
    }};
}

#[tokio::test]
async fn the_services_of_single_types_are_served() {
    let (testbed, mut adapter) = start().await;
    let resources = TYPES.map(|of| of.named("A"));
    adapter.set_state(state("1", resources)).await.unwrap();
    serves!(
        testbed,
        ListenerDiscoveryServiceClient,
        stream_listeners,
        delta_listeners,
        Listener
    );
    serves!(
        testbed,
        ClusterDiscoveryServiceClient,
        stream_clusters,
        delta_clusters,
        Cluster
    );
    serves!(
        testbed,
        RouteDiscoveryServiceClient,
        stream_routes,
        delta_routes,
        RouteConfiguration
    );
    serves!(
        testbed,
        EndpointDiscoveryServiceClient,
        stream_endpoints,
        delta_endpoints,
        ClusterLoadAssignment
    );
}
