//! What only HTTP/2 can do to a server: a client of which nothing is heard, and one that gives no room.
//!
//! Both ends are in memory and time is paused, so that what takes minutes is exact, and takes none.

use std::future::{pending, poll_fn};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use h2::{RecvStream, SendStream};
use http::Request;
use portolan_server::XdsServer;
use portolan_types::envoy::service::discovery::v3::DiscoveryResponse;
use prost::Message;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use crate::client::{SOTW, bodies, clusters};
use crate::observers::Journal;
use crate::source::TestSource;

const PATIENCE: Duration = Duration::from_secs(120);

/// A connection, which a task keeps going.
struct Client {
    requests: SendRequest<Bytes>,
    stop: oneshot::Sender<()>,
}

/// A server and a client that is connected to it.
async fn connect(xds: &XdsServer) -> Client {
    let (near, far) = tokio::io::duplex(1 << 20);
    let incoming = tokio_stream::once(Ok::<_, io::Error>(far));
    let server = xds.transport().add_routes(xds.routes());
    tokio::spawn(server.serve_with_incoming(incoming));
    // Room for many streams, of which each has the usual 64 KiB.
    let mut client = h2::client::Builder::new();
    client.initial_connection_window_size(1 << 24);
    let (requests, mut connection) = client.handshake(near).await.unwrap();
    let (stop, stopped) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            ended = &mut connection => panic!("{ended:?}"),
            // It is kept, and nobody looks at it any more.
            _ = stopped => pending().await,
        }
    });
    Client { requests, stop }
}

impl Client {
    /// Opens a stream for all clusters. It stays open as long as its sending half is kept.
    async fn open(&self) -> (SendStream<Bytes>, RecvStream) {
        let request = Request::post(format!("http://xds{SOTW}"))
            .header("content-type", "application/grpc")
            .body(())
            .unwrap();
        let mut requests = self.requests.clone().ready().await.unwrap();
        let (response, mut stream) = requests.send_request(request, false).unwrap();
        let message = clusters("n").encode_to_vec();
        let mut framed = BytesMut::new();
        framed.put_u8(0);
        framed.put_u32(u32::try_from(message.len()).unwrap());
        framed.put_slice(&message);
        stream.send_data(framed.freeze(), false).unwrap();
        (stream, response.await.unwrap().into_body())
    }

    /// Falls silent: the connection stays, and nobody answers on it.
    fn vanish(self) {
        self.stop.send(()).unwrap();
    }
}

/// Reads a message, and gives the room back that it took.
async fn read(body: &mut RecvStream) -> DiscoveryResponse {
    let mut received = BytesMut::new();
    loop {
        let data = poll_fn(|cx| body.poll_data(cx)).await.unwrap().unwrap();
        body.flow_control().release_capacity(data.len()).unwrap();
        received.extend_from_slice(&data);
        if let Some((header, message)) = received.split_first_chunk::<5>() {
            let len = u32::from_be_bytes(header[1..].try_into().unwrap()) as usize;
            if message.len() == len {
                return DiscoveryResponse::decode(message).unwrap();
            }
        }
    }
}

fn server(source: &TestSource) -> (XdsServer, Arc<Journal>) {
    let journal = Arc::new(Journal::default());
    let builder = XdsServer::builder(Arc::new(source.clone()))
        .with_callbacks(journal.clone())
        .with_stall_after(PATIENCE);
    (builder.build(), journal)
}

#[tokio::test(start_paused = true)]
async fn b81_a_client_that_vanished_is_noticed_by_the_keep_alive() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (xds, journal) = server(&source);
    let client = connect(&xds).await;
    let (_requests, mut body) = client.open().await;
    assert_eq!(bodies(&read(&mut body).await), [b"1"]);
    let begin = Instant::now();
    client.vanish();
    xds.drained().await;
    let noticed = begin.elapsed();
    let expected = Duration::from_secs(50);
    assert!(
        (expected..expected + Duration::from_secs(1)).contains(&noticed),
        "{noticed:?}"
    );
    assert_eq!(source.views(), 0);
    assert_eq!(journal.lines().last().unwrap(), "n closed Gone");
}

#[tokio::test(start_paused = true)]
async fn b81_a_client_that_is_only_idle_is_left_alone() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (xds, _) = server(&source);
    let client = connect(&xds).await;
    let (_requests, mut body) = client.open().await;
    read(&mut body).await;
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&read(&mut body).await), [b"2"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_gives_a_stream_no_room_loses_that_stream_alone() {
    let source = TestSource::with_clusters(&[("a", &[7; 1 << 20])]);
    let (xds, journal) = server(&source);
    let client = connect(&xds).await;
    let (_kept, mut reading) = client.open().await;
    read(&mut reading).await;
    let begin = Instant::now();
    let (_requests, _unread) = client.open().await;
    while xds.streams() == 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let given_up = begin.elapsed();
    assert!(
        (PATIENCE..PATIENCE + Duration::from_secs(1)).contains(&given_up),
        "{given_up:?}"
    );
    assert_eq!(source.views(), 1);
    assert_eq!(journal.lines().last().unwrap(), "n closed Stalled");
    source.publish(&[("a", b"2")]);
    let update = timeout(PATIENCE, read(&mut reading)).await.unwrap();
    assert_eq!(bodies(&update), [b"2"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_gets_room_again_in_time_keeps_its_stream() {
    let source = TestSource::with_clusters(&[("a", &[7; 1 << 20])]);
    let (xds, _) = server(&source);
    let client = connect(&xds).await;
    let (_requests, mut body) = client.open().await;
    tokio::time::sleep(PATIENCE - Duration::from_secs(1)).await;
    assert_eq!(bodies(&read(&mut body).await)[0].len(), 1 << 20);
    tokio::time::sleep(10 * PATIENCE).await;
    assert_eq!(xds.streams(), 1);
}
