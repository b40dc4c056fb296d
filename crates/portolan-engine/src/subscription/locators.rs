use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::ops::Bound::{Excluded, Unbounded};

use portolan_core::{DynamicParameters, Name};

/// The names with parameters that a stream subscribes. A pointer, and no more, on streams whose client has none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Locators(Option<Box<BTreeMap<Name, DynamicParameters>>>);

impl Locators {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |all| all.len())
    }

    /// Length of the names.
    pub(crate) fn bytes(&self) -> usize {
        let all = self.0.iter().flat_map(|all| all.keys());
        all.map(|name| name.len()).sum()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.as_ref().is_some_and(|all| all.contains_key(name))
    }

    /// Those of a stem. They stand behind where it would stand itself.
    pub(crate) fn of<'a>(
        &'a self,
        stem: &'a str,
    ) -> impl Iterator<Item = (&'a Name, &'a DynamicParameters)> {
        let all = self.0.iter();
        let behind = all.flat_map(move |all| all.range::<str, _>((Excluded(stem), Unbounded)));
        behind.take_while(move |(name, _)| name.stem() == stem)
    }

    /// Puts in a name that is subscribed, if it has parameters; says whether it is new here.
    pub(crate) fn insert(&mut self, name: &Name) -> bool {
        let Some(parameters) = name.parameters() else {
            return false;
        };
        let all = self.0.get_or_insert_default();
        all.insert(name.clone(), parameters).is_none()
    }

    /// Takes a name out; says whether it was here.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let Some(all) = self.0.as_mut() else {
            return false;
        };
        let was_here = all.remove(name).is_some();
        if all.is_empty() {
            self.0 = None;
        }
        was_here
    }
}
