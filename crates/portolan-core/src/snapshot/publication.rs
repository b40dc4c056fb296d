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
    types: Box<[(TypeUrl, Generation)]>,
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
        at.map_or(Generation(1), |at| self.types[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resource;
    use crate::well_known::{CLUSTER, ENDPOINT};

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
    fn publishing_an_old_value_again_does_not_go_back() {
        let old = snapshot(b"1", b"1");
        let first = Publication::first(old.clone());
        let third = first.next(snapshot(b"2", b"1")).next(old);
        assert_eq!(third.generation().get(), 3);
        assert_eq!(third.type_generation(&CLUSTER).get(), 3);
        assert_eq!(third.type_generation(&ENDPOINT).get(), 1);
    }
}
