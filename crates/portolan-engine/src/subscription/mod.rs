mod locators;
mod naming;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::iter;

use portolan_core::{Constraints, DynamicParameters, Name, Resource, ResourceSet, Selection};

use self::locators::Locators;
pub(crate) use self::naming::{InvalidName, SubscriptionChange};
use crate::Variant;
use crate::fingerprint::Fingerprint;
use crate::name_set::NameSet;
use crate::spellings::Spellings;

/// What a stream wants of one type.
#[derive(Debug, Default)]
pub(crate) struct Subscription {
    /// What was named: in delta each is an identifier, which stands for all resources that have it. A name that came with
    /// parameters has them behind it.
    names: NameSet,
    matching: Matching,
    /// Those of the names that have parameters.
    locators: Locators,
    /// What a name stands for that came without parameters.
    parameters: Arc<DynamicParameters>,
    /// How many of them are globs.
    globs: usize,
    spellings: Spellings,
    wildcard: Wildcard,
    /// `*` with parameters, which is a wildcard too.
    stars: Locators,
    /// Whether anything, `*` included, was ever named on this stream for this type (C-065).
    ever_named: bool,
    fingerprint: Option<Fingerprint>,
}

/// A wildcard without parameters.
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

impl Subscription {
    /// Nothing yet, in this variant, of a client whose names stand for what is meant for these parameters unless they come
    /// with others (C-328).
    pub(crate) fn new(variant: Variant, parameters: Arc<DynamicParameters>) -> Self {
        Self {
            parameters,
            matching: match variant {
                Variant::Sotw => Matching::Names,
                Variant::Delta => Matching::Identifiers,
            },
            ..Self::default()
        }
    }

    /// What names without parameters stand for, as in [`new`](Self::new).
    pub(crate) fn set_parameters(&mut self, parameters: Arc<DynamicParameters>) {
        self.parameters = parameters;
    }

    pub(crate) fn names(&self) -> &NameSet {
        &self.names
    }

    pub(crate) fn names_mut(&mut self) -> &mut NameSet {
        &mut self.names
    }

    pub(crate) fn is_wildcard(&self) -> bool {
        self.wildcard != Wildcard::No || !self.stars.is_empty()
    }

    /// Whether everything is wanted and nothing by name.
    pub(crate) fn is_pure_wildcard(&self) -> bool {
        self.is_wildcard() && self.names.is_empty()
    }

    /// Whether a resource is wanted.
    pub(crate) fn covers(&self, resource: &Resource) -> bool {
        self.wildcard_covers(resource) || self.names_resource(resource)
    }

    /// Whether a resource is wanted though nobody names it.
    pub(crate) fn wildcard_covers(&self, resource: &Resource) -> bool {
        if !self.is_wildcard() || resource.on_demand() {
            return false;
        }
        let Some(constraints) = resource.constraints() else {
            return true;
        };
        let mut stars = self.stars.of(naming::WILDCARD);
        (self.wildcard != Wildcard::No && constraints.matches(&self.parameters))
            || stars.any(|(_, parameters)| constraints.matches(parameters))
    }

    /// Whether a name is wanted for which there is no resource (any more).
    pub(crate) fn covers_name(&self, name: &Name) -> bool {
        self.is_wildcard() || self.names_name(name)
    }

    /// Whether a name is named, by itself or by the glob that it falls under.
    pub(crate) fn names_name(&self, name: &Name) -> bool {
        let glob = || self.has_globs().then(|| name.glob()).flatten();
        self.finds(
            name,
            |is_named| glob().is_some_and(|glob| is_named(&glob)),
            |name| self.names.contains(name),
        )
    }

    /// Whether a name is named with whatever parameters.
    pub(crate) fn names_stem(&self, stem: &str) -> bool {
        self.names.contains(stem) || self.locators.of(stem).next().is_some()
    }

    /// The names that stand for a stem: itself, and with the parameters that it was named with.
    pub(crate) fn forms_of<'a>(&'a self, stem: &'a Name) -> impl Iterator<Item = &'a Name> {
        let plain = iter::once(stem).filter(|stem| self.names.contains(stem));
        plain.chain(self.locators.of(stem).map(|(name, _)| name))
    }

    /// Whether any name came with parameters.
    pub(crate) fn has_locators(&self) -> bool {
        !self.locators.is_empty()
    }

    /// Whether a glob is named.
    pub(crate) fn has_globs(&self) -> bool {
        self.globs > 0
    }

    /// How the client writes names.
    pub(crate) fn spellings(&self) -> &Spellings {
        &self.spellings
    }

    /// How many names a client makes the stream hold.
    pub(crate) fn len(&self) -> usize {
        self.names.len() + self.stars.len()
    }

    /// Length of the names, as they are and as they were written where that is otherwise.
    pub(crate) fn bytes(&self) -> usize {
        self.names.bytes() + self.stars.bytes() + self.spellings.bytes()
    }

