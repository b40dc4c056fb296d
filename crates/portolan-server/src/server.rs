use std::sync::Arc;
use std::time::Duration;

use portolan_core::Source;
use portolan_engine::SessionConfig;
use tokio::sync::watch;
use tonic::service::Routes;
use tonic::transport::Server;
#[cfg(feature = "health")]
use tonic_health::pb::health_server::HealthServer;

use crate::announcer::Announcer;
use crate::config::Config;
#[cfg(feature = "health")]
use crate::health::ServerHealth;
use crate::observe::Observatory;
use crate::service::{self, Ads, DiscoveryService, ServiceKind};
use crate::shutdown::Drain;
use crate::status::Rejection;
use crate::transport::{Incoming, Serve, tuned};
use crate::unsettled::UnsettledNodes;
use crate::{StatusRegistry, XdsServerBuilder};

/// Serves the discovery services from a [`Source`]. Cloning is cheap, and clones are one server.
///
/// It is not a listener: its services are added to a tonic server of your own, beside whatever else that serves. See
/// the [crate's documentation](crate) for a whole program.
///
/// Streams run as tasks of the runtime on which their calls arrive.
#[derive(Clone, Debug)]
pub struct XdsServer(Arc<Shared>);

/// What all streams of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) session: Arc<SessionConfig>,
    pub(crate) config: Config,
    pub(crate) drain: Drain,
    pub(crate) unsettled: UnsettledNodes,
    pub(crate) observatory: Observatory,
    pub(crate) announcer: Announcer,
    condition: watch::Sender<Condition>,
    streams: Arc<watch::Sender<usize>>,
}

impl XdsServer {
    /// Starts a server that reads from `source`.
    pub fn builder(source: Arc<dyn Source>) -> XdsServerBuilder {
        XdsServerBuilder::new(source)
    }

    pub(crate) fn new(
        source: Arc<dyn Source>,
        session: SessionConfig,
        config: Config,
        ready: bool,
    ) -> Self {
        let session = Arc::new(session);
        Self(Arc::new(Shared {
            observatory: Observatory::new(&session),
            source,
            session,
            config,
            drain: Drain::new(),
            unsettled: UnsettledNodes::default(),
            announcer: Announcer::default(),
            condition: watch::Sender::new(Condition::of(ready)),
            streams: Arc::new(watch::Sender::new(0)),
        }))
    }

    /// The aggregated discovery service (ADS): all types on one stream.
    #[must_use]
    pub fn ads(&self) -> DiscoveryService<Ads> {
        self.service()
    }

    /// A service of this [kind](crate::service): one of the protocol's, or one of your own.
    ///
    /// ```
    /// use portolan_server::XdsServer;
    /// use portolan_server::service::{Ads, Sds};
    /// use tonic::service::Routes;
    ///
    /// fn routes(xds: &XdsServer) -> Routes {
    ///     Routes::new(xds.service::<Ads>()).add_service(xds.service::<Sds>())
    /// }
    /// ```
    #[must_use]
    pub fn service<K: ServiceKind>(&self) -> DiscoveryService<K> {
        DiscoveryService::new(Arc::clone(&self.0))
    }

    /// All services of the protocol: ADS and those of single types, for
    /// [`Server::add_routes`](tonic::transport::server::Server::add_routes).
    #[must_use]
    pub fn routes(&self) -> Routes {
        service::all(self)
    }

    /// Serves on `incoming`, with HTTP/2 set up for discovery, and shuts down in order. See [`Serve`].
    pub fn serve(&self, incoming: Incoming) -> Serve {
        Serve::new(self.clone(), incoming)
    }

    /// A tonic server that is set up for discovery, to go on with as with one of your own:
    ///
    /// | | here | tonic |
    /// |---|---|---|
    /// | HTTP/2 keep-alive: a PING after, and a dead peer's connection is closed after that | 30 s, 20 s | never |
    /// | room for what a client sends ahead, per stream and connection | 256 KiB, 1 MiB | 64 KiB |
    /// | most calls per connection; Envoy without ADS has one for each cluster's endpoints | 10 000 | no limit |
    /// | a connection is told to go away after | the least [age](XdsServerBuilder::with_max_stream_age) of a stream | never |
    ///
    /// ```no_run
    /// use portolan_server::XdsServer;
    ///
    /// # async fn example(xds: XdsServer) -> Result<(), Box<dyn std::error::Error>> {
    /// let interrupted = async {
    ///     let _ = tokio::signal::ctrl_c().await;
    /// };
    /// xds.transport()
    ///     .add_routes(xds.routes())
    ///     .serve_with_shutdown("[::1]:18000".parse()?, xds.drain_after(interrupted))
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn transport(&self) -> Server {
        let ages = self.0.config.max_stream_age.as_ref();
        tuned(ages.map(|ages| *ages.start()))
    }

