use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// The connections that an [`Incoming`](super::Incoming) accepted, as far as they are open.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    open: watch::Sender<usize>,
    closed: watch::Sender<bool>,
}

impl Connections {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared {
            open: watch::Sender::new(0),
            closed: watch::Sender::new(false),
        }))
    }

    /// Number of open connections.
    #[must_use]
    pub fn open(&self) -> usize {
        *self.0.open.borrow()
    }

    /// Closes all of them, and those that come later. What their clients were to be sent is lost, and calls on them
    /// end without a status, so it is the last resort.
    pub fn close(&self) {
        self.0.closed.send_replace(true);
    }

    /// Takes in a connection, unless there are `max`.
    pub(super) fn admit(&self, stream: TcpStream, max: usize) -> Option<Connection> {
        let admitted = self.0.open.send_if_modified(|open| {
            let free = *open < max;
            *open += usize::from(free);
            free
        });
        admitted.then(|| Connection {
            stream,
            closed: self.closed(),
            _open: Open(self.clone()),
        })
    }

    fn closed(&self) -> Closed {
        let mut closed = self.0.closed.subscribe();
        // The connection holds the sender, so this cannot fail.
        Box::pin(async move { drop(closed.wait_for(|closed| *closed).await) })
    }
}

type Closed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Counts a connection for as long as it is held.
#[derive(Debug)]
struct Open(Connections);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.0.open.send_modify(|open| *open -= 1);
    }
}

/// An accepted TCP connection, which [`Connections::close`] ends.
///
/// To tonic it is what its own connections are: a peer's address, and behind tonic's TLS also its certificates, are
/// found where they are found there.
pub struct Connection {
    stream: TcpStream,
    closed: Closed,
    _open: Open,
}

impl Connection {
    /// The connection itself.
    #[must_use]
    pub fn get_ref(&self) -> &TcpStream {
        &self.stream
    }

    /// The stream, unless the connection was closed. What waits for the stream is woken when that happens.
    fn stream(&mut self, cx: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        if *self._open.0.0.closed.borrow() || self.closed.as_mut().poll(cx).is_ready() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(Pin::new(&mut self.stream))
    }
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream(cx)?.poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream(cx)?.poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream(cx)?.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream(cx)?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream(cx)?.poll_shutdown(cx)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer: Option<SocketAddr> = self.stream.peer_addr().ok();
        f.debug_struct("Connection")
            .field("peer", &peer)
            .finish_non_exhaustive()
    }
}
