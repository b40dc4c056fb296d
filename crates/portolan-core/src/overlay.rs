use std::collections::BTreeMap;

use crate::{Name, Resource, ResourceSet};

/// A large immutable base with a small private patch: how a stream remembers what it names and what it was sent.
///
/// Thousands of streams that name, or were sent, nearly the same set point to one base and differ in a few entries,
/// so that a stream's memory does not grow with the collection. What a patch entry means is its user's affair.
#[derive(Clone, Debug)]
pub struct Overlay<P> {
    base: Option<ResourceSet>,
    patch: BTreeMap<Name, P>,
}

/// What an [`Overlay`] has for a name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum OverlayEntry<'a, P> {
    /// The patch speaks, whatever the base holds.
    Patched(&'a P),
    /// The base has it.
    Base(&'a Resource),
    /// Neither knows it.
    Unknown,
}

impl<P> Overlay<P> {
    /// Nothing known.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            base: None,
            patch: BTreeMap::new(),
        }
    }

    /// Everything in `base`, and nothing else.
    #[must_use]
    pub const fn on(base: ResourceSet) -> Self {
        Self {
            base: Some(base),
            patch: BTreeMap::new(),
        }
    }

    /// The base.
    #[must_use]
    pub fn base(&self) -> Option<&ResourceSet> {
        self.base.as_ref()
    }

    /// The patch, sorted by name.
    #[must_use]
    pub fn patch(&self) -> &BTreeMap<Name, P> {
        &self.patch
    }

    /// What is known of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> OverlayEntry<'_, P> {
        if let Some(entry) = self.patch.get(name) {
            return OverlayEntry::Patched(entry);
        }
        match self.base.as_ref().and_then(|base| base.entry(name)) {
            Some(resource) => OverlayEntry::Base(resource),
            None => OverlayEntry::Unknown,
        }
    }

    /// Patches one name.
    pub fn set(&mut self, name: Name, entry: P) {
        self.patch.insert(name, entry);
    }

    /// Takes a name out of the patch, so that the base speaks again.
    pub fn unset(&mut self, name: &str) -> Option<P> {
        self.patch.remove(name)
    }

    /// Moves onto another base. `entry` says for each name in which the two bases differ what the patch must hold, given
    /// what was known and what the new base has; `None` where the new base speaks for itself. Of other names the patch
    /// holds what it held.
    ///
    /// Costs O(difference of the bases).
    pub fn rebase(
        &mut self,
        base: ResourceSet,
        mut entry: impl FnMut(&Name, OverlayEntry<'_, P>, Option<&Resource>) -> Option<P>,
    ) {
        let nothing = ResourceSet::empty();
        let diff = base.diff_from(self.base.as_ref().unwrap_or(&nothing));
        for name in diff.names() {
            match entry(name, self.get(name), base.entry(name)) {
                Some(entry) => self.patch.insert(name.clone(), entry),
                None => self.patch.remove(name),
            };
        }
        self.base = Some(base);
    }
}

impl<P> Default for Overlay<P> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::well_known::ENDPOINT;

    fn set(names: &[&str]) -> ResourceSet {
        let resources = names
            .iter()
            .map(|n| Resource::builder(ENDPOINT, *n, &b""[..]).build().unwrap());
        ResourceSet::new(resources).unwrap()
    }

    fn names(overlay: &Overlay<bool>, all: &[&str]) -> Vec<String> {
        let held = |n: &&&str| match overlay.get(n) {
            OverlayEntry::Patched(held) => *held,
            OverlayEntry::Base(_) => true,
            OverlayEntry::Unknown => false,
        };
        all.iter().filter(held).map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn the_patch_outranks_the_base() {
        let mut overlay = Overlay::on(set(&["a", "b"]));
        overlay.set("a".into(), false);
        overlay.set("c".into(), true);
        assert_eq!(names(&overlay, &["a", "b", "c", "d"]), ["b", "c"]);
        overlay.unset("a");
        assert_eq!(names(&overlay, &["a", "b", "c", "d"]), ["a", "b", "c"]);
    }

    #[test]
    fn moving_to_another_base_keeps_what_was_known() {
        let mut overlay = Overlay::on(set(&["a", "b", "c"]));
        overlay.set("c".into(), false);
        overlay.set("d".into(), true);
        let all = ["a", "b", "c", "d", "e"];
        let before = names(&overlay, &all);
        overlay.rebase(set(&["b", "c", "d", "e"]), |_, was, is| {
            let was = match was {
                OverlayEntry::Patched(held) => *held,
                OverlayEntry::Base(_) => true,
                OverlayEntry::Unknown => false,
            };
            (was != is.is_some()).then_some(was)
        });
        assert_eq!(names(&overlay, &all), before);
        assert_eq!(
            overlay.patch().len(),
            3,
            "a is added, c and e are taken out, d is in the base"
        );
    }
}
