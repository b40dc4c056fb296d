use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use portolan_core::{Generation, Name, Publication, Resource, ResourceSet, ViewId};

use super::watched::Watched;
use crate::announcer::Audience;
use crate::contain::contain;
use crate::ledger::Ledger;
use crate::lock::lock;
use crate::sleepers::Sleepers;

/// Most names that a publication looks up among those that are watched. One that changes more concerns everybody.
pub(super) const MAX_NAMED: usize = 1_024;

/// How many resources are changed before a stream that none of them concerns is woken all the same. It holds on to
/// what it saw last, and with it to all that is no longer current; between one and two times as many changes later it
/// has let go. Where there are more streams than this, as many changes as streams, so that a change does not wake more
/// than one of them in the mean.
pub(super) const MAX_BEHIND: usize = 8_192;

/// Names that are watched or given up under one lock.
const SLICE: usize = 64;

/// What the cache was given, and its streams.
///
/// The lock is held for map operations and pointer moves; whatever may run code that is not ours (wakers, destructors
/// of values) is carried out of it.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    ledger: Ledger,
    seats: HashMap<ViewId, Seat>,
    /// Streams that every change concerns.
    broad: Sleepers,
    /// Streams that a change of what they watch concerns.
    narrow: Sleepers,
    /// Those of them that loaded before this have to be woken, whatever they watch.
    floor: Generation,
    watched: Watched,
    behind: Behind,
    /// Which kind of streams is woken next, so that none keeps another waiting.
    turn: Kind,
    /// Whether the streams are in the announcer's line, or about to be put there.
    queued: bool,
}

#[derive(Debug)]
struct Seat {
    /// The newest publication when the stream last loaded, or else when it was opened.
    seen: Generation,
    waker: Arc<Waker>,
    broad: bool,
}

/// Counts changes since a publication.
#[derive(Debug, Default)]
struct Behind {
    mark: Generation,
    changes: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum Kind {
    #[default]
    Broad,
    Behind,
    Watching,
}

/// What a publication changed.
#[derive(Debug)]
pub(super) enum Changed {
    /// What these stand for: names, and aliases before or after the change.
    Identifiers(BTreeSet<Name>),
    Everything,
}

impl Changed {
    pub(super) fn between(old: &ResourceSet, new: &ResourceSet) -> Self {
        let diff = new.diff_from(old);
        let retimed = diff.retimed().iter().map(Resource::name);
        let names = diff.names().chain(retimed);
        if names.clone().count() > MAX_NAMED {
            return Self::Everything;
        }
        let before = names.clone().filter_map(|name| old.get(name));
        let resources = before.chain(diff.upserts());
        let others = resources.flat_map(Resource::other_identifiers);
        // Streams watch names without parameters, and so without constraints.
        let names = names.map(Name::to_stem);
        Self::Identifiers(names.chain(others.cloned()).collect())
    }
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.state().seats.len()
    }

    pub(super) fn ledger(&self) -> Ledger {
        self.state().ledger.clone()
    }

    /// Puts `next` in place; the caller sees to it that nothing else was put in place since it was prepared. Says
    /// whether the streams have to be put into the announcer's line; that is then the caller's duty.
    pub(super) fn replace(&self, next: Ledger, changed: Changed) -> bool {
        let mut state = self.state();
        let former = mem::replace(&mut state.ledger, next);
        let last = state.ledger.last();
        state.note(&changed, last);
        let enqueue = !state.queued && state.has_outdated();
        state.queued |= enqueue;
        drop(state);
        drop((former, changed));
        enqueue
    }

    /// Forgets the data, and gives it back. Streams stay where they are, and nobody is woken.
    pub(super) fn clear(&self) -> Ledger {
        let mut state = self.state();
        let cleared = Ledger::starting_after(state.ledger.last());
        mem::replace(&mut state.ledger, cleared)
    }

    pub(super) fn join(&self, view: ViewId, waker: Arc<Waker>) {
        let mut state = self.state();
        let seen = state.ledger.last();
        state.narrow.insert((seen, view), Arc::clone(&waker));
        let broad = false;
        state.seats.insert(view, Seat { seen, waker, broad });
    }

    pub(super) fn leave(&self, view: ViewId) {
        let mut state = self.state();
        let waker = state.fall_out(view);
        let seat = state.seats.remove(&view);
        drop(state);
        drop((waker, seat));
    }

    /// The newest publication. From here on the stream is to be woken again by what follows; both at once, so that
    /// nothing can be published in between unnoticed.
    pub(super) fn load(&self, view: ViewId) -> Option<Arc<Publication>> {
        let mut state = self.state();
        let last = state.ledger.last();
        if state.seats.get(&view).is_some_and(|seat| seat.seen != last) {
            state.fall_out(view);
            state.fall_in(view, |seat| seat.seen = last);
        }
        state.ledger.publication().cloned()
    }

    /// The stream is to be woken by changes of these names.
    pub(super) fn watch(&self, view: ViewId, names: &[Name]) {
        for names in names.chunks(SLICE) {
            let mut state = self.state();
            names.iter().for_each(|name| state.watched.add(name, view));
        }
    }