    /// Whether a name was subscribed exactly as it is here.
    pub(crate) fn has(&self, name: &Name) -> bool {
        self.names.contains(name) || self.stars.contains(name)
    }

    /// Whether a resource is named, by any of its identifiers.
    pub(crate) fn names_resource(&self, resource: &Resource) -> bool {
        self.names_any(resource, |identifier| self.names.contains(identifier))
    }

    /// Whether `is_named` holds of a name that a resource can be found by.
    pub(crate) fn names_any(&self, resource: &Resource, is_named: impl Fn(&str) -> bool) -> bool {
        let others = |is_found: &dyn Fn(&str) -> bool| {
            self.is_by_identifier() && resource.other_identifiers().any(|other| is_found(other))
        };
        match resource.constraints() {
            None if !self.has_locators() => is_named(resource.name()) || others(&is_named),
            constraints => {
                let is_found = |found: &str| self.finds_by(found, constraints, &is_named);
                is_found(resource.name().stem()) || others(&is_found)
            }
        }
    }

    /// The same of what is known by its name alone, and by other identifiers, of which `others` tells whether one is found.
    pub(crate) fn finds(
        &self,
        name: &Name,
        others: impl Fn(&dyn Fn(&str) -> bool) -> bool,
        is_named: impl Fn(&str) -> bool,
    ) -> bool {
        if !self.has_locators() && name.is_stem() {
            return is_named(name) || others(&is_named);
        }
        let constraints = name.constraints();
        let is_found = |found: &str| self.finds_by(found, constraints.as_ref(), &is_named);
        is_found(name.stem()) || others(&is_found)
    }

    /// Whether `is_named` holds of a name by which an identifier finds what has these constraints: the identifier itself, or
    /// with parameters that match.
    fn finds_by(
        &self,
        identifier: &str,
        constraints: Option<&Constraints>,
        is_named: &impl Fn(&str) -> bool,
    ) -> bool {
        let is_for = |parameters| constraints.is_none_or(|c| c.matches(parameters));
        let mut located = self.locators.of(identifier);
        (is_for(&self.parameters) && is_named(identifier))
            || located.any(|(name, parameters)| is_for(parameters) && is_named(name))
    }

    /// Whether a resource is found by other identifiers than its name.
    pub(crate) fn is_by_identifier(&self) -> bool {
        self.matching == Matching::Identifiers
    }

