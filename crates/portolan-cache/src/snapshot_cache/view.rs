use std::fmt;
use std::sync::Arc;

use portolan_core::{
    Delivery, DeliverySink, GroupKey, Publication, ResourceSet, Settlement, TypeUrl, View, ViewId,
};

use super::group::{Group, Place};
use super::store::Store;

/// A stream's view of its group. Dropping it takes the stream out of the group.
pub(super) struct GroupView<K: GroupKey> {
    store: Arc<Store<K>>,
    group: Arc<Group<K>>,
    place: Place,
}

impl<K: GroupKey> GroupView<K> {
    pub(super) fn new(store: Arc<Store<K>>, group: Arc<Group<K>>, place: Place) -> Self {
        Self {
            store,
            group,
            place,
        }
    }

    pub(super) fn group(&self) -> &Arc<Group<K>> {
        &self.group
    }

    fn tell(&self, tell: impl Fn(&dyn DeliverySink<K>, &K, ViewId)) {
        let (key, view) = (self.group.key(), self.place.view());
        self.store.tell_sinks(|sink| tell(sink, key, view));
    }
}

impl<K: GroupKey> View for GroupView<K> {
    fn load(&self) -> Option<Publication> {
        let publication = self.group.load(&self.place)?;
        Some(Publication::clone(&publication))
    }

    fn history(&self, type_url: &TypeUrl) -> Vec<ResourceSet> {
        self.group.history(type_url)
    }

    fn delivered(&mut self, delivery: &Delivery<'_>) {
        self.tell(|sink, key, view| sink.delivered(key, view, delivery));
    }

    fn settled(&mut self, settlement: Settlement) {
        self.tell(|sink, key, view| sink.settled(key, view, settlement));
    }
}

impl<K: GroupKey> Drop for GroupView<K> {
    fn drop(&mut self) {
        self.store.close(&self.group, &self.place);
    }
}

impl<K: GroupKey> fmt::Debug for GroupView<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupView")
            .field("group", self.group.key())
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}
