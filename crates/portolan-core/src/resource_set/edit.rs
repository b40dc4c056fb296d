use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::aliases::AliasChanges;
use super::chunk::{Chunk, MAX_CHUNK};
use super::{Changes, Diff, ResourceSet};
use crate::dynamic_parameters::check_alternatives;
use crate::{Name, Resource, ResourceError};

/// New chunks are filled to three quarters, so that insertions do not split them at once.
const FILL: usize = MAX_CHUNK * 3 / 4;

/// Chunks that shrank below this join their neighbour's resources.
const SPARSE: usize = MAX_CHUNK / 4;

impl ResourceSet {
    /// A set of these resources.
    ///
    /// # Errors
    /// [`ResourceError::Duplicate`] names a name that occurs twice; [`ResourceError::WrongType`] a resource whose
    /// type is not that of the first. Alternatives are refused as by [`ResourceSetEdit::finish`].
    pub fn new(resources: impl IntoIterator<Item = Resource>) -> Result<Self, ResourceError> {
        let mut changes = Changes::new();
        let mut expected = None;
        for resource in resources {
            let type_url = expected.get_or_insert_with(|| resource.type_url().clone());
            if resource.type_url() != type_url {
                return Err(ResourceError::WrongType {
                    name: resource.name().clone(),
                    expected: type_url.clone(),
                    found: resource.type_url().clone(),
                });
            }
            if let Some(Some(twin)) = changes.insert(resource.name().clone(), Some(resource)) {
                return Err(ResourceError::Duplicate {
                    type_url: twin.type_url().clone(),
                    name: twin.name().clone(),
                });
            }
        }
        Self::empty().checked(changes)
    }

    /// The set after these changes, which make no alternatives that nobody can choose from.
    fn checked(&self, changes: Changes) -> Result<Self, ResourceError> {
        let constrained = changes
            .values()
            .flatten()
            .any(|r| r.constraints().is_some());
        let stems: BTreeSet<_> = match constrained || self.has_alternatives() {
            true => changes.keys().map(Name::to_stem).collect(),
            false => BTreeSet::new(),
        };
        let changed = self.apply(changes);
        for stem in &stems {
            check_alternatives(&changed.named(stem).collect::<Vec<_>>())?;
        }
        Ok(changed)
    }

    /// The set that holds exactly `resources`, sharing with `self` whatever is equal. Gives `self` back where all is.
    pub(crate) fn replaced_by(&self, resources: BTreeMap<Name, Resource>) -> Self {
        let gone = self.all().filter(|r| !resources.contains_key(r.name()));
        let mut changes: Changes = gone.map(|r| (r.name().clone(), None)).collect();
        for (name, resource) in resources {
            if !self
                .held(&name)
                .is_some_and(|held| held.is_same_value(&resource))
            {
                changes.insert(name, Some(resource));
            }
        }
        self.apply(changes)
    }

    /// The set after these changes: a resource is put in, `None` takes one out. Costs O(changes) plus a copy of the
    /// array of chunks.
    pub(crate) fn apply(&self, mut changes: Changes) -> Self {
        changes.retain(|name, new| match (self.held(name), new) {
            (None, None) => false,
            (Some(old), Some(new)) => !old.is_same_value(new),
            _ => true,
        });
        if changes.is_empty() {
            return self.clone();
        }
        let mut totals = self.0.totals;
        let mut aliases = AliasChanges::default();
        for (name, new) in &changes {
            if let Some(old) = self.held(name) {
                totals.take_out(old);
                aliases.take_out(old);
            }
            if let Some(new) = new {
                totals.put_in(new);
                aliases.put_in(new);
            }
        }
        let aliases = aliases.apply_to(self.0.aliases.as_ref());
        // What is known of the difference now need not be searched for in all chunks by the first stream that asks. From
        // nothing it would be everything, which is rarely asked.
        let diff = self
            .holds_something()
            .then(|| Diff::made_by(&changes, self));
        let changed = Self::from_chunks(rebuild(self.chunks(), changes), totals, aliases);
        if let Some(diff) = diff {
            changed.remember(self, diff);
        }
        changed
    }
}

