use std::fmt::Debug;

use crate::{GroupKey, Node, Snapshot};

/// Hears which groups have nodes. Called from the task of a stream of the group: it must not block.
pub trait GroupObserver<K: GroupKey>: Debug + Send + Sync {
    /// A group has its first stream, opened by `node`.
    fn first_node(&self, group: &K, node: &Node);

    /// A group lost its last stream.
    fn last_node_left(&self, group: &K);
}

/// The writing side of a cache that holds a snapshot per group.
pub trait SnapshotWriter<K: GroupKey>: Debug + Send + Sync {
    /// Publishes a snapshot for a group. Nothing waits for a stream and no stream is touched here.
    fn set(&self, group: &K, snapshot: Snapshot) -> Published;

    /// What the group was last given.
    fn get(&self, group: &K) -> Option<Snapshot>;

    /// Forgets what the group was given. Its streams stay open and are told nothing until something is published
    /// again (C-129).
    fn clear(&self, group: &K);

    /// The groups that hold a snapshot or have streams, sorted.
    fn groups(&self) -> Vec<K>;
}

/// What publishing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum Published {
    /// It is the group's newest publication, and its streams are being told.
    Changed(crate::Generation),
    /// The group had this content already; there is no new publication and no stream hears of it.
    Unchanged(crate::Generation),
}

impl Published {
    /// The group's newest publication.
    #[must_use]
    pub const fn generation(self) -> crate::Generation {
        match self {
            Self::Changed(generation) | Self::Unchanged(generation) => generation,
        }
    }
}
