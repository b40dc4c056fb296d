mod deliveries;
mod interleaving;
mod lifecycle;
mod publishing;
mod stress;
mod waking;

use std::sync::Arc;
use std::task::Waker;

use portolan_core::well_known::CLUSTER;
use portolan_core::{
    Announced, Name, Node, NodeId, Peer, Resource, Snapshot, SnapshotBuilder, Source, View,
};

use super::{SnapshotCache, SnapshotCacheReader, SnapshotCacheWriter};
use crate::wakes::Wakes;

type Writer = SnapshotCacheWriter<String>;
type Reader = SnapshotCacheReader<NodeId>;

fn cache() -> (Writer, Reader) {
    SnapshotCache::new(NodeId::default()).split()
}

fn key(group: &str) -> String {
    group.to_owned()
}

fn node(id: &str) -> Arc<Node> {
    Arc::new(Node::new(id))
}

/// Builds snapshots with one cluster.
fn builder(body: &str) -> SnapshotBuilder {
    let mut builder = Snapshot::builder();
    builder
        .insert(Resource::builder(CLUSTER, "c", body.as_bytes().to_vec()))
        .unwrap();
    builder
}

fn snapshot(body: &str) -> Snapshot {
    builder(body).build()
}

/// The body of the one cluster.
fn body(snapshot: &Snapshot) -> String {
    let cluster = snapshot.lookup(&CLUSTER, "c").present().unwrap();
    String::from_utf8(cluster.body().to_vec()).unwrap()
}

fn names(snapshot: &Snapshot) -> Vec<Name> {
    let clusters = snapshot.set(&CLUSTER).into_iter().flat_map(|s| s.iter());
    clusters.map(|r| r.name().clone()).collect()
}

/// A stream that counts how often it was woken.
struct Stream {
    view: Box<dyn View>,
    wakes: Arc<Wakes>,
}

impl Stream {
    fn open(reader: &Reader, id: &str) -> Self {
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let view = reader.open(&node(id), &Peer::unknown(), waker).unwrap();
        Self { view, wakes }
    }

    fn wakes(&self) -> usize {
        self.wakes.count()
    }

    /// The body that a client would be sent now.
    fn body(&self) -> Option<String> {
        self.view.load().map(|p| body(p.snapshot()))
    }
}

fn drain(reader: &Reader) {
    assert_eq!(reader.announce(usize::MAX), Announced::All);
}