/// The chunks after `changes`. Untouched chunks are kept as they are, and those between two changes are not looked at.
fn rebuild(chunks: &[Arc<Chunk>], changes: Changes) -> Vec<Arc<Chunk>> {
    let mut out = Vec::with_capacity(chunks.len() + changes.len() / FILL + 1);
    let mut pending = Vec::new();
    let mut changes = changes.into_iter().peekable();
    let mut at = 0;
    while at < chunks.len() {
        if pending.is_empty() || pending.len() >= SPARSE {
            let next = match changes.peek() {
                Some((name, _)) => at + place(&chunks[at..], name),
                None => chunks.len(),
            };
            if next > at {
                flush(&mut pending, &mut out);
                out.extend_from_slice(&chunks[at..next]);
                at = next;
                continue;
            }
        }
        let next_first = chunks.get(at + 1).map(|next| next.first());
        let mut here = Vec::new();
        while let Some(change) =
            changes.next_if(|(name, _)| next_first.is_none_or(|first| name < first))
        {
            here.push(change);
        }
        if pending.len() >= SPARSE {
            flush(&mut pending, &mut out);
        }
        merge(chunks[at].resources(), here, &mut pending);
        at += 1;
    }
    pending.extend(changes.filter_map(|(_, resource)| resource));
    flush(&mut pending, &mut out);
    out
}

/// Which of these chunks a name belongs into: the last one that starts at or before it, or else the first.
fn place(chunks: &[Arc<Chunk>], name: &Name) -> usize {
    let after = chunks.partition_point(|chunk| chunk.first() <= name);
    after.saturating_sub(1)
}

/// Appends `held` with `changes` applied; both are sorted by name.
fn merge(held: &[Resource], changes: Vec<(Name, Option<Resource>)>, out: &mut Vec<Resource>) {
    let mut held = held.iter().peekable();
    for (name, new) in changes {
        while let Some(resource) = held.next_if(|r| *r.name() < name) {
            out.push(resource.clone());
        }
        held.next_if(|r| *r.name() == name);
        out.extend(new);
    }
    out.extend(held.cloned());
}

/// Cuts what is pending into chunks of even size.
fn flush(pending: &mut Vec<Resource>, out: &mut Vec<Arc<Chunk>>) {
    let mut rest = std::mem::take(pending);
    if rest.len() <= MAX_CHUNK {
        if !rest.is_empty() {
            out.push(Arc::new(Chunk::new(rest)));
        }
        return;
    }
    let count = rest.len().div_ceil(FILL);
    let size = rest.len().div_ceil(count);
    while !rest.is_empty() {
        let tail = rest.split_off(size.min(rest.len()));
        out.push(Arc::new(Chunk::new(rest)));
        rest = tail;
    }
}

/// Changes to a [`ResourceSet`], applied together.
#[derive(Debug)]
pub struct ResourceSetEdit {
    base: ResourceSet,
    changes: Changes,
}

impl ResourceSetEdit {
    pub(super) fn new(base: ResourceSet) -> Self {
        Self {
            base,
            changes: Changes::new(),
        }
    }

    /// The resource as it is after the changes so far.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Resource> {
        let entry = match self.changes.get(name) {
            Some(change) => change.as_ref(),
            None => self.base.held(name),
        };
        entry.filter(|r| r.is_resource())
    }

    /// Puts a resource in, or what stands for one, in place of what there is of that name.
    pub fn upsert(&mut self, resource: Resource) -> &mut Self {
        self.changes.insert(resource.name().clone(), Some(resource));
        self
    }

    /// Takes out what there is of a name. A name that is not there is no error.
    pub fn remove(&mut self, name: impl Into<Name>) -> &mut Self {
        self.changes.insert(name.into(), None);
        self
    }

    /// The changed set; the base itself where nothing changed.
    ///
    /// # Errors
    /// [`ResourceError::AlternativesDiffer`], [`ResourceError::AlternativesOverlap`] and
    /// [`ResourceError::TooManyAlternatives`] where a name has several resources now of which it is not said which one a
    /// client is to have (C-321).
    pub fn finish(self) -> Result<ResourceSet, ResourceError> {
        self.base.checked(self.changes)
    }
}
