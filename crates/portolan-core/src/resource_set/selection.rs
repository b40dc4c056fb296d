use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::chunk::Chunk;
use super::{Diff, ResourceSet};
use crate::{EntryForm, Resource};

/// Smallest piece that goes out by itself where there is more: below this HTTP/2 frames and their bookkeeping cost
/// more than copying.
const MIN_PART: usize = 16 * 1024;

/// What a response carries: resources, and errors in place of some, picked out of a set, in a form that shares encoded bytes wherever streams send
/// the same.
#[derive(Clone, Debug)]
pub struct Selection(Picked);

#[derive(Clone, Debug)]
enum Picked {
    /// What every wildcard covers of these chunks of a set; the chunks' own bytes.
    Chunks(ResourceSet, Range<usize>),
    /// Exactly the upserts of a difference; its memoised bytes.
    Diff(Arc<Diff>),
    /// Anything else.
    Some(Arc<[Resource]>),
}

impl Selection {
    /// Everything of `set` that every wildcard covers: what has constraints is left out.
    #[must_use]
    pub fn wildcard(set: &ResourceSet) -> Self {
        Self(Picked::Chunks(set.clone(), 0..set.chunks().len()))
    }

    /// The added and changed resources of a difference.
    #[must_use]
    pub fn upserts(diff: &Arc<Diff>) -> Self {
        Self(Picked::Diff(Arc::clone(diff)))
    }

    /// Exactly these resources, which must be sorted by name.
    #[must_use]
    pub fn of(resources: impl IntoIterator<Item = Resource>) -> Self {
        Self(Picked::Some(resources.into_iter().collect()))
    }

