use std::sync::Arc;

use super::{Inner, Referrers, Snapshot, TypeEntry};
use crate::{ResourceSet, TypeUrl, ValueId, Version};

/// How much of a set's own version is shown behind a label.
const SHOWN: usize = 8;

impl Snapshot {
    /// This snapshot with other sets in the place of those of some types, as clients are shown while they go from one to
    /// the next. A label is shown with the beginning of the set's own version behind it, as in `v7+01234567`: it is not
    /// what the caller labelled.
    #[must_use]
    pub fn with_sets(&self, sets: impl IntoIterator<Item = (TypeUrl, ResourceSet)>) -> Self {
        let mut types = self.0.types.to_vec();
        for (url, set) in sets {
            match types.binary_search_by(|entry| entry.url.cmp(&url)) {
                Ok(at) if types[at].set.id() == set.id() => {}
                Ok(at) => {
                    let label = types[at].label.take();
                    types[at].label = label.map(|label| decorate(&label, &set));
                    types[at].set = set;
                }
                Err(at) => {
                    let label = None;
                    types.insert(at, TypeEntry { url, set, label });
                }
            }
        }
        Self(Arc::new(Inner {
            id: ValueId::next(),
            types: types.into_boxed_slice(),
            coverage: self.0.coverage.clone(),
            empty: self.0.empty.clone(),
            referrers: Referrers::after(Some(self)),
        }))
    }
}

fn decorate(label: &Version, set: &ResourceSet) -> Version {
    let own = set.version().as_str();
    Version::from(format!("{label}+{}", own.get(..SHOWN).unwrap_or(own)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resource;
    use crate::well_known::{CLUSTER, LISTENER};

    #[test]
    fn other_sets_are_shown_and_their_labels_say_so() {
        let cluster = |name: &str| Resource::builder(CLUSTER, name, &b"1"[..]);
        let mut builder = Snapshot::builder();
        builder.insert(cluster("a")).unwrap();
        builder.label(CLUSTER, "v7").label(LISTENER, "v8");
        let snapshot = builder.build();
        let own = snapshot.set(&CLUSTER).unwrap();
        let mut edit = own.edit();
        edit.upsert(cluster("b").build().unwrap());
        let union = edit.finish().unwrap();
        let shown = snapshot.with_sets([(CLUSTER, union.clone())]);
        assert_eq!(shown.set(&CLUSTER).unwrap().len(), 2);
        let expected = format!("v7+{}", &union.version().as_str()[..8]);
        assert_eq!(shown.version_info(&CLUSTER), expected.as_str());
        assert_eq!(shown.version_info(&LISTENER), "v8");

        let same = snapshot.with_sets([(CLUSTER, own.clone())]);
        assert_eq!(same.version_info(&CLUSTER), "v7");
        let unlabelled = Snapshot::empty().with_sets([(CLUSTER, union.clone())]);
        assert_eq!(unlabelled.version_info(&CLUSTER), *union.version());
    }
}
