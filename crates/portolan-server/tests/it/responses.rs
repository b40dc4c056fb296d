//! What is sent, and when it is computed.

use bytes::Bytes;
use portolan_core::well_known;
use portolan_server::XdsServer;
use portolan_types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use portolan_types::google::rpc::Status;
use prost::Message;
use std::sync::Arc;

use crate::client::{Client, DELTA, SOTW, bodies, clusters, delta_answer, delta_clusters};
use crate::source::TestSource;

fn server(source: &TestSource) -> XdsServer {
    XdsServer::builder(Arc::new(source.clone())).build()
}

#[tokio::test(start_paused = true)]
async fn state_of_the_world_is_answered_and_pushed() {
    let source = TestSource::with_clusters(&[("a", b"1"), ("b", b"1")]);
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    assert_eq!(first.type_url, well_known::CLUSTER.as_str());
    assert_eq!(first.resources[0].type_url, first.type_url);
    assert_eq!(bodies(&first), [b"1", b"1"]);
    client.ack(&first);
    client.assert_quiet().await;

    source.publish(&[("a", b"2"), ("b", b"1")]);
    let second = client.response().await;
    assert_eq!(bodies(&second), [b"2", b"1"]);
    assert_ne!(second.nonce, first.nonce);
    assert_ne!(second.version_info, first.version_info);
}

/// Comes back with the version that it accepted last.
async fn reconnect(xds: &XdsServer, node: &str, accepted: &str) -> Client {
    let client = Client::open(xds, SOTW).await;
    let mut request = clusters(node);
    request.version_info = accepted.to_owned();
    client.send(&request);
    client
}

#[tokio::test(start_paused = true)]
async fn a_client_that_left_with_a_rejection_is_not_believed_and_any_other_is() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let accepted = client.response().await;
    client.ack(&accepted);
    source.publish(&[("a", b"2")]);
    let rejected = client.response().await;
    let mut nack = clusters("n");
    nack.version_info = accepted.version_info.clone();
    nack.response_nonce = rejected.nonce;
    nack.error_detail = Some(Status::default());
    client.send(&nack);
    client.assert_quiet().await;
    drop(client);
    xds.drained().await;

    source.publish(&[("a", b"1")]);
    let mut other = reconnect(&xds, "other", &accepted.version_info).await;
    other.assert_quiet().await;
    let mut client = reconnect(&xds, "n", &accepted.version_info).await;
    let again = client.response().await;
    assert_eq!(bodies(&again), [b"1"]);
    client.ack(&again);
    client.assert_quiet().await;
    drop(client);
    let mut client = reconnect(&xds, "n", &again.version_info).await;
    client.assert_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn delta_is_answered_and_names_what_is_missing() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::open(&xds, DELTA).await;
    let mut request = delta_clusters("n");
    request.resource_names_subscribe = vec!["a".into(), "missing".into()];
    client.send(&request);
    let response: DeltaDiscoveryResponse = client.message().await;
    assert_eq!(response.type_url, well_known::CLUSTER.as_str());
    assert_eq!(response.resources[0].name, "a");
    assert_eq!(
        &*response.resources[0].resource.as_ref().unwrap().value,
        b"1"
    );
    assert_eq!(response.removed_resources, ["missing"]);
}

/// Elsewhere a delta response left out what wraps a resource, and proxies applied an empty filter.
#[tokio::test(start_paused = true)]
async fn b45_each_resource_in_delta_has_its_name_its_version_and_its_type() {
    let source = TestSource::default();
    source.publish_of(&well_known::EXTENSION_CONFIG, &[("f", b"1"), ("g", b"2")]);
    let xds = server(&source);
    let mut client = Client::open(&xds, DELTA).await;
    client.send(&DeltaDiscoveryRequest {
        type_url: well_known::EXTENSION_CONFIG.to_string(),
        resource_names_subscribe: vec!["f".into(), "g".into()],
        ..delta_clusters("n")
    });
    let response: DeltaDiscoveryResponse = client.message().await;
    assert_eq!(response.type_url, well_known::EXTENSION_CONFIG.as_str());
    assert!(!response.nonce.is_empty() && !response.system_version_info.is_empty());
    let names: Vec<_> = response.resources.iter().map(|r| &*r.name).collect();
    assert_eq!(names, ["f", "g"]);
    for resource in &response.resources {
        assert!(!resource.version.is_empty());
        let any = resource.resource.as_ref().unwrap();
        assert_eq!(any.type_url, response.type_url);
        assert!(!any.value.is_empty());
    }
}

