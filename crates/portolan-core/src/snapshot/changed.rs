use std::cmp::Ordering;

use super::{Snapshot, TypeEntry};
use crate::{ResourceSet, TypeUrl};

impl Snapshot {
    /// The types whose sets are other values than those of `former`, with the set there and here, ordered by URL. Types of
    /// which one of the two does not speak are none of them. Costs a comparison of numbers per type that is the same.
    #[inline]
    pub fn changed_sets<'a>(
        &'a self,
        former: &'a Self,
    ) -> impl Iterator<Item = (&'a TypeUrl, &'a ResourceSet, &'a ResourceSet)> {
        let (mut before, mut after) = (&*former.0.types, &*self.0.types);
        std::iter::from_fn(move || {
            loop {
                // A value has one type, or is empty whatever the type.
                while let ([old, older @ ..], [new, newer @ ..]) = (before, after)
                    && old.set.id() == new.set.id()
                {
                    (before, after) = (older, newer);
                }
                let order = match (before.first(), after.first()) {
                    (Some(old), Some(new)) => old.url.cmp(&new.url),
                    (Some(_), None) => Ordering::Less,
                    (None, _) => Ordering::Greater,
                };
                let old = before.split_first().filter(|_| order.is_le());
                let new = after.split_first().filter(|_| order.is_ge());
                before = old.map_or(before, |(_, rest)| rest);
                after = new.map_or(after, |(_, rest)| rest);
                let (old, new) = (old.map(|(first, _)| first), new.map(|(first, _)| first));
                let url = &old.or(new)?.url;
                let set = |entry: Option<&'a TypeEntry>, of: &'a Self| match entry {
                    Some(entry) => Some(&entry.set),
                    None => of.set(url),
                };
                match (set(old, former), set(new, self)) {
                    (Some(old), Some(new)) if old.id() != new.id() => {
                        return Some((url, old, new));
                    }
                    _ => {}
                }
            }
        })
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
