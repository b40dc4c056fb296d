//! Which publication each stream has come to rest on, and who waits for what.

mod group;
mod outcome;
mod scope;
#[cfg(test)]
mod tests;
mod wait;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portolan_core::{
    Delivery, DeliveryOutcome, DeliverySink, Generation, GroupKey, Node, Settlement, ViewId,
};
use tokio::time::timeout;

use self::group::Group;
pub use self::outcome::{NodeOutcome, Rejection};
pub use self::scope::WaitScope;
use self::wait::Tally;
pub(crate) use self::wait::Wait;

/// Enough that streams of different groups rarely meet.
const SHARDS: usize = 16;

/// Knows which publication each stream of each group has come to rest on, so that one can wait for a publication to
/// arrive. A cache [tells it](DeliverySink), and a publish loop that was given it
/// [waits with it](crate::Publisher::wait).
///
/// It holds, for each open stream, the node's id, the last publication that the stream settled on, and the client's
/// newest rejections; all of it goes with the stream. A wait holds the ids of the nodes that it is for. Locks are held
/// for map operations on a group's streams, and no code but a group key's own runs under one.
///
/// ```
/// use std::time::Duration;
///
/// use portolan_core::{DeliverySink, Generation, Node, Settlement, ViewId};
/// use portolan_translator::{DeliveryTracker, NodeOutcome};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let tracker = DeliveryTracker::new();
/// let (group, published) = ("edge", Generation::default().next());
///
/// // What a cache tells of a stream.
/// tracker.opened(&group, ViewId::new(1), &Node::new("edge-1"));
/// tracker.settled(&group, ViewId::new(1), Settlement::new(published, false));
///
/// let nodes = tracker.wait(&group, published, Duration::from_secs(10)).await;
/// assert_eq!(nodes["edge-1"], NodeOutcome::Acked);
/// # }
/// ```
pub struct DeliveryTracker<G> {
    shards: [Mutex<HashMap<G, Group>>; SHARDS],
    hasher: RandomState,
    waits: AtomicU64,
}

impl<G: GroupKey> DeliveryTracker<G> {
    /// A tracker that knows of no stream yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            hasher: RandomState::new(),
            waits: AtomicU64::new(0),
        }
    }

    /// Waits until the nodes that have streams of `group` now have settled on its publication `generation`, or `deadline`
    /// has passed. For groups that a publish loop translates, [`Publisher::wait`](crate::Publisher::wait) finds out the
    /// publication by itself.
    pub async fn wait(
        &self,
        group: &G,
        generation: Generation,
        deadline: Duration,
    ) -> BTreeMap<Arc<str>, NodeOutcome> {
        let wait = self.begin(&WaitScope::groups([group.clone()]));
        wait.aim(group, generation);
        // What had not settled by then says so.
        let _elapsed = timeout(deadline, wait.settled()).await;
        wait.end().remove(group).unwrap_or_default()
    }

    /// Begins to wait for the nodes of a scope that have streams now; for which publications, is still to be said.
    pub(crate) fn begin(&self, scope: &WaitScope<G>) -> Wait<'_, G> {
        let number = self.waits.fetch_add(1, Ordering::Relaxed);
        let tally = Arc::new(Tally::default());
        let mut groups = Vec::new();
        let mut join = |name: &G, group: &mut Group| {
            if group.begin_wait(number, scope.node_ids(), &tally) {
                groups.push(name.clone());
            }
        };
        match scope.group_names() {
            Some(names) => {
                for name in names {
                    if let Some(group) = self.shard(name).get_mut(name) {
                        join(name, group);
                    }
                }
            }
            None => {
                for shard in &self.shards {
                    lock(shard)
                        .iter_mut()
                        .for_each(|(name, group)| join(name, group));
                }
            }
        }
        Wait::new(self, number, groups, tally)
    }

    fn shard(&self, name: &G) -> MutexGuard<'_, HashMap<G, Group>> {
        let hash = self.hasher.hash_one(name);
        let at = hash % self.shards.len() as u64;
        lock(&self.shards[at as usize])
    }

    /// Changes what is known of a group, forgets it if nothing is left of it, and tells the waits that are over.
    fn edit<T: Default>(&self, name: &G, edit: impl FnOnce(&mut Group) -> T) -> T {
        let mut shard = self.shard(name);
        let Some(group) = shard.get_mut(name) else {
            return T::default();
        };
        let result = edit(group);
        let over = group.take_over();
        let emptied = if group.is_empty() {
            shard.remove_entry(name)
        } else {
            None
        };
        drop(shard);
        drop(emptied);
        over.into_iter().for_each(|tally| tally.group_is_over());
        result
    }
}

impl<G: GroupKey> DeliverySink<G> for DeliveryTracker<G> {
    fn opened(&self, group: &G, view: ViewId, node: &Node) {
        let mut shard = self.shard(group);
        shard
            .entry(group.clone())
            .or_default()
            .opened(view, node.id());
    }

    fn delivered(&self, group: &G, view: ViewId, delivery: &Delivery<'_>) {
        match delivery.outcome {
            DeliveryOutcome::Acked => self.edit(group, |g| g.accepted(view, delivery.type_url)),
            DeliveryOutcome::Nacked(message) => {
                let rejection = Rejection::new(delivery.type_url.clone(), message);
                self.edit(group, |g| g.rejected(view, rejection));
            }
            _ => {}
        }
    }

    fn settled(&self, group: &G, view: ViewId, settlement: Settlement) {
        self.edit(group, |g| g.settled(view, settlement));
    }

    fn closed(&self, group: &G, view: ViewId) {
        self.edit(group, |g| g.closed(view));
    }
}

impl<G: GroupKey> Default for DeliveryTracker<G> {
    fn default() -> Self {
        Self::new()
    }
}

impl<G> fmt::Debug for DeliveryTracker<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups: usize = self.shards.iter().map(|shard| lock(shard).len()).sum();
        f.debug_struct("DeliveryTracker")
            .field("groups", &groups)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
