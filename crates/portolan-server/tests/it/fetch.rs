//! Calls of `Fetch` methods.

use std::sync::Arc;
use std::time::Duration;

use portolan_core::{Refusal, Snapshot, well_known};
use portolan_server::{XdsServer, XdsServerBuilder};
use portolan_types::envoy::service::discovery::v3::{DiscoveryRequest, DiscoveryResponse};
use tokio::time::Instant;
use tonic::Code;

use crate::client::{Client, bodies, clusters, node};
use crate::observers::Journal;
use crate::source::TestSource;

const CLUSTERS: &str = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters";
const ENDPOINTS: &str = "/envoy.service.endpoint.v3.EndpointDiscoveryService/FetchEndpoints";
const HOLD: Duration = Duration::from_millis(800);

fn observed(source: &TestSource) -> (XdsServerBuilder, Arc<Journal>) {
    let journal = Arc::new(Journal::default());
    let builder = XdsServer::builder(Arc::new(source.clone())).with_callbacks(journal.clone());
    (builder, journal)
}

fn server(source: &TestSource) -> XdsServer {
    observed(source).0.build()
}

async fn call(xds: &XdsServer, path: &str, request: &DiscoveryRequest) -> Client {
    let mut client = Client::open(xds, path).await;
    client.send(request);
    client.half_close();
    client
}

/// The answer to a request, after which the call must end well.
async fn fetch(xds: &XdsServer, path: &str, request: &DiscoveryRequest) -> DiscoveryResponse {
    let mut client = call(xds, path, request).await;
    let response = client.response().await;
    assert_eq!(client.ended().await.code, Code::Ok);
    response
}

fn having(version: &str) -> DiscoveryRequest {
    DiscoveryRequest {
        version_info: version.into(),
        ..clusters("n")
    }
}

fn endpoints(names: &[&str], version: &str) -> DiscoveryRequest {
    DiscoveryRequest {
        node: Some(node("n")),
        version_info: version.into(),
        resource_names: names.iter().map(|name| (*name).to_owned()).collect(),
        ..DiscoveryRequest::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_with_a_version_has_settled_on_it() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let version = fetch(&xds, CLUSTERS, &clusters("n")).await.version_info;
    assert_eq!(source.state().settled, []);
    fetch(&xds, CLUSTERS, &having(&version)).await;
    let settled = std::mem::take(&mut source.state().settled);
    assert!(!settled.is_empty() && settled.iter().all(|generation| *generation == 1));
    source.publish(&[("a", b"2")]);
    fetch(&xds, CLUSTERS, &having(&version)).await;
    assert_eq!(source.state().settled, []);
}

#[tokio::test(start_paused = true)]
async fn c049_c405_what_is_published_is_answered_at_once() {
    let source = TestSource::with_clusters(&[("a", b"1"), ("b", b"2")]);
    let (builder, journal) = observed(&source);
    let xds = builder.with_control_plane("cp").build();
    let begin = Instant::now();
    let response = fetch(&xds, CLUSTERS, &clusters("n")).await;
    assert_eq!(begin.elapsed(), Duration::ZERO);
    assert_eq!(bodies(&response), [b"1", b"2"]);
    assert_eq!(response.type_url, well_known::CLUSTER.as_str());
    assert_eq!(response.control_plane.unwrap().identifier, "cp");
    xds.drained().await;
    assert_eq!(source.views(), 0);
    let expected = [
        "? opened",
        "n admitted",
        "n request names=0 nonce=\"\"",
        "n response 1 resources=2 Owed",
        "n closed Fetched",
    ];
    assert_eq!(journal.lines(), expected);
    let told = &source.state().told;
    let interest = "interest [] wildcard=true";
    assert_eq!(*told, [interest], "nothing could be acknowledged");
}

#[tokio::test(start_paused = true)]
async fn a_published_empty_set_is_an_answer() {
    let xds = server(&TestSource::with_clusters(&[]));
    let response = fetch(&xds, CLUSTERS, &clusters("n")).await;
    assert!(response.resources.is_empty());
    assert!(!response.version_info.is_empty());
}

#[tokio::test(start_paused = true)]
async fn c411_c408_an_answer_holds_all_that_is_named_and_exists() {
    let source = TestSource::default();
    source.publish_of(
        &well_known::ENDPOINT,
        &[("a", b"1"), ("b", b"2"), ("c", b"3")],
    );
    let xds = server(&source);
    let one = fetch(&xds, ENDPOINTS, &endpoints(&["a", "missing"], "")).await;
    assert_eq!(bodies(&one), [b"1"]);
    let begin = Instant::now();
    let more = fetch(&xds, ENDPOINTS, &endpoints(&["a", "b"], &one.version_info)).await;
    assert_eq!(bodies(&more), [b"1", b"2"]);
    assert_eq!(begin.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn c235_a_name_that_is_being_resolved_is_waited_for() {
    let source = TestSource::default();
    source.publish_snapshot(nothing_known());
    let xds = server(&source);
    let request = endpoints(&["a"], "");
    let mut waiting = call(&xds, ENDPOINTS, &request).await;
    waiting.pass(HOLD / 2).await;
    source.publish_of(&well_known::ENDPOINT, &[("a", b"1")]);
    assert_eq!(bodies(&waiting.response().await), [b"1"]);
    assert_eq!(source.state().told, ["interest [\"a\"] wildcard=false"]);

    source.publish_snapshot(nothing_known());
    let begin = Instant::now();
    assert!(fetch(&xds, ENDPOINTS, &request).await.resources.is_empty());
    assert_eq!(begin.elapsed(), HOLD, "but not for ever");
}

fn nothing_known() -> Snapshot {
    let mut snapshot = Snapshot::builder();
    snapshot.pending(well_known::ENDPOINT, "a").unwrap();
    snapshot.build()
}

#[tokio::test(start_paused = true)]
async fn c406_a_client_that_has_it_all_waits_for_a_change() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let first = fetch(&xds, CLUSTERS, &clusters("n")).await;
    let mut waiting = call(&xds, CLUSTERS, &having(&first.version_info)).await;
    waiting.pass(HOLD / 2).await;
    source.publish(&[("a", b"1")]);
    waiting.pass(HOLD / 4).await;
    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&waiting.response().await), [b"2"]);
    assert_eq!(waiting.ended().await.code, Code::Ok);
}

