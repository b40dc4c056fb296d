use alloc::vec::Vec;
use core::iter;

use portolan_core::{Name, Overlay, OverlayEntry, Resource, ResourceSet};

/// So many names are held one by one, whatever they have in common with a set.
const FEW: usize = 32;

/// The names that a stream subscribes: "those of this set", with exceptions.
///
/// Every real Envoy names all endpoints and routes there are; held as a set of strings per stream that would cost as
/// much as the configuration itself.
#[derive(Debug, Default)]
pub(crate) struct NameSet {
    overlay: Overlay<bool>,
    len: usize,
    /// Length of all names together.
    bytes: usize,
}

impl NameSet {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Length of all names together.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        contains(self.overlay.get(name))
    }

    pub(crate) fn insert(&mut self, name: Name) -> bool {
        let new = !self.contains(&name);
        if new {
            self.len += 1;
            self.bytes += name.len();
            self.patch(name, true);
        }
        new
    }

    pub(crate) fn remove(&mut self, name: &Name) -> bool {
        let held = self.contains(name);
        if held {
            self.len -= 1;
            self.bytes -= name.len();
            self.patch(name.clone(), false);
        }
        held
    }

    /// Notes an exception, or drops one where the base says the same.
    fn patch(&mut self, name: Name, named: bool) {
        self.overlay.unset(&name);
        if self.contains(&name) != named {
            self.overlay.set(name, named);
        }
    }

    /// The names, sorted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Name> {
        let patch = self.overlay.patch();
        let base = self
            .overlay
            .base()
            .into_iter()
            .flat_map(ResourceSet::entries);
        let mut base = base
            .map(Resource::name)
            .filter(|n| !patch.contains_key(*n))
            .peekable();
        let mut added = patch
            .iter()
            .filter_map(|(n, named)| named.then_some(n))
            .peekable();
        iter::from_fn(move || match (base.peek(), added.peek()) {
            (Some(b), Some(a)) if a < b => added.next(),
            (Some(_), _) => base.next(),
            (None, _) => added.next(),
        })
    }

    /// Becomes exactly `names`, which are sorted and unique; gives the names that came and those that went.
    pub(crate) fn replace<S: AsRef<str>>(&mut self, names: &[S]) -> (Vec<Name>, Vec<Name>) {
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        let mut wanted = names.iter().map(AsRef::as_ref).peekable();
        for held in self.iter() {
            while let Some(new) = wanted.next_if(|n| *n < held.as_str()) {
                added.push(Name::from(new));
            }
            if wanted.next_if(|n| *n == held.as_str()).is_none() {
                removed.push(held.clone());
            }
        }
        added.extend(wanted.map(Name::from));
        for name in &removed {
            self.remove(name);
        }
        for name in &added {
            self.insert(name.clone());
        }
        (added, removed)
    }

    /// Whether the names are exactly those of `set`.
    pub(crate) fn is_all_of(&self, set: &ResourceSet) -> bool {
        self.overlay.patch().is_empty() && self.overlay.base().is_some_and(|b| b.id() == set.id())
    }

    /// Looks for a better base, now that `set` is the newest value of the type. A set that is no longer the newest is
    /// never kept: it would be alive for its names alone, and all of its resources with it.
    ///
    /// Costs O(what changed since the last base), and all names where a base is first found or given up.
    pub(crate) fn settle_on(&mut self, set: &ResourceSet) {
        // Of a much larger set, most names would have to be excepted.
        let shares = self.len > FEW && set.entries_len() <= 2 * self.len;
        match self.overlay.base() {
            Some(base) if base.id() == set.id() => {}
            None if !shares => {}
            Some(_) if !shares => self.leave_base(),
            _ => self.overlay.rebase(set.clone(), |_, was, is| {
                let named = contains(was);
                (named != is.is_some()).then_some(named)
            }),
        }
    }

    fn leave_base(&mut self) {
        let mut names = Overlay::new();
        for name in self.iter() {
            names.set(name.clone(), true);
        }
        self.overlay = names;
    }
}