/// What a client of gRPC receives at most, unless it is told otherwise.
const GRPC_LIMIT: usize = 4 << 20;

/// Elsewhere a proxy that came back with much was refused, for its first request exceeded the limit of gRPC.
#[tokio::test(start_paused = true)]
async fn b53_c423_a_client_may_come_back_with_a_hundred_thousand_resources() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::open(&xds, DELTA).await;
    let gone = |number| format!("cluster-{number:05}.of.a.rather.long.name.example.com");
    let version = "0123456789abcdef0123456789abcdef";
    let request = DeltaDiscoveryRequest {
        initial_resource_versions: (0..100_000)
            .map(|number| (gone(number), version.to_owned()))
            .collect(),
        ..delta_clusters("n")
    };
    assert!(request.encoded_len() > 8_000_000);
    client.send(&request);
    let (mut names, mut removed) = (Vec::new(), 0);
    while removed < 100_000 {
        let response: DeltaDiscoveryResponse = client.message().await;
        assert!(response.encoded_len() <= GRPC_LIMIT);
        names.extend(response.resources.into_iter().map(|r| r.name));
        removed += response.removed_resources.len();
    }
    assert_eq!((&*names, removed), (&["a".to_owned()][..], 100_000));
    client.assert_quiet().await;
}

/// Elsewhere a response exceeded what clients of gRPC receive, and they dropped the stream again and again.
#[tokio::test(start_paused = true)]
async fn b53_c424_responses_keep_below_the_limit_of_grpc() {
    let names: Vec<_> = (0..100).map(|number| format!("{number:03}")).collect();
    let body = vec![b'x'; 100_000];
    let resources: Vec<_> = names.iter().map(|name| (&**name, &*body)).collect();
    let source = TestSource::default();
    source.publish_of(&well_known::ENDPOINT, &resources);
    let xds = server(&source);
    let mut sotw = Client::open(&xds, SOTW).await;
    sotw.send(&DiscoveryRequest {
        type_url: well_known::ENDPOINT.to_string(),
        resource_names: names.clone(),
        ..clusters("n")
    });
    let mut delta = Client::open(&xds, DELTA).await;
    delta.send(&DeltaDiscoveryRequest {
        type_url: well_known::ENDPOINT.to_string(),
        resource_names_subscribe: names,
        ..delta_clusters("n")
    });
    let (mut told, mut told_delta) = (0, 0);
    while told < 100 {
        let response = sotw.response().await;
        assert!(response.encoded_len() <= GRPC_LIMIT);
        told += response.resources.len();
    }
    while told_delta < 100 {
        let response: DeltaDiscoveryResponse = delta.message().await;
        assert!(response.encoded_len() <= GRPC_LIMIT);
        told_delta += response.resources.len();
    }
    assert_eq!((told, told_delta), (100, 100));
}

#[tokio::test(start_paused = true)]
async fn c129_nothing_is_said_before_something_was_published() {
    let source = TestSource::default();
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    client.assert_quiet().await;
    source.publish(&[("a", b"1")]);
    assert_eq!(bodies(&client.response().await), [b"1"]);
}

