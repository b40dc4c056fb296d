use std::sync::{Arc, LazyLock, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;

use super::chunk::{Chunk, EncodedLen};
use super::new_references::{self, NewReference};
use super::selection::coalesce;
use super::{Changes, ResourceSet, ValueId};
use crate::{EntryForm, Name, References, Resource};

/// How many predecessors a value remembers its difference from. Streams of a group are at most a few generations
/// apart; one that is further back pays for its own comparison.
const MEMO_SLOTS: usize = 4;

/// The difference between two values of a set, with the encoding of what was added or changed.
#[derive(Debug)]
pub struct Diff {
    upserts: Box<[Resource]>,
    removals: Box<[Name]>,
    retimed: Box<[Resource]>,
    on_demand: bool,
    other: bool,
    timed: bool,
    lens: EncodedLen,
    sotw: OnceLock<Arc<[Bytes]>>,
    delta: OnceLock<Arc<[Bytes]>>,
    new_references: OnceLock<Box<[NewReference]>>,
}

impl Diff {
    pub(super) fn between(old: &ResourceSet, new: &ResourceSet) -> Self {
        let (mut upserts, mut removals, mut retimed) = (Vec::new(), Vec::new(), Vec::new());
        compare(old.chunks(), new.chunks(), |old, new| {
            match (old, new.filter(|new| !new.is_pending())) {
                (Some(old), Some(new)) if old.same_content(new) => {
                    retimed.extend((old.ttl() != new.ttl()).then(|| new.clone()));
                }
                (_, Some(new)) => upserts.push(new.clone()),
                (Some(old), None) if old.is_pending() && new.is_some() => {}
                (Some(old), None) => removals.push(old.name().clone()),
                (None, None) => {}
            }
        });
        Self::new(old, upserts, removals, retimed)
    }

    /// The difference that `changes` make to `old`, each of which changes the value of a name.
    pub(super) fn made_by(changes: &Changes, old: &ResourceSet) -> Self {
        let (mut upserts, mut removals, mut retimed) = (Vec::new(), Vec::new(), Vec::new());
        for (name, new) in changes {
            let told = new.as_ref().filter(|new| !new.is_pending());
            match (old.held(name), told) {
                (Some(old), Some(new)) if old.same_content(new) => {
                    retimed.extend((old.ttl() != new.ttl()).then(|| new.clone()));
                }
                (_, Some(new)) => upserts.push(new.clone()),
                (Some(old), None) if old.is_pending() && new.is_some() => {}
                (Some(_), None) => removals.push(name.clone()),
                (None, None) => {}
            }
        }
        Self::new(old, upserts, removals, retimed)
    }

    fn new(
        old: &ResourceSet,
        upserts: Vec<Resource>,
        removals: Vec<Name>,
        retimed: Vec<Resource>,
    ) -> Self {
        let was = |name: &Name| old.held(name);
        let former = || {
            let replaced = upserts.iter().map(Resource::name);
            replaced.chain(&removals).filter_map(was)
        };
        let mut differing = upserts.iter().chain(former());
        let on_demand = differing.any(|r| !r.is_for_all());
        // No wildcard covers what is no resource.
        let is_other = |r: &Resource| !r.is_resource();
        let other = on_demand && upserts.iter().chain(former()).any(is_other);
        let timed = upserts.iter().any(|r| r.ttl().is_some());
        Self {
            lens: EncodedLen::of(upserts.iter()),
            upserts: upserts.into_boxed_slice(),
            removals: removals.into_boxed_slice(),
            retimed: retimed.into_boxed_slice(),
            on_demand,
            other,
            timed,
            sotw: OnceLock::new(),
            delta: OnceLock::new(),
            new_references: OnceLock::new(),
        }
    }

    /// Resources and errors that are new or have other content, sorted by name.
    #[must_use]
    pub fn upserts(&self) -> &[Resource] {
        &self.upserts
    }

    /// Names of which there is neither any more, or that were pending and have neither; sorted. A name that has become
    /// pending in place of something is among them.
    #[must_use]
    pub fn removals(&self) -> &[Name] {
        &self.removals
    }

    /// Resources of the same content and another [time to live](Resource::ttl), or none any more; sorted by name.
    #[must_use]
    pub fn retimed(&self) -> &[Resource] {
        &self.retimed
    }

    /// Whether both values have the same content.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.upserts.is_empty() && self.removals.is_empty()
    }

    /// Every name that differs.
    pub fn names(&self) -> impl Iterator<Item = &Name> + Clone {
        self.upserts
            .iter()
            .map(Resource::name)
            .chain(&*self.removals)
    }

    /// Whether a resource differs that not every wildcard covers, so that a wildcard subscriber must not be sent all of it.
    #[must_use]
    pub fn touches_on_demand(&self) -> bool {
        self.on_demand
    }

    /// Whether anything that differs was or is no resource.
    #[must_use]
    pub fn touches_others(&self) -> bool {
        self.other
    }

    /// Whether something that was added or changed has a time to live.
    pub(super) fn is_timed(&self) -> bool {
        self.timed
    }

    /// What the upserts refer to and `old`, the value that this is the difference from, does not.
    pub(super) fn new_references(
        &self,
        old: &ResourceSet,
        references: &dyn References,
    ) -> &[NewReference] {
        self.new_references
            .get_or_init(|| new_references::between(old, &self.upserts, references).into())
    }

    /// Length of the encoded upserts.
    pub(super) fn encoded_len(&self, form: EntryForm) -> usize {
        self.lens.get(form)
    }

    /// The encoded upserts, shared by all streams that send exactly these.
    pub(super) fn parts(&self, form: EntryForm) -> &Arc<[Bytes]> {
        let cell = match form {
            EntryForm::Sotw => &self.sotw,
            EntryForm::Delta => &self.delta,
        };
        cell.get_or_init(|| coalesce(self.upserts.iter().map(|r| r.entry(form))).into())
    }
}

