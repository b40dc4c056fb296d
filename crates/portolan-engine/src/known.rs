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
            known.patch(name, Held::Claimed(version));
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
            self.patch(name, held);
        }
    }

    pub(crate) fn sent(&mut self, resource: &Resource) {
        self.patch(resource.name().clone(), Held::sent(resource));
    }

    fn patch(&mut self, name: Name, held: Held) {
        match &held {
            Held::Claimed(version) => self.claimed_bytes += name.len() + version.as_str().len(),
            Held::SentLinked(_) => self.patched_links = true,
            Held::Sent(_) | Held::Missing(_) | Held::Nothing => {}
        }
        self.overlay.set(name, held);
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
        if self.is_linked(now) {
            entered.extend(self.entered_by_link(&before));
        }
        entered.iter().for_each(|name| self.removed(name));
    }

    /// What was not wanted before, of what has one of the names that were added.
    fn entered_by_name(&self, before: &Before<'_>) -> Vec<Name> {
        let is_new = |name: &&Name| match self.overlay.get(name) {
            OverlayEntry::Base(resource) => !before.covered(resource),
            OverlayEntry::Patched(held) => !before.covered_held(name, held),
            _ => false,
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
        let is_kept = |name: &str| names.binary_search_by(|n| n.as_str().cmp(name)).is_ok();
        let based = self.named_by(now, names.iter().copied());
        let based = based.map(|resource| (resource.name().clone(), Held::sent(resource)));
        let patched = self.overlay.patch().iter();
        let patched = patched.filter(|(name, held)| held.is_found(name, now, is_kept));
        let patched = patched.map(|(name, held)| (name.clone(), held.clone()));
        let kept: Vec<_> = based.chain(patched).collect();
        *self = Self::default();
        for (name, held) in kept {
            self.patch(name, held);
        }
    }

    /// What one of these stands for and the client has as the base has it.
    fn named_by<'a>(
        &'a self,
        now: &'a Subscription,
        names: impl Iterator<Item = &'a Name>,
    ) -> impl Iterator<Item = &'a Resource> {
        let (base, patch) = (self.overlay.base(), self.overlay.patch());
        let named = names.flat_map(move |name| {
            base.into_iter()
                .flat_map(move |base| now.resolve(base, name))
        });
        named.filter(|resource| !patch.contains_key(resource.name()))
    }

    /// Whether something that the client has may be found by more than its name.
    pub(crate) fn is_linked(&self, now: &Subscription) -> bool {
        self.patched_links || now.is_linked(self.overlay.base())
    }

    /// Whether what the client has of the name may be wanted by another identifier too.
    pub(crate) fn has_linked(&self, name: &Name, now: &Subscription) -> bool {
        let mut based = self.named_by(now, [name].into_iter());
        // What a client brought it may have had by any.
        self.patched_links
            || self.claims_anything()
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
        self.had_wildcard || held.is_found(name, self.now, |name| self.named(name))
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

    /// Whether `is_named` holds of what finds this, as far as that is known.
    fn is_found(&self, name: &Name, now: &Subscription, is_named: impl Fn(&str) -> bool) -> bool {
        let others = |is_found: &dyn Fn(&str) -> bool| match self {
            _ if !now.is_by_identifier() => false,
            Self::SentLinked(sent) => sent.1.iter().any(|other| is_found(other)),
            Self::Claimed(_) => name.glob().is_some_and(|glob| is_found(&glob)),
            Self::Sent(_) | Self::Missing(_) | Self::Nothing => false,
        };
        now.finds(name, others, is_named)
    }
}

