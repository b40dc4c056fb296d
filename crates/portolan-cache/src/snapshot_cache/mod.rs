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
    history: usize,
}

impl<H: NodeHash> SnapshotCache<H> {
    /// An empty cache whose groups are those of `node_hash`.
    pub fn new(node_hash: H) -> Self {
        Self {
            node_hash,
            delivery_sinks: Vec::new(),
            observers: Vec::new(),
            history: 8,
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

    /// How many sets of each type that it was given before a group remembers, so that a client that was away comes from
    /// there to what there is as gently as one that was not. A state-of-the-world client says by a version what it has,
    /// and of one that is not remembered nothing is known; of a delta client it is not known then where what it has leads.
    /// Default 8; with 0 nothing is remembered.
    ///
    /// A set keeps what it does not share with the newer one: the resources that were replaced since, the chunks of at
    /// most 128 resources that they were in, encoded if they were sent, and eight bytes for each chunk. Endpoints, secrets
    /// and what else leads nowhere are not remembered.
    pub fn with_history(mut self, sets: usize) -> Self {
        self.history = sets;
        self
    }

    /// The two handles: one for publishers, one for servers.
    #[must_use]
    pub fn split(self) -> (SnapshotCacheWriter<H::Key>, SnapshotCacheReader<H>) {
        let store = Arc::new(Store::new(
            self.delivery_sinks,
            self.observers,
            self.history,
        ));
        let writer = SnapshotCacheWriter::new(Arc::clone(&store));
        (writer, SnapshotCacheReader::new(self.node_hash, store))
    }
}
