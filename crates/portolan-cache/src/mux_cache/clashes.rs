use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use portolan_core::{Name, TypeUrl};

use crate::contain::contain;
use crate::lock::lock;

/// One name that two parts of a union have with different content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clash<'a> {
    /// The type.
    pub type_url: &'a TypeUrl,
    /// The name.
    pub name: &'a Name,
    /// The part whose resource is served: the first of the union that has the name.
    pub served: &'a str,
    /// The first part after it that has other content. It is not served.
    pub hidden: &'a str,
}

/// Hears of clashes in the unions of a [`MuxCache`](super::MuxCache). Called from the task of a stream, outside all
/// locks: it must not block. A panic is contained.
///
/// For each clash, `began` and `ended` alternate and never overlap. What goes on and ends while a call is being made is
/// told by whoever makes that call, after it; of a clash that began and ended several times meanwhile only the outcome
/// is told.
pub trait ClashObserver: Debug + Send + Sync {
    /// A stream is shown a clash that no other stream was shown yet.
    fn began(&self, clash: &Clash<'_>);

    /// No stream is shown a clash any more: it was resolved, or the streams are gone. Default: nothing happens.
    fn ended(&self, _clash: &Clash<'_>) {}
}

/// Which parts clash, as numbers in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Sides {
    pub(super) served: usize,
    pub(super) hidden: usize,
}

/// The clashes of one merged value, and of those that were made of it without another clash.
#[derive(Debug, Default)]
pub(super) struct ClashSet {
    names: BTreeMap<Name, Sides>,
    /// How many streams are shown it. Counted under the ledger's lock.
    shown: AtomicUsize,
}

impl ClashSet {
    pub(super) fn get(&self, name: &str) -> Option<Sides> {
        self.names.get(name).copied()
    }

    /// The same but for these names.
    pub(super) fn with(&self, changed: Vec<(Name, Option<Sides>)>) -> Self {
        let mut names = self.names.clone();
        for (name, sides) in changed {
            match sides {
                Some(sides) => drop(names.insert(name, sides)),
                None => drop(names.remove(&name)),
            }
        }
        Self {
            names,
            shown: AtomicUsize::default(),
        }
    }
}

/// The clash sets that a stream is shown, by type, sorted.
pub(super) type Shown = [(TypeUrl, Arc<ClashSet>)];

/// The clashes that go on, and those who hear of them.
#[derive(Debug)]
pub(super) struct Clashes {
    observers: Vec<Arc<dyn ClashObserver>>,
    /// The names of the cache's parts.
    parts: Box<[Box<str>]>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Key, Entry>,
    /// Those of whom the observers may have to hear something.
    line: VecDeque<Key>,
    /// Whether somebody is telling them.
    telling: bool,
}

type Key = (TypeUrl, Name, Sides);

#[derive(Debug, Default)]
struct Entry {
    /// In how many clash sets it is that are shown.
    sets: usize,
    told: bool,
    in_line: bool,
}

impl Clashes {
    pub(super) fn new(observers: Vec<Arc<dyn ClashObserver>>, parts: Box<[Box<str>]>) -> Self {
        Self {
            observers,
            parts,
            state: Mutex::default(),
        }
    }

    /// A stream that was shown `before` is shown `after`. Costs the number of types, and that of clashes only if they
    /// are others than those that any stream is shown.
    pub(super) fn change(&self, before: &Shown, after: &Shown) {
        let same = before.len() == after.len()
            && before
                .iter()
                .zip(after)
                .all(|(a, b)| Arc::ptr_eq(&a.1, &b.1));
        if self.observers.is_empty() || same {
            return;
        }
        let mut state = lock(&self.state);
        // In this order, so that what goes on does not end.
        after.iter().for_each(|(url, set)| state.show(url, set));
        before.iter().for_each(|(url, set)| state.hide(url, set));
        if std::mem::replace(&mut state.telling, true) {
            return;
        }
        drop(state);
        while let Some((key, begins)) = self.next() {
            self.tell(&key, begins);
        }
    }

    /// Whether none goes on and nobody is to be told anything.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let state = lock(&self.state);
        state.entries.is_empty() && state.line.is_empty() && !state.telling
    }

    /// What is to be told next; with `None` the caller ceases to be the one who tells.
    fn next(&self) -> Option<(Key, bool)> {
        let mut state = lock(&self.state);
        let next = state.next();
        state.telling = next.is_some();
        next
    }

    fn tell(&self, (type_url, name, sides): &Key, begins: bool) {
        let clash = Clash {
            type_url,
            name,
            served: &self.parts[sides.served],
            hidden: &self.parts[sides.hidden],
        };
        for observer in &self.observers {
            contain(|| match begins {
                true => observer.began(&clash),
                false => observer.ended(&clash),
            });
        }
    }
}

impl State {
    fn show(&mut self, url: &TypeUrl, set: &ClashSet) {
        if set.shown.fetch_add(1, Ordering::Relaxed) == 0 {
            self.count(url, set, |sets| *sets += 1);
        }
    }

    fn hide(&mut self, url: &TypeUrl, set: &ClashSet) {
        if set.shown.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.count(url, set, |sets| *sets -= 1);
        }
    }

    fn count(&mut self, url: &TypeUrl, set: &ClashSet, change: impl Fn(&mut usize)) {
        for (name, sides) in &set.names {
            let key = (url.clone(), name.clone(), *sides);
            let entry = self.entries.entry(key.clone()).or_default();
            change(&mut entry.sets);
            if !entry.in_line {
                entry.in_line = true;
                self.line.push_back(key);
            }
        }
    }

    fn next(&mut self) -> Option<(Key, bool)> {
        loop {
            let key = self.line.pop_front()?;
            let entry = self.entries.get_mut(&key)?;
            entry.in_line = false;
            let goes_on = entry.sets > 0;
            let news = std::mem::replace(&mut entry.told, goes_on) != goes_on;
            if !goes_on {
                self.entries.remove(&key);
            }
            if news {
                return Some((key, goes_on));
            }
        }
    }
}
