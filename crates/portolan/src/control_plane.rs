use std::sync::Arc;

use portolan_cache::{SnapshotCache, SnapshotCacheWriter};
use portolan_core::{GroupKey, NodeHash, SnapshotWriter};
use portolan_resources::EnvoyReferences;
use portolan_server::{SessionConfig, XdsServer, XdsServerBuilder};
use portolan_translator::{
    DeliveryTracker, GroupWatch, IncrementalTranslator, PublishLoop, PublishLoopBuilder, Publisher,
    Translator, WatchedGroups,
};

type Writer<K> = Arc<dyn SnapshotWriter<K>>;

/// A whole control plane on the usual parts: a translator, its publish loop, a snapshot cache, and a server.
///
/// Nodes are told apart by a [`NodeHash`]; each group is translated when its first node comes, and again whenever the
/// model changes. This is wiring and no more: every part can be had by itself and put together otherwise.
///
/// ```no_run
/// use portolan::prelude::*;
///
/// /// The model: the address of one service.
/// struct Model {
///     web: std::net::SocketAddr,
/// }
///
/// #[derive(Debug)]
/// struct OneService;
///
/// impl Translator<Model, String> for OneService {
///     type Error = ResourceError;
///
///     fn translate(&self, model: &Model, _node: &String, out: &mut SnapshotBuilder) -> Result<(), ResourceError> {
///         let all = build::virtual_host("all", ["*"], [build::prefix_route("/", "web")]);
///         out.add(&build::eds_cluster("web"))?
///             .add(&build::assignment("web", [model.web]))?
///             .add(&build::http_listener("ingress", ([0, 0, 0, 0], 8080).into(), "routes"))?
///             .add(&build::route_configuration("routes", [all]))?;
///         Ok(())
///     }
/// }
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let plane = ControlPlane::start(NodeId::default(), OneService);
///     plane.publisher().update(Model { web: "10.0.0.1:80".parse()? })?;
///
///     let xds = plane.xds();
///     let interrupted = async { drop(tokio::signal::ctrl_c().await) };
///     tonic::transport::Server::builder()
///         .add_routes(xds.routes())
///         .serve_with_shutdown("0.0.0.0:18000".parse()?, xds.drain_after(interrupted))
///         .await?;
///     Ok(())
/// }
/// ```
///
/// Who wants to know what became of a change asks for it, by node:
///
/// ```no_run
/// use std::time::Duration;
///
/// use portolan::prelude::*;
///
/// # struct Model;
/// # async fn roll_out(plane: &ControlPlane<Model, String>, model: Model) -> Result<(), Box<dyn std::error::Error>> {
/// plane.publisher().update(model)?;
/// let rollout = plane.publisher().wait(WaitScope::all(), Duration::from_secs(10)).await?;
/// for (_, node, outcome) in rollout.nodes().filter(|(.., outcome)| !outcome.is_accepted()) {
///     println!("{node}: {outcome}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ControlPlane<M, K: GroupKey, D = ()> {
    publisher: Publisher<M, K, D>,
    snapshots: SnapshotCacheWriter<K>,
    xds: XdsServer,
}

impl<M: Send + Sync + 'static, K: GroupKey> ControlPlane<M, K> {
    /// Starts a control plane with everything at its default.
    ///
    /// # Panics
    /// Outside a Tokio runtime, on which the publish loop runs.
    pub fn start<H>(node_hash: H, translator: impl Translator<M, K>) -> Self
    where
        H: NodeHash<Key = K>,
    {
        Self::start_with(
            SnapshotCache::new(node_hash),
            translator,
            |publish| publish,
            |server| server,
        )
    }

    /// Starts a control plane whose parts are configured: the cache as given; the loop and the server by functions that
    /// are given their builders.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn start_with<H>(
        cache: SnapshotCache<H>,
        translator: impl Translator<M, K>,
        publish: impl FnOnce(PublishLoopBuilder<M, K>) -> PublishLoopBuilder<M, K>,
        server: impl FnOnce(XdsServerBuilder) -> XdsServerBuilder,
    ) -> Self
    where
        H: NodeHash<Key = K>,
    {
        let loop_of = |writer, groups| PublishLoop::builder(translator, writer, groups);
        Self::assemble(cache, loop_of, publish, server)
    }
}

impl<M: Send + Sync + 'static, K: GroupKey, D: Send + Sync + 'static> ControlPlane<M, K, D> {
    /// As [`start`](ControlPlane::start), with a translator that can apply what changed to what a group has.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn start_incremental<H>(
        node_hash: H,
        translator: impl IncrementalTranslator<M, K, Detail = D>,
    ) -> Self
    where
        H: NodeHash<Key = K>,
    {
        Self::start_incremental_with(
            SnapshotCache::new(node_hash),
            translator,
            |publish| publish,
            |server| server,
        )
    }

    /// As [`start_with`](ControlPlane::start_with), with a translator that can apply what changed to what a group has.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn start_incremental_with<H>(
        cache: SnapshotCache<H>,
        translator: impl IncrementalTranslator<M, K, Detail = D>,
        publish: impl FnOnce(PublishLoopBuilder<M, K, D>) -> PublishLoopBuilder<M, K, D>,
        server: impl FnOnce(XdsServerBuilder) -> XdsServerBuilder,
    ) -> Self
    where
        H: NodeHash<Key = K>,
    {
        let loop_of = |writer, groups| PublishLoop::incremental(translator, writer, groups);
        Self::assemble(cache, loop_of, publish, server)
    }

    /// Tells the publish loop of the cache's groups and streams, and the server of the cache.
    fn assemble<H>(
        cache: SnapshotCache<H>,
        loop_of: impl FnOnce(Writer<K>, WatchedGroups<K>) -> PublishLoopBuilder<M, K, D>,
        publish: impl FnOnce(PublishLoopBuilder<M, K, D>) -> PublishLoopBuilder<M, K, D>,
        server: impl FnOnce(XdsServerBuilder) -> XdsServerBuilder,
    ) -> Self
    where
        H: NodeHash<Key = K>,
    {
        let (watch, groups) = GroupWatch::channel();
        let tracker = Arc::new(DeliveryTracker::new());
        let (snapshots, reader) = cache
            .with_observer(Arc::new(watch))
            .with_delivery_sink(Arc::<DeliveryTracker<K>>::clone(&tracker))
            .split();
        let publish_loop = loop_of(Arc::new(snapshots.clone()), groups).with_tracker(tracker);
        let (publisher, publish_loop) = publish(publish_loop).build();
        publish_loop.spawn();
        let session =
            SessionConfig::default().with_references(Arc::new(EnvoyReferences::default()));
        let xds = server(XdsServer::builder(Arc::new(reader)).with_session(session)).build();
        Self {
            publisher,
            snapshots,
            xds,
        }
    }

    /// Where models are handed in.
    #[must_use]
    pub fn publisher(&self) -> &Publisher<M, K, D> {
        &self.publisher
    }

    /// What each group is served. Publishing here is possible too; the translator's next result replaces it.
    #[must_use]
    pub fn snapshots(&self) -> &SnapshotCacheWriter<K> {
        &self.snapshots
    }

    /// The server, to be added to a tonic server.
    #[must_use]
    pub fn xds(&self) -> &XdsServer {
        &self.xds
    }
}
