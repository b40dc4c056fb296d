use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use portolan_core::{Announced, Node, Peer, Refusal, Source, View};

use super::store::Store;

/// The handle of a [`LinearCache`](super::LinearCache) for servers: a [`Source`]. Clones read the same cache.
///
/// A stream is woken for what it said that it wants ([`View::interest`]): for the names, aliases and globs that it
/// subscribes, or for every change if it has a wildcard or more than a thousand of them. Now and then it is woken for
/// nothing, so that it lets go of what is no longer current.
#[derive(Clone)]
pub struct LinearCacheReader {
    store: Arc<Store>,
}

impl LinearCacheReader {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self { store }
    }
}

impl Source for LinearCacheReader {
    /// Opens a view of the resources, which are the same for every node. Refuses nobody.
    fn open(&self, _: &Arc<Node>, _: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal> {
        Ok(Box::new(self.store.open(waker)))
    }

    fn announce(&self, budget: usize) -> Announced {
        self.store.announce(budget)
    }

    fn register_announcer(&self, waker: Waker) {
        self.store.register_announcer(waker);
    }
}

impl fmt::Debug for LinearCacheReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store
            .describe(&mut f.debug_struct("LinearCacheReader"))
    }
}
