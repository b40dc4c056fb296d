use alloc::vec::Vec;

use bytes::Bytes;
use portolan_core::{Name, Resource, ResourceSet, Selection};

use crate::Variant;
use crate::fingerprint::Fingerprint;
use crate::name_set::NameSet;
use crate::spellings::Spellings;

const WILDCARD: &str = "*";

/// What a stream wants of one type.
#[derive(Debug, Default)]
pub(crate) struct Subscription {
    /// What was named: in delta each is an identifier, which stands for all resources that have it.
    names: NameSet,
    matching: Matching,
    /// How many of them are globs.
    globs: usize,
    spellings: Spellings,
    wildcard: Wildcard,
    /// Whether anything, `*` included, was ever named on this stream for this type (C-065).
    ever_named: bool,
    fingerprint: Option<Fingerprint>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wildcard {
    #[default]
    No,
    /// Nothing was ever named.
    Legacy,
    /// `*` was named.
    Explicit,
}

/// What a resource is found by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Matching {
    /// Its name, as in state of the world (C-227).
    #[default]
    Names,
    /// Any of its identifiers, as in delta.
    Identifiers,
}

/// How a request changed a [`Subscription`].
#[derive(Debug, Default)]
pub(crate) struct SubscriptionChange {
    /// Names that were not subscribed before.
    pub(crate) added: Vec<Name>,
    /// Names that are no longer subscribed.
    pub(crate) removed: Vec<Name>,
    /// Names that were subscribed explicitly by a delta request, new or not (C-154).
    pub(crate) asked: Vec<Name>,
    /// `*` was named, or the legacy wildcard began.
    pub(crate) wildcard_asked: bool,
    /// Whether there is a wildcard now and was none before, or the reverse.
    pub(crate) wildcard_changed: bool,
    /// The legacy wildcard ended because something else was named.
    pub(crate) legacy_dropped: bool,
}

/// A name that is not UTF-8.
#[derive(Debug)]
pub(crate) struct InvalidName;

impl Subscription {
    /// Nothing yet, in this variant.
    pub(crate) fn new(variant: Variant) -> Self {
        Self {
            matching: match variant {
                Variant::Sotw => Matching::Names,
                Variant::Delta => Matching::Identifiers,
            },
            ..Self::default()
        }
    }

    pub(crate) fn names(&self) -> &NameSet {
        &self.names
    }

    pub(crate) fn names_mut(&mut self) -> &mut NameSet {
        &mut self.names
    }

    pub(crate) fn is_wildcard(&self) -> bool {
        self.wildcard != Wildcard::No
    }

    /// Whether everything is wanted and nothing by name.
    pub(crate) fn is_pure_wildcard(&self) -> bool {
        self.is_wildcard() && self.names.is_empty()
    }

    /// Whether a resource is wanted.
    pub(crate) fn covers(&self, resource: &Resource) -> bool {
        (self.is_wildcard() && !resource.on_demand()) || self.names_resource(resource)
    }

    /// Whether a name is wanted for which there is no resource (any more).
    pub(crate) fn covers_name(&self, name: &Name) -> bool {
        self.is_wildcard() || self.names_name(name)
    }

    /// Whether a name is named, by itself or by the glob that it falls under.
    pub(crate) fn names_name(&self, name: &Name) -> bool {
        self.names.contains(name)
            || (self.has_globs() && name.glob().is_some_and(|glob| self.names.contains(&glob)))
    }

    /// Whether a glob is named.
    pub(crate) fn has_globs(&self) -> bool {
        self.globs > 0
    }

    /// How the client writes names.
    pub(crate) fn spellings(&self) -> &Spellings {
        &self.spellings
    }

    /// Length of the names, as they are and as they were written where that is otherwise.
    pub(crate) fn bytes(&self) -> usize {
        self.names.bytes() + self.spellings.bytes()
    }

    /// Whether a resource is named, by any of its identifiers.
    pub(crate) fn names_resource(&self, resource: &Resource) -> bool {
        self.names_any(resource, |identifier| self.names.contains(identifier))
    }

    /// Whether `is_named` holds of a name that a resource can be found by.
    pub(crate) fn names_any(&self, resource: &Resource, is_named: impl Fn(&Name) -> bool) -> bool {
        is_named(resource.name())
            || (self.is_by_identifier() && resource.other_identifiers().any(is_named))
    }

    /// Whether a resource is found by other identifiers than its name.
    pub(crate) fn is_by_identifier(&self) -> bool {
        self.matching == Matching::Identifiers
    }

