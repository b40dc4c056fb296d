//! A client that does not read, over TCP.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use hyper_util::rt::TokioIo;
use portolan::core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan::core::{Resource, Snapshot};
use portolan::server::{Callbacks, StreamInfo};
use portolan_tests::{Sotw, TestError};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::codegen::http::Uri;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tower::service_fn;

use crate::plane::{Plane, TOO_LONG, publish};

/// More than the sockets of a connection hold.
const LARGE: usize = 32 << 20;

/// Keeps the stream that is not read, for what it says of itself.
#[derive(Debug, Default)]
struct Unread(OnceLock<StreamInfo>);

impl Callbacks for Unread {
    fn stream_admitted(&self, stream: &StreamInfo) {
        if stream.node().is_some_and(|node| node.id() == "stalled") {
            let _ = self.0.set(stream.clone());
        }
    }
}

/// A connection that is not read any more once it was told so; then its window fills.
struct Valved {
    stream: TcpStream,
    shut: Arc<AtomicBool>,
}

impl AsyncRead for Valved {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.shut.load(Ordering::SeqCst) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Valved {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A connection with room for everything in HTTP/2, so that only TCP holds it back.
async fn connect(address: SocketAddr, shut: &Arc<AtomicBool>) -> Result<Channel, TestError> {
    let shut = Arc::clone(shut);
    let connector = service_fn(move |_: Uri| {
        let shut = Arc::clone(&shut);
        async move {
            let stream = TcpStream::connect(address).await?;
            Ok::<_, io::Error>(TokioIo::new(Valved { stream, shut }))
        }
    });
    let endpoint = Endpoint::try_from(format!("http://{address}"))?
        .initial_stream_window_size(1 << 30)
        .initial_connection_window_size(1 << 30);
    Ok(endpoint.connect_with_connector(connector).await?)
}

/// Opens streams of the node, each over a connection of its own, until it is told to stop; says how many there were.
async fn reconnect(address: SocketAddr, stop: Arc<AtomicBool>) -> Result<usize, TestError> {
    let open = Arc::new(AtomicBool::new(false));
    let mut streams = 0;
    while !stop.load(Ordering::SeqCst) {
        let channel = connect(address, &open).await?;
        let mut stream = Sotw::open(channel, "restless", &[CLUSTER]).await?;
        let response = stream.next().await?;
        stream.ack(&response);
        streams += 1;
    }
    Ok(streams)
}

/// Elsewhere publishing waited for a stream whose client had ceased to read, or for one that was just being cancelled,
/// and so did everybody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b54_a_client_that_does_not_read_keeps_no_publisher_and_no_other_client_waiting()
-> Result<(), TestError> {
    const PUBLISHERS: usize = 8;
    const EACH: usize = 1_250;

    let unread = Arc::new(Unread::default());
    let plane = Plane::build(|xds| xds.with_callbacks(Arc::<Unread>::clone(&unread)));
    let mut large = Snapshot::builder();
    large.insert(Resource::builder(CLUSTER, "large", vec![7; LARGE]))?;
    let _ = plane.writer.set(&"stalled".to_owned(), large.build());
    plane.publish("restless", 0);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let server = Server::builder().add_routes(plane.xds.routes());
    let server = tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));

    let shut = Arc::new(AtomicBool::new(false));
    let channel = connect(address, &shut).await?;
    let types = [CLUSTER, ENDPOINT, LISTENER, ROUTE];
    let stalled = Sotw::open(channel, "stalled", &types).await?;
    shut.store(true, Ordering::SeqCst);

    let stop = Arc::new(AtomicBool::new(false));
    let restless = tokio::spawn(reconnect(address, Arc::clone(&stop)));
    let mut publishers = JoinSet::new();
    for publisher in 0..PUBLISHERS {
        let writer = plane.writer.clone();
        publishers.spawn(async move {
            for number in 0..EACH {
                let node = ["stalled", "restless"][number % 2];
                publish(&writer, node, 1 + publisher * EACH + number);
                tokio::task::yield_now().await;
            }
        });
    }
    timeout(TOO_LONG, publishers.join_all()).await?;
    stop.store(true, Ordering::SeqCst);
    assert!(timeout(TOO_LONG, restless).await??? > 0);

    let last = plane
        .writer
        .get(&"restless".to_owned())
        .ok_or("nothing is published")?;
    let last = last
        .lookup(&CLUSTER, "a")
        .present()
        .ok_or("it is gone")?
        .body();
    let channel = connect(address, &Arc::default()).await?;
    let mut stream = Sotw::open(channel, "restless", &[CLUSTER]).await?;
    assert_eq!(stream.next().await?.resources[0].value, last);
    let unread = unread.0.get().ok_or("it was not admitted")?;
    assert!(unread.bytes_in_flight() > 0, "it reads");
    drop((stream, stalled));
    server.abort();
    Ok(())
}
