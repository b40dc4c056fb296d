use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};

use super::accept::Acceptor;
use super::{Connection, Connections};

/// Connections that the kernel keeps while they wait to be accepted. A fleet of proxies may come back all at once.
const BACKLOG: i32 = 1024;

/// How often TCP asks again a peer that has not answered.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);

/// Accepts TCP connections, for tonic's `serve_with_incoming` and its like.
///
/// Unlike tonic's own it turns off Nagle's algorithm, has the kernel look for peers that vanished, waits before it
/// accepts again when there are no file descriptors left, instead of trying as fast as it can, and bounds how many
/// connections there are. Its connections can be [closed](Connections::close).
///
/// ```no_run
/// use portolan_server::XdsServer;
/// use portolan_server::transport::Incoming;
///
/// # async fn example(xds: XdsServer) -> Result<(), Box<dyn std::error::Error>> {
/// let incoming = Incoming::bind("[::]:18000".parse()?)?.with_max_connections(20_000);
/// xds.transport()
///     .add_routes(xds.routes())
///     .serve_with_incoming(incoming)
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "it accepts when it is polled"]
pub struct Incoming {
    acceptor: Acceptor<TcpListener>,
    connections: Connections,
    nodelay: bool,
    keepalive: Option<Duration>,
    max_connections: usize,
}

impl Incoming {
    /// Listens at an address. Port 0 lets the kernel choose.
    ///
    /// # Errors
    /// What the kernel says: the address is in use, or not one of this machine's, or forbidden.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        // On Windows it would let another process take the port.
        #[cfg(not(windows))]
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        TcpListener::from_std(socket.into()).map(Self::from)
    }

    /// Whether small writes go out at once. Default: they do.
    pub fn with_nodelay(mut self, on: bool) -> Self {
        self.nodelay = on;
        self
    }

    /// After how long without a sign of life the kernel asks the peer for one; `None`: never. Default 60 s, then every
    /// 10 s until the kernel's number of attempts is reached. It finds peers that vanished before HTTP/2's keep-alive
    /// begins, as in the middle of a handshake.
    pub fn with_keepalive(mut self, after: Option<Duration>) -> Self {
        self.keepalive = after;
        self
    }

    /// Most connections at a time. One too many is closed at once, so that its client tries elsewhere instead of
    /// waiting in the kernel's queue. Default: no limit but that of file descriptors.
    pub fn with_max_connections(mut self, max: usize) -> Self {
        self.max_connections = max;
        self
    }

    /// The address that is listened at.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.acceptor.get_ref().local_addr()
    }

    /// The connections that it accepts.
    #[must_use]
    pub fn connections(&self) -> Connections {
        self.connections.clone()
    }

    /// The next connection, for a server that is not tonic's.
    pub async fn accept(&mut self) -> Connection {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Connection> {
        loop {
            let stream = ready!(self.acceptor.poll_accept(cx));
            if let Some(connection) = self.admit(stream) {
                return Poll::Ready(connection);
            }
        }
    }

    fn admit(&self, stream: TcpStream) -> Option<Connection> {
        if let Err(error) = self.set_up(&stream) {
            tracing::debug!(%error, "a connection could not be set up");
        }
        let connection = self.connections.admit(stream, self.max_connections);
        if connection.is_none() {
            let max = self.max_connections;
            tracing::warn!(max, "a connection was closed: there are as many as may be");
        }
        connection
    }

    fn set_up(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(self.nodelay)?;
        let Some(after) = self.keepalive else {
            return Ok(());
        };
        let keepalive = TcpKeepalive::new().with_time(after);
        #[cfg(any(
            target_os = "linux",
            target_os = "android",
            target_vendor = "apple",
            windows
        ))]
        let keepalive = keepalive.with_interval(PROBE_INTERVAL);
        SockRef::from(stream).set_tcp_keepalive(&keepalive)
    }
}

impl From<TcpListener> for Incoming {
    fn from(listener: TcpListener) -> Self {
        Self {
            acceptor: Acceptor::new(listener),
            connections: Connections::new(),
            nodelay: true,
            keepalive: Some(Duration::from_secs(60)),
            max_connections: usize::MAX,
        }
    }
}

impl Stream for Incoming {
    type Item = Result<Connection, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_accept(cx).map(|connection| Some(Ok(connection)))
    }
}