/// Walks two sorted arrays of chunks, skipping what they share, and calls `visit` for every name that either holds.
fn compare<'a>(
    old: &'a [Arc<Chunk>],
    new: &'a [Arc<Chunk>],
    mut visit: impl FnMut(Option<&'a Resource>, Option<&'a Resource>),
) {
    let (mut a, mut b) = (Cursor::new(old), Cursor::new(new));
    loop {
        // Both come to a chunk that they share at its first name: what stands before it is less in either.
        if a.shares_chunk(&b) {
            a.skip_chunk();
            b.skip_chunk();
            continue;
        }
        match (a.current(), b.current()) {
            (None, None) => return,
            (Some(old), None) => {
                visit(Some(old), None);
                a.advance();
            }
            (None, Some(new)) => {
                visit(None, Some(new));
                b.advance();
            }
            (Some(old), Some(new)) => match old.name().cmp(new.name()) {
                std::cmp::Ordering::Less => {
                    visit(Some(old), None);
                    a.advance();
                }
                std::cmp::Ordering::Greater => {
                    visit(None, Some(new));
                    b.advance();
                }
                std::cmp::Ordering::Equal => {
                    visit(Some(old), Some(new));
                    a.advance();
                    b.advance();
                }
            },
        }
    }
}

struct Cursor<'a> {
    chunks: &'a [Arc<Chunk>],
    within: usize,
}

impl<'a> Cursor<'a> {
    fn new(chunks: &'a [Arc<Chunk>]) -> Self {
        Self { chunks, within: 0 }
    }

    fn current(&self) -> Option<&'a Resource> {
        self.chunks.first()?.resources().get(self.within)
    }

    fn shares_chunk(&self, other: &Self) -> bool {
        match (self.chunks.first(), other.chunks.first()) {
            (Some(mine), Some(theirs)) => Arc::ptr_eq(mine, theirs),
            _ => false,
        }
    }

    fn skip_chunk(&mut self) {
        self.chunks = &self.chunks[1..];
        self.within = 0;
    }

    fn advance(&mut self) {
        self.within += 1;
        if self.within == self.chunks[0].resources().len() {
            self.skip_chunk();
        }
    }
}