#[tokio::test(start_paused = true)]
async fn c015_c019_a_slow_reader_gets_the_newest_and_holds_nobody_up() {
    let source = TestSource::with_clusters(&[("a", b"0")]);
    let xds = server(&source);
    let mut slow = Client::of_clusters(&xds, "slow").await;
    let mut quick = Client::of_clusters(&xds, "quick").await;
    for body in [&b"1"[..], b"2", b"3", b"4"] {
        source.publish(&[("a", body)]);
        let response = loop {
            let response = quick.response().await;
            quick.ack(&response);
            if bodies(&response) == [body] {
                break response;
            }
        };
        assert_eq!(bodies(&response), [body]);
    }
    let first = slow.response().await;
    assert_eq!(bodies(&first), [b"4"]);
    slow.ack(&first);
    slow.assert_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn c143_c430_streams_are_sent_the_same_bytes_not_copies() {
    let source = TestSource::with_clusters(&[("a", &[b'x'; 20_000]), ("b", &[b'y'; 20_000])]);
    let xds = server(&source);
    let mut shared: Vec<(*const u8, usize)> = Vec::new();
    for node in ["n1", "n2"] {
        let mut client = Client::of_clusters(&xds, node).await;
        let head = client.frame().await.into_data().unwrap();
        assert!(head.len() < 200, "this stream's own fields: {head:?}");
        let resources: Bytes = client.frame().await.into_data().unwrap();
        assert!(resources.len() > 40_000);
        shared.push((resources.as_ptr(), resources.len()));
        client.assert_quiet().await;
    }
    assert_eq!(shared[0], shared[1]);
}

#[tokio::test(start_paused = true)]
async fn c419_c420_c421_c422_each_response_names_the_control_plane_if_it_has_a_name() {
    let source = TestSource::with_clusters(&[("a", b"0")]);
    let named = XdsServer::builder(Arc::new(source.clone()))
        .with_control_plane("cp-1")
        .build();
    for (xds, name) in [(&named, Some("cp-1")), (&server(&source), None)] {
        let mut sotw = Client::of_clusters(xds, "n").await;
        let mut delta = Client::open(xds, DELTA).await;
        delta.send(&delta_clusters("n"));
        let mut said = Vec::new();
        for body in [b"1", b"2", b"3"] {
            source.publish(&[("a", body)]);
            let response = sotw.response().await;
            sotw.ack(&response);
            said.push(response.control_plane);
            let response: DeltaDiscoveryResponse = delta.message().await;
            delta.send(&delta_answer(&response, None));
            said.push(response.control_plane);
        }
        let said: Vec<_> = said.into_iter().map(|c| c.map(|c| c.identifier)).collect();
        assert_eq!(said, vec![name.map(str::to_owned); 6]);
    }
}

#[tokio::test(start_paused = true)]
async fn c050_what_no_client_reads_is_left_as_it_is() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let response = client.response().await;
    let expected = DiscoveryResponse {
        version_info: response.version_info.clone(),
        resources: response.resources.clone(),
        type_url: well_known::CLUSTER.to_string(),
        nonce: response.nonce.clone(),
        ..DiscoveryResponse::default()
    };
    assert!(!response.canary);
    assert_eq!(response, expected);
}

#[tokio::test(start_paused = true)]
async fn c423_a_request_may_have_a_hundred_thousand_names() {
    let source = TestSource::default();
    source.publish_of(&well_known::ENDPOINT, &[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::open(&xds, SOTW).await;
    let long = |number| format!("{number:060}");
    let request = DiscoveryRequest {
        type_url: well_known::ENDPOINT.to_string(),
        resource_names: (0..100_000).map(long).chain(["a".to_owned()]).collect(),
        ..clusters("n")
    };
    assert!(request.encoded_len() > GRPC_LIMIT);
    client.send(&request);
    assert_eq!(bodies(&client.response().await), [b"1"]);
}

#[tokio::test(start_paused = true)]
async fn c429_responses_are_not_compressed_for_a_client_that_could_read_it() {
    let source = TestSource::with_clusters(&[("a", &[b'x'; 10_000])]);
    let xds = server(&source);
    let accepts = |request: http::request::Builder| request.header("grpc-accept-encoding", "gzip");
    let mut client = Client::open_with(&xds, SOTW, accepts).await;
    client.send(&clusters("n"));
    assert!(!client.headers.contains_key("grpc-encoding"));
    let head = client.frame().await.into_data().unwrap();
    assert_eq!(head[0], 0, "the flag of a compressed message");
    assert!(client.frame().await.into_data().unwrap().len() > 10_000);
}

#[tokio::test(start_paused = true)]
async fn the_source_hears_of_interest_and_of_what_became_of_responses() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    client.assert_quiet().await;
    source.publish(&[("a", b"2")]);
    let second = client.response().await;
    let mut rejection = clusters("n");
    rejection.version_info = first.version_info;
    rejection.response_nonce = second.nonce;
    rejection.error_detail = Some(Status {
        message: "bad cluster".into(),
        ..Default::default()
    });
    client.send(&rejection);
    client.assert_quiet().await;
    let told = source.state().told.clone();
    let expected = [
        "interest [] wildcard=true",
        "1 sent",
        "1 acked",
        "2 sent",
        "2 nacked bad cluster",
    ];
    assert_eq!(told, expected);
}
