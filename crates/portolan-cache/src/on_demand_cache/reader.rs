use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use portolan_core::{Announced, Node, NodeHash, Peer, Refusal, Source, View};

use super::store::Store;
use super::view::OnDemandView;
use crate::SnapshotCacheReader;

/// The handle of an [`OnDemandCache`](super::OnDemandCache) for servers: a [`Source`]. Clones read the same cache.
pub struct OnDemandCacheReader<H: NodeHash> {
    snapshots: SnapshotCacheReader<H>,
    store: Arc<Store<H::Key>>,
}

impl<H: NodeHash> OnDemandCacheReader<H> {
    pub(super) fn new(snapshots: SnapshotCacheReader<H>, store: Arc<Store<H::Key>>) -> Self {
        Self { snapshots, store }
    }
}

impl<H: NodeHash> Source for OnDemandCacheReader<H> {
    /// Opens a view of the group that the cache's [`NodeHash`] names.
    ///
    /// # Errors
    /// The node hash's refusal.
    fn open(&self, node: &Arc<Node>, peer: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal> {
        let (group, view) = self.snapshots.open_group(node, peer, waker)?;
        Ok(Box::new(OnDemandView::new(
            Arc::clone(&self.store),
            group,
            view,
        )))
    }

    fn announce(&self, budget: usize) -> Announced {
        self.snapshots.announce(budget)
    }

    fn register_announcer(&self, waker: Waker) {
        self.snapshots.register_announcer(waker);
    }
}

impl<H: NodeHash> Clone for OnDemandCacheReader<H> {
    fn clone(&self) -> Self {
        Self {
            snapshots: self.snapshots.clone(),
            store: Arc::clone(&self.store),
        }
    }
}

impl<H: NodeHash> fmt::Debug for OnDemandCacheReader<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnDemandCacheReader")
            .field("snapshots", &self.snapshots)
            .finish_non_exhaustive()
    }
}
