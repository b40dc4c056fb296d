use alloc::collections::BTreeMap;
use core::ops::Bound::{Excluded, Unbounded};

use portolan_core::{DynamicParameters, Name};

/// The names with parameters that a stream subscribes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Locators(BTreeMap<Name, DynamicParameters>);

impl Locators {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Length of the names.
    pub(crate) fn bytes(&self) -> usize {
        self.0.keys().map(|name| name.len()).sum()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Those of a stem. They stand behind where it would stand itself.
    pub(crate) fn of<'a>(
        &'a self,
        stem: &'a str,
    ) -> impl Iterator<Item = (&'a Name, &'a DynamicParameters)> {
        let behind = self.0.range::<str, _>((Excluded(stem), Unbounded));
        behind.take_while(move |(name, _)| name.stem() == stem)
    }

    /// Puts in a name that is subscribed, if it has parameters.
    pub(crate) fn insert(&mut self, name: &Name) {
        if let Some(parameters) = name.parameters() {
            self.0.insert(name.clone(), parameters);
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }
}
