use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;
use tonic::service::Routes;
use tonic::transport::{Error, Server};

use super::{Connections, Incoming};
use crate::XdsServer;

/// Serving on connections of ours until told to stop. Made by [`XdsServer::serve`].
///
/// ```no_run
/// use portolan_server::XdsServer;
/// use portolan_server::transport::Incoming;
///
/// # async fn example(xds: XdsServer) -> Result<(), Box<dyn std::error::Error>> {
/// let interrupted = async {
///     let _ = tokio::signal::ctrl_c().await;
/// };
/// xds.serve(Incoming::bind("[::]:18000".parse()?)?)
///     .until(interrupted)
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is served until `until` is awaited"]
pub struct Serve {
    xds: XdsServer,
    incoming: Incoming,
    transport: Server,
    routes: Option<Routes>,
    grace: Duration,
}

impl Serve {
    pub(crate) fn new(xds: XdsServer, incoming: Incoming) -> Self {
        Self {
            transport: xds.transport(),
            xds,
            incoming,
            routes: None,
            grace: Duration::from_secs(10),
        }
    }

    /// What is served. Default: [`XdsServer::routes`].
    pub fn with_routes(mut self, routes: Routes) -> Self {
        self.routes = Some(routes);
        self
    }

    /// What HTTP/2 is set up with, and TLS. Default: [`XdsServer::transport`], which is what to start from.
    pub fn with_transport(mut self, transport: Server) -> Self {
        self.transport = transport;
        self
    }

    /// How long, after the drain window, clients that do not read and calls of other services may keep their
    /// connections. Default 10 s.
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Serves until `signal`, then shuts down and returns:
    ///
    /// 1. No connection and no stream is accepted any more; clients are told to turn elsewhere (GOAWAY), and health
    ///    checks that the server is not serving.
    /// 2. Streams end, spread over the [drain window](crate::XdsServerBuilder::with_drain_window), each with what it
    ///    is owed and a status.
    /// 3. Connections without calls end. Those that are left after the grace are closed.
    ///
    /// Dropped before, it closes all connections at once.
    ///
    /// # Errors
    /// What tonic says of its transport.
    pub async fn until(self, signal: impl Future<Output = ()>) -> Result<(), Error> {
        let Self {
            xds,
            incoming,
            mut transport,
            routes,
            grace,
        } = self;
        let connections = CloseOnDrop(incoming.connections());
        let window = xds.drain_window();
        let (started, start) = oneshot::channel();
        let signal = async {
            signal.await;
            xds.drain_within(window);
            let _ = started.send(());
        };
        let routes = routes.unwrap_or_else(|| xds.routes());
        let served = transport
            .add_routes(routes)
            .serve_with_incoming_shutdown(incoming, signal);
        let too_late = async {
            let _ = start.await;
            sleep(window.saturating_add(grace)).await;
        };
        tokio::pin!(served);
        tokio::select! {
            served = &mut served => return served,
            () = too_late => {}
        }
        let open = connections.0.open();
        tracing::warn!(
            open,
            "connections are closed although their calls have not ended"
        );
        connections.0.close();
        served.await
    }
}

struct CloseOnDrop(Connections);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A tonic server that is set up for discovery.
pub(crate) fn tuned(oldest: Option<Duration>) -> Server {
    let server = Server::builder()
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
        .initial_stream_window_size(256 * 1024)
        .initial_connection_window_size(1024 * 1024)
        .max_concurrent_streams(10_000);
    match oldest {
        Some(age) => server.max_connection_age(age),
        None => server,
    }
}
