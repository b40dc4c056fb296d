use std::cell::Cell;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use portolan_core::{Generation, Node, Publication, ResourceSet, TypeUrl, ViewId};

use super::lifecycle::{Event, Lifecycle};
use crate::announcer::Audience;
use crate::ledger::Ledger;
use crate::lock::lock;
use crate::sleepers::Sleepers;

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
    /// A stream that saw the newest publication is always here, since only those before it are taken out.
    sleepers: Sleepers,
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
    pub(super) fn new(key: K, last: Generation, history: usize) -> Self {
        Self {
            key,
            state: Mutex::new(State {
                ledger: Ledger::starting_after(last).with_history(history),
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
        let cleared = state.ledger.cleared();
        let old = mem::replace(&mut state.ledger, cleared);
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
        state.sleepers.insert(place.key(), Arc::clone(waker));
        if let (1, Some(node)) = (state.streams, node) {
            state.lifecycle.begin(Arc::clone(node));
        }
        Some(place)
    }

    /// Takes a stream out.
    pub(super) fn leave(&self, place: &Place) {
        let mut state = self.state();
        state.sleepers.remove(place.key());
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
            state.sleepers.remove(place.key());
            place.seen.set(last);
            state.sleepers.insert(place.key(), Arc::clone(&place.waker));
        }
        state.ledger.publication().cloned()
    }

    /// What the group was given of a type before.
    pub(super) fn history(&self, type_url: &TypeUrl) -> Vec<ResourceSet> {
        self.state().ledger.history().sets(type_url).to_vec()
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

impl<K> Audience for Group<K> {
    fn take_outdated(&self, limit: usize, wakers: &mut Vec<Arc<Waker>>) -> bool {
        let mut state = self.state();
        for _ in 0..limit {
            if !state.has_outdated() {
                break;
            }
            let last = state.ledger.last();
            wakers.extend(state.sleepers.pop_before(last));
        }
        state.queued = state.has_outdated();
        state.queued
    }
}

impl State {
    /// Whether a stream has to be woken. There is nothing to hear of a group without data.
    fn has_outdated(&self) -> bool {
        self.ledger.publication().is_some() && self.sleepers.has_before(self.ledger.last())
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
