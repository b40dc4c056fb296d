//! Through tonic's client, HTTP/2 and TCP.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portolan_core::well_known;
use portolan_server::{Callbacks, StreamInfo, XdsServer};
use portolan_types::envoy::service::cluster::v3::cluster_discovery_service_client::ClusterDiscoveryServiceClient;
use portolan_types::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use portolan_types::envoy::service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};

use crate::client::{bodies, clusters, delta_clusters};
use crate::source::TestSource;

/// Only reached when something hangs.
pub(crate) const TOO_LONG: Duration = Duration::from_secs(30);

pub(crate) struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    server: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Running {
    pub(crate) async fn start(xds: &XdsServer) -> Self {
        Self::start_with(xds, xds.routes()).await
    }

    async fn start_with(xds: &XdsServer, routes: Routes) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let stopped = xds.drain_after(async {
            let _ = stopped.await;
        });
        let server = Server::builder()
            .add_routes(routes)
            .serve_with_incoming_shutdown(TcpIncoming::from(listener), stopped);
        Self {
            address,
            stop,
            server: tokio::spawn(server),
        }
    }

    pub(crate) async fn connect(&self) -> AggregatedDiscoveryServiceClient<Channel> {
        let endpoint = Endpoint::new(format!("http://{}", self.address)).unwrap();
        AggregatedDiscoveryServiceClient::new(endpoint.connect().await.unwrap())
    }

    async fn connect_to_clusters(&self) -> ClusterDiscoveryServiceClient<Channel> {
        let endpoint = Endpoint::new(format!("http://{}", self.address)).unwrap();
        ClusterDiscoveryServiceClient::new(endpoint.connect().await.unwrap())
    }
}

pub(crate) fn server(source: &TestSource) -> XdsServer {
    XdsServer::builder(Arc::new(source.clone())).build()
}

pub(crate) fn requests<T>() -> (mpsc::Sender<T>, ReceiverStream<T>) {
    let (sender, receiver) = mpsc::channel(4);
    (sender, ReceiverStream::new(receiver))
}

#[tokio::test]
async fn both_variants_are_served_and_what_they_are_sent_decodes() {
    let source = TestSource::with_clusters(&[("a", b"1"), ("b", b"22")]);
    let xds = server(&source);
    let running = Running::start(&xds).await;
    let mut client = running.connect().await;

    let (sotw, receiver) = requests::<DiscoveryRequest>();
    let opened = client.stream_aggregated_resources(receiver).await;
    let mut sotw_stream = opened.unwrap().into_inner();
    sotw.send(clusters("n")).await.unwrap();
    let response = sotw_stream.message().await.unwrap().unwrap();
    assert_eq!(bodies(&response), [&b"1"[..], b"22"]);

    let (delta, receiver) = requests::<DeltaDiscoveryRequest>();
    let opened = client.delta_aggregated_resources(receiver).await;
    let mut delta_stream = opened.unwrap().into_inner();
    delta.send(delta_clusters("n")).await.unwrap();
    let response = delta_stream.message().await.unwrap().unwrap();
    assert_eq!(response.type_url, well_known::CLUSTER.as_str());
    let names: Vec<_> = response.resources.iter().map(|r| &*r.name).collect();
    assert_eq!(names, ["a", "b"]);
    let versions: Vec<_> = response.resources.iter().map(|r| &r.version).collect();
    assert_ne!(versions[0], versions[1]);
}

#[tokio::test]
async fn the_peer_s_address_is_known() {
    #[derive(Debug, Default)]
    struct Addresses(Mutex<Vec<SocketAddr>>);
    impl Callbacks for Addresses {
        fn stream_opened(&self, stream: &StreamInfo) {
            self.0.lock().unwrap().extend(stream.peer().address());
        }
    }

    let addresses = Arc::new(Addresses::default());
    let xds = XdsServer::builder(Arc::new(TestSource::default()))
        .with_callbacks(addresses.clone())
        .build();
    let running = Running::start(&xds).await;
    let (_sender, receiver) = requests::<DiscoveryRequest>();
    let mut client = running.connect().await;
    client.stream_aggregated_resources(receiver).await.unwrap();
    let addresses = addresses.0.lock().unwrap();
    assert!(addresses[0].ip().is_loopback());
}

#[tokio::test]
async fn c036_a_service_that_was_not_added_is_unimplemented() {
    let xds = server(&TestSource::with_clusters(&[("a", b"1")]));
    let running = Running::start_with(&xds, Routes::new(xds.ads())).await;
    let mut client = running.connect_to_clusters().await;
    let (_sender, receiver) = requests::<DiscoveryRequest>();
    let status = client.stream_clusters(receiver).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
    let (sender, receiver) = requests();
    sender.send(clusters("n")).await.unwrap();
    let opened = running
        .connect()
        .await
        .stream_aggregated_resources(receiver)
        .await;
    let response = opened.unwrap().into_inner().message().await.unwrap();
    assert_eq!(bodies(&response.unwrap()), [b"1"]);
}

