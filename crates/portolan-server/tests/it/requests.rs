//! What a client may send, and what becomes of it when it may not.

use std::sync::Arc;

use bytes::Bytes;
use portolan_core::{Refusal, well_known};
use portolan_server::{Limits, SessionConfig, Variant, XdsServer, XdsServerBuilder};
use portolan_types::envoy::service::discovery::v3::DiscoveryRequest;
use tonic::Code;

use crate::client::{Client, DELTA, SOTW, bodies, clusters, delta_clusters};
use crate::observers::Journal;
use crate::source::TestSource;

fn builder(source: &TestSource) -> XdsServerBuilder {
    XdsServer::builder(Arc::new(source.clone()))
}

/// Sends `message` on a stream of its own, which must end with the status given, while another stream goes on.
async fn assert_ends_alone(path: &str, message: Message<'_>, code: Code, text: &str) {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let session = SessionConfig::default().with_limits(Limits::default().with_names(10));
    let xds = builder(&source)
        .with_session(session)
        .with_max_request_size(1000)
        .with_max_node_size(100)
        .build();
    let mut good = Client::of_clusters(&xds, "good").await;
    let first = good.response().await;
    good.ack(&first);

    let mut bad = Client::open(&xds, path).await;
    match message {
        Message::Framed(message) => bad.send_message(message),
        Message::Raw(bytes) => bad.send_raw(Bytes::copy_from_slice(bytes)),
    }
    let ended = bad.ended().await;
    assert_eq!((ended.code, &*ended.message), (code, text));
    assert_eq!(ended.unread, 0);

    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&good.response().await), [b"2"]);
    assert_eq!((xds.streams(), source.views()), (1, 1));
}

