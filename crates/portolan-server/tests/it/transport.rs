//! Listening on connections of the crate's own, and shutting down.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portolan_server::transport::{Connections, Incoming};
use portolan_server::{Callbacks, CloseReason, StreamInfo, XdsServer};
use portolan_types::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use portolan_types::envoy::service::discovery::v3::{DiscoveryRequest, DiscoveryResponse};
use socket2::SockRef;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

use crate::client::{bodies, clusters};
use crate::loopback::{TOO_LONG, requests};
use crate::source::TestSource;

type Client = AggregatedDiscoveryServiceClient<Channel>;

fn incoming() -> Incoming {
    Incoming::bind("127.0.0.1:0".parse().unwrap()).unwrap()
}

/// A server that serves until it is stopped.
struct Running {
    address: SocketAddr,
    connections: Connections,
    stop: oneshot::Sender<()>,
    server: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Running {
    fn start(xds: &XdsServer, grace: Duration) -> Self {
        let incoming = incoming();
        let address = incoming.local_addr().unwrap();
        let connections = incoming.connections();
        let (stop, stopped) = oneshot::channel();
        let serve = xds.serve(incoming).with_grace(grace);
        let server = tokio::spawn(serve.until(async { drop(stopped.await) }));
        Self {
            address,
            connections,
            stop,
            server,
        }
    }

    async fn connect(&self) -> Client {
        let endpoint = Endpoint::new(format!("http://{}", self.address)).unwrap();
        Client::new(endpoint.connect().await.unwrap())
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        let ended = timeout(TOO_LONG, self.server).await.expect("it ends");
        ended.unwrap().unwrap();
        assert_eq!(self.connections.open(), 0);
    }
}

/// A stream for all clusters.
struct Stream {
    responses: Streaming<DiscoveryResponse>,
    _requests: mpsc::Sender<DiscoveryRequest>,
}

impl Stream {
    async fn open(client: &mut Client) -> Result<Self, Status> {
        let (requests, receiver) = requests();
        requests.send(clusters("n")).await.unwrap();
        let opened = client.stream_aggregated_resources(receiver).await?;
        Ok(Self {
            responses: opened.into_inner(),
            _requests: requests,
        })
    }

