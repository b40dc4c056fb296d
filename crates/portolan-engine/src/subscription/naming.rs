//! Reads what requests name.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use bytes::Bytes;
use portolan_core::Name;

use super::{Locators, Subscription, Wildcard};
use crate::Locator;
use crate::fingerprint::Fingerprint;
use crate::locator::text;

pub(super) const WILDCARD: &str = "*";

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
    /// Whether there is a wildcard now and was none before, or the reverse, or one with other parameters.
    pub(crate) wildcard_changed: bool,
    /// The legacy wildcard ended because something else was named.
    pub(crate) legacy_dropped: bool,
}

/// A name that is not UTF-8, or holds a NUL, in this field.
#[derive(Debug)]
pub(crate) struct InvalidName(pub(crate) &'static str);

/// The names of a list without `*`, sorted and unique, and those that are `*`.
#[derive(Default)]
struct Listed {
    names: Vec<Name>,
    stars: Vec<Name>,
}

impl Subscription {
    /// Reads the names of a state-of-the-world request: the complete new subscription (C-051, C-308).
    pub(crate) fn apply_sotw(
        &mut self,
        names: &[Bytes],
        locators: &[Locator],
        legacy_wildcard: bool,
    ) -> Result<SubscriptionChange, InvalidName> {
        let fingerprint = Fingerprint::of(names, locators);
        if self.fingerprint == Some(fingerprint) {
            return Ok(SubscriptionChange::default());
        }
        let mut texts = Vec::with_capacity(names.len() + locators.len());
        for name in names {
            texts.push(Name::canonical(text(name, "resource_names")?));
        }
        let mut stars = Vec::new();
        for locator in locators {
            let name = locator.read()?;
            match name.stem() {
                WILDCARD => stars.push(name),
                _ => texts.push(Cow::Owned(name.as_str().into())),
            }
        }
        texts.sort_unstable();
        texts.dedup();
        if let Ok(at) = texts.binary_search_by(|text| (**text).cmp(WILDCARD)) {
            stars.push(Name::from(&*texts.remove(at)));
        }
        // A locator names something as any name does (C-309).
        self.ever_named |= !names.is_empty() || !locators.is_empty();
        let mut change = match stars.is_empty() && legacy_wildcard && !self.ever_named {
            true => self.turn_wildcard(Wildcard::Legacy, &[]),
            false => self.turn_wildcard(Wildcard::No, &stars),
        };
        change.wildcard_asked = change.wildcard_changed && self.is_wildcard();
        (change.added, change.removed) = self.names.replace(&texts);
        if self.has_locators() || !locators.is_empty() {
            change.removed.iter().for_each(|n| self.locators.remove(n));
            for name in &change.added {
                self.locators.insert(name);
            }
        }
        self.fingerprint = Some(fingerprint);
        Ok(change)
    }

    /// Reads the names of a delta request. Subscriptions are applied before what is given up (C-156).
    pub(crate) fn apply_delta(
        &mut self,
        (subscribe, locators_subscribe): (&[Bytes], &[Locator]),
        (unsubscribe, locators_unsubscribe): (&[Bytes], &[Locator]),
        may_begin_legacy: bool,
    ) -> Result<SubscriptionChange, InvalidName> {
        let names_nothing = subscribe.is_empty()
            && unsubscribe.is_empty()
            && locators_subscribe.is_empty()
            && locators_unsubscribe.is_empty();
        if names_nothing {
            let mut change = match may_begin_legacy {
                true => self.turn_wildcard(Wildcard::Legacy, &[]),
                false => SubscriptionChange::default(),
            };
            change.wildcard_asked = may_begin_legacy;
            return Ok(change);
        }
        let mut written = Vec::new();
        let asked = Listed::read(subscribe, locators_subscribe, |name, text| {
            written.push((name.to_stem(), text));
        })?;
        let given_up = Listed::read(unsubscribe, locators_unsubscribe, |_, _| {})?;
        let mut change = self.turn_stars(&asked.stars, &given_up.stars);
        let is_kept = |star: &&Name| !given_up.stars.contains(star);
        change.wildcard_asked = asked.stars.iter().any(|star| is_kept(&star));
        change.legacy_dropped = false;
        for name in asked.names {
            if self.names.insert(name.clone()) {
                self.globs += usize::from(name.is_glob());
                self.locators.insert(&name);
                change.added.push(name.clone());
            }
            change.asked.push(name);
        }
        for (name, text) in written {
            self.spellings.note(&name, text);
        }
        // Both lists are sorted, so that a request of many names costs O(n log n).
        let is_given_up = |name: &Name| given_up.names.binary_search(name).is_ok();
        for name in &given_up.names {
            if !self.names.remove(name) {
                continue;
            }
            self.globs -= usize::from(name.is_glob());
            self.locators.remove(name);
            if !self.names_stem(name.stem()) {
                self.spellings.forget(&name.to_stem());
            }
            if change.added.binary_search(name).is_err() {
                change.removed.push(name.clone());
            }
        }
        change.added.retain(|name| !is_given_up(name));
        change.asked.retain(|name| !is_given_up(name));
        Ok(change)
    }

    /// `*` was named, with these parameters, and given up. Without any it gives up the legacy wildcard too.
    fn turn_stars(&mut self, asked: &[Name], given_up: &[Name]) -> SubscriptionChange {
        let mut stars: Vec<_> = self
            .stars
            .of(WILDCARD)
            .map(|(star, _)| star.clone())
            .collect();
        if self.wildcard == Wildcard::Explicit {
            stars.push(Name::from(WILDCARD));
        }
        stars.extend(asked.iter().cloned());
        stars.retain(|star| !given_up.contains(star));
        let is_plain = |star: &Name| star.is_stem();
        let legacy = match self.wildcard {
            Wildcard::Legacy if !given_up.iter().any(is_plain) => Wildcard::Legacy,
            _ => Wildcard::No,
        };
        self.turn_wildcard(legacy, &stars)
    }

    /// The wildcard is this from now on, and what `*` with these parameters makes of it.
    fn turn_wildcard(&mut self, mut wildcard: Wildcard, stars: &[Name]) -> SubscriptionChange {
        let was = self.is_wildcard();
        let mut located = Locators::default();
        for star in stars {
            match star.is_stem() {
                true => wildcard = Wildcard::Explicit,
                false => located.insert(star),
            }
        }
        let before = core::mem::replace(&mut self.wildcard, wildcard);
        let others = self.stars != located;
        self.stars = located;
        // How the same wildcard is asked for makes no difference.
        let plain_turned = (before == Wildcard::No) != (wildcard == Wildcard::No);
        let is = self.is_wildcard();
        SubscriptionChange {
            wildcard_changed: was != is || others || (is && plain_turned),
            legacy_dropped: before == Wildcard::Legacy && !is,
            ..SubscriptionChange::default()
        }
    }
}

impl Listed {
    /// `note` hears how each was written that has more than one spelling.
    fn read<'a>(
        names: &'a [Bytes],
        locators: &'a [Locator],
        mut note: impl FnMut(&Name, &'a str),
    ) -> Result<Self, InvalidName> {
        let mut listed = Self {
            names: Vec::with_capacity(names.len() + locators.len()),
            stars: Vec::new(),
        };
        let mut put = |name: Name, text: &'a str| {
            if text == WILDCARD {
                listed.stars.push(name);
                return;
            }
            if name.is_url() {
                note(&name, text);
            }
            listed.names.push(name);
        };
        for name in names {
            let text = text(name, "resource_names")?;
            put(Name::from(text), text);
        }
        for locator in locators {
            put(locator.read()?, locator.text()?);
        }
        for list in [&mut listed.names, &mut listed.stars] {
            list.sort_unstable();
            list.dedup();
        }
        Ok(listed)
    }
}