/// Whether it says that there is no resource, as taking it out does (C-367).
fn is_missing(entry: &Resource) -> bool {
    entry.failure().is_some_and(ResourceFailure::is_not_found)
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec};

    use bytes::Bytes;
    use portolan_core::well_known::ROUTE;
    use portolan_core::{ResourceBuilder, ResourceError};

    use super::*;
    use crate::Variant;

    const MEMBER: &str = "xdstp://a/envoy.config.route.v3.RouteConfiguration/d/n";
    const GLOB: &str = "xdstp://a/envoy.config.route.v3.RouteConfiguration/d/*";

    fn resource(name: &str, aliases: &[&str]) -> ResourceBuilder {
        let builder = Resource::builder(ROUTE, name, &b""[..]);
        aliases
            .iter()
            .copied()
            .fold(builder, ResourceBuilder::alias)
    }

    fn build(builder: ResourceBuilder) -> Resource {
        builder.build().unwrap()
    }

    fn set(entries: &[Result<Resource, ResourceError>]) -> ResourceSet {
        ResourceSet::new(entries.iter().map(|entry| entry.clone().unwrap())).unwrap()
    }

    fn names(names: &[&str]) -> Vec<Name> {
        let mut names: Vec<_> = names.iter().map(|name| Name::from(*name)).collect();
        names.sort_unstable();
        names
    }

    fn subscribed(variant: Variant, names: &[&str]) -> Subscription {
        let names = names.iter().map(|n| Bytes::copy_from_slice(n.as_bytes()));
        let names: Vec<_> = names.collect();
        let mut subscription = Subscription::new(variant, Arc::default());
        let applied = match variant {
            Variant::Sotw => subscription.apply_sotw(&names, &[], false),
            Variant::Delta => subscription.apply_delta((&names, &[]), (&[], &[]), false),
        };
        applied.unwrap();
        subscription
    }

    /// A client that was sent this: all at once, or by itself.
    fn told(resource: &Resource) -> [Known; 2] {
        let (mut based, mut sent) = (Known::default(), Known::default());
        based.move_to(&set(&[Ok(resource.clone())]));
        sent.sent(resource);
        [based, sent]
    }

    #[test]
    fn the_length_of_what_a_client_brings_is_that_of_names_and_versions() {
        let brought = [("abc", "12"), ("d", "")];
        let known = Known::claimed(brought.into_iter().map(|(n, v)| (n.into(), v.into())));
        assert_eq!(known.claimed_bytes(), 6);
    }

    #[test]
    fn what_is_asked_for_by_one_more_identifier_is_had_if_it_was_wanted_by_another() {
        let bare = build(resource("n", &[]));
        let plain = build(resource("n", &["x", "y"]));
        let member = build(resource(MEMBER, &["x"]));
        for (resource, before, added, is_had) in [
            (&bare, vec![], "n", false),
            (&bare, vec!["m"], "n", false),
            (&plain, vec![], "n", false),
            (&plain, vec![], "x", false),
            (&plain, vec!["z"], "x", false),
            (&plain, vec!["n"], "x", true),
            (&plain, vec!["y"], "x", true),
            (&plain, vec!["y"], "n", true),
            (&member, vec![], GLOB, false),
            (&member, vec![MEMBER], GLOB, true),
            (&member, vec!["x"], GLOB, true),
            (&member, vec![GLOB], MEMBER, true),
        ] {
            for mut known in told(resource) {
                let now = subscribed(Variant::Delta, &[&before[..], &[added]].concat());
                known.enter(&names(&[added]), false, &now);
                let case = format!("{resource:?} by {before:?}, then {added}: {known:?}");
                assert_eq!(known.holds(resource, &now), is_had, "{case}");
                assert_eq!(known.holds_name(resource.name(), &now), is_had, "{case}");
            }
        }
    }

    #[test]
    fn what_a_wildcard_brought_is_had_by_whatever_it_is_asked_for() {
        let always = build(resource("n", &["x"]));
        let on_demand = build(resource("n", &["x"]).on_demand(true));
        for added in ["n", "x"] {
            let now = subscribed(Variant::Delta, &["*", added]);
            for mut known in told(&always) {
                known.enter(&names(&[added]), true, &now);
                assert!(known.holds(&always, &now), "{known:?}");
            }
            let [mut known, _] = told(&on_demand);
            known.enter(&names(&[added]), true, &now);
            assert!(!known.holds(&on_demand, &now), "{known:?}");
        }
    }

    #[test]
    fn what_was_sent_last_decides_by_what_a_client_has_something() {
        let [mut known, _] = told(&build(resource("n", &["x"])));
        let newer = build(resource("n", &["x", "y"]));
        known.sent(&newer);
        let now = subscribed(Variant::Delta, &["x", "y"]);
        known.enter(&names(&["x"]), false, &now);
        assert!(known.holds(&newer, &now));
    }

    #[test]
    fn c227_in_state_of_the_world_a_client_has_nothing_by_an_alias() {
        let linked = build(resource("n", &["x"]));
        for known in told(&linked) {
            let now = subscribed(Variant::Sotw, &["x"]);
            assert!(!known.holds_name(linked.name(), &now), "{known:?}");
        }
    }

    #[test]
    fn of_what_a_wildcard_brought_that_stays_which_is_named_by_whatever() {
        let all = ["n", "m", "sent", "other", MEMBER];
        let aliases: [&[_]; 5] = [&["x"], &[], &[], &[], &[]];
        let all = all.iter().zip(aliases);
        let all: Vec<_> = all
            .map(|(n, aliases)| resource(n, aliases).build())
            .collect();
        let mut known = Known::default();
        known.move_to(&set(&all));
        let sent = build(resource("sent", &["y"]));
        known.sent(&sent);
        // The glob has just been given up.
        let now = subscribed(Variant::Delta, &["*", "m", "x", "y"]);
        let kept = names(&[GLOB, "m", "x", "y"]);
        known.keep_only(&kept.iter().collect::<Vec<_>>(), &now);
        let held = |name: &&str| known.holds_name(&Name::from(*name), &now);
        let held: Vec<_> = ["m", "n", "other", "sent", MEMBER]
            .into_iter()
            .filter(held)
            .collect();
        assert_eq!(held, ["m", "n", "sent", MEMBER]);
        assert!(
            known.holds(&sent, &now),
            "it is not what the wildcard brought"
        );
        assert!(known.is_linked(&subscribed(Variant::Delta, &["x"])));
    }

    #[test]
    fn what_a_client_has_of_a_pending_name_is_known_as_before() {
        let linked = build(resource("n", &["x"]));
        for mut known in told(&linked) {
            known.move_past(&set(&[Resource::pending(ROUTE, "n")]));
            let by_name = subscribed(Variant::Delta, &["n"]);
            assert!(known.holds(&linked, &by_name));
            let by_alias = subscribed(Variant::Delta, &["x"]);
            assert!(known.holds_name(linked.name(), &by_alias));
            known.enter(&names(&["x"]), false, &by_alias);
            assert!(!known.holds_name(linked.name(), &by_alias), "{known:?}");
        }
        let brought = [("n", "12"), ("gone", "3")];
        let mut known = Known::claimed(brought.into_iter().map(|(n, v)| (n.into(), v.into())));
        known.move_past(&set(&[Resource::pending(ROUTE, "n")]));
        assert!(known.claims(&"n".into()) && !known.claims(&"gone".into()));
        assert_eq!(known.claimed_bytes(), 3);
    }
}
