use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use portolan::cache::{MuxCache, SnapshotCache, SnapshotCacheReader, SnapshotCacheWriter};
use portolan::core::node_hash::NodeCluster;
use portolan::core::{Snapshot, SnapshotBuilder, Source, TypeUrl};
use portolan::resources::EnvoyReferences;
use portolan::server::{SafeTimes, SessionConfig, Transitions, XdsServer};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::{Recorder, TestError};

const GRACE: Duration = Duration::from_millis(200);
const DRAIN: Duration = Duration::from_secs(1);

/// A control plane in this process that serves one group of nodes and records what happens.
#[derive(Debug)]
pub struct TestControlPlane {
    group: String,
    session: SessionConfig,
    writer: SnapshotCacheWriter<String>,
    beside: Option<Beside>,
    recorder: Arc<Recorder>,
    address: SocketAddr,
    running: Option<Running>,
}

/// A source that has more of a type.
#[derive(Debug)]
struct Beside {
    type_url: TypeUrl,
    source: Arc<dyn Source>,
}

#[derive(Debug)]
struct Running {
    xds: XdsServer,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl TestControlPlane {
    /// Starts on a free port; nodes of the cluster `group` are served what is published. What is gone stays for a short
    /// time only, because no filter holds requests, and Envoys are started with a short time to drain.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn start(group: &str) -> Result<Self, TestError> {
        Self::start_with(group, session()).await
    }

    /// As [`start`](Self::start), with another source that has more of a type than what is published.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_beside(
        group: &str,
        type_url: TypeUrl,
        source: Arc<dyn Source>,
    ) -> Result<Self, TestError> {
        Self::start_of(group, session(), Some(Beside { type_url, source })).await
    }

    /// As [`start`](Self::start), with sessions of choice.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_with(group: &str, session: SessionConfig) -> Result<Self, TestError> {
        Self::start_of(group, session, None).await
    }

    async fn start_of(
        group: &str,
        session: SessionConfig,
        beside: Option<Beside>,
    ) -> Result<Self, TestError> {
        let (writer, reader) = SnapshotCache::new(NodeCluster::default()).split();
        let recorder = Arc::new(Recorder::default());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let source = put_together(reader, beside.as_ref());
        let running = Some(serve(listener, source, session.clone(), &recorder));
        Ok(Self {
            group: group.to_owned(),
            session,
            writer,
            beside,
            recorder,
            address,
            running,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What happened on its streams, also before a restart.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Number of open streams.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.running
            .as_ref()
            .map_or(0, |running| running.xds.streams())
    }

    /// Publishes a rebuilt snapshot.
    ///
    /// # Errors
    /// As `fill` says.
    pub fn publish<E>(
        &self,
        fill: impl FnOnce(&mut SnapshotBuilder) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut builder = match self.writer.get(&self.group) {
            Some(previous) => Snapshot::builder_from(&previous),
            None => Snapshot::builder(),
        };
        fill(&mut builder)?;
        let _ = self.writer.set(&self.group, builder.build());
        Ok(())
    }

    /// Changes what is published.
    ///
    /// # Errors
    /// As `change` says.
    pub fn edit<E>(
        &self,
        change: impl FnMut(&mut SnapshotBuilder) -> Result<(), E>,
    ) -> Result<(), E> {
        self.writer.update(&self.group, change).map(drop)
    }

    /// The version of what is published for a type.
    #[must_use]
    pub fn version(&self, type_url: &TypeUrl) -> Option<String> {
        let snapshot = self.writer.get(&self.group)?;
        Some(snapshot.version_info(type_url).to_string())
    }

    /// Ends all streams and connections, waits a moment, and starts again, see [`resume`](Self::resume).
    ///
    /// # Errors
    /// The port is taken.
    pub async fn restart(
        &mut self,
        pause: Duration,
        fill: impl FnOnce(&mut SnapshotBuilder) -> Result<(), TestError>,
    ) -> Result<(), TestError> {
        self.stop().await?;
        tokio::time::sleep(pause).await;
        self.resume(fill).await
    }

    /// Ends all streams and connections, and takes no more.
    ///
    /// # Errors
    /// The server failed.
    pub async fn stop(&mut self) -> Result<(), TestError> {
        if let Some(running) = self.running.take() {
            let _ = running.stop.send(());
            running.task.await??;
        }
        Ok(())
    }

    /// Starts again after a [`stop`](Self::stop), as a new process would: with a cache of its own, filled with the same
    /// resources made anew.
    ///
    /// # Errors
    /// The port is taken.
    pub async fn resume(
        &mut self,
        fill: impl FnOnce(&mut SnapshotBuilder) -> Result<(), TestError>,
    ) -> Result<(), TestError> {
        let (writer, reader) = SnapshotCache::new(NodeCluster::default()).split();
        let mut builder = Snapshot::builder();
        fill(&mut builder)?;
        let _ = writer.set(&self.group, builder.build());
        self.writer = writer;
        let listener = TcpListener::bind(self.address).await?;
        let session = self.session.clone();
        let source = put_together(reader, self.beside.as_ref());
        self.running = Some(serve(listener, source, session, &self.recorder));
        Ok(())
    }
}

impl Drop for TestControlPlane {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.task.abort();
        }
    }
}

fn session() -> SessionConfig {
    let times = SafeTimes::default().with_grace(GRACE).with_drain(DRAIN);
    SessionConfig::default()
        .with_references(Arc::new(EnvoyReferences::default()))
        .with_transitions(Transitions::Safe(times))
}

/// What is published, and what another source has beside it.
fn put_together(
    published: SnapshotCacheReader<NodeCluster>,
    beside: Option<&Beside>,
) -> Arc<dyn Source> {
    let Some(Beside { type_url, source }) = beside else {
        return Arc::new(published);
    };
    let mut mux = MuxCache::builder();
    let published = mux.part("published", Arc::new(published));
    let beside = mux.part("beside", Arc::clone(source));
    mux.otherwise([published])
        .route(type_url.clone(), [published, beside]);
    Arc::new(mux.build())
}

fn serve(
    listener: TcpListener,
    source: Arc<dyn Source>,
    session: SessionConfig,
    recorder: &Arc<Recorder>,
) -> Running {
    let xds = XdsServer::builder(source)
        .with_session(session)
        .with_callbacks(Arc::<Recorder>::clone(recorder))
        .build();
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let (stop, stopped) = oneshot::channel();
    let shutdown = xds.drain_after(async { drop(stopped.await) });
    let router = Server::builder().add_routes(xds.routes());
    let task = tokio::spawn(router.serve_with_incoming_shutdown(incoming, shutdown));
    Running { xds, stop, task }
}
