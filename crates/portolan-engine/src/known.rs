use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use portolan_core::{
    Diff, Identity, Name, Overlay, OverlayEntry, Resource, ResourceFailure, ResourceSet, Version,
};

use crate::subscription::Subscription;

/// What a stream's client has of one type, as far as the server knows: what was sent to it, accepted or not.
///
/// For names that the stream does not subscribe it says nothing; a name that enters the subscription is answered
/// whatever stands here.
#[derive(Debug, Default)]
pub(crate) struct Known {
    overlay: Overlay<Held>,
    /// Whether the patch may hold a resource that is found by more than its name, or by less.
    patched_links: bool,
    /// Length of the names and versions that the client brought.
    claimed_bytes: usize,
}

/// What the client has of one name, where that is not what the base has.
#[derive(Clone, Debug)]
enum Held {
    Nothing,
    Sent(Identity),
    /// The same of a resource that is found by these identifiers too, or has constraints.
    SentLinked(Box<(Identity, Vec<Name>)>),
    /// That it does not exist, with the reason.
    Missing(Identity),
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

    /// What the client says it has from an earlier stream, and was not sent since.
    pub(crate) fn claimed_versions(&self) -> impl Iterator<Item = (&Name, &Version)> {
        let patch = self.overlay.patch().iter();
        patch.filter_map(|(name, held)| match held {
            Held::Claimed(version) => Some((name, version)),
            _ => None,
        })
    }

    /// Whether something that the client brought is still held.
    pub(crate) fn claims_anything(&self) -> bool {
        self.claimed_bytes > 0
    }

    /// Whether nothing was ever sent or claimed.
    pub(crate) fn is_nothing(&self) -> bool {
        // An error is something: the client keeps it until it hears otherwise.
        let base = self.overlay.base();
        base.is_none_or(|base| base.entries_len() == 0) && self.overlay.patch().is_empty()
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
        self.patched_links = false;
        self.claimed_bytes = 0;
    }

    /// The same, but of what is pending there the client keeps what it has.
    pub(crate) fn move_past(&mut self, set: &ResourceSet) {
        let kept = set.pending().filter_map(|name| {
            let held = match self.overlay.get(name) {
                OverlayEntry::Patched(held) => held.clone(),
                OverlayEntry::Base(resource) => Held::sent(resource),
                _ => return None,
            };
            Some((name.clone(), held))
        });
        let kept: Vec<_> = kept.collect();
        self.move_to(set);
        for (name, held) in kept {
            self.patched_links |= matches!(held, Held::SentLinked(_));
            if let Held::Claimed(version) = &held {
                self.claimed_bytes += name.len() + version.as_str().len();
            }
            self.overlay.set(name, held);
        }
    }

    pub(crate) fn sent(&mut self, resource: &Resource) {
        let held = Held::sent(resource);
        self.patched_links |= matches!(held, Held::SentLinked(_));
        self.overlay.set(resource.name().clone(), held);
    }

    pub(crate) fn removed(&mut self, name: &Name) {
        self.overlay.unset(name);
        if matches!(self.overlay.get(name), OverlayEntry::Base(_)) {
            self.overlay.set(name.clone(), Held::Nothing);
        }
    }

    /// The client names these from now on. What they stand for it has if it wanted it before, and not otherwise.
    pub(crate) fn enter(&mut self, added: &[Name], had_wildcard: bool, now: &Subscription) {
        let before = Before {
            had_wildcard,
            now,
            added,
        };
        let mut entered = self.entered_by_name(&before);
        if self.is_linked(now) || added.iter().any(|name| name.is_glob() || !name.is_stem()) {
            entered.extend(self.entered_by_link(&before));
        }
        entered.iter().for_each(|name| self.removed(name));
    }

    /// What was not wanted before, of what has one of the names that were added.
    fn entered_by_name(&self, before: &Before<'_>) -> Vec<Name> {
        let is_new = |name: &&Name| match self.overlay.get(name) {
            OverlayEntry::Base(resource) => !before.covered(resource),
            OverlayEntry::Patched(held) => !before.covered_held(name, held),
            _ => !before.had_wildcard,
        };
        before.added.iter().filter(is_new).cloned().collect()
    }

    /// What was not wanted before, of what is found by an alias or a glob that was added.
    fn entered_by_link(&self, before: &Before<'_>) -> Vec<Name> {
        let based = self
            .named_by(before.now, before.added.iter())
            .filter(|resource| !before.covered(resource));
        let patched = self.overlay.patch().iter();
        let patched = patched.filter(|(name, held)| {
            let is_added = |name: &str| before.is_added(name);
            held.is_found(name, before.now, is_added) && !before.covered_held(name, held)
        });
        let based = based.map(Resource::name);
        based
            .chain(patched.map(|(name, _)| name))
            .cloned()
            .collect()
    }

    /// A wildcard began or ended: the client has nothing but what it names, which is sorted.
    pub(crate) fn keep_only(&mut self, names: &[&Name], now: &Subscription) {
        let mut kept = Overlay::new();
        for name in names {
            match self.overlay.get(name) {
                OverlayEntry::Patched(held) => kept.set((*name).clone(), held.clone()),
                OverlayEntry::Base(resource) => kept.set((*name).clone(), Held::sent(resource)),
                _ => {}
            }
        }
        let is_more = |name: &&Name| name.is_glob() || !name.is_stem();
        if self.is_linked(now) || names.iter().any(is_more) {
            for resource in self.named_by(now, names.iter().copied()) {
                if matches!(self.overlay.get(resource.name()), OverlayEntry::Base(_)) {
                    kept.set(resource.name().clone(), Held::sent(resource));
                }
            }
            let is_kept = |name: &str| names.binary_search_by(|n| n.as_str().cmp(name)).is_ok();
            for (name, held) in self.overlay.patch() {
                if held.is_found(name, now, is_kept) {
                    kept.set(name.clone(), held.clone());
                }
            }
            self.patched_links = true;
        }
        self.overlay = kept;
    }