    /// What something which was named stands for in a set (C-312).
    pub(crate) fn resolve<'a>(
        &'a self,
        set: &'a ResourceSet,
        named: &'a Name,
    ) -> impl Iterator<Item = &'a Resource> {
        let (own, stem) = (named.parameters(), named.stem());
        let (by_name, by_identifier) = match self.matching {
            Matching::Names => (Some(set.named(stem)), None),
            Matching::Identifiers => (None, Some(set.identified_by(stem))),
        };
        let by_name = by_name.into_iter().flatten();
        let all = by_name.chain(by_identifier.into_iter().flatten());
        all.filter(move |r| r.is_for(own.as_ref().unwrap_or(&self.parameters)))
    }

    /// Whether what is named has to be looked for by more than its name in one of these sets.
    pub(crate) fn is_linked<'a>(&self, sets: impl IntoIterator<Item = &'a ResourceSet>) -> bool {
        let by_identifier = self.is_by_identifier();
        let links =
            |set: &ResourceSet| set.has_alternatives() || (by_identifier && set.has_aliases());
        self.has_locators() || (by_identifier && self.has_globs()) || sets.into_iter().any(links)
    }

    /// All of a set that is wanted.
    pub(crate) fn select(&self, set: &ResourceSet) -> Selection {
        let is_everything = self.is_pure_wildcard() && !set.has_alternatives();
        if is_everything || self.covers_all(set) {
            return Selection::wildcard(set);
        }
        if self.is_wildcard() {
            return Selection::of(set.entries().filter(|r| self.covers(r)).cloned());
        }
        let names = self.names.iter();
        if !self.has_locators() && !set.has_alternatives() {
            return Selection::of(names.filter_map(|name| set.entry(name)).cloned());
        }
        let named = names.flat_map(|name| self.resolve(set, name));
        let named: BTreeMap<_, _> = named.map(|resource| (resource.name(), resource)).collect();
        Selection::of(named.into_values().cloned())
    }

    /// Whether everything in a set is wanted, and nothing of it is on demand. May say no where it is so.
    fn covers_all(&self, set: &ResourceSet) -> bool {
        let wanted = self.is_wildcard() || self.names.is_all_of(set);
        wanted && set.is_all_wildcard()
    }

    /// A change as sources hear of it, which know of names without parameters: stems that came, and stems that went.
    pub(crate) fn interest(&self, change: SubscriptionChange) -> (Vec<Name>, Vec<Name>) {
        let (added, removed) = (change.added, change.removed);
        if !self.has_locators() && added.iter().chain(&removed).all(Name::is_stem) {
            return (added, removed);
        }
        let stems = |names: &[Name]| {
            let mut stems: Vec<_> = names.iter().map(Name::to_stem).collect();
            stems.sort_unstable();
            stems.dedup();
            stems
        };
        let (mut came, mut went) = (stems(&added), stems(&removed));
        let is_among = |stems: &[Name], stem: &Name| stems.binary_search(stem).is_ok();
        let was_there = |stem: &Name| {
            let mut forms = self.forms_of(stem);
            is_among(&went, stem) || forms.any(|name| !is_among(&added, name))
        };
        came.retain(|stem| !was_there(stem));
        went.retain(|stem| !self.names_stem(stem));
        (came, went)
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use bytes::Bytes;
    use portolan_core::well_known::CLUSTER;
    use portolan_core::{EntryForm, ResourceBuilder};

    use super::*;
    use crate::Locator;

    fn resource(name: &'static str) -> ResourceBuilder {
        Resource::builder(CLUSTER, name, &b"x"[..])
    }

    /// A name, and a value of `env` that it is asked for with.
    fn locator((name, env): &(&'static str, Option<&'static str>)) -> Locator {
        let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
        let env = env.map(|env| (bytes("env"), bytes(env)));
        Locator::new(bytes(name), env)
    }

    /// What a delta request changes, as sources hear of it.
    fn heard(
        subscription: &mut Subscription,
        subscribe: &[(&'static str, Option<&'static str>)],
        unsubscribe: &[(&'static str, Option<&'static str>)],
    ) -> (Vec<Name>, Vec<Name>) {
        let locators = |asked: &[_]| asked.iter().map(locator).collect::<Vec<_>>();
        let (subscribe, unsubscribe) = (locators(subscribe), locators(unsubscribe));
        let change = subscription.apply_delta((&[], &subscribe), (&[], &unsubscribe), false);
        subscription.interest(change.unwrap())
    }

    #[test]
    fn c227_aliases_are_for_delta() {
        let linked = resource("n").alias("x").build().unwrap();
        let names = [Bytes::from_static(b"x")];
        let mut sotw = Subscription::new(Variant::Sotw, Arc::default());
        sotw.apply_sotw(&names, &[], false).unwrap();
        assert!(!sotw.covers(&linked));
        let mut delta = Subscription::new(Variant::Delta, Arc::default());
        delta.apply_delta((&names, &[]), (&[], &[]), false).unwrap();
        assert!(delta.covers(&linked));
    }

    #[test]
    fn c312_a_name_with_parameters_stands_for_nothing_else() {
        let prod = Constraints::value("env", "prod");
        let mut subscription = Subscription::new(Variant::Delta, Arc::default());
        heard(&mut subscription, &[("a", Some("prod"))], &[]);
        let covers = |resource: ResourceBuilder| subscription.covers(&resource.build().unwrap());
        assert!(covers(resource("a")));
        assert!(covers(resource("a").constraints(prod.clone())));
        assert!(!covers(resource("a").constraints(!prod.clone())));
        assert!(!covers(resource("b")));
        assert!(!covers(resource("b").constraints(prod)));
    }

    #[test]
    fn sources_hear_of_a_name_when_it_comes_and_goes_and_not_of_its_parameters() {
        let mut subscription = Subscription::new(Variant::Delta, Arc::default());
        let mut step = |subscribe: &[_], unsubscribe: &[_], came: &[&str], went: &[&str]| {
            let heard = heard(&mut subscription, subscribe, unsubscribe);
            let names = |names: &[&str]| names.iter().map(|n| Name::from(*n)).collect::<Vec<_>>();
            assert_eq!(heard, (names(came), names(went)));
        };
        let (plain, prod, test) = (("a", None), ("a", Some("prod")), ("a", Some("test")));
        step(&[prod, ("b", None)], &[], &["a", "b"], &[]);
        step(&[plain], &[], &[], &[]);
        step(&[test], &[prod], &[], &[]);
        step(&[], &[plain], &[], &[]);
        step(&[prod], &[test], &[], &[]);
        step(&[], &[prod], &[], &["a"]);
        step(&[plain], &[], &["a"], &[]);
        step(&[test], &[], &[], &[]);
        step(&[], &[plain, test], &[], &["a"]);
    }

    #[test]
    fn how_a_name_is_written_is_known_as_long_as_it_is_named_with_whatever_parameters() {
        let mut subscription = Subscription::new(Variant::Delta, Arc::default());
        let written = "xdstp://a/envoy.config.cluster.v3.Cluster/x?b=2&a=1";
        let (plain, prod) = ((written, None), (written, Some("prod")));
        let mut bytes = |subscribe: &[_], unsubscribe: &[_]| {
            heard(&mut subscription, subscribe, unsubscribe);
            subscription.spellings().bytes()
        };
        assert_eq!(bytes(&[plain, prod], &[]), written.len());
        assert_eq!(bytes(&[], &[plain]), written.len());
        assert_eq!(bytes(&[], &[prod]), 0);
    }

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
            subscription.apply_sotw(names, &[], true).unwrap();
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
