use portolan_core::{Diff, Identity, Name, Overlay, OverlayEntry, Resource, ResourceSet, Version};

use alloc::sync::Arc;

use crate::subscription::Subscription;

/// What a stream's client has of one type, as far as the server knows: what was sent to it, accepted or not.
///
/// For names that the stream does not subscribe it says nothing; a name that enters the subscription is answered
/// whatever stands here.
#[derive(Debug, Default)]
pub(crate) struct Known {
    overlay: Overlay<Held>,
    /// Length of the names and versions that the client brought.
    claimed_bytes: usize,
}

/// What the client has of one name, where that is not what the base has.
#[derive(Clone, Debug)]
enum Held {
    Nothing,
    Sent(Identity),
    /// The client brought it from an earlier stream.
    Claimed(Version),
}

impl Known {
    /// What a client says it has from an earlier stream.
    pub(crate) fn claimed(versions: impl Iterator<Item = (Name, Version)>) -> Self {
        let mut known = Self::default();
        for (name, version) in versions {
            known.claimed_bytes += name.len() + version.as_str().len();
            known.overlay.set(name, Held::Claimed(version));
        }
        known
    }

    /// Length of the names and versions that the client brought and that are still held.
    pub(crate) fn claimed_bytes(&self) -> usize {
        self.claimed_bytes
    }

    /// Whether nothing was ever sent or claimed.
    pub(crate) fn is_nothing(&self) -> bool {
        self.overlay.base().is_none_or(ResourceSet::is_empty) && self.overlay.patch().is_empty()
    }

    /// Whether the client has been sent all that it subscribes of some value.
    pub(crate) fn has_base(&self) -> bool {
        self.overlay.base().is_some()
    }

    /// Whether it is exactly `set`.
    pub(crate) fn is_at(&self, set: &ResourceSet) -> bool {
        self.overlay.patch().is_empty() && self.overlay.base().is_some_and(|b| b.id() == set.id())
    }

    /// The client has been sent all of `set` that it subscribes.
    pub(crate) fn move_to(&mut self, set: &ResourceSet) {
        self.overlay = Overlay::on(set.clone());
        self.claimed_bytes = 0;
    }

    pub(crate) fn sent(&mut self, resource: &Resource) {
        let entry = Held::Sent(resource.identity());
        self.overlay.set(resource.name().clone(), entry);
    }

    pub(crate) fn removed(&mut self, name: &Name) {
        self.overlay.unset(name);
        if matches!(self.overlay.get(name), OverlayEntry::Base(_)) {
            self.overlay.set(name.clone(), Held::Nothing);
        }
    }

    /// The client names `name` from now on. It has it if a wildcard brought it, and not otherwise.
    pub(crate) fn enter(&mut self, name: &Name, had_wildcard: bool) {
        let brought = match self.overlay.get(name) {
            OverlayEntry::Base(resource) => had_wildcard && !resource.on_demand(),
            _ => had_wildcard,
        };
        if !brought {
            self.removed(name);
        }
    }

    /// A wildcard began or ended: the client has nothing but what it names.
    pub(crate) fn keep_only<'a>(&mut self, names: impl Iterator<Item = &'a Name>) {
        let mut kept = Overlay::new();
        for name in names {
            match self.overlay.get(name) {
                OverlayEntry::Patched(held) => kept.set(name.clone(), held.clone()),
                OverlayEntry::Base(resource) => {
                    kept.set(name.clone(), Held::Sent(resource.identity()));
                }
                _ => {}
            }
        }
        self.overlay = kept;
    }

    /// Whether the client has this very version.
    pub(crate) fn holds(&self, resource: &Resource, subscription: &Subscription) -> bool {
        match self.overlay.get(resource.name()) {
            OverlayEntry::Patched(Held::Sent(identity)) => *identity == resource.identity(),
            OverlayEntry::Patched(Held::Claimed(version)) => version == resource.version(),
            OverlayEntry::Base(base) => base.same_content(resource) && subscription.covers(base),
            _ => false,
        }
    }

    /// Whether the client has the name in any version.
    pub(crate) fn holds_name(&self, name: &str, subscription: &Subscription) -> bool {
        match self.overlay.get(name) {
            OverlayEntry::Patched(Held::Nothing) => false,
            OverlayEntry::Patched(_) => true,
            OverlayEntry::Base(base) => subscription.covers(base),
            _ => false,
        }
    }

    /// Whether every difference to `set` is in [`diff_to`](Self::diff_to).
    pub(crate) fn is_unpatched(&self) -> bool {
        self.overlay.patch().is_empty()
    }

    pub(crate) fn patched_names(&self) -> impl Iterator<Item = &Name> {
        self.overlay.patch().keys()
    }

    /// The difference from the base to `set`, shared with all streams on that base.
    pub(crate) fn diff_to(&self, set: &ResourceSet) -> Arc<Diff> {
        match self.overlay.base() {
            Some(base) => set.diff_from(base),
            None => set.diff_from(&ResourceSet::empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_what_a_client_brings_is_that_of_names_and_versions() {
        let brought = [("abc", "12"), ("d", "")];
        let known = Known::claimed(brought.into_iter().map(|(n, v)| (n.into(), v.into())));
        assert_eq!(known.claimed_bytes(), 6);
    }
}
