use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use portolan::cache::{SnapshotCache, SnapshotCacheWriter};
use portolan::core::{NodeId, Resource, ResourceError, Snapshot, TypeUrl, well_known::CLUSTER};
use portolan::server::{Callbacks, CloseReason, StreamInfo, XdsServer, XdsServerBuilder};
use portolan::types::envoy::config::core::v3::Node;
use portolan::types::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use portolan::types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::client::GrpcService;
use tonic::codegen::{Body, Bytes, StdError};
use tonic::service::Routes;
use tonic::{Status, Streaming};

/// Only reached when something hangs.
pub(crate) const TOO_LONG: Duration = Duration::from_secs(60);

/// Counts streams, and those that a fault of ours ended.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    opened: AtomicUsize,
    closed: AtomicUsize,
    ours: AtomicUsize,
}

impl Ends {
    /// Asserts that this many streams were opened, and that each ended for a reason of its client's.
    pub(crate) fn check(&self, streams: usize) {
        let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
        assert_eq!(count(&self.opened), streams);
        assert_eq!(count(&self.closed), streams);
        assert_eq!(count(&self.ours), 0, "streams ended by a fault of ours");
    }
}

impl Callbacks for Ends {
    fn stream_opened(&self, _: &StreamInfo) {
        self.opened.fetch_add(1, Ordering::SeqCst);
    }

    fn stream_closed(&self, _: &StreamInfo, reason: &CloseReason) {
        self.closed.fetch_add(1, Ordering::SeqCst);
        if matches!(reason, CloseReason::Panicked | CloseReason::Aborted) {
            self.ours.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// A cache with a group for each node, and a server of what it holds.
#[derive(Debug)]
pub(crate) struct Plane {
    pub(crate) writer: SnapshotCacheWriter<String>,
    pub(crate) xds: XdsServer,
    pub(crate) ends: Arc<Ends>,
    routes: Routes,
}

impl Plane {
    pub(crate) fn build(set_up: impl FnOnce(XdsServerBuilder) -> XdsServerBuilder) -> Self {
        let (writer, reader) = SnapshotCache::new(NodeId::default()).split();
        let ends = Arc::new(Ends::default());
        let xds = XdsServer::builder(Arc::new(reader)).with_callbacks(Arc::<Ends>::clone(&ends));
        let xds = set_up(xds).build();
        Self {
            writer,
            routes: xds.routes().prepare(),
            xds,
            ends,
        }
    }

    /// Publishes cluster `a` in this revision, beside what else the node has.
    pub(crate) fn publish(&self, node: &str, revision: usize) {
        publish(&self.writer, node, revision);
    }

    pub(crate) fn client(&self) -> AggregatedDiscoveryServiceClient<Routes> {
        AggregatedDiscoveryServiceClient::new(self.routes.clone())
    }

    /// Waits until no stream is open, and asserts that nothing is left of those that there were.
    pub(crate) async fn drained(&self) {
        let drained = timeout(TOO_LONG, self.xds.drained()).await;
        drained.expect("streams do not end");
        assert_eq!(self.writer.total_streams(), 0);
        assert_eq!(self.xds.status().nodes().count(), 0);
    }
}

pub(crate) fn publish(writer: &SnapshotCacheWriter<String>, node: &str, revision: usize) {
    let group = node.to_owned();
    let cluster = || Resource::builder(CLUSTER, "a", revision.to_string());
    let updated = writer.update(&group, |snapshot| {
        snapshot.upsert(cluster())?;
        Ok::<_, ResourceError>(())
    });
    if updated.expect("the cluster has a name").is_none() {
        let mut snapshot = Snapshot::builder();
        let inserted = snapshot.insert(cluster());
        inserted.expect("it is the first");
        let _ = writer.set(&group, snapshot.build());
    }
}

/// A client's end of a stream.
pub(crate) struct Stream<Q, R> {
    pub(crate) requests: UnboundedSender<Q>,
    pub(crate) responses: Streaming<R>,
}

pub(crate) type Sotw = Stream<DiscoveryRequest, DiscoveryResponse>;
pub(crate) type Delta = Stream<DeltaDiscoveryRequest, DeltaDiscoveryResponse>;

impl<Q, R> Stream<Q, R> {
    /// The next response, or how the stream ended.
    pub(crate) async fn next(&mut self) -> Result<R, Status> {
        let message = timeout(TOO_LONG, self.responses.message()).await;
        let message = message.expect("nothing is sent")?;
        message.ok_or_else(|| Status::ok("ended"))
    }
}

impl Sotw {
    /// Opens a stream for everything of these types.
    pub(crate) async fn open<T>(
        mut client: AggregatedDiscoveryServiceClient<T>,
        node: &str,
        types: &[TypeUrl],
    ) -> Result<Self, Status>
    where
        T: GrpcService<tonic::body::Body>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + Send,
    {
        let (requests, outbound) = unbounded_channel();
        for type_url in types {
            let _ = requests.send(DiscoveryRequest {
                node: Some(self::node(node)),
                type_url: type_url.to_string(),
                ..DiscoveryRequest::default()
            });
        }
        let opened = client.stream_aggregated_resources(UnboundedReceiverStream::new(outbound));
        let responses = opened.await?.into_inner();
        Ok(Self {
            requests,
            responses,
        })
    }

    pub(crate) fn ack(&self, response: &DiscoveryResponse) {
        let _ = self.requests.send(DiscoveryRequest {
            version_info: response.version_info.clone(),
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            ..DiscoveryRequest::default()
        });
    }

    /// Reads and acknowledges until cluster `a` has this revision.
    pub(crate) async fn until(&mut self, revision: usize) -> Result<(), Status> {
        loop {
            let response = self.next().await?;
            self.ack(&response);
            if self::revision(&response) == revision {
                return Ok(());
            }
        }
    }
}

impl Delta {
    /// Opens a stream for all clusters.
    pub(crate) async fn open_delta(
        mut client: AggregatedDiscoveryServiceClient<Routes>,
        node: &str,
    ) -> Result<Self, Status> {
        let (requests, outbound) = unbounded_channel();
        let _ = requests.send(DeltaDiscoveryRequest {
            node: Some(self::node(node)),
            type_url: CLUSTER.to_string(),
            ..DeltaDiscoveryRequest::default()
        });
        let opened = client.delta_aggregated_resources(UnboundedReceiverStream::new(outbound));
        let responses = opened.await?.into_inner();
        Ok(Self {
            requests,
            responses,
        })
    }
}

fn node(id: &str) -> Node {
    Node {
        id: id.to_owned(),
        ..Node::default()
    }
}

/// The revision of cluster `a`, which is before all others.
fn revision(response: &DiscoveryResponse) -> usize {
    let text = std::str::from_utf8(&response.resources[0].value);
    let revision = text.ok().and_then(|text| text.parse().ok());
    revision.expect("cluster a has a number for its body")
}
