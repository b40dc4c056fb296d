use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use portolan_core::{
    Delivery, GroupKey, Interest, Name, Publication, ResourceSet, Settlement, TypeUrl, View,
};

use super::store::Store;

/// A stream's view of its group. Dropping it gives up all that the stream wanted.
pub(super) struct OnDemandView<K: GroupKey> {
    store: Arc<Store<K>>,
    group: K,
    snapshots: Box<dyn View>,
    /// What the stream wants of the types that are resolved.
    wanted: BTreeSet<(TypeUrl, Name)>,
}

impl<K: GroupKey> OnDemandView<K> {
    pub(super) fn new(store: Arc<Store<K>>, group: K, snapshots: Box<dyn View>) -> Self {
        store.joined(&group);
        Self {
            store,
            group,
            snapshots,
            wanted: BTreeSet::new(),
        }
    }
}

impl<K: GroupKey> View for OnDemandView<K> {
    fn load(&self) -> Option<Publication> {
        self.snapshots.load()
    }

    fn history(&self, type_url: &TypeUrl) -> Vec<ResourceSet> {
        self.snapshots.history(type_url)
    }

    fn interest(&mut self, interest: &Interest<'_>) {
        let url = interest.type_url;
        if self.store.resolves(url) {
            let key = |name: &Name| (url.clone(), name.clone());
            let unwanted = interest.removed.iter();
            let unwanted: Vec<_> = unwanted
                .filter(|name| self.wanted.remove(&key(name)))
                .collect();
            // A collection is what the base has of it.
            let wanted = interest.added.iter().filter(|name| !name.is_glob());
            let wanted: Vec<_> = wanted
                .filter(|name| self.wanted.insert(key(name)))
                .collect();
            if !(wanted.is_empty() && unwanted.is_empty()) {
                let (wanted, unwanted) = (wanted.into_iter(), unwanted.into_iter());
                self.store
                    .interest(&self.group, url, wanted.cloned(), unwanted.cloned());
            }
        }
        self.snapshots.interest(interest);
    }

    fn delivered(&mut self, delivery: &Delivery<'_>) {
        self.snapshots.delivered(delivery);
    }

    fn settled(&mut self, settlement: Settlement) {
        self.snapshots.settled(settlement);
    }
}

impl<K: GroupKey> Drop for OnDemandView<K> {
    fn drop(&mut self) {
        for (url, name) in std::mem::take(&mut self.wanted) {
            let (nothing, unwanted) = (std::iter::empty(), std::iter::once(name));
            self.store.interest(&self.group, &url, nothing, unwanted);
        }
        self.store.left(&self.group);
    }
}

impl<K: GroupKey> fmt::Debug for OnDemandView<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnDemandView")
            .field("group", &self.group)
            .field("wanted", &self.wanted.len())
            .finish_non_exhaustive()
    }
}
