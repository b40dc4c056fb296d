use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use portolan_core::{Generation, GroupKey};
use tokio::sync::Notify;

use super::{DeliveryTracker, NodeOutcome};

/// How many groups a wait still waits for.
#[derive(Debug, Default)]
pub(super) struct Tally {
    groups: AtomicUsize,
    none_left: Notify,
}

impl Tally {
    pub(super) fn group_joins(&self) {
        self.groups.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn group_is_over(&self) {
        if self.groups.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.none_left.notify_one();
        }
    }
}

/// A wait for the nodes of some groups. Ends when it is dropped.
pub(crate) struct Wait<'a, G: GroupKey> {
    tracker: &'a DeliveryTracker<G>,
    number: u64,
    groups: Vec<G>,
    tally: Arc<Tally>,
}

impl<'a, G: GroupKey> Wait<'a, G> {
    pub(super) fn new(
        tracker: &'a DeliveryTracker<G>,
        number: u64,
        groups: Vec<G>,
        tally: Arc<Tally>,
    ) -> Self {
        Self {
            tracker,
            number,
            groups,
            tally,
        }
    }

    /// The groups that have nodes to wait for.
    pub(crate) fn groups(&self) -> &[G] {
        &self.groups
    }

    /// The nodes of a group are waited for until they have settled on this publication.
    pub(crate) fn aim(&self, group: &G, generation: Generation) {
        self.tracker
            .edit(group, |tracked| tracked.aim(self.number, generation));
    }

    /// The nodes of a group are not waited for.
    pub(crate) fn give_up(&self, group: &G) {
        self.end_of(group);
    }

    /// Waits until every node that is waited for has settled.
    pub(crate) async fn settled(&self) {
        while self.tally.groups.load(Ordering::Acquire) > 0 {
            self.tally.none_left.notified().await;
        }
    }

    /// What became of the publications at each node, by group.
    pub(crate) fn end(mut self) -> BTreeMap<G, BTreeMap<Arc<str>, NodeOutcome>> {
        let groups = std::mem::take(&mut self.groups).into_iter();
        let outcomes = groups.map(|group| {
            let nodes = self.end_of(&group);
            (group, nodes)
        });
        outcomes.collect()
    }

    fn end_of(&self, group: &G) -> BTreeMap<Arc<str>, NodeOutcome> {
        self.tracker
            .edit(group, |tracked| tracked.end_wait(self.number))
    }
}

impl<G: GroupKey> Drop for Wait<'_, G> {
    fn drop(&mut self) {
        for group in &self.groups {
            self.end_of(group);
        }
    }
}

impl<G: GroupKey> fmt::Debug for Wait<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("groups", &self.groups)
            .finish_non_exhaustive()
    }
}
