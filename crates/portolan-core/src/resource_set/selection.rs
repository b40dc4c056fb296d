use std::sync::Arc;

use bytes::Bytes;

use super::chunk::concat;
use super::{Diff, ResourceSet};
use crate::{EntryForm, Resource};

/// Smallest piece that goes out by itself where there is more: below this HTTP/2 frames and their bookkeeping cost
/// more than copying.
const MIN_PART: usize = 16 * 1024;

/// What a response carries: resources picked out of a set, in a form that shares encoded bytes wherever streams send
/// the same.
#[derive(Clone, Debug)]
pub struct Selection(Picked);

#[derive(Clone, Debug)]
enum Picked {
    /// What a wildcard covers of a set; the chunks' own bytes.
    Wildcard(ResourceSet),
    /// Exactly the upserts of a difference; its memoised bytes.
    Diff(Arc<Diff>),
    /// Anything else.
    Some(Arc<[Resource]>),
}

impl Selection {
    /// Everything of `set` that a wildcard covers.
    #[must_use]
    pub fn wildcard(set: &ResourceSet) -> Self {
        Self(Picked::Wildcard(set.clone()))
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
        let (set, listed) = match &self.0 {
            Picked::Wildcard(set) => (Some(set), &[][..]),
            Picked::Diff(diff) => (None, diff.upserts()),
            Picked::Some(resources) => (None, &resources[..]),
        };
        let covered = set.into_iter().flat_map(ResourceSet::iter);
        covered.filter(|r| !r.on_demand()).chain(listed)
    }

    /// Number of resources.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Picked::Wildcard(set) => set.wildcard_len(),
            Picked::Diff(diff) => diff.upserts().len(),
            Picked::Some(resources) => resources.len(),
        }
    }

    /// Whether nothing is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The encoded entries, in pieces that are as large as sharing allows. Their concatenation is the `resources`
    /// field of a response in the given form.
    #[must_use]
    pub fn parts(&self, form: EntryForm) -> Vec<Bytes> {
        match &self.0 {
            Picked::Wildcard(set) => {
                let bytes = set.chunks().iter().map(|c| c.encoded(form).clone());
                bytes.filter(|b| !b.is_empty()).collect()
            }
            Picked::Diff(diff) => diff.parts(form).to_vec(),
            Picked::Some(resources) => coalesce(resources, form),
        }
    }
}

/// Copies entries together into pieces of at least [`MIN_PART`]; a large entry goes by itself, uncopied.
pub(super) fn coalesce(resources: &[Resource], form: EntryForm) -> Vec<Bytes> {
    let mut parts = Vec::new();
    let mut run = 0..0;
    let mut run_len = 0;
    for (at, resource) in resources.iter().enumerate() {
        let len = resource.entry_len(form);
        if len >= MIN_PART {
            if !run.is_empty() {
                parts.push(concat(resources[run.clone()].iter(), form));
            }
            parts.push(resource.entry(form));
            (run, run_len) = (at + 1..at + 1, 0);
            continue;
        }
        (run.end, run_len) = (at + 1, run_len + len);
        if run_len >= MIN_PART {
            parts.push(concat(resources[run.clone()].iter(), form));
            (run, run_len) = (at + 1..at + 1, 0);
        }
    }
    if !run.is_empty() {
        parts.push(concat(resources[run].iter(), form));
    }
    parts
}
