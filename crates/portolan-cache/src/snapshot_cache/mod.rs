//! A snapshot per group of nodes.

mod group;
mod groups;
mod lifecycle;
mod reader;
mod store;
#[cfg(test)]
mod tests;
mod view;
mod writer;

use std::sync::Arc;

use portolan_core::{DeliverySink, GroupObserver, NodeHash};

pub use self::reader::SnapshotCacheReader;
use self::store::Store;
pub use self::writer::SnapshotCacheWriter;

/// A cache that holds a snapshot for each group of nodes, before it is split into its two handles.
///
/// The [`NodeHash`] says which group a node belongs to. Groups need not be declared: one exists while it holds a
/// snapshot or has streams, whichever comes first, and is freed when it has neither.
///
/// ```
/// use std::sync::Arc;
///
/// use portolan_cache::SnapshotCache;
/// use portolan_core::{GroupObserver, Node, NodeId};
///
/// #[derive(Debug)]
/// struct Fleet;
///
/// impl GroupObserver<String> for Fleet {
///     fn first_node(&self, group: &String, node: &Node) {
///         println!("{group} runs {}", node.user_agent_version());
///     }
///
///     fn last_node_left(&self, group: &String) {
///         println!("{group} is gone");
///     }
/// }
///
/// let (writer, reader) = SnapshotCache::new(NodeId::default()).with_observer(Arc::new(Fleet)).split();
/// # drop((writer, reader));
/// ```
#[derive(Debug)]
#[must_use]
pub struct SnapshotCache<H: NodeHash> {
    node_hash: H,
    delivery_sinks: Vec<Arc<dyn DeliverySink<H::Key>>>,
    observers: Vec<Arc<dyn GroupObserver<H::Key>>>,
}

impl<H: NodeHash> SnapshotCache<H> {
    /// An empty cache whose groups are those of `node_hash`.
    pub fn new(node_hash: H) -> Self {
        Self {
            node_hash,
            delivery_sinks: Vec::new(),
            observers: Vec::new(),
        }
    }

    /// Adds one who hears of each stream how far it got, by group. Default: nobody.
    pub fn with_delivery_sink(mut self, sink: Arc<dyn DeliverySink<H::Key>>) -> Self {
        self.delivery_sinks.push(sink);
        self
    }

    /// Adds one who hears which groups have nodes. Default: nobody.
    ///
    /// For each group, `first_node` and `last_node_left` alternate and never overlap, and the last one heard agrees
    /// with reality once the calls have returned. Streams that come and go while a call for their group is being
    /// made are reported by whoever makes that call, after it; of several times that a group filled and emptied
    /// meanwhile only the outcome is told.
    pub fn with_observer(mut self, observer: Arc<dyn GroupObserver<H::Key>>) -> Self {
        self.observers.push(observer);
        self
    }

    /// The two handles: one for publishers, one for servers.
    #[must_use]
    pub fn split(self) -> (SnapshotCacheWriter<H::Key>, SnapshotCacheReader<H>) {
        let store = Arc::new(Store::new(self.delivery_sinks, self.observers));
        let writer = SnapshotCacheWriter::new(Arc::clone(&store));
        (writer, SnapshotCacheReader::new(self.node_hash, store))
    }
}