    /// What something which was named stands for in a set.
    pub(crate) fn resolve<'a>(
        &self,
        set: &'a ResourceSet,
        named: &'a str,
    ) -> impl Iterator<Item = &'a Resource> {
        let (by_name, by_identifier) = match self.matching {
            Matching::Names => (set.entry(named), None),
            Matching::Identifiers => (None, Some(set.identified_by(named))),
        };
        by_name
            .into_iter()
            .chain(by_identifier.into_iter().flatten())
    }

    /// All of a set that is wanted.
    pub(crate) fn select(&self, set: &ResourceSet) -> Selection {
        if self.is_pure_wildcard() || self.covers_all(set) {
            return Selection::wildcard(set);
        }
        if self.is_wildcard() {
            return Selection::of(set.entries().filter(|r| self.covers(r)).cloned());
        }
        Selection::of(
            self.names
                .iter()
                .filter_map(|name| set.entry(name))
                .cloned(),
        )
    }

    /// Whether everything in a set is wanted, and nothing of it is on demand. May say no where it is so.
    fn covers_all(&self, set: &ResourceSet) -> bool {
        let wanted = self.is_wildcard() || self.names.is_all_of(set);
        wanted && set.is_all_wildcard()
    }

    /// Reads the names of a state-of-the-world request: the complete new subscription (C-051).
    pub(crate) fn apply_sotw(
        &mut self,
        names: &[Bytes],
        legacy_wildcard: bool,
    ) -> Result<SubscriptionChange, InvalidName> {
        let fingerprint = Fingerprint::of(names);
        if self.fingerprint == Some(fingerprint) {
            return Ok(SubscriptionChange::default());
        }
        let mut texts = Vec::with_capacity(names.len());
        for name in names {
            let text = core::str::from_utf8(name).map_err(|_| InvalidName)?;
            texts.push(Name::canonical(text));
        }
        texts.sort_unstable();
        texts.dedup();
        let explicit = texts.binary_search_by(|text| (**text).cmp(WILDCARD));
        if let Ok(at) = explicit {
            texts.remove(at);
        }
        self.ever_named |= !names.is_empty();
        let wildcard = match explicit {
            Ok(_) => Wildcard::Explicit,
            Err(_) if legacy_wildcard && !self.ever_named => Wildcard::Legacy,
            Err(_) => Wildcard::No,
        };
        let (added, removed) = self.names.replace(&texts);
        let mut change = self.turn_wildcard(wildcard);
        change.added = added;
        change.removed = removed;
        change.wildcard_asked = change.wildcard_changed && wildcard != Wildcard::No;
        self.fingerprint = Some(fingerprint);
        Ok(change)
    }

    /// Reads the names of a delta request. Subscriptions are applied before what is given up (C-156).
    pub(crate) fn apply_delta(
        &mut self,
        subscribe: &[Bytes],
        unsubscribe: &[Bytes],
        may_begin_legacy: bool,
    ) -> Result<SubscriptionChange, InvalidName> {
        if may_begin_legacy && subscribe.is_empty() && unsubscribe.is_empty() {
            let mut change = self.turn_wildcard(Wildcard::Legacy);
            change.wildcard_asked = true;
            return Ok(change);
        }
        let mut written = Vec::new();
        let (subscribe, sub_star) = delta_names(subscribe, |name, text| {
            written.push((name.clone(), text));
        })?;
        let (unsubscribe, unsub_star) = delta_names(unsubscribe, |_, _| {})?;
        let wildcard = match (sub_star, unsub_star) {
            (_, true) => Wildcard::No,
            (true, false) => Wildcard::Explicit,
            (false, false) => self.wildcard,
        };
        let mut change = self.turn_wildcard(wildcard);
        change.wildcard_asked = sub_star && !unsub_star;
        change.legacy_dropped = false;
        for name in subscribe {
            if self.names.insert(name.clone()) {
                self.globs += usize::from(name.is_glob());
                change.added.push(name.clone());
            }
            change.asked.push(name);
        }
        for (name, text) in written {
            self.spellings.note(&name, text);
        }
        // Both lists are sorted, so that a request of many names costs O(n log n).
        let given_up = |name: &Name| unsubscribe.binary_search(name).is_ok();
        for name in &unsubscribe {
            if !self.names.remove(name) {
                continue;
            }
            self.globs -= usize::from(name.is_glob());
            self.spellings.forget(name);
            if change.added.binary_search(name).is_err() {
                change.removed.push(name.clone());
            }
        }
        change.added.retain(|name| !given_up(name));
        change.asked.retain(|name| !given_up(name));
        Ok(change)
    }

    fn turn_wildcard(&mut self, wildcard: Wildcard) -> SubscriptionChange {
        let before = core::mem::replace(&mut self.wildcard, wildcard);
        let (was, is) = (before != Wildcard::No, wildcard != Wildcard::No);
        SubscriptionChange {
            wildcard_changed: was != is,
            legacy_dropped: before == Wildcard::Legacy && !is,
            ..SubscriptionChange::default()
        }
    }
}

/// The names of a delta list without `*`, sorted and unique, and whether `*` was among them. `note` hears how each was
/// written that has more than one spelling.
fn delta_names<'a>(
    names: &'a [Bytes],
    mut note: impl FnMut(&Name, &'a str),
) -> Result<(Vec<Name>, bool), InvalidName> {
    let mut out = Vec::with_capacity(names.len());
    let mut star = false;
    for name in names {
        match core::str::from_utf8(name).map_err(|_| InvalidName)? {
            WILDCARD => star = true,
            text => {
                let name = Name::from(text);
                if name.is_url() {
                    note(&name, text);
                }
                out.push(name);
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    Ok((out, star))
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use portolan_core::EntryForm;
    use portolan_core::well_known::CLUSTER;

    use super::*;

    #[test]
    fn whoever_wants_all_of_a_set_is_sent_its_own_bytes() {
        let build = |i| Resource::builder(CLUSTER, format!("{i:03}"), &b"x"[..]).build();
        let set = ResourceSet::new((0..100).map(|i| build(i).unwrap())).unwrap();
        let names: Vec<_> = set
            .iter()
            .map(|r| Bytes::from(format!("{}", r.name())))
            .collect();
        let star = Bytes::from_static(b"*");
        let bytes = |selection: Selection| {
            let parts = selection.parts(EntryForm::Sotw);
            parts.iter().map(|part| part.as_ptr()).collect::<Vec<_>>()
        };
        let sent = |names: &[Bytes]| {
            let mut subscription = Subscription::default();
            subscription.apply_sotw(names, true).unwrap();
            subscription.names_mut().settle_on(&set);
            bytes(subscription.select(&set))
        };
        let own = bytes(Selection::wildcard(&set));
        assert_eq!(sent(&[]), own);
        assert_eq!(sent(&names), own);
        assert_eq!(sent(&[star, names[0].clone()]), own);
        assert_ne!(sent(&names[1..]), own);
    }
}
