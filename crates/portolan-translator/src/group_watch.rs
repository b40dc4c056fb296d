use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_core::{GroupKey, GroupObserver, Node};
use tokio::sync::Notify;

/// Tells a publish loop which groups have nodes. It is made before the cache that observes and before the loop that
/// listens, so that neither has to exist first.
///
/// Nothing is queued: it holds one entry per group that has nodes, or whose going the loop has yet to hear of.
#[derive(Debug)]
pub struct GroupWatch<G>(Arc<Shared<G>>);

/// The loop's end of a [`GroupWatch`].
#[derive(Debug)]
pub struct WatchedGroups<G>(Arc<Shared<G>>);

/// What became of a group since the loop last looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GroupChange<G> {
    Came(G),
    Went(G),
}

#[derive(Debug)]
struct Shared<G> {
    state: Mutex<State<G>>,
    changed: Notify,
}

#[derive(Debug)]
struct State<G> {
    entries: BTreeMap<G, Entry>,
    changed: BTreeSet<G>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Entry {
    /// First nodes minus last ones. A count and not a flag: the two come from different streams' tasks, and one may
    /// overtake the other.
    nodes: i64,
    registered: bool,
    /// Whether the loop was told that the group came.
    told: bool,
}

impl Entry {
    fn served(&self) -> bool {
        self.nodes > 0 || self.registered
    }

    fn is_idle(&self) -> bool {
        self.nodes == 0 && !self.registered && !self.told
    }
}

impl<G: GroupKey> GroupWatch<G> {
    /// Both ends: the first goes to the cache as its observer of groups, the second to the loop.
    #[must_use]
    pub fn channel() -> (Self, WatchedGroups<G>) {
        let groups = WatchedGroups::none();
        (Self(Arc::clone(&groups.0)), groups)
    }
}

impl<G: GroupKey> GroupObserver<G> for GroupWatch<G> {
    fn first_node(&self, group: &G, _: &Node) {
        self.0.edit(group, |entry| entry.nodes += 1);
    }

    fn last_node_left(&self, group: &G) {
        self.0.edit(group, |entry| entry.nodes -= 1);
    }
}

impl<G: GroupKey> WatchedGroups<G> {
    /// No cache tells of its groups, so that only those are translated that are registered with the
    /// [publisher](crate::Publisher::serve_group).
    #[must_use]
    pub fn none() -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                entries: BTreeMap::new(),
                changed: BTreeSet::new(),
                closed: false,
            }),
            changed: Notify::new(),
        }))
    }

    pub(crate) fn registrar(&self) -> Registrar<G> {
        Registrar(Arc::clone(&self.0))
    }

    /// What changed since the last call, sorted by group.
    pub(crate) fn take_changes(&self) -> Vec<GroupChange<G>> {
        let mut state = self.0.lock();
        let changed = std::mem::take(&mut state.changed);
        let mut changes = Vec::with_capacity(changed.len());
        for group in changed {
            let Some(entry) = state.entries.get_mut(&group) else {
                continue;
            };
            let (told, served) = (entry.told, entry.served());
            entry.told = served;
            if entry.is_idle() {
                state.entries.remove(&group);
            }
            match (told, served) {
                (_, true) => changes.push(GroupChange::Came(group)),
                (true, false) => changes.push(GroupChange::Went(group)),
                (false, false) => {}
            }
        }
        changes
    }

    /// Waits until [`take_changes`](Self::take_changes) may have something to give.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }
}

impl<G> Drop for WatchedGroups<G> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        state.entries.clear();
        state.changed.clear();
    }
}

/// Registers groups by hand.
#[derive(Debug)]
pub(crate) struct Registrar<G>(Arc<Shared<G>>);

impl<G: GroupKey> Registrar<G> {
    pub(crate) fn register(&self, group: &G, on: bool) {
        self.0.edit(group, |entry| entry.registered = on);
    }
}

impl<G> Clone for Registrar<G> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<G> Shared<G> {
    fn lock(&self) -> MutexGuard<'_, State<G>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<G: GroupKey> Shared<G> {
    fn edit(&self, group: &G, edit: impl FnOnce(&mut Entry)) {
        {
            let mut state = self.lock();
            if state.closed {
                return;
            }
            let entry = state.entries.entry(group.clone()).or_default();
            edit(entry);
            if entry.is_idle() {
                state.entries.remove(group);
                state.changed.remove(group);
                return;
            }
            state.changed.insert(group.clone());
        }
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::GroupChange::{Came, Went};
    use super::*;

    fn node() -> Node {
        Node::default()
    }

    #[test]
    fn coming_and_going_are_told_once() {
        let (watch, groups) = GroupWatch::channel();
        watch.first_node(&"a", &node());
        assert_eq!(groups.take_changes(), [Came("a")]);
        assert_eq!(groups.take_changes(), []);
        watch.last_node_left(&"a");
        assert_eq!(groups.take_changes(), [Went("a")]);
    }

    #[test]
    fn a_group_that_came_and_went_unnoticed_leaves_nothing() {
        let (watch, groups) = GroupWatch::channel();
        watch.first_node(&"a", &node());
        watch.last_node_left(&"a");
        assert_eq!(groups.take_changes(), []);
        assert!(groups.0.lock().entries.is_empty());
    }

    #[test]
    fn a_group_that_went_and_came_unnoticed_is_told_as_there() {
        let (watch, groups) = GroupWatch::channel();
        watch.first_node(&"a", &node());
        let _ = groups.take_changes();
        watch.last_node_left(&"a");
        watch.first_node(&"a", &node());
        assert_eq!(groups.take_changes(), [Came("a")]);
    }

    #[test]
    fn calls_that_overtake_each_other_end_in_the_same_state() {
        let (watch, groups) = GroupWatch::channel();
        watch.first_node(&"a", &node());
        watch.first_node(&"a", &node());
        watch.last_node_left(&"a");
        assert_eq!(groups.take_changes(), [Came("a")]);
        watch.last_node_left(&"b");
        watch.first_node(&"b", &node());
        assert_eq!(groups.take_changes(), []);
    }

    #[test]
    fn a_registered_group_needs_no_nodes() {
        let (watch, groups) = GroupWatch::channel();
        groups.registrar().register(&"a", true);
        watch.first_node(&"a", &node());
        watch.last_node_left(&"a");
        assert_eq!(groups.take_changes(), [Came("a")]);
        groups.registrar().register(&"a", false);
        assert_eq!(groups.take_changes(), [Went("a")]);
    }

    #[test]
    fn without_a_loop_nothing_is_kept() {
        let (watch, groups) = GroupWatch::channel();
        drop(groups);
        watch.first_node(&"a", &node());
        assert!(watch.0.lock().entries.is_empty());
    }
}
