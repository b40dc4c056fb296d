use std::fmt;
use std::sync::Arc;

use portolan_core::{Interest, Publication, View, ViewId};

use super::store::Store;
use super::wants::{Wants, Watch};

/// A stream's view of the resources. Dropping it takes the stream out of the cache.
pub(super) struct LinearView {
    store: Arc<Store>,
    view: ViewId,
    wants: Wants,
}

impl LinearView {
    pub(super) fn new(store: Arc<Store>, view: ViewId) -> Self {
        Self {
            store,
            view,
            wants: Wants::default(),
        }
    }
}

impl View for LinearView {
    fn load(&self) -> Option<Publication> {
        let publication = self.store.streams().load(self.view)?;
        Some(Publication::clone(&publication))
    }

    fn interest(&mut self, interest: &Interest<'_>) {
        if interest.type_url != self.store.type_url() {
            return;
        }
        let (streams, view) = (self.store.streams(), self.view);
        match self.wants.apply(interest) {
            Watch::Names { added, removed } => {
                streams.unwatch(view, &removed);
                streams.watch(view, &added);
                if !added.is_empty() {
                    streams.catch_up(view);
                }
            }
            // In this order, and in that below, there is no moment in which a change is missed.
            Watch::Everything { instead_of } => {
                streams.set_broad(view, true);
                streams.unwatch(view, &instead_of);
                streams.catch_up(view);
            }
            Watch::Only { names } => {
                streams.watch(view, &names);
                streams.set_broad(view, false);
                streams.catch_up(view);
            }
            Watch::Same => {}
        }
    }
}

impl Drop for LinearView {
    fn drop(&mut self) {
        let streams = self.store.streams();
        streams.unwatch(self.view, &self.wants.watched());
        streams.leave(self.view);
    }
}

impl fmt::Debug for LinearView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinearView")
            .field("view", &self.view)
            .field("wants", &self.wants)
            .finish_non_exhaustive()
    }
}
