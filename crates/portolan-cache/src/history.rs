use std::sync::{Arc, LazyLock};

use portolan_core::{ResourceSet, ResourceTypes, Snapshot, TypeUrl};

/// What a group was given before of each type, newest first: so many sets that differ from each other and from what it
/// has.
///
/// A value, which shares with its successor what stays the same. Endpoints and other resources that lead nowhere are not
/// among it: they change most, and nothing depends on what they were.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    bound: usize,
    types: Vec<(TypeUrl, Arc<[ResourceSet]>)>,
}

impl History {
    /// Nothing yet, and never more than this many sets of a type.
    pub(crate) fn bounded(bound: usize) -> Self {
        let types = Vec::new();
        Self { bound, types }
    }

    /// The same without what was noted.
    pub(crate) fn cleared(&self) -> Self {
        Self::bounded(self.bound)
    }

    pub(crate) fn sets(&self, type_url: &TypeUrl) -> &[ResourceSet] {
        let found = self.types.iter().find(|(url, _)| url == type_url);
        found.map_or(&[], |(_, sets)| sets)
    }

    /// The history when `next` comes in the place of `held`.
    pub(crate) fn after(&self, held: &Snapshot, next: &Snapshot) -> Self {
        let mut after = self.clone();
        let is_past = |(url, set): &(&TypeUrl, &ResourceSet)| {
            let same = |next: &ResourceSet| next.same_content(set);
            is_remembered(url) && !next.set(url).is_some_and(same)
        };
        for (url, set) in held.sets().filter(is_past) {
            after.note(url, set);
        }
        after
    }

    fn note(&mut self, type_url: &TypeUrl, set: &ResourceSet) {
        let before = self.sets(type_url).iter();
        let others = before.filter(|other| !other.same_content(set));
        let sets = [set].into_iter().chain(others).take(self.bound);
        let sets: Arc<[_]> = sets.cloned().collect();
        match self.types.iter_mut().find(|(url, _)| url == type_url) {
            Some((_, held)) => *held = sets,
            None => self.types.push((type_url.clone(), sets)),
        }
    }
}

fn is_remembered(type_url: &TypeUrl) -> bool {
    static TYPES: LazyLock<ResourceTypes> = LazyLock::new(ResourceTypes::well_known);
    !TYPES.get(type_url.as_str()).independent()
}

#[cfg(test)]
mod tests {
    use portolan_core::Resource;
    use portolan_core::well_known::{CLUSTER, ENDPOINT};

    use super::*;

    fn snapshot(body: &'static [u8]) -> Snapshot {
        let mut builder = Snapshot::builder();
        for url in [CLUSTER, ENDPOINT] {
            builder.insert(Resource::builder(url, "a", body)).unwrap();
        }
        builder.build()
    }

    fn bodies(history: &History) -> Vec<Vec<u8>> {
        let sets = history.sets(&CLUSTER).iter();
        sets.map(|set| set.get("a").unwrap().body().to_vec())
            .collect()
    }

    #[test]
    fn the_newest_of_what_was_are_remembered_each_once() {
        let given = [b"1", b"2", b"1", b"3", b"4"].map(|body| snapshot(body));
        let mut history = History::bounded(2);
        for pair in given.windows(2) {
            history = history.after(&pair[0], &pair[1]);
        }
        assert_eq!(bodies(&history), [b"3", b"1"]);
        assert!(history.sets(&ENDPOINT).is_empty());
        let cleared = history.cleared().after(&given[0], &given[1]);
        assert_eq!(bodies(&cleared), [b"1"]);
        let nothing = History::bounded(0).after(&given[0], &given[1]);
        assert!(bodies(&nothing).is_empty());
    }
}