    /// The gRPC health service: `SERVING` while the server is [ready](Self::set_ready), for the server as a whole and
    /// for each service of the protocol, and `NOT_SERVING` from the moment it drains. Watches then end, so that they do
    /// not keep a tonic server from shutting down, as those of a service of its own would.
    #[cfg(feature = "health")]
    #[must_use]
    pub fn health(&self) -> HealthServer<ServerHealth> {
        crate::health::service(self.0.condition.subscribe())
    }

    /// Number of open streams, calls of `Fetch` methods that wait for their answer included.
    #[must_use]
    pub fn streams(&self) -> usize {
        *self.0.streams.borrow()
    }

    /// What each node was sent, accepted and rejected.
    #[must_use]
    pub fn status(&self) -> &StatusRegistry {
        self.0.observatory.status()
    }

    /// Says whether the server is ready. While it is not, new streams are answered `UNAVAILABLE`, so that clients try
    /// another replica; streams that are open go on.
    ///
    /// A client whose group was not published yet waits without this. Use it where a server must not accept clients
    /// at all before its sources have loaded (C-438).
    pub fn set_ready(&self, on: bool) {
        self.0.condition.send_if_modified(|condition| {
            let goes_on = *condition != Condition::Draining;
            if goes_on {
                *condition = Condition::of(on);
            }
            goes_on
        });
    }

    /// Ends all streams now and refuses new ones for good. Each is first sent what it is owed, for at most five
    /// seconds if its client does not read. It ends with `OK`, or with `UNAVAILABLE` if it was never sent anything.
    ///
    /// Returns at once; [`drained`](Self::drained) waits for the end. See [`drain_after`](Self::drain_after) for why
    /// a tonic server needs this to shut down.
    pub fn drain(&self) {
        self.drain_within(Duration::ZERO);
    }

    /// As [`drain`](Self::drain), but spreads the ends of the streams evenly over a window, so that the replicas to
    /// which the clients turn are not asked for everything at once. Calling it again, or [`drain`](Self::drain),
    /// starts another window for the streams that are left.
    pub fn drain_within(&self, window: Duration) {
        self.0.condition.send_replace(Condition::Draining);
        self.0.drain.start(window);
    }

    pub(crate) fn drain_window(&self) -> Duration {
        self.0.config.drain_window
    }

    /// Waits until no stream is open.
    pub async fn drained(&self) {
        let mut streams = self.0.streams.subscribe();
        // The sender is held by `self`, so this cannot fail.
        let _ = streams.wait_for(|streams| *streams == 0).await;
    }

    /// Waits for a signal, then starts to drain within the server's
    /// [window](XdsServerBuilder::with_drain_window): what tonic's shutdown is to wait for.
    ///
    /// tonic's graceful shutdown stops accepting connections and then waits until every call has ended. Discovery
    /// streams never end by themselves, so without this it waits for ever.
    ///
    /// ```no_run
    /// use portolan_server::XdsServer;
    /// use tonic::transport::Server;
    ///
    /// # async fn example(xds: XdsServer) -> Result<(), Box<dyn std::error::Error>> {
    /// let interrupted = async {
    ///     let _ = tokio::signal::ctrl_c().await;
    /// };
    /// Server::builder()
    ///     .add_routes(xds.routes())
    ///     .serve_with_shutdown("[::1]:18000".parse()?, xds.drain_after(interrupted))
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A client that does not read keeps its connection, and with it `serve_with_shutdown`, from ending. Where that
    /// must not be, give the server a deadline from the signal on, and drop it when that has passed.
    pub fn drain_after(
        &self,
        signal: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let server = self.clone();
        async move {
            signal.await;
            server.drain_within(server.drain_window());
        }
    }
}

impl Shared {
    /// A place for one more stream, unless the server takes none.
    pub(crate) fn take_place(&self) -> Result<Place, Rejection> {
        match *self.condition.borrow() {
            Condition::Ready => {}
            Condition::NotReady => return Err(Rejection::NotReady),
            Condition::Draining => return Err(Rejection::Draining),
        }
        let max = self.config.max_streams;
        let taken = self.streams.send_if_modified(|streams| {
            let free = *streams < max;
            *streams += usize::from(free);
            free
        });
        if !taken {
            return Err(Rejection::TooManyStreams { max });
        }
        self.announcer.ensure_running(&self.source);
        Ok(Place(Arc::clone(&self.streams)))
    }
}

/// Whether a server takes new streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    NotReady,
    Ready,
    /// For good.
    Draining,
}

impl Condition {
    const fn of(ready: bool) -> Self {
        match ready {
            true => Self::Ready,
            false => Self::NotReady,
        }
    }
}

/// A stream's place among those that are counted; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Place(Arc<watch::Sender<usize>>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.send_modify(|streams| *streams -= 1);
    }
}
