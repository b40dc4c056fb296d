use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt;
use std::sync::Mutex;
use std::task::Waker;
use std::time::Duration;

use portolan_core::{
    Generation, GroupKey, Lookup, Name, Published, Resource, ResourceError, Snapshot,
    SnapshotBuilder, TypeUrl,
};

use super::limits::OnDemandLimits;
use super::names::Names;
use super::resolution::{Resolution, Wanted};
use super::resolutions::{Step, Ticket};
use crate::SnapshotCacheWriter;
use crate::contain::contain;
use crate::lock::lock;

/// What the handles of a cache share.
///
/// What is published follows from the state and from nothing else: whoever changed that publishes the names that it
/// touched, as they are then. Of two who do so at once each sees what the other left, or is repeated.
pub(super) struct Store<K: GroupKey> {
    published: SnapshotCacheWriter<K>,
    types: BTreeSet<TypeUrl>,
    /// The base of groups that were given none.
    fallback: Option<Snapshot>,
    state: Mutex<State<K>>,
    resolver: Mutex<Option<Waker>>,
}

struct State<K: GroupKey> {
    names: Names<K>,
    bases: BTreeMap<K, Snapshot>,
    views: BTreeMap<K, usize>,
}

/// The group has no base any more.
struct Gone;

impl<K: GroupKey> Store<K> {
    pub(super) fn new(
        published: SnapshotCacheWriter<K>,
        types: BTreeSet<TypeUrl>,
        fallback: Option<Snapshot>,
        limits: OnDemandLimits,
    ) -> Self {
        Self {
            published,
            types,
            fallback,
            state: Mutex::new(State {
                names: Names::new(limits),
                bases: BTreeMap::new(),
                views: BTreeMap::new(),
            }),
            resolver: Mutex::default(),
        }
    }

    pub(super) fn resolves(&self, type_url: &TypeUrl) -> bool {
        self.types.contains(type_url)
    }

    pub(super) fn published(&self) -> &SnapshotCacheWriter<K> {
        &self.published
    }

    pub(super) fn joined(&self, group: &K) {
        let mut state = lock(&self.state);
        let views = state.views.entry(group.clone()).or_default();
        *views += 1;
        let is_first = *views == 1;
        drop(state);
        if is_first && self.fallback.is_some() {
            self.reconcile(group);
        }
    }

    pub(super) fn left(&self, group: &K) {
        let mut state = lock(&self.state);
        let views = state.views.get_mut(group);
        let is_last = views.is_some_and(|views| {
            *views -= 1;
            *views == 0
        });
        if is_last {
            state.views.remove(group);
        }
        drop(state);
        if is_last && self.fallback.is_some() {
            self.reconcile(group);
        }
    }

    /// What a stream of the group began and ceased to want.
    pub(super) fn interest(
        &self,
        group: &K,
        url: &TypeUrl,
        wanted: impl Iterator<Item = Name>,
        unwanted: impl Iterator<Item = Name>,
    ) {
        let of = |name| Wanted::new(group.clone(), url.clone(), name);
        let mut changed = Vec::new();
        let mut state = lock(&self.state);
        for name in unwanted {
            changed.extend(state.names.release(&of(name)));
        }
        for name in wanted {
            let in_base = self.is_in_base(&state, group, url, &name);
            changed.extend(state.names.want(of(name), in_base));
        }
        drop(state);
        self.publish(group, changed);
        self.wake();
    }

    pub(super) fn base(&self, group: &K) -> Option<Snapshot> {
        lock(&self.state).bases.get(group).cloned()
    }

    pub(super) fn set_base(&self, group: &K, base: Snapshot) -> Published {
        let former = self.replace_base(group, Some(base));
        drop(former);
        self.wake();
        self.publish_whole(group)
    }

    pub(super) fn clear_base(&self, group: &K) {
        let former = self.replace_base(group, None);
        drop(former);
        self.wake();
        self.reconcile(group);
    }

    pub(super) fn revise(&self, wanted: &Wanted<K>, resolution: Resolution) -> bool {
        let changed = lock(&self.state).names.revise(wanted, resolution);
        let is_wanted = changed.is_some();
        self.publish(&wanted.group, changed.unwrap_or_default());
        self.wake();
        is_wanted
    }

    pub(super) fn register(&self, waker: Waker) {
        *lock(&self.resolver) = Some(waker);
    }

    pub(super) fn next(&self, now: Duration) -> Option<Step<K>> {
        let (step, changed) = lock(&self.state).names.next(now);
        for (group, keys) in changed {
            self.publish(&group, keys);
        }
        step
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        lock(&self.state).names.deadline()
    }

