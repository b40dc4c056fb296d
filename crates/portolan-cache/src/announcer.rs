use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use crate::contain::contain;
use crate::lock::lock;

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

    /// Appends to the line.
    pub(crate) fn push(&self, item: Arc<T>) {
        lock(&self.0).line.push_back(item);
    }

    /// Takes the first of the line.
    pub(crate) fn pop(&self) -> Option<Arc<T>> {
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

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).line.is_empty()
    }

    /// Wakes the registered announcers and forgets them.
    pub(crate) fn rouse(&self) {
        let waiting = mem::take(&mut lock(&self.0).waiting);
        for waker in waiting {
            contain(|| waker.wake());
        }
    }
}