#[tokio::test(start_paused = true)]
async fn c049_c407_a_client_that_has_it_all_is_sent_it_again_when_nothing_changes() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let first = fetch(&xds, CLUSTERS, &clusters("n")).await;
    let begin = Instant::now();
    let again = fetch(&xds, CLUSTERS, &having(&first.version_info)).await;
    assert_eq!(begin.elapsed(), HOLD);
    assert_eq!(again, first);
}

#[tokio::test(start_paused = true)]
async fn nothing_published_is_unavailable_after_the_hold() {
    let source = TestSource::default();
    let (builder, journal) = observed(&source);
    let xds = builder.with_fetch_hold(Duration::from_secs(3)).build();
    let mut client = call(&xds, CLUSTERS, &clusters("n")).await;
    let begin = Instant::now();
    let ended = client.ended().await;
    assert_eq!(begin.elapsed(), Duration::from_secs(3));
    assert_eq!((ended.code, ended.unread), (Code::Unavailable, 0));
    assert_eq!(ended.message, "nothing was published for this node yet");
    xds.drained().await;
    assert_eq!(journal.lines().last().unwrap(), "n closed NothingPublished");

    let mut patient = call(&xds, CLUSTERS, &clusters("n")).await;
    patient.pass(Duration::from_secs(1)).await;
    source.publish(&[("a", b"1")]);
    assert_eq!(bodies(&patient.response().await), [b"1"]);
}

#[tokio::test(start_paused = true)]
async fn c415_a_client_that_leaves_during_the_hold_leaves_nothing() {
    let source = TestSource::default();
    let (builder, journal) = observed(&source);
    let xds = builder.with_fetch_hold(Duration::from_secs(3600)).build();
    let mut client = call(&xds, CLUSTERS, &clusters("n")).await;
    client.pass(Duration::from_secs(1)).await;
    assert_eq!((xds.streams(), source.views()), (1, 1));
    drop(client);
    let begin = Instant::now();
    xds.drained().await;
    assert_eq!(begin.elapsed(), Duration::ZERO);
    assert_eq!(source.views(), 0);
    assert_eq!(journal.lines().last().unwrap(), "n closed Gone");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_held_is_drained() {
    let xds = server(&TestSource::default());
    let mut client = call(&xds, CLUSTERS, &clusters("n")).await;
    client.pass(HOLD / 2).await;
    xds.drain();
    assert_eq!(client.ended().await.code, Code::Unavailable);
    xds.drained().await;
}

#[tokio::test(start_paused = true)]
async fn c416_each_call_needs_a_node_and_is_refused_where_a_stream_would_be() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let nobody = DiscoveryRequest::default();
    let ended = call(&xds, CLUSTERS, &nobody).await.ended().await;
    assert_eq!((ended.code, ended.unread), (Code::InvalidArgument, 0));
    source.state().refusal = Some(Refusal::denied("not you"));
    let ended = call(&xds, CLUSTERS, &clusters("n")).await.ended().await;
    assert_eq!(
        (ended.code, &*ended.message),
        (Code::PermissionDenied, "not you")
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_counts_as_a_stream() {
    let xds = observed(&TestSource::default())
        .0
        .with_max_streams(1)
        .build();
    let _held = call(&xds, CLUSTERS, &clusters("n")).await;
    let ended = call(&xds, CLUSTERS, &clusters("n")).await.ended().await;
    assert_eq!(ended.code, Code::ResourceExhausted);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_read_is_given_up() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.with_stall_after(Duration::from_secs(30)).build();
    let client = call(&xds, CLUSTERS, &clusters("n")).await;
    let begin = Instant::now();
    xds.drained().await;
    assert_eq!(begin.elapsed(), Duration::from_secs(30));
    assert_eq!(journal.lines().last().unwrap(), "n closed Stalled");
    drop(client);
}
