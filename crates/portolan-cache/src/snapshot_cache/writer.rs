use std::fmt;
use std::sync::Arc;

use portolan_core::{GroupKey, Published, Snapshot, SnapshotBuilder, SnapshotWriter};

use super::store::Store;

/// The handle of a [`SnapshotCache`](super::SnapshotCache) for publishers. Clones write to the same cache, from any
/// thread; of two that write to one group at a time, one comes after the other.
pub struct SnapshotCacheWriter<K: GroupKey> {
    store: Arc<Store<K>>,
}

impl<K: GroupKey> SnapshotCacheWriter<K> {
    pub(super) fn new(store: Arc<Store<K>>) -> Self {
        Self { store }
    }

    /// Publishes a snapshot for a group, in place of what it had.
    ///
    /// Content decides: a snapshot of equal content is no new publication and nobody hears of it. Labels and times to
    /// live decorate: where they differ they are stored, and seen by whoever loads next.
    ///
    /// Costs O(types) and one notice to the server's announcer, whatever the number of streams and resources (equal
    /// content that was not built from the previous snapshot is read through once). Build with
    /// [`Snapshot::builder_from`] what the group had, so that streams find what did not change by pointer.
    pub fn set(&self, group: &K, snapshot: Snapshot) -> Published {
        self.store.set(group, &snapshot)
    }

    /// Edits what a group has, and publishes the outcome as [`set`](Self::set) does. `None` where the group has
    /// nothing: an edit of nothing would tell its nodes that all else is empty (C-129).
    ///
    /// No lock is held during the edit. If something else is published for the group meanwhile, `edit` is called
    /// again, with that; it should depend on nothing that its first call changed.
    ///
    /// ```
    /// use portolan_cache::SnapshotCache;
    /// use portolan_core::{NodeId, Resource, ResourceError, Snapshot, well_known::ENDPOINT};
    ///
    /// let (writer, _) = SnapshotCache::new(NodeId::default()).split();
    /// let group = "edge-1".to_owned();
    /// let move_backend = || {
    ///     writer.update(&group, |snapshot| {
    ///         snapshot.upsert(Resource::builder(ENDPOINT, "backend", &b"\x0a\x07backend"[..]))?;
    ///         Ok::<_, ResourceError>(())
    ///     })
    /// };
    /// assert!(move_backend()?.is_none());
    /// let first = writer.set(&group, Snapshot::empty()).generation();
    /// let second = move_backend()?.map(|published| published.generation());
    /// assert_eq!(second, Some(first.next()));
    /// # Ok::<(), ResourceError>(())
    /// ```
    ///
    /// # Errors
    /// That of `edit`; nothing is published then.
    pub fn update<E>(
        &self,
        group: &K,
        edit: impl FnMut(&mut SnapshotBuilder) -> Result<(), E>,
    ) -> Result<Option<Published>, E> {
        self.store.update(group, edit)
    }

    /// What the group was last given.
    #[must_use]
    pub fn get(&self, group: &K) -> Option<Snapshot> {
        let publication = self.store.groups().get(group)?.publication()?;
        Some(publication.snapshot().clone())
    }

    /// Forgets what the group was given. Its streams stay open and are told nothing until something is published
    /// again, which goes on with the numbers (C-129). A group without streams is freed.
    pub fn clear(&self, group: &K) {
        self.store.clear(group);
    }

    /// The groups that hold a snapshot or have streams, sorted.
    #[must_use]
    pub fn groups(&self) -> Vec<K> {
        let mut groups = self.store.groups().all();
        groups.retain(|group| group.is_in_use());
        let mut keys: Vec<_> = groups.iter().map(|group| group.key().clone()).collect();
        keys.sort_unstable();
        keys
    }

    /// Number of open streams of a group.
    #[must_use]
    pub fn streams(&self, group: &K) -> usize {
        let group = self.store.groups().get(group);
        group.map_or(0, |group| group.streams())
    }

    /// Number of open streams of all groups.
    #[must_use]
    pub fn total_streams(&self) -> usize {
        self.store.streams()
    }

    /// Number of [`groups`](Self::groups), counted without listing them. May include groups that are being freed.
    #[must_use]
    pub fn total_groups(&self) -> usize {
        self.store.groups().len()
    }
}

impl<K: GroupKey> SnapshotWriter<K> for SnapshotCacheWriter<K> {
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
        Self::groups(self)
    }
}

impl<K: GroupKey> Clone for SnapshotCacheWriter<K> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
        }
    }
}

impl<K: GroupKey> fmt::Debug for SnapshotCacheWriter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotCacheWriter")
            .field("groups", &self.total_groups())
            .field("streams", &self.total_streams())
            .finish()
    }
}
