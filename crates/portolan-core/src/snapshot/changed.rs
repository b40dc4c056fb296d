use super::Snapshot;
use crate::{ResourceSet, TypeUrl};

impl Snapshot {
    /// Whether something holds of all types whose sets are other values than those of `former`, with the set there and here.
    /// Types of which one of the two does not speak are none of them. Costs a comparison of numbers per type that is the
    /// same, for streams ask at each publication.
    pub fn all_changed_sets<'a>(
        &'a self,
        former: &'a Self,
        mut holds: impl FnMut(&'a TypeUrl, &'a ResourceSet, &'a ResourceSet) -> bool,
    ) -> bool {
        let (before, after) = (&*former.0.types, &*self.0.types);
        // Mostly both hold the same types.
        let mut aligned = 0;
        for (old, new) in before.iter().zip(after) {
            // A value has one type, or is empty whatever the type.
            if old.set.id() != new.set.id() {
                if old.url != new.url {
                    break;
                }
                if !holds(&new.url, &old.set, &new.set) {
                    return false;
                }
            }
            aligned += 1;
        }
        let all = aligned == before.len() && aligned == after.len();
        all || self.all_changed_from(aligned, former, holds)
    }

    /// The same of the types behind so many that both hold.
    #[cold]
    fn all_changed_from<'a>(
        &'a self,
        aligned: usize,
        former: &'a Self,
        mut holds: impl FnMut(&'a TypeUrl, &'a ResourceSet, &'a ResourceSet) -> bool,
    ) -> bool {
        let mut all = |url: &'a TypeUrl| match (former.set(url), self.set(url)) {
            (Some(old), Some(new)) => old.id() == new.id() || holds(url, old, new),
            _ => true,
        };
        let mut here = self.0.types[aligned..].iter();
        let gone = former.0.types[aligned..].iter();
        let mut gone = gone.filter(|old| self.entry(&old.url).is_none());
        here.all(|new| all(&new.url)) && gone.all(|old| all(&old.url))
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
        let mut changed = Vec::new();
        let all = new.all_changed_sets(old, |url, old, new| {
            changed.push((url.clone(), old.len(), new.len()));
            true
        });
        assert!(all);
        changed
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
    fn all_hold_or_one_does_not() {
        let mut builder = Snapshot::builder();
        put(&mut builder, CLUSTER, "a");
        let old = builder.build();
        let mut edit = old.edit();
        put(&mut edit, CLUSTER, "b");
        put(&mut edit, ROUTE, "r");
        let new = edit.build();
        for (new, old) in [(&new, &old), (&old, &new)] {
            for refused in [CLUSTER, ROUTE] {
                assert!(!new.all_changed_sets(old, |url, _, _| *url != refused));
            }
            assert!(new.all_changed_sets(old, |url, _, _| *url != SECRET));
        }
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
