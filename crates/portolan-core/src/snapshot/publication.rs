use std::sync::Arc;

use crate::{Snapshot, TypeUrl};

/// The number of a publication: grows by one with each, per group, and never goes back, also not when an older value
/// is published again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(u64);

impl Generation {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The next one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A snapshot as it was published: the value and when, in the order of publications, its parts last changed.
#[derive(Clone, Debug)]
pub struct Publication {
    snapshot: Snapshot,
    generation: Generation,
    /// When types that hold or held something last changed; all others have been empty since `since`.
    types: Arc<[(TypeUrl, Generation)]>,
    since: Generation,
}

impl Publication {
    /// The first publication of a group.
    #[must_use]
    pub fn first(snapshot: Snapshot) -> Self {
        Self::after(None, Generation::default(), snapshot)
    }

    /// The publication that follows `self`.
    #[must_use]
    pub fn next(&self, snapshot: Snapshot) -> Self {
        Self::after(Some(self), self.generation, snapshot)
    }

    /// A publication after a group's data was cleared at `last`; numbers go on.
    #[must_use]
    pub fn first_after(last: Generation, snapshot: Snapshot) -> Self {
        Self::after(None, last, snapshot)
    }

    /// The same publication with a snapshot of the same content: labels decorate, and are no reason for a publication.
    #[must_use]
    pub fn redecorated(&self, snapshot: Snapshot) -> Self {
        debug_assert!(self.snapshot.same_content(&snapshot));
        Self {
            snapshot,
            ..self.clone()
        }
    }

    fn after(previous: Option<&Self>, last: Generation, snapshot: Snapshot) -> Self {
        let generation = last.next();
        let changed_in = |url: &TypeUrl| {
            let old = previous.filter(|p| {
                let (old, new) = (p.snapshot.set(url), snapshot.set(url));
                matches!((old, new), (Some(old), Some(new)) if old.same_content(new))
            });
            old.map_or(generation, |p| p.type_generation(url))
        };
        let held_before = previous
            .into_iter()
            .flat_map(|p| p.types.iter().map(|(url, _)| url));
        let mut urls: Vec<_> = snapshot
            .sets()
            .map(|(url, _)| url)
            .chain(held_before)
            .collect();
        urls.sort_unstable();
        urls.dedup();
        let types = urls
            .into_iter()
            .map(|url| (url.clone(), changed_in(url)))
            .collect();
        Self {
            snapshot,
            generation,
            types,
            since: previous.map_or(generation, |p| p.since),
        }
    }

    /// The value.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The number of this publication.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The number of the publication in which the content of a type last changed.
    #[must_use]
    pub fn type_generation(&self, type_url: &TypeUrl) -> Generation {
        let at = self.types.binary_search_by(|(url, _)| url.cmp(type_url));
        at.map_or(self.since, |at| self.types[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resource;
    use crate::well_known::{CLUSTER, ENDPOINT, LISTENER};

    fn snapshot(cluster: &'static [u8], endpoint: &'static [u8]) -> Snapshot {
        let mut builder = Snapshot::builder();
        builder
            .insert(Resource::builder(CLUSTER, "a", cluster))
            .unwrap();
        builder
            .insert(Resource::builder(ENDPOINT, "a", endpoint))
            .unwrap();
        builder.build()
    }

    #[test]
    fn a_type_keeps_the_generation_in_which_it_changed() {
        let first = Publication::first(snapshot(b"1", b"1"));
        let second = first.next(snapshot(b"1", b"2"));
        assert_eq!(second.generation().get(), 2);
        assert_eq!(second.type_generation(&CLUSTER).get(), 1);
        assert_eq!(second.type_generation(&ENDPOINT).get(), 2);
    }

    #[test]
    fn a_type_that_never_held_anything_has_not_changed_since_data_was_first_there() {
        let cleared_at = Publication::first(snapshot(b"1", b"1")).generation();
        let publication = Publication::first_after(cleared_at, snapshot(b"1", b"1"));
        let next = publication.next(snapshot(b"2", b"1"));
        assert_eq!(next.type_generation(&LISTENER), publication.generation());
    }

    #[test]
    fn new_labels_are_no_new_publication() {
        let first = Publication::first(snapshot(b"1", b"1"));
        let mut labelled = first.snapshot().edit();
        labelled.label(CLUSTER, "v7");
        let labelled = first.redecorated(labelled.build());
        assert_eq!(labelled.generation(), first.generation());
        assert_eq!(labelled.snapshot().version_info(&CLUSTER), "v7");
    }

    #[test]
    fn publishing_an_old_value_again_does_not_go_back() {
        let old = snapshot(b"1", b"1");
        let first = Publication::first(old.clone());
        let third = first.next(snapshot(b"2", b"1")).next(old);
        assert_eq!(third.generation().get(), 3);
        assert_eq!(third.type_generation(&CLUSTER).get(), 3);
        assert_eq!(third.type_generation(&ENDPOINT).get(), 1);
    }
}
