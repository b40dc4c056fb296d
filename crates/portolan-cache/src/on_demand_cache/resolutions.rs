use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use portolan_core::GroupKey;

use super::resolution::{Resolution, Wanted};
use super::store::Store;

/// The handle of an [`OnDemandCache`](super::OnDemandCache) for whoever resolves names: what is to be resolved comes out,
/// answers go in. It has no clock and no tasks; [`run`](Self::run) gives it both, or a loop of your own:
///
/// 1. [`register`](Self::register) a waker;
/// 2. [`next`](Self::next) until `None`, and do as each step says;
/// 3. wait until the waker is woken, the time of [`deadline`](Self::deadline) has come, or a resolution is
///    [answered](Self::answer).
///
/// As long as nobody does this, names wait.
pub struct Resolutions<K: GroupKey> {
    store: Arc<Store<K>>,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step<K> {
    /// Resolve a name, and [answer](Resolutions::answer) with the ticket. The same ticket comes again where an answer was
    /// to hold for some time only.
    Resolve(Ticket, Wanted<K>),
    /// Cease to resolve it: it took too long, or the answer came otherwise. An answer would change nothing.
    Cancel(Ticket),
    /// Cease to resolve it, and let go whatever is held for it: nobody wants it any more. Comes once for each ticket
    /// (C-236).
    Release(Ticket, Wanted<K>),
}

/// A name's number, from when it is first wanted to when it is let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(super) u64);

impl<K: GroupKey> Resolutions<K> {
    pub(super) fn new(store: Arc<Store<K>>) -> Self {
        Self { store }
    }

    /// Registers a waker, to be woken when there is a next step. The last one counts.
    pub fn register(&self, waker: Waker) {
        self.store.register(waker);
    }

    /// The next step; `now` is the time since any fixed moment.
    #[must_use]
    pub fn next(&self, now: Duration) -> Option<Step<K>> {
        self.store.next(now)
    }

    /// When to call [`next`](Self::next), if nothing else happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.store.deadline()
    }

    /// A name is resolved.
    pub fn answer(&self, ticket: Ticket, resolution: Resolution, now: Duration) {
        self.store
            .settle(ticket, now, |names| names.answer(ticket, resolution));
    }

    /// A name could not be resolved, by a fault of the resolver's: what was known of it stands, or it is answered as one
    /// that does not exist, until it is tried again.
    pub fn give_up(&self, ticket: Ticket, now: Duration) {
        self.store.settle(ticket, now, |names| names.fail(ticket));
    }
}

impl<K: GroupKey> fmt::Debug for Resolutions<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolutions").finish_non_exhaustive()
    }
}