#[tokio::test]
async fn a_unary_call_is_answered_or_says_why_not() {
    let source = TestSource::default();
    let xds = XdsServer::builder(Arc::new(source.clone()))
        .with_fetch_hold(Duration::ZERO)
        .build();
    let running = Running::start(&xds).await;
    let mut client = running.connect_to_clusters().await;
    let too_early = client.fetch_clusters(clusters("n")).await.unwrap_err();
    assert_eq!(too_early.code(), Code::Unavailable);
    source.publish(&[("a", b"1")]);
    let answer = client.fetch_clusters(clusters("n")).await.unwrap();
    assert_eq!(bodies(answer.get_ref()), [b"1"]);
    let nobody = client.fetch_clusters(DiscoveryRequest::default()).await;
    assert_eq!(nobody.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn c428_a_request_over_the_limit_ends_its_stream_and_not_the_connection() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = XdsServer::builder(Arc::new(source))
        .with_max_request_size(100_000)
        .build();
    let running = Running::start(&xds).await;
    let mut client = running.connect().await;
    let (sender, receiver) = requests();
    let mut large = clusters("n");
    large.resource_names = vec!["x".repeat(100); 10_000];
    sender.send(large).await.unwrap();
    let opened = client.stream_aggregated_resources(receiver).await;
    let status = opened.unwrap().into_inner().message().await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("the limit of 100000"), "{status}");

    let (sender, receiver) = requests();
    sender.send(clusters("n")).await.unwrap();
    let opened = client.stream_aggregated_resources(receiver).await;
    assert!(
        opened
            .unwrap()
            .into_inner()
            .message()
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn c017_a_lost_connection_releases_its_streams() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let running = Running::start(&xds).await;
    for _ in 0..3 {
        let mut client = running.connect().await;
        let mut streams = Vec::new();
        for _ in 0..20 {
            let (sender, receiver) = requests();
            sender.send(clusters("n")).await.unwrap();
            let opened = client.stream_aggregated_resources(receiver).await;
            let mut stream = opened.unwrap().into_inner();
            stream.message().await.unwrap().unwrap();
            streams.push((sender, stream));
        }
        assert_eq!(xds.streams(), 20);
        drop((client, streams));
        timeout(TOO_LONG, xds.drained()).await.unwrap();
        assert_eq!(source.views(), 0);
    }
}

#[tokio::test]
async fn c019_a_reader_that_stalls_holds_nobody_up_and_then_gets_the_newest() {
    const BIG: usize = 4 << 20;
    let source = TestSource::with_clusters(&[("a", &vec![0; BIG])]);
    let xds = server(&source);
    let running = Running::start(&xds).await;

    let open = async |node: &str| {
        let mut client = running.connect().await.max_decoding_message_size(2 * BIG);
        let (sender, receiver) = requests();
        sender.send(clusters(node)).await.unwrap();
        let opened = client.stream_aggregated_resources(receiver).await;
        (sender, opened.unwrap().into_inner())
    };
    let (stalled_sender, mut stalled) = open("stalled").await;
    let (sender, mut reading) = open("reading").await;
    let mut publish = 1..=5;
    loop {
        let response = timeout(TOO_LONG, reading.message()).await.unwrap();
        let response = response.unwrap().unwrap();
        sender.send(ack(&response)).await.unwrap();
        let Some(byte) = publish.next() else { break };
        source.publish(&[("a", &vec![byte; BIG])]);
    }
    let mut seen = Vec::new();
    while seen.last() != Some(&5) {
        let response = timeout(TOO_LONG, stalled.message()).await.unwrap();
        let response = response.unwrap().unwrap();
        stalled_sender.send(ack(&response)).await.unwrap();
        seen.push(response.resources[0].value[0]);
    }
    // One may have been computed before it stalled; what came in between it never sees.
    assert!(seen == [0, 5] || seen == [0, 1, 5], "{seen:?}");
}

fn ack(
    response: &portolan_types::envoy::service::discovery::v3::DiscoveryResponse,
) -> DiscoveryRequest {
    DiscoveryRequest {
        node: None,
        version_info: response.version_info.clone(),
        response_nonce: response.nonce.clone(),
        ..clusters("")
    }
}

#[tokio::test]
async fn a_server_shuts_down_although_streams_are_open() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let xds = server(&source);
    let running = Running::start(&xds).await;
    let mut streams = Vec::new();
    for _ in 0..5 {
        let mut client = running.connect().await;
        let (sender, receiver) = requests();
        sender.send(clusters("n")).await.unwrap();
        let opened = client.stream_aggregated_resources(receiver).await;
        let mut stream = opened.unwrap().into_inner();
        stream.message().await.unwrap().unwrap();
        streams.push((sender, stream));
    }
    running.stop.send(()).unwrap();
    for (_sender, stream) in &mut streams {
        let end = timeout(TOO_LONG, stream.message()).await.unwrap();
        assert!(end.unwrap().is_none(), "OK, since it was answered");
    }
    drop(streams);
    timeout(TOO_LONG, running.server)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(xds.streams(), 0);
}
