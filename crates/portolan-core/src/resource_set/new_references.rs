use std::collections::BTreeSet;

use super::ResourceSet;
use crate::{Name, References, Resource, Strength, TypeUrl};

/// A [hard](crate::Strength::Hard) reference that a changed resource has and its former version had not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReference {
    referrer: Name,
    target: TypeUrl,
    name: Name,
}

impl NewReference {
    /// Name of the resource that refers.
    #[must_use]
    pub fn referrer(&self) -> &Name {
        &self.referrer
    }

    /// Type of the resource referred to.
    #[must_use]
    pub fn target(&self) -> &TypeUrl {
        &self.target
    }

    /// Name of the resource referred to.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }
}

/// The hard references that these resources bring which replace, or stand beside, those of `old`; ordered by referrer.
pub(super) fn between(
    old: &ResourceSet,
    upserts: &[Resource],
    references: &dyn References,
) -> Vec<NewReference> {
    let hard = |resource: &Resource| {
        let all = resource.facts(references).references().iter();
        let hard = all.filter(|reference| reference.strength() == Strength::Hard);
        let keys = hard.map(|reference| (reference.target().clone(), reference.name().clone()));
        keys.collect::<BTreeSet<_>>()
    };
    let mut found = Vec::new();
    for resource in upserts {
        let former = old.get(resource.name()).map(hard).unwrap_or_default();
        for (target, name) in hard(resource) {
            if !former.contains(&(target.clone(), name.clone())) {
                found.push(NewReference {
                    referrer: resource.name().clone(),
                    target,
                    name,
                });
            }
        }
    }
    found
}

impl ResourceSet {
    /// The hard references that the changes from `old` to this value bring, ordered by referrer. What a resource could not
    /// do without before either is none of them. Remembered with the difference, so streams that hold the same `old` read them once.
    pub fn for_each_new_reference(
        &self,
        old: &Self,
        references: &dyn References,
        visit: impl FnMut(&NewReference),
    ) {
        let diff = self.diff_from(old);
        diff.new_references(old, references).iter().for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::well_known::{CLUSTER, ROUTE};
    use crate::{Facts, ReadyWhen, Reference};

    /// A body names clusters.
    #[derive(Debug)]
    struct Words;

    impl References for Words {
        fn facts(&self, _: &TypeUrl, body: &Bytes) -> Facts {
            let words = std::str::from_utf8(body).unwrap().split_whitespace();
            let references = words.map(|word| Reference::new(CLUSTER, word, "word"));
            Facts::new(references.collect::<Vec<_>>(), ReadyWhen::Acked)
        }
    }

    fn set(resources: &[(&str, &'static str)]) -> ResourceSet {
        let built = resources
            .iter()
            .map(|(name, body)| Resource::builder(ROUTE, *name, *body).build().unwrap());
        ResourceSet::new(built).unwrap()
    }

    fn new(old: &ResourceSet, new: &ResourceSet) -> Vec<String> {
        let mut found = Vec::new();
        new.for_each_new_reference(old, &Words, |r| {
            assert_eq!(*r.target(), CLUSTER);
            found.push(format!("{} {}", r.referrer(), r.name()));
        });
        found
    }

    #[test]
    fn only_what_was_not_referred_to_by_the_same_resource_is_new() {
        let old = set(&[("q", "x"), ("r", "a b"), ("s", "a")]);
        let newer = set(&[("q", "x"), ("r", "c b c"), ("t", "b a")]);
        assert_eq!(new(&old, &newer), ["r c", "t a", "t b"]);
        assert_eq!(new(&newer, &old), ["r a", "s a"]);
        assert_eq!(new(&newer, &newer), [""; 0]);
    }
}
