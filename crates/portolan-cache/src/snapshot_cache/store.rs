use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;

use portolan_core::{
    Announced, DeliverySink, GroupKey, GroupObserver, Node, Published, Snapshot, SnapshotBuilder,
    ViewId,
};

use super::group::{Group, Place};
use super::groups::Groups;
use super::lifecycle::Event;
use super::view::GroupView;
use crate::announcer::Announcer;
use crate::contain::contain;
use crate::ledger::Ledger;

/// What the handles of a cache share.
#[derive(Debug)]
pub(super) struct Store<K: GroupKey> {
    groups: Groups<K>,
    announcer: Announcer<Group<K>>,
    streams: AtomicUsize,
    /// How many views were ever opened.
    opened: AtomicU64,
    delivery_sinks: Vec<Arc<dyn DeliverySink<K>>>,
    observers: Vec<Arc<dyn GroupObserver<K>>>,
}

impl<K: GroupKey> Store<K> {
    pub(super) fn new(
        delivery_sinks: Vec<Arc<dyn DeliverySink<K>>>,
        observers: Vec<Arc<dyn GroupObserver<K>>>,
        history: usize,
    ) -> Self {
        Self {
            groups: Groups::new(history),
            announcer: Announcer::new(),
            streams: AtomicUsize::new(0),
            opened: AtomicU64::new(0),
            delivery_sinks,
            observers,
        }
    }

    pub(super) fn groups(&self) -> &Groups<K> {
        &self.groups
    }

    pub(super) fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, key: &K, snapshot: &Snapshot) -> Published {
        loop {
            let group = self.groups.get_or_create(key);
            let Some(seen) = group.ledger() else {
                self.forget(&group);
                continue;
            };
            if let Some(published) = self.enter(&group, &seen, snapshot.clone()) {
                return published;
            }
        }
    }

    pub(super) fn update<E>(
        &self,
        key: &K,
        mut edit: impl FnMut(&mut SnapshotBuilder) -> Result<(), E>,
    ) -> Result<Option<Published>, E> {
        loop {
            let Some(group) = self.groups.get(key) else {
                return Ok(None);
            };
            let seen = group.ledger();
            let Some((seen, held)) = seen.and_then(|l| l.publication().cloned().map(|p| (l, p)))
            else {
                return Ok(None);
            };
            let mut builder = held.snapshot().edit();
            edit(&mut builder)?;
            let published = self.enter(&group, &seen, builder.build());
            if published.is_some() {
                return Ok(published);
            }
        }
    }

    pub(super) fn clear(&self, key: &K) {
        if let Some(group) = self.groups.get(key) {
            group.clear();
            self.free_if_vacant(&group);
        }
    }

    pub(super) fn open(self: &Arc<Self>, key: &K, node: &Arc<Node>, waker: Waker) -> GroupView<K> {
        let waker = Arc::new(waker);
        let view = ViewId::new(self.opened.fetch_add(1, Ordering::Relaxed));
        let first_node = (!self.observers.is_empty()).then_some(node);
        loop {
            let group = self.groups.get_or_create(key);
            if let Some(place) = group.join(view, &waker, first_node) {
                self.streams.fetch_add(1, Ordering::Relaxed);
                let opened = GroupView::new(Arc::clone(self), group, place);
                self.tell_sinks(|sink| sink.opened(key, view, node));
                self.settle(opened.group());
                return opened;
            }
            self.forget(&group);
        }
    }

    pub(super) fn close(&self, group: &Arc<Group<K>>, place: &Place) {
        group.leave(place);
        self.streams.fetch_sub(1, Ordering::Relaxed);
        self.tell_sinks(|sink| sink.closed(group.key(), place.view()));
        self.settle(group);
    }

    pub(super) fn tell_sinks(&self, tell: impl Fn(&dyn DeliverySink<K>)) {
        for sink in &self.delivery_sinks {
            contain(|| tell(&**sink));
        }
    }

    pub(super) fn register_announcer(&self, waker: Waker) {
        self.announcer.register(waker);
    }

    pub(super) fn announce(&self, budget: usize) -> Announced {
        self.announcer.announce(budget)
    }

    /// Enters a snapshot into the ledger `seen`; `None` if that is no longer the newest.
    fn enter(&self, group: &Arc<Group<K>>, seen: &Ledger, snapshot: Snapshot) -> Option<Published> {
        let (next, published) = seen.enter(snapshot);
        if let Some(next) = next
            && group.replace(seen, next)?
        {
            self.announcer.enqueue(Arc::clone(group));
        }
        Some(published)
    }

    /// Tells the observers what they have not heard of a group, and frees the group if nothing is left of it.
    fn settle(&self, group: &Arc<Group<K>>) {
        if !self.observers.is_empty() {
            let mut event = group.claim_event();
            while let Some(told) = event {
                self.tell_observers(group.key(), &told);
                event = group.next_event();
            }
        }
        self.free_if_vacant(group);
    }

    fn tell_observers(&self, key: &K, event: &Event) {
        for observer in &self.observers {
            contain(|| match event {
                Event::FirstNode(node) => observer.first_node(key, node),
                Event::LastNodeLeft => observer.last_node_left(key),
            });
        }
    }

    fn free_if_vacant(&self, group: &Arc<Group<K>>) {
        if group.retire_if_vacant() {
            self.forget(group);
        }
    }

    fn forget(&self, group: &Arc<Group<K>>) {
        self.groups.forget(group);
        self.announcer.withdraw(group);
    }
}
