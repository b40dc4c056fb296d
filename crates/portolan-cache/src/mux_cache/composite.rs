use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_core::{Coverage, ResourceSet, Snapshot, SnapshotBuilder, TypeUrl, Version};

use super::clashes::ClashSet;
use super::merged::Merged;
use super::routes::Routes;
use super::unions::Unions;

/// What the parts have, put together: one snapshot of all types, shared by the streams whose parts show them the same.
#[derive(Debug)]
pub(super) struct Composite {
    snapshot: Snapshot,
    merged: BTreeMap<TypeUrl, Arc<Merged>>,
    clashes: Box<[(TypeUrl, Arc<ClashSet>)]>,
}

/// What each part of the cache has for a stream; `None` where it published nothing, or is not for the stream.
pub(super) type Values = [Option<Snapshot>];

impl Composite {
    /// Puts `values` together. `previous` is what the stream was shown before, or what another was if it is new: unions
    /// follow from its, and so does what is known of references.
    pub(super) fn new(
        routes: &Routes,
        values: &Values,
        unions: &Unions,
        previous: Option<&Self>,
    ) -> Self {
        let table = routes.table();
        let mut making = Making {
            snapshot: match previous {
                Some(previous) => Snapshot::builder_from(&previous.snapshot),
                None => Snapshot::builder(),
            },
            coverage: coverage(values, &table.others),
            merged: BTreeMap::new(),
        };
        let is_routed = |url: &TypeUrl| table.types.contains_key(url);
        let held = table
            .others
            .iter()
            .filter_map(|part| values[*part].as_ref());
        let held = held.flat_map(|value| value.sets().map(|(url, _)| url));
        let others: BTreeSet<_> = held.filter(|url| !is_routed(url)).collect();
        let others = others.into_iter().map(|url| (url, &table.others));
        for (url, parts) in table.types.iter().chain(others) {
            let sets = parts
                .iter()
                .map(|part| values[*part].as_ref()?.set(url).cloned());
            let Some(sets) = sets
                .collect::<Option<Vec<_>>>()
                .filter(|sets| !sets.is_empty())
            else {
                making.leave_out(url);
                continue;
            };
            if let Some(label) = label(values, parts, url) {
                making.snapshot.label(url.clone(), label);
            }
            match <[_; 1]>::try_from(sets) {
                Ok([set]) => making.put(url, set),
                Err(sets) => {
                    let previous = previous.and_then(|previous| previous.merged.get(url));
                    making.merge(url, unions.get(url, parts).merge(sets, previous));
                }
            }
        }
        making.finish()
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The clashes that there are, by type.
    pub(super) fn clashes(&self) -> &[(TypeUrl, Arc<ClashSet>)] {
        &self.clashes
    }
}

/// What all of these parts speak for. Where one of them has published nothing, that is no type.
fn coverage(values: &Values, parts: &[usize]) -> Coverage {
    let each = parts
        .iter()
        .map(|part| values[*part].as_ref().map(Snapshot::coverage));
    let Some(each) = each.collect::<Option<Vec<_>>>() else {
        return Coverage::only([]);
    };
    let all = each.into_iter().cloned().reduce(|a, b| a.intersection(&b));
    all.unwrap_or_else(|| Coverage::only([]))
}

/// The label on which these parts agree.
fn label<'a>(values: &'a Values, parts: &[usize], url: &TypeUrl) -> Option<&'a Version> {
    let mut labels = parts.iter().map(|part| values[*part].as_ref()?.label(url));
    let first = labels.next()??;
    labels.all(|label| label == Some(first)).then_some(first)
}

struct Making {
    snapshot: SnapshotBuilder,
    coverage: Coverage,
    merged: BTreeMap<TypeUrl, Arc<Merged>>,
}

impl Making {
    fn leave_out(&mut self, url: &TypeUrl) {
        let coverage = std::mem::take(&mut self.coverage);
        self.coverage = coverage.without(url);
    }

    fn put(&mut self, url: &TypeUrl, set: ResourceSet) {
        let put = self.snapshot.put_set(url, set);
        put.expect("a set is found under the type of its resources");
    }

    fn merge(&mut self, url: &TypeUrl, merged: Arc<Merged>) {
        self.put(url, merged.set().clone());
        self.merged.insert(url.clone(), merged);
    }

    fn finish(mut self) -> Composite {
        self.snapshot.cover(self.coverage);
        let clashes = self.merged.iter();
        let clashes = clashes.map(|(url, merged)| (url.clone(), Arc::clone(merged.clashes())));
        Composite {
            snapshot: self.snapshot.build(),
            clashes: clashes.collect(),
            merged: self.merged,
        }
    }
}
