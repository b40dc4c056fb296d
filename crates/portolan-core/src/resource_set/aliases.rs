use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Name, Resource};

/// Most entries of one run, the unit of sharing between values.
const MAX_RUN: usize = 128;

/// New runs are filled to three quarters, so that insertions do not split them at once.
const FILL: usize = MAX_RUN * 3 / 4;

/// An alias, and the name of a resource that has it.
type Entry = (Name, Name);

/// Which resources of a set have which alias. A changed value shares all runs but those that a change touched.
#[derive(Clone, Debug)]
pub(super) struct Aliases {
    /// Sorted, none of them empty.
    runs: Arc<[Arc<[Entry]>]>,
}

impl Aliases {
    /// The names of the resources that have this alias, sorted.
    pub(super) fn owners<'a>(&'a self, alias: &'a str) -> impl Iterator<Item = &'a Name> {
        let is_before = |entry: &Entry| entry.0.as_str() < alias;
        let after = self.runs.partition_point(|run| is_before(&run[0]));
        let runs = &self.runs[after.saturating_sub(1)..];
        let skipped = runs.first().map_or(0, |run| run.partition_point(is_before));
        let entries = runs.iter().flat_map(|run| run.iter()).skip(skipped);
        let found = entries.take_while(move |(held, _)| held.as_str() == alias);
        found.map(|(_, owner)| owner)
    }
}

/// What a change of a set does to its aliases.
#[derive(Debug, Default)]
pub(super) struct AliasChanges(BTreeMap<Entry, Change>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    TakeOut,
    PutIn,
}

impl AliasChanges {
    pub(super) fn take_out(&mut self, resource: &Resource) {
        self.note(resource, Change::TakeOut);
    }

    /// To be called behind [`take_out`](Self::take_out) of what was there under the name.
    pub(super) fn put_in(&mut self, resource: &Resource) {
        self.note(resource, Change::PutIn);
    }

    fn note(&mut self, resource: &Resource, change: Change) {
        for alias in resource.aliases() {
            // It is found by its name anyway.
            if alias.as_str() == resource.name().stem() {
                continue;
            }
            let entry = (alias.clone(), resource.name().clone());
            match (self.0.get(&entry), change) {
                (Some(Change::TakeOut), Change::PutIn) => self.0.remove(&entry),
                _ => self.0.insert(entry, change),
            };
        }
    }

    /// The aliases after the changes; `None` where there are none. Costs O(changes) plus a pointer per run.
    pub(super) fn apply_to(self, held: Option<&Aliases>) -> Option<Aliases> {
        if self.0.is_empty() {
            return held.cloned();
        }
        let held: &[Arc<[Entry]>] = held.map_or(&[], |held| &held.runs);
        let mut changes = self.0.into_iter().peekable();
        let mut runs = Vec::with_capacity(held.len() + 1);
        for (at, run) in held.iter().enumerate() {
            let next = held.get(at + 1).map(|next| &next[0]);
            let is_here = |entry: &Entry| next.is_none_or(|next| entry < next);
            match changes.peek() {
                Some((entry, _)) if is_here(entry) => {}
                _ => {
                    runs.push(Arc::clone(run));
                    continue;
                }
            }
            let mut entries: BTreeSet<_> = run.iter().cloned().collect();
            while let Some((entry, change)) = changes.next_if(|(entry, _)| is_here(entry)) {
                match change {
                    Change::PutIn => entries.insert(entry),
                    Change::TakeOut => entries.remove(&entry),
                };
            }
            push(&mut runs, entries);
        }
        // Where nothing was held, nothing can be taken out.
        push(&mut runs, changes.map(|(entry, _)| entry).collect());
        (!runs.is_empty()).then(|| Aliases { runs: runs.into() })
    }
}