enum Message<'a> {
    Framed(&'a [u8]),
    Raw(&'a [u8]),
}

/// A request for `type_url` with these names, whatever their bytes.
fn request(type_url: &str, names: &[&[u8]]) -> Vec<u8> {
    let mut message = prost::Message::encode_to_vec(&DiscoveryRequest {
        type_url: type_url.into(),
        ..clusters("n")
    });
    for name in names {
        message.extend([0x1a, u8::try_from(name.len()).unwrap()]);
        message.extend_from_slice(name);
    }
    message
}

#[tokio::test(start_paused = true)]
async fn c019_c428_a_message_that_is_not_protobuf_ends_its_stream_alone() {
    let text = "DiscoveryRequest is not valid protobuf: a number that is cut off at byte 0";
    assert_ends_alone(
        SOTW,
        Message::Framed(b"\xff\xff"),
        Code::InvalidArgument,
        text,
    )
    .await;
    let text = "DeltaDiscoveryRequest is not valid protobuf: a number that is cut off at byte 1";
    assert_ends_alone(DELTA, Message::Framed(b"\x12"), Code::InvalidArgument, text).await;
}

#[tokio::test(start_paused = true)]
async fn broken_framing_ends_its_stream_alone() {
    let text = "the framing of the requests is broken: a message starts with an unknown flag";
    let raw = Message::Raw(b"\x07\x00\x00\x00\x01x");
    assert_ends_alone(SOTW, raw, Code::Internal, text).await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_not_utf8_ends_its_stream_alone() {
    let url = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
    let text = format!("resource_names of a request for {url} is not valid UTF-8, or holds a NUL");
    let message = request(url, &[b"\xff"]);
    assert_ends_alone(
        SOTW,
        Message::Framed(&message),
        Code::InvalidArgument,
        &text,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn c039_a_request_without_a_type_ends_its_stream_alone() {
    let text = "type_url is empty; on an aggregated stream each request must name its type";
    let message = request("", &[]);
    assert_ends_alone(SOTW, Message::Framed(&message), Code::InvalidArgument, text).await;
}

#[tokio::test(start_paused = true)]
async fn c007_a_first_request_without_a_node_ends_its_stream_alone() {
    let text = "the first request of the stream has no node; set one in the client's bootstrap";
    assert_ends_alone(
        SOTW,
        Message::Framed(b"\x22\x01t"),
        Code::InvalidArgument,
        text,
    )
    .await;
}

/// Elsewhere a request without a node was taken for one of a node without a name, and all such streams shared its state.
#[tokio::test(start_paused = true)]
async fn b19_c002_the_node_of_the_first_message_is_that_of_the_stream() {
    let source = TestSource::default();
    let journal = Arc::new(Journal::default());
    let xds = builder(&source).with_callbacks(journal.clone()).build();
    let mut client = Client::of_clusters(&xds, "n1").await;
    client.send(&DiscoveryRequest {
        type_url: well_known::LISTENER.to_string(),
        ..DiscoveryRequest::default()
    });
    client.assert_quiet().await;
    source.publish_of(&well_known::LISTENER, &[("l", b"1")]);
    let mut told = [client.response().await, client.response().await];
    told.sort_by_key(|response| response.resources.len());
    assert_eq!(told[1].type_url, well_known::LISTENER.as_str());
    let lines = journal.lines();
    let requests: Vec<_> = lines.iter().filter(|l| l.contains("request")).collect();
    let said = "n1 request names=0 nonce=\"\"";
    assert_eq!(requests, [said, said]);

    for path in [SOTW, DELTA] {
        let mut nobody = Client::open(&xds, path).await;
        let type_url = match path {
            SOTW => b"\x22\x01t",
            _ => b"\x12\x01t",
        };
        nobody.send_message(type_url);
        assert_eq!(nobody.ended().await.code, Code::InvalidArgument);
    }
    let nodes: Vec<_> = xds.status().nodes().map(|n| n.id().to_owned()).collect();
    assert_eq!(nodes, ["n1"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_not_one_ends_its_stream_alone() {
    let code = Code::InvalidArgument;
    let text = "Node is not valid protobuf: failed to decode Protobuf message: \
                NodeMessage.id: invalid string value: data is not UTF-8 encoded";
    assert_ends_alone(SOTW, Message::Framed(b"\x12\x03\x0a\x01\xff"), code, text).await;
}

#[tokio::test(start_paused = true)]
async fn c428_what_exceeds_a_limit_ends_its_stream_alone_and_names_the_limit() {
    let code = Code::ResourceExhausted;
    let text = "the request has 1001 bytes, which exceeds the limit of 1000";
    assert_ends_alone(SOTW, Message::Framed(&[0; 1001]), code, text).await;
    let text = "the node has 101 bytes, which exceeds the limit of 100";
    let node = [&b"\x12\x65"[..], &[0; 101]].concat();
    assert_ends_alone(SOTW, Message::Framed(&node), code, text).await;
    let text = "the request has more than 10 names";
    let names = request("t", &[&b"x"[..]; 11]);
    assert_ends_alone(SOTW, Message::Framed(&names), code, text).await;
}

/// Nothing that a client sends may keep the stream from being told of changes, or from being drained.
#[tokio::test(start_paused = true)]
async fn a_client_that_floods_the_server_with_requests_is_served_and_drained() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = builder(&source).build();
    let mut client = Client::flooding(&xds, &clusters("n")).await;
    assert_eq!(bodies(&client.response().await), [b"1"]);
    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&client.response().await), [b"2"]);
    xds.drain();
    assert_eq!(client.ended().await.code, Code::Ok);
}

#[tokio::test(start_paused = true)]
async fn c007_a_server_may_serve_nodes_that_say_nothing_of_themselves() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = builder(&source).with_node_required(false).build();
    let mut client = Client::open(&xds, SOTW).await;
    client.send(&DiscoveryRequest {
        node: None,
        ..clusters("")
    });
    assert_eq!(bodies(&client.response().await), [b"1"]);
}

#[tokio::test(start_paused = true)]
async fn c035_c036_methods_that_are_not_served_are_unimplemented() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = builder(&source).without_variant(Variant::Sotw).build();
    for path in [
        SOTW,
        "/envoy.service.discovery.v3.AggregatedDiscoveryService/FetchAggregatedResources",
        "/envoy.service.discovery.v2.AggregatedDiscoveryService/StreamAggregatedResources",
        "/",
    ] {
        let ended = Client::open(&xds, path).await.ended().await;
        assert_eq!(ended.code, Code::Unimplemented, "{path}");
    }
    let mut delta = Client::open(&xds, DELTA).await;
    delta.send(&delta_clusters("n"));
    delta.frame().await;
}

#[tokio::test(start_paused = true)]
async fn compressed_requests_are_refused_and_the_client_told_what_is_accepted() {
    let xds = builder(&TestSource::default()).build();
    let mut client = Client::open_with(&xds, SOTW, |r| r.header("grpc-encoding", "gzip")).await;
    assert_eq!(client.headers["grpc-accept-encoding"], "identity");
    assert_eq!(client.ended().await.code, Code::Unimplemented);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_source_is_the_stream_s_status() {
    let source = TestSource::default();
    source.state().refusal = Some(Refusal::unavailable("no group yet"));
    let xds = builder(&source).build();
    let mut client = Client::of_clusters(&xds, "n").await;
    let ended = client.ended().await;
    assert_eq!(
        (ended.code, &*ended.message),
        (Code::Unavailable, "no group yet")
    );
}