    /// What the base has that one of these stands for.
    fn named_by<'a>(
        &'a self,
        now: &'a Subscription,
        names: impl Iterator<Item = &'a Name>,
    ) -> impl Iterator<Item = &'a Resource> {
        let base = self.overlay.base();
        names.flat_map(move |name| {
            base.into_iter()
                .flat_map(move |base| now.resolve(base, name))
        })
    }

    /// Whether something that the client has may be found by more than its name.
    pub(crate) fn is_linked(&self, now: &Subscription) -> bool {
        self.patched_links || now.is_linked(self.overlay.base())
    }

    /// Whether what the client has of the name may be wanted by another identifier too.
    pub(crate) fn has_linked(&self, name: &Name, now: &Subscription) -> bool {
        let mut based = self.named_by(now, [name].into_iter());
        self.patched_links
            || now.names_stem(name.stem())
            || based.any(|resource| resource.other_identifiers().next().is_some())
    }

    /// What the client was last sent all of, as far as it subscribed it.
    pub(crate) fn base(&self) -> Option<&ResourceSet> {
        self.overlay.base()
    }

    /// Whether the client has this very version.
    pub(crate) fn holds(&self, resource: &Resource, subscription: &Subscription) -> bool {
        match self.overlay.get(resource.name()) {
            OverlayEntry::Patched(Held::Sent(identity) | Held::Missing(identity)) => {
                *identity == resource.identity()
            }
            OverlayEntry::Patched(Held::SentLinked(sent)) => sent.0 == resource.identity(),
            OverlayEntry::Patched(Held::Claimed(version)) => version == resource.version(),
            OverlayEntry::Base(base) => base.same_content(resource) && subscription.covers(base),
            _ => false,
        }
    }

    /// Whether the client has something of the name and wants it: the resource in any version, or an error other than
    /// that there is no resource.
    pub(crate) fn holds_name(&self, name: &Name, subscription: &Subscription) -> bool {
        match self.overlay.get(name) {
            OverlayEntry::Patched(Held::Nothing | Held::Missing(_)) => false,
            OverlayEntry::Patched(held) => {
                let is_named = |name: &str| subscription.names().contains(name);
                subscription.covers_name(name) || held.is_found(name, subscription, is_named)
            }
            OverlayEntry::Base(base) => subscription.covers(base) && !is_missing(base),
            _ => false,
        }
    }

    /// Whether the client brought the name, and does not want it under this name. It may have had it by an alias.
    pub(crate) fn claims_unnamed(&self, name: &Name, subscription: &Subscription) -> bool {
        self.claims(name) && !subscription.covers_name(name)
    }

    /// Whether the client brought the name, and nothing was said of it since.
    pub(crate) fn claims(&self, name: &Name) -> bool {
        let entry = self.overlay.get(name);
        matches!(entry, OverlayEntry::Patched(Held::Claimed(_)))
    }

    /// The client gave the name up, and with it what it brought under it.
    pub(crate) fn give_up(&mut self, name: &Name) {
        if self.claims(name) {
            self.overlay.unset(name);
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

/// What was wanted before some names were added.
struct Before<'a> {
    had_wildcard: bool,
    now: &'a Subscription,
    /// Sorted.
    added: &'a [Name],
}

impl Before<'_> {
    fn is_added(&self, name: &str) -> bool {
        self.added
            .binary_search_by(|n| n.as_str().cmp(name))
            .is_ok()
    }

    fn named(&self, name: &str) -> bool {
        self.now.names().contains(name) && !self.is_added(name)
    }

    fn covered(&self, resource: &Resource) -> bool {
        // A wildcard that has ended covered what is meant for all; of the rest nobody knows.
        let by_wildcard = || match resource.constraints() {
            None => !resource.on_demand(),
            Some(_) => self.now.wildcard_covers(resource),
        };
        (self.had_wildcard && by_wildcard())
            || self.now.names_any(resource, |name| self.named(name))
    }

    /// The same of what the client has of a name, whatever that is.
    fn covered_held(&self, name: &Name, held: &Held) -> bool {
        let named = |name: &str| self.named(name);
        self.had_wildcard || named(name) || held.is_found(name, self.now, named)
    }
}

impl Held {
    fn sent(entry: &Resource) -> Self {
        let identity = entry.identity();
        if is_missing(entry) {
            return Self::Missing(identity);
        }
        let others: Vec<_> = entry.other_identifiers().cloned().collect();
        match others.is_empty() && entry.constraints().is_none() {
            true => Self::Sent(identity),
            false => Self::SentLinked(Box::new((identity, others))),
        }
    }

    /// Whether `is_named` holds of what finds this, as far as that is known, besides the name alone.
    fn is_found(&self, name: &Name, now: &Subscription, is_named: impl Fn(&str) -> bool) -> bool {
        let others = |is_found: &dyn Fn(&str) -> bool| match self {
            _ if !now.is_by_identifier() => false,
            Self::SentLinked(sent) => sent.1.iter().any(|other| is_found(other)),
            Self::Claimed(_) => name.glob().is_some_and(|glob| is_found(&glob)),
            Self::Sent(_) | Self::Missing(_) | Self::Nothing => false,
        };
        match name.is_stem() && !now.has_locators() {
            true => others(&is_named),
            false => now.finds(name, others, is_named),
        }
    }
}

/// Whether it says that there is no resource, as taking it out does (C-367).
fn is_missing(entry: &Resource) -> bool {
    entry.failure().is_some_and(ResourceFailure::is_not_found)
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
