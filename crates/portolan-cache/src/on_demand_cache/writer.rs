use std::fmt;
use std::sync::Arc;

use portolan_core::{GroupKey, Published, Snapshot, SnapshotWriter};

use super::resolution::{Resolution, Wanted};
use super::store::Store;

/// The handle of an [`OnDemandCache`](super::OnDemandCache) for publishers. It writes the bases of groups, and changes what
/// was resolved as long as somebody wants it. Clones write to the same cache, from any thread.
pub struct OnDemandCacheWriter<K: GroupKey> {
    store: Arc<Store<K>>,
}

impl<K: GroupKey> OnDemandCacheWriter<K> {
    pub(super) fn new(store: Arc<Store<K>>) -> Self {
        Self { store }
    }

    /// Publishes a base for a group, in place of what it had. A name that it has is not resolved, and what was resolved
    /// under that name is let go; a name that it has no more and that somebody wants is resolved.
    ///
    /// Costs what was resolved for the group, and what [`SnapshotCacheWriter::set`](crate::SnapshotCacheWriter::set)
    /// costs.
    pub fn set(&self, group: &K, base: Snapshot) -> Published {
        self.store.set_base(group, base)
    }

    /// The base that the group was last given.
    #[must_use]
    pub fn get(&self, group: &K) -> Option<Snapshot> {
        self.store.base(group)
    }

    /// Forgets the base that the group was given. It has that of all groups then, or is told nothing until something is
    /// published (C-129).
    pub fn clear(&self, group: &K) {
        self.store.clear_base(group);
    }

    /// Says what has become of a name that somebody wants: the resource changed, is gone, cannot be had. The clients that
    /// name it are told (C-232). A resolution of it that runs is cancelled. What was to hold for
    /// some time holds for what is left of that.
    ///
    /// Gives whether anybody wants it, or it is kept; where nobody does nothing happens, and it is resolved when it is
    /// wanted.
    pub fn revise(&self, wanted: &Wanted<K>, resolution: Resolution) -> bool {
        self.store.revise(wanted, resolution)
    }

    /// Number of open streams of a group.
    #[must_use]
    pub fn streams(&self, group: &K) -> usize {
        self.store.published().streams(group)
    }

    #[cfg(test)]
    pub(super) fn store_is_empty(&self) -> bool {
        self.store.is_empty() && self.store.published().groups().is_empty()
    }
}

impl<K: GroupKey> SnapshotWriter<K> for OnDemandCacheWriter<K> {
    fn set(&self, group: &K, snapshot: Snapshot) -> Published {
        Self::set(self, group, snapshot)
    }

    fn get(&self, group: &K) -> Option<Snapshot> {
        Self::get(self, group)
    }

    fn clear(&self, group: &K) {
        Self::clear(self, group);
    }

    fn groups(&self) -> Vec<K> {
        self.store.published().groups()
    }
}

impl<K: GroupKey> Clone for OnDemandCacheWriter<K> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
        }
    }
}

impl<K: GroupKey> fmt::Debug for OnDemandCacheWriter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnDemandCacheWriter")
            .field(&self.store)
            .finish()
    }
}