    /// Nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::of([])
    }

    /// The resources, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Resource> {
        let listed = match &self.0 {
            Picked::Chunks(..) => &[][..],
            Picked::Diff(diff) => diff.upserts(),
            Picked::Some(resources) => &resources[..],
        };
        let covered = self.chunks().iter().flat_map(|c| c.resources());
        covered.filter(|r| r.is_for_all()).chain(listed)
    }

    /// Number of resources.
    #[must_use]
    pub fn len(&self) -> usize {
        let covered = |c: &Arc<Chunk>| c.resources().len() - c.on_demand();
        match &self.0 {
            Picked::Chunks(set, range) if range.len() == set.chunks().len() => set.wildcard_len(),
            Picked::Chunks(..) => self.chunks().iter().map(covered).sum(),
            Picked::Diff(diff) => diff.upserts().len(),
            Picked::Some(resources) => resources.len(),
        }
    }

    /// Whether nothing is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether any of them has a [time to live](Resource::ttl). May say yes where none has.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        match &self.0 {
            Picked::Chunks(set, _) => set.is_timed(),
            Picked::Diff(diff) => diff.is_timed(),
            Picked::Some(resources) => resources.iter().any(|r| r.ttl().is_some()),
        }
    }

    /// Whether any of them has constraints. May say yes where none has.
    #[must_use]
    pub fn has_alternatives(&self) -> bool {
        match &self.0 {
            Picked::Chunks(..) => false,
            Picked::Diff(diff) => diff.touches_on_demand(),
            Picked::Some(resources) => resources.iter().any(|r| r.constraints().is_some()),
        }
    }

    /// Takes the errors out of the selection.
    pub fn take_failed(&mut self) -> Vec<Resource> {
        let is_failed = |r: &Resource| r.failure().is_some();
        let may_fail = match &self.0 {
            Picked::Chunks(..) => false,
            Picked::Diff(diff) => diff.touches_others(),
            Picked::Some(resources) => resources.iter().any(is_failed),
        };
        if !may_fail {
            return Vec::new();
        }
        let (failed, resources): (Vec<_>, Vec<_>) = self.iter().cloned().partition(is_failed);
        *self = Self::of(resources);
        failed
    }

    /// The selected resource of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Resource> {
        let by_name = |resources: &'_ [Resource]| {
            resources
                .binary_search_by(|r| r.name().as_str().cmp(name))
                .ok()
        };
        match &self.0 {
            Picked::Chunks(..) => {
                let chunks = self.chunks();
                let after = chunks.partition_point(|c| c.first().as_str() <= name);
                let chunk = &chunks[after.checked_sub(1)?];
                chunk.get(name).filter(|r| r.is_for_all())
            }
            Picked::Diff(diff) => by_name(diff.upserts()).map(|at| &diff.upserts()[at]),
            Picked::Some(resources) => by_name(resources).map(|at| &resources[at]),
        }
    }

    /// The encoded entries, in pieces that are as large as sharing allows. Their concatenation is the `resources`
    /// field of a response in the given form.
    #[must_use]
    pub fn parts(&self, form: EntryForm) -> Vec<Bytes> {
        match &self.0 {
            Picked::Chunks(..) => {
                let bytes = self.chunks().iter().map(|c| c.encoded(form).clone());
                bytes.filter(|b| !b.is_empty()).collect()
            }
            Picked::Diff(diff) => diff.parts(form).to_vec(),
            Picked::Some(resources) => coalesce(resources.iter().map(|r| r.entry(form))),
        }
    }

    /// Length of all [`parts`](Self::parts), in bytes.
    #[must_use]
    pub fn encoded_len(&self, form: EntryForm) -> usize {
        match &self.0 {
            Picked::Chunks(..) => self.chunks().iter().map(|c| c.lens().get(form)).sum(),
            Picked::Diff(diff) => diff.encoded_len(form),
            Picked::Some(resources) => resources.iter().map(|r| r.entry_len(form)).sum(),
        }
    }

    /// Cuts the selection into selections of at most `max` encoded bytes each. One resource of more than that is a
    /// selection by itself. Chunks stay whole, and so shared, where they fit.
    #[must_use]
    pub fn split(self, form: EntryForm, max: usize) -> Vec<Self> {
        if self.encoded_len(form) <= max {
            return vec![self];
        }
        let Picked::Chunks(set, range) = &self.0 else {
            let resources: Vec<_> = self.iter().cloned().collect();
            return split_list(resources, form, max);
        };
        let mut out = Vec::new();
        let (mut from, mut len) = (range.start, 0);
        for at in range.clone() {
            let chunk = &set.chunks()[at];
            let more = chunk.lens().get(form);
            if len + more > max {
                if from < at {
                    out.push(Self(Picked::Chunks(set.clone(), from..at)));
                }
                (from, len) = (at, 0);
            }
            if more > max {
                let covered = chunk.resources().iter().filter(|r| r.is_for_all());
                out.extend(split_list(covered.cloned().collect(), form, max));
                from = at + 1;
            } else {
                len += more;
            }
        }
        if from < range.end {
            out.push(Self(Picked::Chunks(set.clone(), from..range.end)));
        }
        out
    }

    fn chunks(&self) -> &[Arc<Chunk>] {
        match &self.0 {
            Picked::Chunks(set, range) => &set.chunks()[range.clone()],
            Picked::Diff(_) | Picked::Some(_) => &[],
        }
    }
}

fn split_list(resources: Vec<Resource>, form: EntryForm, max: usize) -> Vec<Selection> {
    let mut out = Vec::new();
    let (mut run, mut len) = (Vec::new(), 0);
    for resource in resources {
        let more = resource.entry_len(form);
        if len + more > max && !run.is_empty() {
            out.push(Selection::of(std::mem::take(&mut run)));
            len = 0;
        }
        len += more;
        run.push(resource);
    }
    if !run.is_empty() {
        out.push(Selection::of(run));
    }
    out
}

/// Copies entries together into pieces of some size, since each piece costs the transport more than to copy a small
/// one; a large entry goes by itself, uncopied.
#[must_use]
pub fn coalesce(entries: impl IntoIterator<Item = Bytes>) -> Vec<Bytes> {
    let mut parts = Vec::new();
    let (mut run, mut run_len) = (Vec::new(), 0);
    for entry in entries {
        let len = entry.len();
        if len >= MIN_PART {
            parts.extend(joined(&mut run));
            parts.push(entry);
            run_len = 0;
            continue;
        }
        run.push(entry);
        run_len += len;
        if run_len >= MIN_PART {
            parts.extend(joined(&mut run));
            run_len = 0;
        }
    }
    parts.extend(joined(&mut run));
    parts
}

/// What is in the run, as one piece. The run is then empty.
fn joined(run: &mut Vec<Bytes>) -> Option<Bytes> {
    let last = run.pop()?;
    if run.is_empty() {
        return Some(last);
    }
    run.push(last);
    let joined = run.concat();
    run.clear();
    Some(joined.into())
}
