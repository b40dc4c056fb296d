use std::collections::BTreeSet;
use std::sync::Arc;

use portolan_core::{Name, Resource, ResourceSet, ValueId};

use super::clashes::{ClashSet, Sides};
use super::memo::Memo;

/// How many merged values of a union are held when no stream needs them.
const KEPT: usize = 4;

/// Merges the sets of several parts into one: of those that have one name, what the first part has of it stands, with all
/// alternatives: those of several parts need not go together.
///
/// Streams whose parts show them the same values share one merged value, and so its chunks' encodings and its
/// differences. A value is made from an earlier one by what changed in the parts, so that it costs what changed.
#[derive(Debug)]
pub(super) struct Union {
    /// What its parts are in the cache, in the order in which they win.
    parts: Box<[usize]>,
    merged: Memo<Box<[ValueId]>, Merged>,
}

/// One merged value, and what it was made of.
#[derive(Debug)]
pub(super) struct Merged {
    inputs: Box<[ResourceSet]>,
    set: ResourceSet,
    clashes: Arc<ClashSet>,
}

impl Union {
    pub(super) fn of(parts: &[usize]) -> Self {
        Self {
            parts: parts.into(),
            merged: Memo::keeping(KEPT),
        }
    }

    /// The merged value of `inputs`, a set per part. `previous` is what the caller had before, if anything.
    pub(super) fn merge(
        &self,
        inputs: Vec<ResourceSet>,
        previous: Option<&Arc<Merged>>,
    ) -> Arc<Merged> {
        let key: Box<[_]> = inputs.iter().map(ResourceSet::id).collect();
        if let Some(known) = self.merged.get(&key) {
            return known;
        }
        // Computed outside the lock: two streams may both compute it, and both are given what the first one did.
        let nearest = previous.cloned().or_else(|| self.nearest(&inputs));
        let merged = match nearest {
            Some(nearest) => nearest.follow(inputs.into(), &self.parts),
            None => Merged::of(inputs.into(), &self.parts),
        };
        self.merged.put(&key, Arc::new(merged))
    }

    /// The value that has most in common with `inputs`, for a stream that comes with nothing; `None` if no input was
    /// seen before.
    fn nearest(&self, inputs: &[ResourceSet]) -> Option<Arc<Merged>> {
        let shared = |merged: &Merged| -> usize {
            let pairs = merged.inputs.iter().zip(inputs);
            let same = pairs.filter(|(old, new)| old.id() == new.id());
            // An empty set is common to all and tells nothing, so that it counts less than one resource.
            same.map(|(set, _)| set.entries_len()).sum()
        };
        let known = self.merged.values().into_iter();
        let known = known.filter(|merged| shared(merged) > 0);
        // Of several the last is taken, and those last asked for come first.
        known.rev().max_by_key(|merged| shared(merged))
    }
}

impl Merged {
    pub(super) fn set(&self) -> &ResourceSet {
        &self.set
    }

    pub(super) fn clashes(&self) -> &Arc<ClashSet> {
        &self.clashes
    }

    /// Merges from nothing: the other sets are put into the largest one. Costs what these hold.
    fn of(inputs: Box<[ResourceSet]>, parts: &[usize]) -> Self {
        let largest = (0..inputs.len()).max_by_key(|at| inputs[*at].entries_len());
        let largest = largest.unwrap_or_default();
        let others = inputs.iter().enumerate().filter(|(at, _)| *at != largest);
        let names: BTreeSet<_> = others
            .flat_map(|(_, set)| set.entries().map(Resource::name).chain(set.pending()))
            .collect();
        let (set, clashes) = (inputs[largest].clone(), Arc::default());
        let (set, clashes) = change(&set, &clashes, names, &inputs, parts);
        Self {
            inputs,
            set,
            clashes,
        }
    }

    /// The value after the parts went on to `inputs`. Costs what changed in them.
    fn follow(&self, inputs: Box<[ResourceSet]>, parts: &[usize]) -> Self {
        let pairs = inputs.iter().zip(&self.inputs);
        let moved: Vec<_> = pairs.filter(|(new, old)| new.id() != old.id()).collect();
        let diffs: Vec<_> = moved.iter().map(|(new, old)| new.diff_from(old)).collect();
        // That a name has become pending is no difference.
        let pending = moved.iter().flat_map(|(new, _)| new.pending());
        let names = diffs.iter().flat_map(|diff| {
            let retimed = diff.retimed().iter().map(Resource::name);
            diff.names().chain(retimed)
        });
        let names = names.chain(pending).collect();
        let (set, clashes) = change(&self.set, &self.clashes, names, &inputs, parts);
        Self {
            inputs,
            set,
            clashes,
        }
    }
}

/// A merged set and its clashes after these names may have changed in the parts.
fn change(
    set: &ResourceSet,
    clashes: &Arc<ClashSet>,
    names: BTreeSet<&Name>,
    inputs: &[ResourceSet],
    parts: &[usize],
) -> (ResourceSet, Arc<ClashSet>) {
    let before = set;
    let mut set = before.edit();
    let mut changed = Vec::new();
    let stems: BTreeSet<_> = names.into_iter().map(Name::to_stem).collect();
    for name in &stems {
        let held = inputs.iter().zip(parts);
        let held = held.map(|(set, part)| (set.named(name).collect::<Vec<_>>(), *part));
        let held: Vec<_> = held.filter(|(entries, _)| !entries.is_empty()).collect();
        let stands = match held.first() {
            Some((entries, _)) => entries.clone(),
            None => inputs
                .iter()
                .find_map(|set| set.held(name))
                .into_iter()
                .collect(),
        };
        let pending = before.held(name).filter(|held| held.is_pending());
        for gone in before.named(name).chain(pending).map(Resource::name) {
            if stands.iter().all(|entry| entry.name() != gone) {
                set.remove(gone.clone());
            }
        }
        stands.iter().for_each(|entry| {
            set.upsert(Resource::clone(entry));
        });
        let sides = sides(&held);
        if clashes.get(name) != sides {
            changed.push((name.clone(), sides));
        }
    }
    let clashes = match changed.is_empty() {
        true => Arc::clone(clashes),
        false => Arc::new(clashes.with(changed)),
    };
    let set = set.finish();
    let set = set.expect("what one part has of a name was published together");
    (set, clashes)
}

/// The part whose resources stand and the first that has others, of what the parts have under one name.
fn sides(held: &[(Vec<&Resource>, usize)]) -> Option<Sides> {
    let ((stands, served), others) = held.split_first()?;
    let is_same = |(a, b): (&&Resource, &&Resource)| a.name() == b.name() && a.same_content(b);
    let differs = |other: &Vec<&Resource>| {
        other.len() != stands.len() || !other.iter().zip(stands).all(is_same)
    };
    let other = others.iter().find(|(other, _)| differs(other));
    other.map(|(_, hidden)| Sides {
        served: *served,
        hidden: *hidden,
    })
}