fn contains(entry: OverlayEntry<'_, bool>) -> bool {
    match entry {
        OverlayEntry::Patched(named) => *named,
        OverlayEntry::Base(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::format;
    use alloc::string::{String, ToString};

    use portolan_core::well_known::ENDPOINT;

    use super::*;

    fn set(names: impl Iterator<Item = String>) -> ResourceSet {
        let build = |n: String| Resource::builder(ENDPOINT, n, &b""[..]).build().unwrap();
        ResourceSet::new(names.map(build)).unwrap()
    }

    fn held(names: &NameSet) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_list_is_replaced_and_the_difference_told() {
        let mut names = NameSet::default();
        names.replace(&["a", "b"]);
        let (added, removed) = names.replace(&["b", "c"]);
        assert_eq!(added, [Name::from("c")]);
        assert_eq!(removed, [Name::from("a")]);
        assert_eq!(
            names.iter().map(Name::as_str).collect::<Vec<_>>(),
            ["b", "c"]
        );
        assert_eq!(names.len(), 2);
    }

    #[test]
    fn naming_everything_leaves_no_names_of_its_own() {
        let all = set((0..1000).map(|i| format!("{i:04}")));
        let list: Vec<_> = all.iter().map(|r| r.name().as_str()).collect();
        let mut names = NameSet::default();
        names.replace(&list);
        let before = held(&names);
        names.settle_on(&all);
        assert!(names.is_all_of(&all));
        assert_eq!(held(&names), before);
        assert!(names.replace(&list).0.is_empty());

        names.remove(&"0007".into());
        names.insert("x".into());
        assert!(!names.contains("0007") && names.contains("0008") && names.contains("x"));
        assert_eq!(names.len(), 1000);
        names.insert("0007".into());
        names.remove(&"x".into());
        assert!(names.is_all_of(&all));
    }

    #[test]
    fn names_survive_every_move() {
        let mut names = NameSet::default();
        for i in 0..300 {
            names.insert(format!("{i:04}").into());
        }
        let before = held(&names);
        names.settle_on(&set((100..400).map(|i| format!("{i:04}"))));
        assert_eq!(held(&names), before);
        for i in 0..100 {
            names.remove(&format!("{i:04}").into());
        }
        let before = held(&names);
        names.settle_on(&set((150..500).map(|i| format!("{i:04}"))));
        assert_eq!(held(&names), before);
        assert_eq!(names.len(), 200);
    }

    #[test]
    fn no_set_is_kept_that_is_not_the_newest() {
        let base = |names: &NameSet| names.overlay.base().map(ResourceSet::id);
        let list = |names: core::ops::Range<usize>| set(names.map(|i| format!("{i:04}")));
        let mut names = NameSet::default();
        let first = list(0..100);
        let all: Vec<_> = first.iter().map(|r| r.name().as_str()).collect();
        names.replace(&all);
        names.settle_on(&first);
        names.remove(&"0000".into());
        let before = held(&names);

        let mut edit = first.edit();
        let changed = Resource::builder(ENDPOINT, "0001", &b"2"[..]);
        edit.upsert(changed.build().unwrap());
        for newer in [edit.finish().unwrap(), list(0..101), list(50..60)] {
            names.settle_on(&newer);
            assert_eq!(base(&names), Some(newer.id()));
            assert_eq!(held(&names), before);
        }
        names.settle_on(&list(0..300));
        assert_eq!(base(&names), None);
        assert_eq!(held(&names), before);
        let shrunk = list(0..120);
        names.settle_on(&shrunk);
        assert_eq!(base(&names), Some(shrunk.id()));
        assert_eq!(held(&names), before);
    }

    #[test]
    fn a_small_list_does_not_hold_on_to_a_large_set() {
        let mut names = NameSet::default();
        for i in 0..50 {
            names.insert(format!("{i:04}").into());
        }
        names.settle_on(&set((0..1000).map(|i| format!("{i:04}"))));
        assert!(names.overlay.base().is_none());
    }

    #[test]
    fn names_are_in_order_and_replaced_whatever_the_base_holds() {
        let mut names = NameSet::default();
        let even: Vec<_> = (0..100).map(|i| format!("{:04}", 2 * i)).collect();
        for name in &even {
            names.insert(name.as_str().into());
        }
        names.settle_on(&set(even.iter().cloned()));
        for odd in ["0001", "0051", "0999"] {
            names.insert(odd.into());
        }
        names.remove(&"0004".into());
        assert!(names.iter().is_sorted());
        assert_eq!(names.iter().count(), 102);
        assert_eq!(names.bytes(), 4 * 102);

        let (added, removed) = names.replace(&["0000", "0001", "0002", "0003", "0999"]);
        assert_eq!(added, [Name::from("0003")]);
        assert_eq!(removed.len(), 98);
        assert_eq!(names.bytes(), 4 * 5);
    }
}