    /// The next response; `None` where the stream ended well.
    async fn next(&mut self) -> Result<Option<DiscoveryResponse>, Code> {
        let next = timeout(TOO_LONG, self.responses.message()).await;
        next.expect("something comes")
            .map_err(|status| status.code())
    }
}

#[tokio::test]
async fn connections_are_set_up_and_counted() {
    let mut incoming = incoming();
    let connections = incoming.connections();
    let address = incoming.local_addr().unwrap();
    let client = TcpStream::connect(address).await.unwrap();
    let connection = incoming.accept().await;
    let socket = connection.get_ref();
    assert_eq!(socket.peer_addr().unwrap(), client.local_addr().unwrap());
    assert!(socket.nodelay().unwrap());
    assert!(SockRef::from(socket).keepalive().unwrap());
    assert_eq!(connections.open(), 1);
    drop(connection);
    assert_eq!(connections.open(), 0);
}

#[tokio::test]
async fn what_is_set_up_can_be_left_as_it_is() {
    let mut incoming = incoming().with_nodelay(false).with_keepalive(None);
    let address = incoming.local_addr().unwrap();
    let _client = TcpStream::connect(address).await.unwrap();
    let connection = incoming.accept().await;
    let socket = connection.get_ref();
    assert!(!socket.nodelay().unwrap());
    assert!(!SockRef::from(socket).keepalive().unwrap());
}

#[tokio::test]
async fn one_connection_too_many_is_closed_and_the_others_go_on() {
    let mut incoming = incoming().with_max_connections(1);
    let address = incoming.local_addr().unwrap();
    let _first = TcpStream::connect(address).await.unwrap();
    let first = incoming.accept().await;

    let mut second = TcpStream::connect(address).await.unwrap();
    let closed = tokio::select! {
        closed = second.read_u8() => closed,
        _ = incoming.accept() => panic!("one too many"),
    };
    assert!(closed.is_err());

    drop(first);
    let _third = TcpStream::connect(address).await.unwrap();
    incoming.accept().await;
}

#[tokio::test]
async fn what_waits_on_a_connection_that_is_closed_is_woken() {
    let mut incoming = incoming();
    let connections = incoming.connections();
    let _client = TcpStream::connect(incoming.local_addr().unwrap()).await;
    let mut connection = incoming.accept().await;
    let reading = tokio::spawn(async move { connection.read_u8().await });
    tokio::task::yield_now().await;
    connections.close();
    let read = timeout(TOO_LONG, reading).await.unwrap().unwrap();
    assert!(read.is_err());
    assert_eq!(connections.open(), 0);
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_ends_its_streams_and_its_connections() {
    let xds = XdsServer::builder(Arc::new(TestSource::with_clusters(&[("a", b"1")])))
        .with_drain_window(Duration::from_millis(50))
        .build();
    let running = Running::start(&xds, TOO_LONG);
    let mut streams = Vec::new();
    for _ in 0..5 {
        let mut stream = Stream::open(&mut running.connect().await).await.unwrap();
        assert_eq!(bodies(&stream.next().await.unwrap().unwrap()), [b"1"]);
        streams.push(stream);
    }
    assert_eq!((running.connections.open(), xds.streams()), (5, 5));
    let address = running.address;
    let read = async {
        for stream in &mut streams {
            assert_eq!(stream.next().await, Ok(None), "OK, since it was answered");
        }
    };
    tokio::join!(running.stop(), read);
    assert_eq!(xds.streams(), 0);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_client_that_does_not_read_cannot_keep_a_server_from_stopping() {
    let source = TestSource::with_clusters(&[("a", &[0; 4 << 20])]);
    let xds = XdsServer::builder(Arc::new(source)).build();
    let running = Running::start(&xds, Duration::ZERO);
    let mut stream = Stream::open(&mut running.connect().await).await.unwrap();
    running.stop().await;
    assert!(stream.next().await.is_err());
}

#[tokio::test]
async fn a_server_that_is_dropped_closes_its_connections() {
    let xds = XdsServer::builder(Arc::new(TestSource::with_clusters(&[("a", b"1")]))).build();
    let running = Running::start(&xds, TOO_LONG);
    let mut stream = Stream::open(&mut running.connect().await).await.unwrap();
    stream.next().await.unwrap();
    running.server.abort();
    assert!(stream.next().await.is_err());
    timeout(TOO_LONG, xds.drained()).await.unwrap();
}

/// The port that each stream came from, and why it ended.
#[derive(Debug, Default)]
struct Ports(Mutex<Vec<u16>>);

impl Callbacks for Ports {
    fn stream_closed(&self, stream: &StreamInfo, reason: &CloseReason) {
        assert!(matches!(
            reason,
            CloseReason::Expired { answered: true } | CloseReason::Gone
        ));
        self.0
            .lock()
            .unwrap()
            .extend(stream.peer().address().map(|a| a.port()));
    }
}

/// Otherwise the client would come back on the same connection, to the same replica.
#[tokio::test]
async fn a_connection_whose_streams_have_reached_their_age_is_replaced() {
    let ports = Arc::new(Ports::default());
    let age = Duration::from_millis(20);
    let xds = XdsServer::builder(Arc::new(TestSource::with_clusters(&[("a", b"1")])))
        .with_callbacks(ports.clone())
        .with_max_stream_age(age..=age)
        .build();
    let running = Running::start(&xds, TOO_LONG);
    let mut client = running.connect().await;
    let replaced = async {
        let is_replaced = || {
            let ports = ports.0.lock().unwrap();
            ports.first() != ports.last()
        };
        while !is_replaced() {
            // What is opened while the connection goes away is refused.
            if let Ok(mut stream) = Stream::open(&mut client).await {
                while let Ok(Some(_)) = stream.next().await {}
            }
        }
    };
    timeout(TOO_LONG, replaced).await.unwrap();
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_server_that_drains_refuses_streams_on_connections_that_are_still_there() {
    let xds = XdsServer::builder(Arc::new(TestSource::with_clusters(&[("a", b"1")]))).build();
    let running = Running::start(&xds, TOO_LONG);
    let mut client = running.connect().await;
    let mut stream = Stream::open(&mut client).await.unwrap();
    stream.next().await.unwrap();
    xds.drain();
    assert_eq!(stream.next().await, Ok(None));
    let refused = Stream::open(&mut client)
        .await
        .err()
        .map(|status| status.code());
    assert_eq!(refused, Some(Code::Unavailable));
    running.stop().await;
}