/// The last few differences asked of a value, newest first. Keyed by value id, not by address: an address may be
/// reused.
#[derive(Debug, Default)]
pub(super) struct Memo([Option<(ValueId, Arc<Diff>)>; MEMO_SLOTS]);

impl Memo {
    pub(super) fn get(&mut self, id: ValueId) -> Option<Arc<Diff>> {
        let at = self
            .0
            .iter()
            .position(|slot| matches!(slot, Some((key, _)) if *key == id))?;
        self.0[..=at].rotate_right(1);
        self.0[0].as_ref().map(|(_, diff)| Arc::clone(diff))
    }

    fn put(&mut self, id: ValueId, diff: Arc<Diff>) {
        self.0.rotate_right(1);
        self.0[0] = Some((id, diff));
    }
}

impl ResourceSet {
    /// What changed from `old` to this value. Streams that hold the same `old` share one answer.
    ///
    /// From the value that this one was edited from it is remembered, and costs a lookup, as does what was asked before.
    /// Otherwise it costs O(changed chunks) plus a pointer comparison per chunk.
    #[must_use]
    pub fn diff_from(&self, old: &Self) -> Arc<Diff> {
        if self.id() == old.id() {
            static NONE: LazyLock<Arc<Diff>> = LazyLock::new(|| {
                let nothing = ResourceSet::empty();
                Arc::new(Diff::new(&nothing, Vec::new(), Vec::new(), Vec::new()))
            });
            return Arc::clone(&NONE);
        }
        if let Some(known) = self.memo().get(old.id()) {
            return known;
        }
        // Computed outside the lock: two streams may both compute it, none waits for another's comparison.
        let diff = Arc::new(Diff::between(old, self));
        let mut memo = self.memo();
        match memo.get(old.id()) {
            Some(first) => first,
            None => {
                memo.put(old.id(), Arc::clone(&diff));
                diff
            }
        }
    }

    /// Whether nothing that `old` holds is gone, which most often is asked of the value that this one was edited from.
    #[must_use]
    pub fn keeps_all_of(&self, old: &Self) -> bool {
        let newest = match &self.memo().0[0] {
            Some((id, diff)) if *id == old.id() => Some(diff.removals().is_empty()),
            _ => None,
        };
        newest.unwrap_or_else(|| self.diff_from(old).removals().is_empty())
    }

    /// Remembers the difference from the value that this one was edited from.
    pub(super) fn remember(&self, old: &Self, diff: Diff) {
        self.memo().put(old.id(), Arc::new(diff));
    }

    pub(super) fn memo(&self) -> MutexGuard<'_, Memo> {
        let memo = &self.0.memo;
        memo.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::well_known::CLUSTER;

    fn resource(name: &str, body: u8) -> Resource {
        let builder = Resource::builder(CLUSTER, name, vec![body]);
        builder.build().unwrap()
    }

    fn pending(name: &str) -> Resource {
        Resource::pending(CLUSTER, name).unwrap()
    }

    fn set(resources: impl IntoIterator<Item = Resource>) -> ResourceSet {
        ResourceSet::new(resources).unwrap()
    }

    #[test]
    fn what_is_shared_is_not_compared() {
        let old = set((0..10_000).map(|i| resource(&format!("{i:05}"), 1)));
        let mut edit = old.edit();
        edit.upsert(resource("05000", 2)).remove("05001");
        edit.upsert(resource("05000a", 1));
        let new = edit.finish().unwrap();
        let mut compared = 0;
        compare(old.chunks(), new.chunks(), |_, _| compared += 1);
        assert!((3..=200).contains(&compared), "{compared} names");
    }

    #[test]
    fn what_is_still_pending_is_not_told() {
        let old = set([pending("a"), resource("b", 1)]);
        let mut edit = old.edit();
        edit.upsert(pending("a")).upsert(resource("b", 2));
        let new = edit.finish().unwrap();
        // What was noted when the set was edited, and what a comparison finds.
        for diff in [new.diff_from(&old), Arc::new(Diff::between(&old, &new))] {
            assert_eq!(diff.upserts().len(), 1);
            assert_eq!(diff.removals(), []);
        }
    }
}