    pub(super) fn settle(
        &self,
        ticket: Ticket,
        now: Duration,
        settle: impl FnOnce(&mut Names<K>) -> Vec<(TypeUrl, Name)>,
    ) {
        let mut state = lock(&self.state);
        state.names.set_now(now);
        let group = state.names.group_of(ticket).cloned();
        let changed = settle(&mut state.names);
        drop(state);
        if let Some(group) = group {
            self.publish(&group, changed);
        }
        self.wake();
    }

    /// Whether nothing is left of what was wanted and published.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let state = lock(&self.state);
        state.bases.is_empty() && state.views.is_empty() && state.names.is_empty()
    }

    fn replace_base(&self, group: &K, base: Option<Snapshot>) -> Option<Snapshot> {
        let mut state = lock(&self.state);
        let former = match base {
            Some(base) => state.bases.insert(group.clone(), base),
            None => state.bases.remove(group),
        };
        let base = state.bases.get(group).or(self.fallback.as_ref()).cloned();
        state
            .names
            .rebase(group, |url, name| has(base.as_ref(), url, name));
        former
    }

    fn is_in_base(&self, state: &State<K>, group: &K, url: &TypeUrl, name: &Name) -> bool {
        has(state.bases.get(group).or(self.fallback.as_ref()), url, name)
    }

    /// Publishes some names of a group as they are now, if anything is published for it.
    fn publish(&self, group: &K, keys: Vec<(TypeUrl, Name)>) {
        if keys.is_empty() {
            return;
        }
        let edit = |builder: &mut SnapshotBuilder| {
            let state = lock(&self.state);
            let base = state.bases.get(group).or(self.fallback.as_ref());
            for (url, name) in &keys {
                let of_base = base.map(|base| base.lookup(url, name));
                if matches!(of_base, Some(Lookup::Present(_) | Lookup::Error(_))) {
                    continue;
                }
                builder.remove(url, name);
                if let Some(entry) = state.names.at(group, url, name) {
                    put(builder, entry);
                }
            }
            Ok::<(), Infallible>(())
        };
        let Ok(_) = self.published.update(group, edit);
    }

    /// Publishes a group's base with all that was resolved for it.
    fn publish_whole(&self, group: &K) -> Published {
        let edit = |builder: &mut SnapshotBuilder| {
            *builder = self.merged(group).ok_or(Gone)?;
            Ok(())
        };
        for _ in 0..2 {
            match self.published.update(group, edit) {
                Ok(Some(published)) => return published,
                Err(Gone) => break,
                // Whatever changed before it was there is put in with the second turn.
                Ok(None) => {
                    let Some(first) = self.merged(group) else {
                        break;
                    };
                    let _ = self.published.set(group, first.build());
                }
            }
        }
        Published::Unchanged(Generation::default())
    }

    fn merged(&self, group: &K) -> Option<SnapshotBuilder> {
        let state = lock(&self.state);
        let base = self.target(&state, group)?;
        let mut builder = base.edit();
        for entry in state.names.all(group) {
            let (url, name) = (entry.type_url(), entry.name());
            let alternatives = base
                .set(url)
                .is_some_and(|set| set.named(name).next().is_some());
            if !alternatives && matches!(base.lookup(url, name), Lookup::Absent) {
                put(&mut builder, entry);
            }
        }
        Some(builder)
    }

    /// What a group is to be served as its base: a group without streams needs none but its own.
    fn target<'a>(&'a self, state: &'a State<K>, group: &K) -> Option<&'a Snapshot> {
        match state.bases.get(group) {
            None if state.views.contains_key(group) => self.fallback.as_ref(),
            own => own,
        }
    }

    /// Publishes what a group is to be served, or takes it back.
    fn reconcile(&self, group: &K) {
        loop {
            let has_target = || self.target(&lock(&self.state), group).is_some();
            if has_target() {
                let _ = self.publish_whole(group);
                return;
            }
            self.published.clear(group);
            // Who came meanwhile may have found it there.
            if !has_target() {
                return;
            }
        }
    }

    /// Wakes whoever resolves, if there is something to do.
    fn wake(&self) {
        if !lock(&self.state).names.is_ready() {
            return;
        }
        let waker = lock(&self.resolver).take();
        if let Some(waker) = waker {
            contain(|| waker.wake());
        }
    }
}

/// Whether a name that is wanted is no matter of a resolver.
fn has(base: Option<&Snapshot>, url: &TypeUrl, name: &Name) -> bool {
    let set = base.and_then(|base| base.set(url));
    set.is_some_and(|set| set.held(name).is_some() || set.identified_by(name).next().is_some())
}

fn put(builder: &mut SnapshotBuilder, entry: &Resource) {
    // What a base has of a name with constraints stands, and may still be there when it is no longer the base's.
    let put = builder.insert_shared(entry.clone());
    debug_assert!(
        !matches!(put, Err(ResourceError::Duplicate { .. })),
        "{entry:?} is there already"
    );
}

impl<K: GroupKey> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("published", &self.published)
            .field("types", &self.types)
            .finish_non_exhaustive()
    }
}
