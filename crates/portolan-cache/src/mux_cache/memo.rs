use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, Weak};

use crate::lock::lock;

/// Below this many, values that nobody holds any more are not looked for.
const SOME: usize = 32;

/// What was made of what, so that who needs the same is given the same value.
///
/// A value is remembered as long as somebody holds it. The last few that were asked for are held here, so that a
/// stream that comes when all others are gone need not begin with nothing.
#[derive(Debug)]
pub(super) struct Memo<K, V> {
    inner: Mutex<Inner<K, V>>,
    kept: usize,
}

#[derive(Debug)]
struct Inner<K, V> {
    known: HashMap<K, Weak<V>>,
    /// Newest first.
    recent: VecDeque<Arc<V>>,
    /// How many may be known before those are looked for that nobody holds.
    limit: usize,
}

impl<K: Clone + Eq + Hash, V> Memo<K, V> {
    /// A memo that holds the last `kept` values itself.
    pub(super) fn keeping(kept: usize) -> Self {
        let inner = Inner {
            known: HashMap::new(),
            recent: VecDeque::new(),
            limit: SOME,
        };
        Self {
            inner: Mutex::new(inner),
            kept,
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<Arc<V>> {
        let mut inner = lock(&self.inner);
        let value = inner.known.get(key)?.upgrade()?;
        let forgotten = inner.touch(&value, self.kept);
        drop(inner);
        drop(forgotten);
        Some(value)
    }

    /// Remembers `value`, unless somebody else was first: then that one's is given back.
    pub(super) fn put(&self, key: &K, value: Arc<V>) -> Arc<V> {
        let mut inner = lock(&self.inner);
        let first = inner.known.get(key).and_then(Weak::upgrade);
        let kept = first.unwrap_or_else(|| Arc::clone(&value));
        inner.known.insert(key.clone(), Arc::downgrade(&kept));
        let forgotten = inner.touch(&kept, self.kept);
        inner.sweep();
        drop(inner);
        drop((forgotten, value));
        kept
    }

    /// The one that was last asked for.
    pub(super) fn last(&self) -> Option<Arc<V>> {
        lock(&self.inner).recent.front().cloned()
    }

    /// All that somebody holds; those last asked for come first.
    pub(super) fn values(&self) -> Vec<Arc<V>> {
        let inner = lock(&self.inner);
        let recent = inner.recent.iter().cloned();
        recent
            .chain(inner.known.values().filter_map(Weak::upgrade))
            .collect()
    }
}

impl<K: Eq + Hash, V> Inner<K, V> {
    /// Puts a value first among the recent ones. What falls out is let go by the caller, when no lock is held.
    fn touch(&mut self, value: &Arc<V>, kept: usize) -> Option<Arc<V>> {
        match self.recent.iter().position(|held| Arc::ptr_eq(held, value)) {
            Some(0) => None,
            Some(at) => {
                let held = self.recent.remove(at);
                self.recent.push_front(held?);
                None
            }
            None => {
                self.recent.push_front(Arc::clone(value));
                (self.recent.len() > kept)
                    .then(|| self.recent.pop_back())
                    .flatten()
            }
        }
    }

    /// Forgets keys of values that are gone. Their number doubles before it is looked again, so that it costs each
    /// newcomer the same.
    fn sweep(&mut self) {
        if self.known.len() > self.limit {
            self.known.retain(|_, value| value.strong_count() > 0);
            self.limit = SOME.max(2 * self.known.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_known_as_long_as_somebody_holds_it() {
        let memo = Memo::keeping(1);
        let one = memo.put(&1, Arc::new("one"));
        let again = memo.put(&1, Arc::new("another"));
        assert!(Arc::ptr_eq(&one, &again));
        let _ = memo.put(&2, Arc::new("two"));
        assert!(memo.get(&1).is_some_and(|held| Arc::ptr_eq(&held, &one)));
        assert!(memo.get(&2).is_none(), "only the last one is kept");
        drop((one, again));
        assert!(memo.get(&1).is_some(), "it was asked for last");
        assert_eq!(memo.values().len(), 2, "as a recent one, and by its key");
    }

    #[test]
    fn keys_of_values_that_are_gone_are_forgotten() {
        let memo = Memo::keeping(0);
        for key in 0..10 * SOME {
            let _ = memo.put(&key, Arc::new(key));
        }
        assert!(lock(&memo.inner).known.len() <= SOME + 1);
    }
}
