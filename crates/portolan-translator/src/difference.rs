//! How what was translated differs from what a group has.

use std::fmt;
use std::sync::Arc;

use portolan_core::{Diff, Name, Resource, ResourceSet, Snapshot, TypeUrl, Version};

/// The difference in one type. Costs what changed: the comparison is the one that streams share later.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) type_url: TypeUrl,
    pub(crate) after: ResourceSet,
    versions: (Option<Version>, Version),
    /// What the group has of the type; `None` where it has no publication that speaks for it.
    pub(crate) before: Option<(ResourceSet, Arc<Diff>)>,
}

/// The types whose content differs, ordered by URL. What `next` does not speak for is no difference: nobody is told.
pub(crate) fn differences(previous: Option<&Snapshot>, next: &Snapshot) -> Vec<Difference> {
    let mut urls: Vec<_> = next.sets().map(|(url, _)| url).collect();
    urls.extend(
        previous
            .into_iter()
            .flat_map(|p| p.sets().map(|(url, _)| url)),
    );
    urls.sort_unstable();
    urls.dedup();
    let differences = urls
        .into_iter()
        .filter_map(|url| difference(url, previous, next));
    differences.collect()
}

fn difference(url: &TypeUrl, previous: Option<&Snapshot>, next: &Snapshot) -> Option<Difference> {
    let after = next.set(url)?;
    let held = previous.and_then(|previous| Some((previous, previous.set(url)?)));
    let before = match held {
        Some((_, before)) if before.same_content(after) => return None,
        None if after.entries_len() == 0 => return None,
        Some((_, before)) => Some((before.clone(), after.diff_from(before))),
        None => None,
    };
    let shown_before = held.map(|(previous, _)| previous.version_info(url));
    Some(Difference {
        type_url: url.clone(),
        after: after.clone(),
        versions: (shown_before, next.version_info(url)),
        before,
    })
}

impl Difference {
    /// The resources that are new or have other content.
    pub(crate) fn upserts(&self) -> impl Iterator<Item = &Resource> {
        self.entries().filter(|entry| entry.failure().is_none())
    }

    /// The names whose error is new or another.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &Name> {
        let failed = self.entries().filter(|entry| entry.failure().is_some());
        failed.map(Resource::name)
    }

    /// The resources that are no longer there, by name. One in whose place there is an error is lost to whoever has it
    /// through a wildcard, whatever the error.
    pub(crate) fn lost(&self) -> Vec<&Name> {
        let Some((before, diff)) = &self.before else {
            return Vec::new();
        };
        let mut lost: Vec<_> = diff.removals().iter().chain(self.failed()).collect();
        lost.retain(|name| before.contains(name));
        lost.sort_unstable();
        lost
    }

    fn entries(&self) -> impl Iterator<Item = &Resource> {
        let (all, some) = match &self.before {
            Some((_, diff)) => (None, diff.upserts()),
            None => (Some(&self.after), &[][..]),
        };
        all.into_iter().flat_map(ResourceSet::entries).chain(some)
    }

    /// What to tell of it, with at most `most` names of each kind.
    pub(crate) fn summary(&self, most: usize) -> TypeDiff {
        let mut diff = TypeDiff {
            type_url: self.type_url.clone(),
            before: self.versions.0.clone(),
            after: self.versions.1.clone(),
            added: Names::default(),
            changed: Names::default(),
            removed: Names::default(),
            failed: Names::default(),
        };
        match &self.before {
            None => {
                let names = self.after.iter().map(Resource::name);
                diff.added = Names::of(self.after.len(), names.take(most));
            }
            Some((before, _)) => {
                for name in self.upserts().map(Resource::name) {
                    match before.contains(name) {
                        true => diff.changed.count(name, most),
                        false => diff.added.count(name, most),
                    }
                }
                let lost = self.lost();
                diff.removed = Names::of(lost.len(), lost.into_iter().take(most));
            }
        }
        self.failed().for_each(|name| diff.failed.count(name, most));
        diff
    }
}

/// What a publication changes of one type, or would change.
#[derive(Clone, Debug)]
pub struct TypeDiff {
    type_url: TypeUrl,
    before: Option<Version>,
    after: Version,
    added: Names,
    changed: Names,
    removed: Names,
    failed: Names,
}

impl TypeDiff {
    /// The type.
    #[must_use]
    pub fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }

    /// The version that clients are shown for the type before; `None` where nothing was published of it.
    #[must_use]
    pub fn before(&self) -> Option<&Version> {
        self.before.as_ref()
    }

    /// The version that they are shown afterwards.
    #[must_use]
    pub fn after(&self) -> &Version {
        &self.after
    }

    /// The resources that are new.
    #[must_use]
    pub fn added(&self) -> &Names {
        &self.added
    }

    /// The resources that have other content.
    #[must_use]
    pub fn changed(&self) -> &Names {
        &self.changed
    }

    /// The resources that are no longer there, or have an error in their place.
    #[must_use]
    pub fn removed(&self) -> &Names {
        &self.removed
    }

    /// The names whose error is new or another.
    #[must_use]
    pub fn failed(&self) -> &Names {
        &self.failed
    }
}