/// Appends entries as runs of even size, together with the last run where that is small.
fn push(runs: &mut Vec<Arc<[Entry]>>, entries: BTreeSet<Entry>) {
    let is_small = |last: &&Arc<[Entry]>| last.len() + entries.len() <= MAX_RUN / 2;
    let joined = runs.last().filter(is_small).is_some();
    let mut all = Vec::new();
    if joined {
        all.extend(runs.pop().iter().flat_map(|last| last.iter().cloned()));
    }
    all.extend(entries);
    let count = if all.len() <= MAX_RUN {
        1
    } else {
        all.len().div_ceil(FILL)
    };
    let size = all.len().div_ceil(count).max(1);
    runs.extend(all.chunks(size).map(Arc::from));
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, btree_set, vec};
    use proptest::prelude::*;

    use super::*;
    use crate::ResourceSet;
    use crate::well_known::VIRTUAL_HOST;

    fn host(name: &str, aliases: &BTreeSet<u16>) -> Resource {
        let host = Resource::builder(VIRTUAL_HOST, name, &b""[..]);
        let host = aliases
            .iter()
            .fold(host, |host, alias| host.alias(format!("{alias}")));
        host.build().unwrap()
    }

    /// A name, and the aliases that its resource has from now on; `None` takes it out.
    type Edit = (u16, Option<BTreeSet<u16>>);

    fn edits() -> impl Strategy<Value = Vec<Vec<Edit>>> {
        let aliases = prop::option::weighted(0.8, btree_set(0..600_u16, 0..5));
        let edit = btree_map(0..400_u16, aliases, 0..200);
        vec(edit.prop_map(|edit| edit.into_iter().collect()), 1..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn an_alias_is_that_of_whoever_has_it(edits in edits()) {
            let mut set = ResourceSet::empty();
            for edit in edits {
                let mut next = set.edit();
                for (name, aliases) in edit {
                    // Names and aliases are of one kind, so that some are both.
                    let name = format!("{name}");
                    match aliases {
                        Some(aliases) => next.upsert(host(&name, &aliases)),
                        None => next.remove(name),
                    };
                }
                set = next.finish().unwrap();
                let has_other = |r: &Resource| r.aliases().iter().any(|alias| alias != r.name());
                prop_assert_eq!(set.has_aliases(), set.iter().any(has_other));
                for alias in 0..600 {
                    let alias = format!("{alias}");
                    let is_it = |r: &&Resource| r.name().as_str() == alias || r.aliases().iter().any(|a| **a == *alias);
                    let expected: BTreeSet<_> = set.iter().filter(is_it).map(|r| r.name().clone()).collect();
                    let found: Vec<_> = set.identified_by(&alias).map(|r| r.name().clone()).collect();
                    prop_assert_eq!(found.len(), expected.len());
                    prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
                }
                if let Some(aliases) = &set.0.aliases {
                    prop_assert!(aliases.runs.iter().all(|run| (1..=MAX_RUN).contains(&run.len())));
                    prop_assert!(aliases.runs.iter().flat_map(|run| run.iter()).is_sorted());
                }
            }
        }
    }

    #[test]
    fn a_change_leaves_other_runs_alone() {
        let hosts = (0..2_000).map(|i| host(&format!("{i:04}"), &BTreeSet::from([i])));
        let old = ResourceSet::new(hosts).unwrap();
        let mut edit = old.edit();
        edit.upsert(host("0700", &BTreeSet::from([700, 3_000])));
        let new = edit.finish().unwrap();
        let (old, new) = (
            old.0.aliases.clone().unwrap(),
            new.0.aliases.clone().unwrap(),
        );
        let shared = new
            .runs
            .iter()
            .filter(|run| old.runs.iter().any(|o| Arc::ptr_eq(o, run)));
        assert_eq!(shared.count(), new.runs.len() - 1);
    }

    #[test]
    fn runs_that_ran_empty_are_joined() {
        let hosts = (0..2_000).map(|i| host(&format!("{i:04}"), &BTreeSet::from([2_000 + i])));
        let mut edit = ResourceSet::new(hosts).unwrap().edit();
        for i in (0..2_000).filter(|i| i % 20 != 0) {
            edit.remove(format!("{i:04}"));
        }
        let left = edit.finish().unwrap().0.aliases.clone().unwrap();
        assert!(left.runs.len() <= 4, "{} runs", left.runs.len());
    }
}
