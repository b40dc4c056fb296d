use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use portolan_core::Node;

use super::Progress;
use crate::StreamInfo;

/// So many streams can be added and removed at once without waiting for each other.
const SHARDS: usize = 16;

/// The slots of all streams, by the ids of their nodes.
#[derive(Debug, Default)]
pub(super) struct Index {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
}

type Shard = BTreeMap<Box<str>, Vec<Arc<Slot>>>;

/// What is known of one stream. Its lock is the stream's own.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) node: Arc<Node>,
    pub(super) info: StreamInfo,
    pub(super) connected: SystemTime,
    progress: Mutex<Progress>,
}

impl Slot {
    pub(super) fn new(node: Arc<Node>, info: StreamInfo) -> Self {
        let connected = SystemTime::now();
        Self {
            node,
            info,
            connected,
            progress: Mutex::new(Progress::new(connected)),
        }
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    pub(super) fn add(&self, slot: &Arc<Slot>) {
        let id = slot.node.id();
        let mut shard = self.shard(id);
        let slots = shard.entry(id.into()).or_default();
        slots.push(Arc::clone(slot));
    }

    /// Takes out this very slot: a node may have other streams.
    pub(super) fn remove(&self, slot: &Arc<Slot>) {
        let id = slot.node.id();
        let mut shard = self.shard(id);
        let Some(slots) = shard.get_mut(id) else {
            return;
        };
        slots.retain(|other| !Arc::ptr_eq(other, slot));
        if slots.is_empty() {
            shard.remove(id);
        }
    }

    /// The slots of a node, in the order in which its streams were admitted.
    pub(super) fn of_node(&self, id: &str) -> Vec<Arc<Slot>> {
        self.shard(id).get(id).cloned().unwrap_or_default()
    }

    /// The slots of each node, by id.
    pub(super) fn nodes(&self) -> Vec<Vec<Arc<Slot>>> {
        let mut nodes = Vec::new();
        for shard in &self.shards {
            nodes.extend(lock(shard).values().cloned());
        }
        nodes.sort_by(|a: &Vec<Arc<Slot>>, b| a[0].node.id().cmp(b[0].node.id()));
        nodes
    }

    fn shard(&self, id: &str) -> MutexGuard<'_, Shard> {
        let hash = self.hasher.hash_one(id) as usize;
        lock(&self.shards[hash % SHARDS])
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
