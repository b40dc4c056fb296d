use super::{Snapshot, TypeEntry};
use crate::{ResourceSet, TypeUrl};

impl Snapshot {
    /// The types whose sets are other values than those of `former`, with the set there and here. Types of which one of the
    /// two does not speak are none of them. Costs a comparison of numbers per type that is the same.
    #[inline]
    pub fn changed_sets<'a>(
        &'a self,
        former: &'a Self,
    ) -> impl Iterator<Item = (&'a TypeUrl, &'a ResourceSet, &'a ResourceSet)> {
        let held = self.0.types.iter().enumerate().filter_map(|(at, new)| {
            let beside = former.0.types.get(at);
            let is_same = beside.is_some_and(|old| old.is_same(new));
            let old = if is_same {
                None
            } else {
                Some(former.at_or_near(at, &new.url)?)
            };
            old.filter(|old| old.id() != new.set.id())
                .map(|old| (&new.url, old, &new.set))
        });
        let gone = former.0.types.iter().enumerate().filter_map(|(at, old)| {
            let is_held = self.0.types.get(at).is_some_and(|new| old.is_same(new));
            if is_held || self.entry_near(at, &old.url).is_some() {
                return None;
            }
            let new = self.set(&old.url)?;
            (old.set.id() != new.id()).then_some((&old.url, &old.set, new))
        });
        held.chain(gone)
    }

    /// The entry of a type, which is looked for in this place first: mostly two snapshots hold the same types.
    fn entry_near(&self, at: usize, url: &TypeUrl) -> Option<&TypeEntry> {
        let beside = self.0.types.get(at);
        beside
            .filter(|entry| entry.url == *url)
            .or_else(|| self.entry(url))
    }

    fn at_or_near(&self, at: usize, url: &TypeUrl) -> Option<&ResourceSet> {
        match self.entry_near(at, url) {
            Some(entry) => Some(&entry.set),
            None => self.set(url),
        }
    }
}

impl TypeEntry {
    /// Whether it holds the same value. A value has one type, or is empty whatever the type.
    fn is_same(&self, other: &Self) -> bool {
        self.set.id() == other.set.id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resource;
    use crate::well_known::{CLUSTER, LISTENER, ROUTE, SECRET};

    fn put(builder: &mut crate::SnapshotBuilder, url: TypeUrl, name: &str) {
        let resource = Resource::builder(url, name, &b"1"[..]);
        builder.upsert(resource).unwrap();
    }

    fn changed(new: &Snapshot, old: &Snapshot) -> Vec<(TypeUrl, usize, usize)> {
        let changed = new.changed_sets(old);
        changed
            .map(|(url, old, new)| (url.clone(), old.len(), new.len()))
            .collect()
    }

    #[test]
    fn only_types_with_other_values_are_told() {
        let mut builder = Snapshot::builder();
        put(&mut builder, CLUSTER, "a");
        put(&mut builder, SECRET, "s");
        let old = builder.build();
        let mut edit = old.edit();
        put(&mut edit, CLUSTER, "b");
        put(&mut edit, ROUTE, "r");
        let new = edit.build();
        let mut there = vec![(CLUSTER, 1, 2), (ROUTE, 0, 1)];
        there.sort();
        assert_eq!(changed(&new, &old), there);
        let mut back = vec![(CLUSTER, 2, 1), (ROUTE, 1, 0)];
        back.sort();
        assert_eq!(changed(&old, &new), back);
        assert_eq!(changed(&new, &new), []);
    }

    #[test]
    fn types_of_which_one_says_nothing_are_not_told() {
        let mut builder = Snapshot::builder();
        builder.only([CLUSTER]);
        put(&mut builder, CLUSTER, "a");
        let less = builder.build();
        let mut builder = Snapshot::builder();
        put(&mut builder, LISTENER, "l");
        let all = builder.build();
        assert_eq!(changed(&all, &less), [(CLUSTER, 1, 0)]);
        assert_eq!(changed(&less, &all), [(CLUSTER, 0, 1)]);
    }
}
