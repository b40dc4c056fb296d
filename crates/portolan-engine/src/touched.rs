use alloc::sync::Arc;
use alloc::vec::Vec;

use portolan_core::{Diff, Name, Resource, Selection};

/// The names that a response spoke of, held as a pointer wherever it spoke of a whole value.
#[derive(Clone, Debug)]
pub(crate) enum Touched {
    /// All that was picked.
    Selected(Selection),
    /// All of a difference.
    Diff(Arc<Diff>),
    /// These, sorted.
    Names(Vec<Name>),
}

impl Touched {
    pub(crate) fn contains(&self, name: &Name) -> bool {
        match self {
            Self::Selected(selection) => selection.get(name).is_some(),
            Self::Diff(diff) => {
                diff.upserts()
                    .binary_search_by(|r| r.name().cmp(name))
                    .is_ok()
                    || diff.removals().binary_search(name).is_ok()
            }
            Self::Names(names) => names.binary_search(name).is_ok(),
        }
    }

    pub(crate) fn names(&self) -> Vec<&Name> {
        match self {
            Self::Selected(selection) => selection.iter().map(Resource::name).collect(),
            Self::Diff(diff) => diff.names().collect(),
            Self::Names(names) => names.iter().collect(),
        }
    }

    /// What either spoke of.
    pub(crate) fn and(self, other: Self) -> Self {
        if other.len() == 0 {
            return self;
        }
        let mut names: Vec<_> = self.names().into_iter().chain(other.names()).collect();
        names.sort_unstable();
        names.dedup();
        Self::Names(names.into_iter().cloned().collect())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Selected(selection) => selection.len(),
            Self::Diff(diff) => diff.upserts().len() + diff.removals().len(),
            Self::Names(names) => names.len(),
        }
    }
}
