use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use portolan_core::{Generation, Node, Publication, ViewId};

use super::ledger::Ledger;
use super::lifecycle::{Event, Lifecycle};
use crate::lock::lock;

/// One group of nodes: what it was given, and its streams.
///
/// The lock is held for map operations and pointer moves; whatever may run code that is not ours (wakers, destructors
/// of values) is carried out of it.
#[derive(Debug)]
pub(super) struct Group<K> {
    key: K,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ledger: Ledger,
    streams: usize,
    /// The streams that were not woken since they last loaded, by what was newest then. A stream that is missing was
    /// woken and will load.
    ///
    /// Ordered, so that those with something to hear of come first; and a stream that saw the newest publication is
    /// always here, since only those before it are taken out.
    unwoken: BTreeMap<(Generation, ViewId), Arc<Waker>>,
    /// Whether the group is in the announcer's line, or about to be put there.
    queued: bool,
    lifecycle: Lifecycle,
    /// Whether the group was freed. Its successor is another value.
    retired: bool,
}

/// A stream's place in its group.
#[derive(Debug)]
pub(super) struct Place {
    view: ViewId,
    /// The newest publication when the stream last loaded, or else when it was opened.
    seen: Cell<Generation>,
    waker: Arc<Waker>,
}

impl<K> Group<K> {
    pub(super) fn new(key: K, last: Generation) -> Self {
        Self {
            key,
            state: Mutex::new(State {
                ledger: Ledger::starting_after(last),
                ..State::default()
            }),
        }
    }

    pub(super) fn key(&self) -> &K {
        &self.key
    }

    pub(super) fn is_in_use(&self) -> bool {
        let state = self.state();
        state.streams > 0 || state.ledger.publication().is_some()
    }

    pub(super) fn streams(&self) -> usize {
        self.state().streams
    }

    pub(super) fn publication(&self) -> Option<Arc<Publication>> {
        self.state().ledger.publication().cloned()
    }

    /// The number of the newest publication.
    pub(super) fn last(&self) -> Generation {
        self.state().ledger.last()
    }

    /// A copy of the ledger; `None` when the group was freed.
    pub(super) fn ledger(&self) -> Option<Ledger> {
        let state = self.state();
        (!state.retired).then(|| state.ledger.clone())
    }

    /// Puts `next` in the place of `seen`, unless something else came first (`None`). Says whether the group has to
    /// be put into the announcer's line; that is then this caller's duty.
    pub(super) fn replace(&self, seen: &Ledger, next: Ledger) -> Option<bool> {
        let mut state = self.state();
        if state.retired || !state.ledger.is(seen) {
            return None;
        }
        let old = mem::replace(&mut state.ledger, next);
        let enqueue = !state.queued && state.has_outdated();
        state.queued |= enqueue;
        drop(state);
        drop(old);
        Some(enqueue)
    }

    /// Forgets the data. Streams stay where they are, and nobody is woken.
    pub(super) fn clear(&self) {
        let mut state = self.state();
        let last = state.ledger.last();
        let old = mem::replace(&mut state.ledger, Ledger::starting_after(last));
        drop(state);
        drop(old);
    }

    /// Adds a stream; `None` when the group was freed. Its node is given where somebody wants to hear of first nodes.
    pub(super) fn join(
        &self,
        view: ViewId,
        waker: &Arc<Waker>,
        node: Option<&Arc<Node>>,
    ) -> Option<Place> {
        let mut state = self.state();
        if state.retired {
            return None;
        }
        state.streams += 1;
        let place = Place {
            view,
            seen: Cell::new(state.ledger.last()),
            waker: Arc::clone(waker),
        };
        state.unwoken.insert(place.key(), Arc::clone(waker));
        if let (1, Some(node)) = (state.streams, node) {
            state.lifecycle.begin(Arc::clone(node));
        }
        Some(place)
    }

    /// Takes a stream out.
    pub(super) fn leave(&self, place: &Place) {
        let mut state = self.state();
        state.unwoken.remove(&place.key());
        state.streams -= 1;
        let ended = (state.streams == 0).then(|| state.lifecycle.end());
        drop(state);
        drop(ended);
    }

    /// The newest publication. From here on the stream is to be woken again by what follows; both at once, so that
    /// nothing can be published in between unnoticed.
    pub(super) fn load(&self, place: &Place) -> Option<Arc<Publication>> {
        let mut state = self.state();
        let last = state.ledger.last();
        if place.seen.get() != last {
            state.unwoken.remove(&place.key());
            place.seen.set(last);
            state.unwoken.insert(place.key(), Arc::clone(&place.waker));
        }
        state.ledger.publication().cloned()
    }

    /// Moves the wakers of at most `limit` streams that have something to hear of into `wakers`, and says whether
    /// there are more. The group then belongs back into the announcer's line; otherwise it has left it.
    pub(super) fn take_outdated(&self, limit: usize, wakers: &mut Vec<Arc<Waker>>) -> bool {
        let mut state = self.state();
        for _ in 0..limit {
            if !state.has_outdated() {
                break;
            }
            wakers.extend(state.unwoken.pop_first().map(|(_, waker)| waker));
        }
        state.queued = state.has_outdated();
        state.queued
    }

    /// See [`Lifecycle::claim`].
    pub(super) fn claim_event(&self) -> Option<Event> {
        self.state().lifecycle.claim()
    }

    /// See [`Lifecycle::proceed`].
    pub(super) fn next_event(&self) -> Option<Event> {
        self.state().lifecycle.proceed()
    }

    /// Marks the group as freed if nothing is left of it. Its observer must know that, or else a successor of the
    /// same key could be reported before the end of this one.
    pub(super) fn retire_if_vacant(&self) -> bool {
        let mut state = self.state();
        let vacant = state.streams == 0
            && state.ledger.publication().is_none()
            && state.lifecycle.is_settled();
        state.retired |= vacant;
        vacant
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    /// Whether a stream has to be woken. There is nothing to hear of a group without data.
    fn has_outdated(&self) -> bool {
        let behind = |(&(seen, _), _): (&(Generation, ViewId), _)| seen < self.ledger.last();
        self.ledger.publication().is_some() && self.unwoken.first_key_value().is_some_and(behind)
    }
}

impl Place {
    pub(super) fn view(&self) -> ViewId {
        self.view
    }

    fn key(&self) -> (Generation, ViewId) {
        (self.seen.get(), self.view)
    }
}
