use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use portolan::cache::{SnapshotCache, SnapshotCacheWriter};
use portolan::core::{NodeId, Resource, ResourceError, Snapshot, well_known::CLUSTER};
use portolan::server::{Callbacks, CloseReason, StreamInfo, XdsServer, XdsServerBuilder};
use portolan::types::envoy::service::discovery::v3::DiscoveryResponse;
use portolan_tests::Sotw;
use tokio::time::timeout;
use tonic::Status;
use tonic::service::Routes;

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

    /// By which clients in this process call the services.
    pub(crate) fn transport(&self) -> Routes {
        self.routes.clone()
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

/// Reads and acknowledges until cluster `a` has this revision.
pub(crate) async fn follow_until(stream: &mut Sotw, revision: usize) -> Result<(), Status> {
    loop {
        let response = stream.next().await?;
        stream.ack(&response);
        if self::revision(&response) == revision {
            return Ok(());
        }
    }
}

/// The revision of cluster `a`, which is before all others.
fn revision(response: &DiscoveryResponse) -> usize {
    let text = std::str::from_utf8(&response.resources[0].value);
    let revision = text.ok().and_then(|text| text.parse().ok());
    revision.expect("cluster a has a number for its body")
}
