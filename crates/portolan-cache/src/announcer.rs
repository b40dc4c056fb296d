use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use portolan_core::Announced;

use crate::contain::contain;
use crate::lock::lock;

/// How many streams of one audience are woken before it is another's turn, and before its lock is given up: some
/// microseconds.
const SLICE: usize = 64;

/// Streams that hear of the same publications.
pub(crate) trait Audience {
    /// Moves the wakers of at most `limit` streams that have something to hear of into `wakers`, and says whether
    /// there are more. The audience then belongs back into the announcer's line; otherwise it has left it.
    fn take_outdated(&self, limit: usize, wakers: &mut Vec<Arc<Waker>>) -> bool;
}

/// The line of those whose streams have to be woken, and the announcers that wait for it to fill.
///
/// Who is in line already must not be added again; its owner keeps that mark.
#[derive(Debug)]
pub(crate) struct Announcer<T>(Mutex<Inner<T>>);

#[derive(Debug)]
struct Inner<T> {
    line: VecDeque<Arc<T>>,
    waiting: Vec<Waker>,
}

impl<T> Announcer<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Inner {
            line: VecDeque::new(),
            waiting: Vec::new(),
        }))
    }

    /// Registers a waker for the next [`rouse`](Self::rouse). One that wakes the same task as another adds nothing,
    /// so there are never more than there are announcers.
    pub(crate) fn register(&self, waker: Waker) {
        let mut inner = lock(&self.0);
        if inner.waiting.iter().any(|known| known.will_wake(&waker)) {
            // Dropping a waker may run its task's destructor.
            drop(inner);
            return;
        }
        inner.waiting.push(waker);
    }

    /// Appends to the line, and has an announcer come.
    pub(crate) fn enqueue(&self, item: Arc<T>) {
        self.push(item);
        self.rouse();
    }

    /// Appends to the line.
    fn push(&self, item: Arc<T>) {
        lock(&self.0).line.push_back(item);
    }

    /// Takes the first of the line.
    fn pop(&self) -> Option<Arc<T>> {
        lock(&self.0).line.pop_front()
    }

    /// Takes out of the line one that has nothing to announce any more.
    pub(crate) fn withdraw(&self, item: &Arc<T>) {
        let mut inner = lock(&self.0);
        let at = inner
            .line
            .iter()
            .position(|queued| Arc::ptr_eq(queued, item));
        if let Some(at) = at {
            // The caller holds the item too, so nothing is destroyed under the lock.
            inner.line.remove(at);
        }
    }

    fn is_empty(&self) -> bool {
        lock(&self.0).line.is_empty()
    }

    /// Wakes the registered announcers and forgets them.
    fn rouse(&self) {
        let waiting = mem::take(&mut lock(&self.0).waiting);
        for waker in waiting {
            contain(|| waker.wake());
        }
    }
}

impl<T: Audience> Announcer<T> {
    /// Wakes at most `budget` of the streams of those in line.
    pub(crate) fn announce(&self, budget: usize) -> Announced {
        let mut wakers = Vec::new();
        let mut left = budget;
        while left > 0 {
            let Some(item) = self.pop() else {
                return Announced::All;
            };
            if item.take_outdated(SLICE.min(left), &mut wakers) {
                self.push(item);
            }
            // One that has nobody left to wake costs its visit.
            left = left.saturating_sub(wakers.len().max(1));
            for waker in wakers.drain(..) {
                contain(move || waker.wake_by_ref());
            }
        }
        if self.is_empty() {
            return Announced::All;
        }
        // Should this announcer not come back, another one does.
        self.rouse();
        Announced::More
    }
}