impl fmt::Display for TypeDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_url.message_name())?;
        for (sign, names) in [
            ('+', &self.added),
            ('~', &self.changed),
            ('-', &self.removed),
            ('!', &self.failed),
        ] {
            if names.total() > 0 {
                write!(f, " {sign}{names}")?;
            }
        }
        Ok(())
    }
}

/// Names of resources: how many there are, and the first of them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    total: usize,
    first: Vec<Name>,
}

impl Names {
    pub(crate) fn of<'a>(total: usize, first: impl Iterator<Item = &'a Name>) -> Self {
        Self {
            total,
            first: first.cloned().collect(),
        }
    }

    fn count(&mut self, name: &Name, most: usize) {
        self.total += 1;
        if self.first.len() < most {
            self.first.push(name.clone());
        }
    }

    /// The names as text, with a mark where there are more.
    pub(crate) fn list(&self) -> String {
        let mut names: Vec<_> = self.first.iter().map(|name| name.as_str()).collect();
        if self.total > names.len() {
            names.push("…");
        }
        names.join(", ")
    }

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// The first of them, sorted; at most as many as
    /// [`PublishConfig::with_reported_names`](crate::PublishConfig::with_reported_names) says.
    #[must_use]
    pub fn first(&self) -> &[Name] {
        &self.first
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.total, self.list())
    }
}

#[cfg(test)]
mod tests {
    use portolan_core::well_known::{CLUSTER, ENDPOINT};

    use super::*;

    fn snapshot(resources: &[(&TypeUrl, &str, &'static str)]) -> Snapshot {
        let mut builder = Snapshot::builder();
        for (type_url, name, body) in resources {
            let resource = Resource::builder(*type_url, *name, body.as_bytes());
            builder.insert(resource).unwrap();
        }
        builder.build()
    }

    fn texts(previous: Option<&Snapshot>, next: &Snapshot) -> Vec<String> {
        let differences = differences(previous, next);
        differences
            .iter()
            .map(|d| d.summary(2).to_string())
            .collect()
    }

    #[test]
    fn each_type_tells_what_was_added_changed_and_removed() {
        let old = snapshot(&[
            (&CLUSTER, "changed", "1"),
            (&CLUSTER, "kept", "1"),
            (&CLUSTER, "removed", "1"),
            (&ENDPOINT, "kept", "1"),
        ]);
        let new = snapshot(&[
            (&CLUSTER, "added", "1"),
            (&CLUSTER, "changed", "2"),
            (&CLUSTER, "kept", "1"),
            (&ENDPOINT, "kept", "1"),
        ]);
        assert_eq!(
            texts(Some(&old), &new),
            ["envoy.config.cluster.v3.Cluster +1 (added) ~1 (changed) -1 (removed)"]
        );
        let difference = &differences(Some(&old), &new)[0];
        let told = difference.summary(2);
        assert_eq!(told.before(), Some(&old.version_info(&CLUSTER)));
        assert_eq!(*told.after(), new.version_info(&CLUSTER));
    }

    #[test]
    fn everything_is_new_in_a_first_publication() {
        let new = snapshot(&[
            (&CLUSTER, "a", "1"),
            (&CLUSTER, "b", "1"),
            (&CLUSTER, "c", "1"),
        ]);
        assert_eq!(
            texts(None, &new),
            ["envoy.config.cluster.v3.Cluster +3 (a, b, …)"]
        );
        let difference = &differences(None, &new)[0];
        assert_eq!(difference.summary(2).before(), None);
        assert_eq!(difference.upserts().count(), 3);
    }

    #[test]
    fn names_beyond_the_bound_are_counted() {
        let old = snapshot(&[
            (&CLUSTER, "a", "1"),
            (&CLUSTER, "b", "1"),
            (&CLUSTER, "c", "1"),
        ]);
        let told = differences(Some(&old), &Snapshot::empty())[0].summary(2);
        assert_eq!(
            (told.removed().total(), told.removed().first().len()),
            (3, 2)
        );
        let none = differences(Some(&old), &Snapshot::empty())[0].summary(0);
        assert_eq!(none.removed().to_string(), "3 (…)");
    }

    #[test]
    fn what_is_equal_or_unspoken_is_no_difference() {
        let old = snapshot(&[(&CLUSTER, "a", "1")]);
        let again = snapshot(&[(&CLUSTER, "a", "1")]);
        assert!(texts(Some(&old), &again).is_empty());
        let mut labelled = Snapshot::builder();
        labelled.label(CLUSTER, "v1");
        assert!(texts(None, &labelled.build()).is_empty());
        let mut partial = Snapshot::builder();
        partial.only([ENDPOINT]);
        assert!(texts(Some(&old), &partial.build()).is_empty());
    }
}
