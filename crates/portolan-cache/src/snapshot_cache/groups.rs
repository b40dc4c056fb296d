use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use portolan_core::{Generation, GroupKey};

use super::group::Group;
use crate::lock::lock;

/// Enough that writers and opening streams of different groups rarely meet.
const SHARDS: usize = 16;

/// The groups by key. Locks are held for one map operation.
#[derive(Debug)]
pub(super) struct Groups<K> {
    shards: [Mutex<Shard<K>>; SHARDS],
    hasher: RandomState,
    /// How many former sets of each type a group remembers.
    history: usize,
}

#[derive(Debug)]
struct Shard<K> {
    groups: HashMap<K, Arc<Group<K>>>,
    /// The highest number of a publication of groups that were freed. A group of the same key goes on from there, so
    /// that its numbers never go back.
    floor: Generation,
}

impl<K: GroupKey> Groups<K> {
    pub(super) fn new(history: usize) -> Self {
        let shard = |_| {
            Mutex::new(Shard {
                groups: HashMap::new(),
                floor: Generation::default(),
            })
        };
        Self {
            shards: std::array::from_fn(shard),
            hasher: RandomState::new(),
            history,
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<Arc<Group<K>>> {
        lock(self.shard(key)).groups.get(key).cloned()
    }

    pub(super) fn get_or_create(&self, key: &K) -> Arc<Group<K>> {
        let mut shard = lock(self.shard(key));
        if let Some(group) = shard.groups.get(key) {
            return Arc::clone(group);
        }
        let group = Arc::new(Group::new(key.clone(), shard.floor, self.history));
        shard.groups.insert(key.clone(), Arc::clone(&group));
        group
    }

    /// Takes out a group that was freed. Anyone who comes upon it may do this; its successor is left alone.
    pub(super) fn forget(&self, group: &Arc<Group<K>>) {
        let last = group.last();
        let mut shard = lock(self.shard(group.key()));
        let held = shard.groups.get(group.key());
        if held.is_some_and(|held| Arc::ptr_eq(held, group)) {
            shard.floor = shard.floor.max(last);
            let removed = shard.groups.remove_entry(group.key());
            drop(shard);
            drop(removed);
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<Group<K>>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(lock(shard).groups.values().cloned());
        }
        all
    }

    pub(super) fn len(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| lock(shard).groups.len())
            .sum()
    }

    fn shard(&self, key: &K) -> &Mutex<Shard<K>> {
        let hash = self.hasher.hash_one(key) as usize;
        &self.shards[hash % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use portolan_core::{Snapshot, ViewId};

    use super::*;

    #[test]
    fn a_freed_group_takes_neither_streams_nor_data() {
        let groups = Groups::new(0);
        let group = groups.get_or_create(&"a");
        let seen = group.ledger().unwrap();
        assert!(group.retire_if_vacant());
        let (next, _) = seen.enter(Snapshot::empty());
        assert!(group.ledger().is_none());
        assert!(group.replace(&seen, next.unwrap()).is_none());
        let waker = Arc::new(Waker::noop().clone());
        assert!(group.join(ViewId::new(1), &waker, None).is_none());
    }

    #[test]
    fn forgetting_a_freed_group_leaves_its_successor_alone() {
        let groups = Groups::new(0);
        let freed = groups.get_or_create(&"a");
        groups.forget(&freed);
        let successor = groups.get_or_create(&"a");
        groups.forget(&freed);
        assert!(Arc::ptr_eq(&successor, &groups.get(&"a").unwrap()));
    }
}
