use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_core::{TypeUrl, ValueId};

use super::composite::Composite;
use super::memo::Memo;

/// The parts that serve a type, in the order in which they win; without any, nobody speaks for the type.
pub(super) type Parts = Box<[usize]>;

/// Which parts serve which type, for streams of which all are served the same.
#[derive(Debug)]
pub(super) struct Routes {
    table: Table,
    /// The parts that serve anything, sorted.
    used: Box<[usize]>,
    composites: Memo<Box<[Option<ValueId>]>, Composite>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Table {
    pub(super) types: BTreeMap<TypeUrl, Parts>,
    /// Those that serve all other types.
    pub(super) others: Parts,
}

impl Routes {
    pub(super) fn new(table: Table) -> Self {
        let parts = table.types.values().chain([&table.others]);
        let mut used: Vec<_> = parts.flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        Self {
            table,
            used: used.into(),
            composites: Memo::keeping(1),
        }
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    pub(super) fn used(&self) -> &[usize] {
        &self.used
    }

    /// The parts that serve a type.
    pub(super) fn parts(&self, type_url: &TypeUrl) -> &[usize] {
        self.table.types.get(type_url).unwrap_or(&self.table.others)
    }

    /// What these values of the parts amount to. If no stream is shown it yet it is made by `make`, which is given what
    /// streams were shown last.
    pub(super) fn composite(
        &self,
        values: Box<[Option<ValueId>]>,
        make: impl FnOnce(Option<&Composite>) -> Composite,
    ) -> Arc<Composite> {
        if let Some(known) = self.composites.get(&values) {
            return known;
        }
        let last = self.composites.last();
        let made = make(last.as_deref());
        self.composites.put(&values, Arc::new(made))
    }
}
