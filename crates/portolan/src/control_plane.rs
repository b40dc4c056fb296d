use std::sync::Arc;

use portolan_cache::{SnapshotCache, SnapshotCacheWriter};
use portolan_core::{GroupKey, NodeHash};
use portolan_resources::EnvoyReferences;
use portolan_server::{SessionConfig, XdsServer, XdsServerBuilder};
use portolan_translator::{GroupWatch, PublishLoop, PublishLoopBuilder, Publisher, Translator};

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
#[derive(Clone, Debug)]
pub struct ControlPlane<M, K: GroupKey> {
    publisher: Publisher<M, K>,
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

    /// Starts a control plane whose parts are configured: the cache as given, but for its observer, which is the
    /// publish loop; the loop and the server by functions that are given their builders.
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
        let (watch, groups) = GroupWatch::channel();
        let (snapshots, reader) = cache.with_observer(Arc::new(watch)).split();
        let writer = Arc::new(snapshots.clone());
        let (publisher, publish_loop) =
            publish(PublishLoop::builder(translator, writer, groups)).build();
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
    pub fn publisher(&self) -> &Publisher<M, K> {
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
