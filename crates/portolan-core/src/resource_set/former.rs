use std::sync::{MutexGuard, PoisonError};

use super::{Changes, ResourceSet, ValueId};
use crate::Name;

/// How many mixtures a value remembers. Streams that take the same steps from one publication to the next are at most
/// a few steps apart.
const MEMO_SLOTS: usize = 4;

/// The last few mixtures asked of a value, newest first.
#[derive(Debug, Default)]
pub(super) struct Mixtures([Option<Mixture>; MEMO_SLOTS]);

#[derive(Debug)]
struct Mixture {
    former: ValueId,
    names: Box<[Name]>,
    mixed: ResourceSet,
}

impl Mixtures {
    fn get(&mut self, former: ValueId, names: &[Name]) -> Option<ResourceSet> {
        let is_asked = |slot: &Option<Mixture>| {
            let mixture = slot.as_ref();
            mixture.is_some_and(|m| m.former == former && *m.names == *names)
        };
        let at = self.0.iter().position(is_asked)?;
        self.0[..=at].rotate_right(1);
        self.0[0].as_ref().map(|mixture| mixture.mixed.clone())
    }

    fn put(&mut self, former: ValueId, names: &[Name], mixed: ResourceSet) {
        let names = names.into();
        self.0.rotate_right(1);
        self.0[0] = Some(Mixture {
            former,
            names,
            mixed,
        });
    }
}

impl ResourceSet {
    /// This set with these names, which are sorted, as `former` has them: in the former version, pending, or not at all. What
    /// both hold the same is not touched, and a mixture that is `former` again is that value.
    ///
    /// Streams that ask for the same mixture of the same values share it, and so what it is compared with and encoded as.
    #[must_use]
    pub fn keeping(&self, former: &Self, names: &[Name]) -> Self {
        if names.is_empty() || self.id() == former.id() {
            return self.clone();
        }
        if let Some(known) = self.mixtures().get(former.id(), names) {
            return known;
        }
        // Mixed outside the lock, as differences are computed.
        let kept = |name: &Name| (name.clone(), former.held(name).cloned());
        let mixed = self.apply(names.iter().map(kept).collect::<Changes>());
        let is_former = mixed.same_content(former) && !mixed.is_timed() && !former.is_timed();
        let mixed = if is_former { former.clone() } else { mixed };
        let mut mixtures = self.mixtures();
        if let Some(first) = mixtures.get(former.id(), names) {
            return first;
        }
        // What is the value itself would keep itself alive.
        if mixed.id() != self.id() {
            mixtures.put(former.id(), names, mixed.clone());
        }
        mixed
    }

    /// This value, or a [mixture](Self::keeping) of it that is remembered, that has this version.
    #[must_use]
    pub fn of_version(&self, version: &str) -> Option<Self> {
        if *self.version() == version {
            return Some(self.clone());
        }
        let mixtures = self.mixtures();
        let mut mixtures = mixtures.0.iter().flatten();
        let found = mixtures.find(|mixture| *mixture.mixed.version() == version);
        found.map(|mixture| mixture.mixed.clone())
    }

    fn mixtures(&self) -> MutexGuard<'_, Mixtures> {
        let mixtures = &self.0.mixtures;
        mixtures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::well_known::CLUSTER;
    use crate::{Resource, Version};

    fn set(resources: &[(&str, &'static [u8])]) -> ResourceSet {
        let built = resources
            .iter()
            .map(|(name, body)| Resource::builder(CLUSTER, *name, *body).build().unwrap());
        ResourceSet::new(built).unwrap()
    }

    fn names(names: &[&str]) -> Vec<Name> {
        names.iter().map(|name| Name::from(*name)).collect()
    }

    #[test]
    fn names_are_as_the_former_set_has_them_and_all_others_are_not() {
        let former = set(&[("a", b"1"), ("b", b"1"), ("c", b"1")]);
        let newer = set(&[("b", b"2"), ("c", b"2"), ("d", b"2")]);
        let mixed = newer.keeping(&former, &names(&["a", "b", "d"]));
        let held: Vec<_> = mixed
            .iter()
            .map(|r| (r.name().as_str(), r.body()))
            .collect();
        assert_eq!(
            held,
            [
                ("a", (&b"1"[..]).into()),
                ("b", (&b"1"[..]).into()),
                ("c", (&b"2"[..]).into())
            ]
        );
    }

    #[test]
    fn what_is_mixed_alike_is_the_same_value() {
        let former = set(&[("a", b"1"), ("b", b"1")]);
        let newer = set(&[("b", b"2"), ("c", b"2")]);
        let mixed = newer.keeping(&former, &names(&["a"]));
        assert_eq!(newer.keeping(&former, &names(&["a"])).id(), mixed.id());
        assert_ne!(newer.keeping(&former, &names(&["b"])).id(), mixed.id());
        let again = newer.keeping(&former, &names(&["a", "b", "c"]));
        assert_eq!(again.id(), former.id());
        assert_eq!(newer.keeping(&former, &[]).id(), newer.id());
    }

    #[test]
    fn mixtures_are_found_by_their_versions() {
        let (former, newer) = (set(&[("a", b"1")]), set(&[("b", b"2")]));
        let mixed = newer.keeping(&former, &names(&["a"]));
        let found = |version: &Version| newer.of_version(version.as_str()).map(|set| set.id());
        assert_eq!(found(mixed.version()), Some(mixed.id()));
        assert_eq!(found(newer.version()), Some(newer.id()));
        assert_eq!(found(former.version()), None);
    }

    #[test]
    fn names_that_neither_has_change_nothing() {
        let former = set(&[("a", b"1")]);
        let newer = set(&[("b", b"2")]);
        assert_eq!(newer.keeping(&former, &names(&["x"])).id(), newer.id());
    }
}
