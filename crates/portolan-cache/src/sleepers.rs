use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

use portolan_core::{Generation, ViewId};

/// The streams that were not woken since they last loaded, by what was newest then. A stream that is missing was woken
/// and will load.
///
/// Ordered, so that those with most to hear of come first.
#[derive(Debug, Default)]
pub(crate) struct Sleepers(BTreeMap<(Generation, ViewId), Arc<Waker>>);

impl Sleepers {
    pub(crate) fn insert(&mut self, key: (Generation, ViewId), waker: Arc<Waker>) {
        self.0.insert(key, waker);
    }

    pub(crate) fn remove(&mut self, key: (Generation, ViewId)) -> Option<Arc<Waker>> {
        self.0.remove(&key)
    }

    /// Whether a stream last loaded before `generation`.
    pub(crate) fn has_before(&self, generation: Generation) -> bool {
        let first = self.0.first_key_value();
        first.is_some_and(|(&(seen, _), _)| seen < generation)
    }

    /// Takes out the stream that last loaded longest ago, if that was before `generation`.
    pub(crate) fn pop_before(&mut self, generation: Generation) -> Option<Arc<Waker>> {
        let first = self.0.first_entry();
        let first = first.filter(|entry| entry.key().0 < generation)?;
        Some(first.remove())
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
