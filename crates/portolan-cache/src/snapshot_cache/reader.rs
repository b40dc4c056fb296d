use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use portolan_core::{Announced, Node, NodeHash, Peer, Refusal, Source, View};

use super::store::Store;

/// The handle of a [`SnapshotCache`](super::SnapshotCache) for servers: a [`Source`]. Clones read the same cache.
pub struct SnapshotCacheReader<H: NodeHash> {
    node_hash: Arc<H>,
    store: Arc<Store<H::Key>>,
}

impl<H: NodeHash> SnapshotCacheReader<H> {
    pub(super) fn new(node_hash: H, store: Arc<Store<H::Key>>) -> Self {
        Self {
            node_hash: Arc::new(node_hash),
            store,
        }
    }

    /// Opens a view, and says of which group it is.
    pub(crate) fn open_group(
        &self,
        node: &Arc<Node>,
        peer: &Peer,
        waker: Waker,
    ) -> Result<(H::Key, Box<dyn View>), Refusal> {
        let key = self.node_hash.key(node, peer)?;
        let view = self.store.open(&key, node, waker);
        Ok((key, Box::new(view)))
    }
}

impl<H: NodeHash> Source for SnapshotCacheReader<H> {
    /// Opens a view of the group that the cache's [`NodeHash`] names; several streams of one node are nothing special.
    ///
    /// # Errors
    /// The node hash's refusal.
    fn open(&self, node: &Arc<Node>, peer: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal> {
        let (_, view) = self.open_group(node, peer, waker)?;
        Ok(view)
    }

    fn announce(&self, budget: usize) -> Announced {
        self.store.announce(budget)
    }

    fn register_announcer(&self, waker: Waker) {
        self.store.register_announcer(waker);
    }
}

impl<H: NodeHash> Clone for SnapshotCacheReader<H> {
    fn clone(&self) -> Self {
        Self {
            node_hash: Arc::clone(&self.node_hash),
            store: Arc::clone(&self.store),
        }
    }
}

impl<H: NodeHash> fmt::Debug for SnapshotCacheReader<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotCacheReader")
            .field("node_hash", &self.node_hash)
            .field("groups", &self.store.groups().len())
            .field("streams", &self.store.streams())
            .finish()
    }
}