    /// The stream is not to be woken by changes of these names any more.
    pub(super) fn unwatch(&self, view: ViewId, names: &[Name]) {
        for names in names.chunks(SLICE) {
            let mut state = self.state();
            names
                .iter()
                .for_each(|name| state.watched.remove(name, view));
        }
    }

    /// Whether the stream is to be woken by every change.
    pub(super) fn set_broad(&self, view: ViewId, broad: bool) {
        let mut state = self.state();
        if state.fall_out(view).is_some() {
            state.fall_in(view, |seat| seat.broad = broad);
        } else if let Some(seat) = state.seats.get_mut(&view) {
            seat.broad = broad;
        }
    }

    /// Wakes a stream that has not loaded what is newest. What it wants since a moment ago may have changed before.
    pub(super) fn catch_up(&self, view: ViewId) {
        let mut state = self.state();
        let last = state.ledger.last();
        let is_behind = state.seats.get(&view).is_some_and(|seat| seat.seen < last);
        let waker = match is_behind && state.ledger.publication().is_some() {
            true => state.fall_out(view),
            false => None,
        };
        drop(state);
        if let Some(waker) = waker {
            contain(move || waker.wake_by_ref());
        }
    }

    #[cfg(test)]
    pub(super) fn is_vacant(&self) -> bool {
        let state = self.state();
        state.seats.is_empty()
            && state.broad.is_empty()
            && state.narrow.is_empty()
            && state.watched.is_empty()
    }

    #[cfg(test)]
    pub(super) fn watches_nothing(&self) -> bool {
        self.state().watched.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

impl Audience for Streams {
    fn take_outdated(&self, limit: usize, wakers: &mut Vec<Arc<Waker>>) -> bool {
        let mut state = self.state();
        for _ in 0..limit {
            if !state.has_outdated() {
                break;
            }
            wakers.extend(state.next_outdated());
        }
        state.queued = state.has_outdated();
        state.queued
    }
}

impl State {
    /// Notes what the newest publication changed.
    fn note(&mut self, changed: &Changed, last: Generation) {
        match changed {
            Changed::Everything => {
                self.floor = last;
                self.behind = Behind::since(last);
            }
            Changed::Identifiers(identifiers) => {
                identifiers
                    .iter()
                    .for_each(|identifier| self.watched.change(identifier, last));
                self.behind.changes += identifiers.len();
            }
        }
        if self.behind.changes >= MAX_BEHIND.max(self.seats.len()) {
            self.floor = self.floor.max(self.behind.mark);
            self.behind = Behind::since(last);
        }
    }

    /// Whether a stream may have to be woken. There is nothing to hear of where there are no data.
    fn has_outdated(&self) -> bool {
        self.ledger.publication().is_some()
            && (self.broad.has_before(self.ledger.last())
                || self.narrow.has_before(self.floor)
                || self.watched.is_in_line())
    }

    /// Takes a stream that has to be woken, or visits one that may have had to.
    fn next_outdated(&mut self) -> Option<Arc<Waker>> {
        for _ in 0..3 {
            self.turn = self.turn.next();
            match self.turn {
                Kind::Broad if self.broad.has_before(self.ledger.last()) => {
                    return self.broad.pop_before(self.ledger.last());
                }
                Kind::Behind if self.narrow.has_before(self.floor) => {
                    return self.narrow.pop_before(self.floor);
                }
                Kind::Watching if self.watched.is_in_line() => {
                    let (view, changed) = self.watched.visit()?;
                    let seat = self.seats.get(&view)?;
                    return match seat.seen < changed {
                        true => self.narrow.remove((seat.seen, view)),
                        false => None,
                    };
                }
                _ => {}
            }
        }
        None
    }

    /// Takes a stream out of those that were not woken since they last loaded, if it is one.
    fn fall_out(&mut self, view: ViewId) -> Option<Arc<Waker>> {
        let seat = self.seats.get(&view)?;
        let (key, broad) = ((seat.seen, view), seat.broad);
        self.sleepers(broad).remove(key)
    }

    /// Puts a stream among them, after this change of its seat.
    fn fall_in(&mut self, view: ViewId, change: impl FnOnce(&mut Seat)) {
        let Some(seat) = self.seats.get_mut(&view) else {
            return;
        };
        change(seat);
        let (key, broad, waker) = ((seat.seen, view), seat.broad, Arc::clone(&seat.waker));
        self.sleepers(broad).insert(key, waker);
    }

    fn sleepers(&mut self, broad: bool) -> &mut Sleepers {
        match broad {
            true => &mut self.broad,
            false => &mut self.narrow,
        }
    }
}

impl Behind {
    fn since(mark: Generation) -> Self {
        Self { mark, changes: 0 }
    }
}

impl Kind {
    fn next(self) -> Self {
        match self {
            Self::Broad => Self::Behind,
            Self::Behind => Self::Watching,
            Self::Watching => Self::Broad,
        }
    }
}
