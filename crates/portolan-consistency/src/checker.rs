use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_core::well_known::{
    CLUSTER, ENDPOINT, EXTENSION_CONFIG, LISTENER, ROUTE, SCOPED_ROUTE, SECRET, VIRTUAL_HOST,
};
use portolan_core::{Lookup, Name, Reference, Resource, Snapshot, Strength, TypeUrl};
use portolan_resources::{bound_addresses, inner_name};

use crate::change::{Change, changes, speak_alike};
use crate::cycles::{Knots, knot, members, way_round};
use crate::finding::{FindingKey, short};
use crate::report::Store;
use crate::{Checks, Finding, FindingKind, Policy, Report, Severity};

/// Checks one snapshot after another of a group: what it remembers of one makes the next cost what differs.
///
/// Which snapshots it is given, and whether they were published, makes no difference to what it finds.
#[derive(Debug)]
pub struct Checker {
    checks: Arc<Checks>,
    held: Option<Snapshot>,
    /// The listeners that bind an address.
    listeners: BTreeMap<String, BTreeSet<Name>>,
    knots: Knots,
    store: Store,
}

/// What should be referred to, with the types of what may. Clusters are not in it: a route may choose one by a header.
/// Neither are virtual hosts, scoped routes and locality endpoints, which are referred to all together.
const REFERRED_TO: &[(TypeUrl, &[TypeUrl])] = &[
    (ENDPOINT, &[CLUSTER]),
    (ROUTE, &[LISTENER, SCOPED_ROUTE]),
    (SECRET, &[CLUSTER, EXTENSION_CONFIG, LISTENER]),
    (EXTENSION_CONFIG, &[CLUSTER, LISTENER]),
];

impl Checker {
    /// A checker that has seen nothing yet.
    #[must_use]
    pub fn new(checks: Arc<Checks>) -> Self {
        Self {
            checks,
            held: None,
            listeners: BTreeMap::new(),
            knots: Knots::default(),
            store: Store::default(),
        }
    }

    /// What is wrong with a snapshot. It costs what differs from the one that was checked before, and what refers to
    /// that.
    pub fn check(&mut self, next: &Snapshot) -> Report {
        if self
            .held
            .as_ref()
            .is_some_and(|held| !speak_alike(held, next))
        {
            *self = Self::new(Arc::clone(&self.checks));
        }
        let changes = changes(self.held.as_ref(), next);
        for change in &changes {
            self.store.forget(&change.type_url, &change.name);
        }
        for resource in changes.iter().filter_map(|change| change.new.as_ref()) {
            self.judge(resource, next);
        }
        self.judge_referrers(&changes, next);
        self.judge_uses(&changes, next);
        self.judge_names(&changes, next);
        self.judge_addresses(&changes);
        self.judge_cycles(&changes, next);
        self.judge_types(next);
        self.held = Some(next.clone());
        self.store.report(&self.checks)
    }

    fn judge(&mut self, resource: &Resource, next: &Snapshot) {
        let facts = resource.facts(&*self.checks.references).references();
        for reference in facts {
            self.judge_reference(resource.type_url(), resource.name(), reference, next);
        }
        // Other resources refer to a name whatever its constraints.
        let stem = &resource.name().to_stem();
        if let Some(inner) = inner_name(resource).filter(|inner| is_other(inner, stem)) {
            let says = "the name in its body is another, and some clients see no other";
            let key = key(resource, FindingKind::InnerName, &inner);
            self.put(key, Severity::Error, "", says);
        }
        let lacks_name = |r: &Reference| is_no_service_name(stem, r);
        if facts.iter().any(lacks_name) {
            let says = "clients look its endpoints up by a service_name, which it does not have";
            let key = key(resource, FindingKind::NoServiceName, "");
            self.put(key, Severity::Warning, "eds_cluster_config", says);
        }
        #[cfg(feature = "schema")]
        self.judge_fields(resource);
    }

    /// Whether the fields of a resource have values that the schema allows.
    #[cfg(feature = "schema")]
    fn judge_fields(&mut self, resource: &Resource) {
        let of_kind = self.checks.policy(FindingKind::Schema);
        let Some(validator) = &self.checks.schema else {
            return;
        };
        if !resource.is_resource() {
            return;
        }
        let violations = validator.validate(resource.type_url().as_str(), &resource.body());
        for (nth, violation) in violations.into_iter().enumerate() {
            let policy = violation.policy().unwrap_or(of_kind);
            if policy != Policy::Ignore {
                let key = FindingKey {
                    nth,
                    ..key(resource, FindingKind::Schema, "")
                };
                self.store.put(Finding {
                    key,
                    severity: Severity::Error,
                    path: violation.path().to_owned(),
                    says: violation.says().to_owned(),
                    policy,
                });
            }
        }
    }

    /// Whether there is what a resource refers to.
    fn judge_reference(
        &mut self,
        type_url: &TypeUrl,
        name: &Name,
        reference: &Reference,
        next: &Snapshot,
    ) {
        let (target, value) = (reference.target(), reference.name());
        let key = FindingKey {
            type_url: type_url.clone(),
            name: name.clone(),
            kind: FindingKind::Missing,
            value: value.to_string(),
            target: Some(target.clone()),
            nth: 0,
        };
        let is_missing = matches!(next.lookup(target, value), Lookup::Absent)
            && !reference.is_on_own_stream()
            && !names_many(target, value)
            && !is_no_service_name(name, reference)
            && !self.checks.is_external(target, value)
            && identified_by(next, target, value).is_empty();
        if !is_missing {
            return self.store.remove(&key);
        }
        let severity = match reference.strength() {
            Strength::Soft => Severity::Warning,
            _ => Severity::Error,
        };
        let says = format!("there is no such {}", short(target));
        self.put(key, severity, reference.path(), &says);
    }

    /// What refers to what came or went, by any of its names.
    fn judge_referrers(&mut self, changes: &[Change], next: &Snapshot) {
        let references = Arc::clone(&self.checks.references);
        for change in changes {
            for name in change.names_that_moved() {
                for referrer in next.referrers(&*references, &change.type_url, &name) {
                    let reference = referrer.reference();
                    self.judge_reference(referrer.type_url(), referrer.name(), reference, next);
                }
            }
        }
    }

    /// Whether what changed, and what it refers to or did, is referred to.
    fn judge_uses(&mut self, changes: &[Change], next: &Snapshot) {
        let mut concerned = BTreeSet::new();
        for change in changes {
            concerned.insert((change.type_url.clone(), change.name.to_stem()));
            for side in change.sides() {
                for reference in side.facts(&*self.checks.references).references() {
                    concerned.insert((reference.target().clone(), reference.name().clone()));
                }
            }
        }
        for (type_url, identifier) in concerned {
            for resource in identified_by(next, &type_url, &identifier) {
                self.judge_use(resource, next);
            }
        }
    }

    fn judge_use(&mut self, resource: &Resource, next: &Snapshot) {
        let rule = REFERRED_TO
            .iter()
            .find(|(url, _)| url == resource.type_url());
        let Some((type_url, by)) = rule else {
            return;
        };
        let is_known =
            |by: &TypeUrl| next.set(by).is_some() && !self.checks.external_types.contains(by);
        let references = &*self.checks.references;
        let is_used = |name: &Name| next.referrers(references, type_url, name).next().is_some();
        let stem = &resource.name().to_stem();
        let mut names = resource.aliases().iter().chain([stem]);
        let key = key(resource, FindingKind::Unreferenced, "");
        if !by.iter().all(is_known) || self.checks.is_external(type_url, stem) || names.any(is_used)
        {
            return self.store.remove(&key);
        }
        self.put(key, Severity::Info, "", "nothing refers to it");
    }

    /// Whether a name that moved is one of several resources now. The first is not at fault.
    fn judge_names(&mut self, changes: &[Change], next: &Snapshot) {
        for change in changes {
            let names = change.sides().flat_map(|side| side.aliases().iter());
            for name in names.chain(&change.names_that_moved()) {
                let url = &change.type_url;
                let named = identified_by(next, url, name);
                let owners = stems(named.iter().map(|resource| resource.name()));
                self.judge_shared((url, FindingKind::DuplicateName, name), "aliases", owners);
            }
        }
    }

    fn judge_addresses(&mut self, changes: &[Change]) {
        let mut touched = BTreeSet::new();
        for change in changes.iter().filter(|change| change.type_url == LISTENER) {
            for address in change.old.iter().flat_map(bound_addresses) {
                if let Some(listeners) = self.listeners.get_mut(&address) {
                    listeners.remove(&change.name);
                }
                touched.insert(address);
            }
            for address in change.new.iter().flat_map(bound_addresses) {
                let listeners = self.listeners.entry(address.clone()).or_default();
                listeners.insert(change.name.clone());
                touched.insert(address);
            }
        }
        for address in touched {
            let listeners = self.listeners.get(&address);
            let owners = stems(listeners.into_iter().flatten());
            if owners.is_empty() {
                self.listeners.remove(&address);
            }
            self.judge_shared(
                (&LISTENER, FindingKind::AddressClash, &address),
                "address",
                owners,
            );
        }
    }

    /// Whether several have what only one may have.
    fn judge_shared(
        &mut self,
        (type_url, kind, value): (&TypeUrl, FindingKind, &str),
        path: &str,
        owners: Vec<Name>,
    ) {
        for (at, name) in owners.iter().enumerate() {
            let key = FindingKey {
                type_url: type_url.clone(),
                name: name.clone(),
                kind,
                value: value.to_owned(),
                target: None,
                nth: 0,
            };
            match at {
                0 => self.store.remove(&key),
                _ => {
                    let says = format!("{} {:?} has it too", short(type_url), owners[0]);
                    // Who asks for an alias of several is sent them all.
                    let severity = match kind {
                        FindingKind::DuplicateName => Severity::Warning,
                        _ => Severity::Error,
                    };
                    self.put(key, severity, path, &says);
                }
            }
        }
    }

    /// One finding for all clusters that are members of each other, in the first of them.
    fn judge_cycles(&mut self, changes: &[Change], next: &Snapshot) {
        let changed = changes.iter().filter(|change| change.type_url == CLUSTER);
        let mut concerned: BTreeSet<_> = changed.map(|change| change.name.clone()).collect();
        for name in concerned.clone() {
            concerned.extend(self.untie(&name));
        }
        let references = Arc::clone(&self.checks.references);
        for name in concerned {
            let Some(knot) = knot(&name, next, &*references) else {
                continue;
            };
            if self.knots.contains(&knot) {
                continue;
            }
            for member in &knot {
                self.untie(member);
            }
            self.knots.put(knot.clone());
            let Some(first) = knot.first() else {
                continue;
            };
            let way = way_round(first, next, &*references);
            let second = way.get(1).unwrap_or(first);
            let mut from_first = members(first, next, &*references);
            let path = from_first
                .find(|r| r.name() == second)
                .map_or("", Reference::path);
            let says = match &way[..] {
                [] | [_] => "it is a member of itself".to_owned(),
                [_, more @ ..] => format!("it is a member of its own, by way of {}", list(more)),
            };
            let key = FindingKey {
                type_url: CLUSTER,
                name: first.clone(),
                kind: FindingKind::Cycle,
                value: second.to_string(),
                target: Some(CLUSTER),
                nth: 0,
            };
            self.put(key, Severity::Error, path, &says);
        }
    }

    /// Takes back the cycle that a cluster was in, and gives the clusters that were in it.
    fn untie(&mut self, name: &Name) -> Vec<Name> {
        let Some(knot) = self.knots.take(name) else {
            return Vec::new();
        };
        self.store
            .remove_of(&CLUSTER, knot.first(), FindingKind::Cycle);
        knot.iter().cloned().collect()
    }

    fn judge_types(&mut self, next: &Snapshot) {
        let checks = Arc::clone(&self.checks);
        for type_url in &checks.external_types {
            let key = FindingKey {
                type_url: type_url.clone(),
                name: Name::from(""),
                kind: FindingKind::ServedElsewhere,
                value: String::new(),
                target: None,
                nth: 0,
            };
            match next.set(type_url).map_or(0, |set| set.len()) {
                0 => self.store.remove(&key),
                count => {
                    let says = format!("there are {count}, of a type that is served elsewhere");
                    self.put(key, Severity::Warning, "", &says);
                }
            }
        }
    }

    fn put(&mut self, key: FindingKey, severity: Severity, path: &str, says: &str) {
        let policy = self.checks.policy(key.kind);
        if policy != Policy::Ignore {
            self.store.put(Finding {
                key,
                severity,
                path: path.to_owned(),
                says: says.to_owned(),
                policy,
            });
        }
    }
}

/// The resources that have this name or alias, the one of the name first. Of a glob, which is none of them in particular,
/// there are none.
fn identified_by<'a>(
    snapshot: &'a Snapshot,
    type_url: &TypeUrl,
    name: &'a Name,
) -> Vec<&'a Resource> {
    let Some(set) = snapshot.set(type_url).filter(|_| !name.is_glob()) else {
        return Vec::new();
    };
    let mut all: Vec<&Resource> = Vec::new();
    for resource in set.identified_by(name).filter(|r| r.is_resource()) {
        if all.iter().all(|known| known.name() != resource.name()) {
            all.push(resource);
        }
    }
    all
}

fn key(resource: &Resource, kind: FindingKind, value: &str) -> FindingKey {
    FindingKey {
        type_url: resource.type_url().clone(),
        name: resource.name().clone(),
        kind,
        value: value.to_owned(),
        target: None,
        nth: 0,
    }
}

/// Whether a name stands for all of a type, for a collection, or for all whose names begin with it.
fn names_many(target: &TypeUrl, name: &Name) -> bool {
    **name == *"*" || name.is_glob() || (*target == VIRTUAL_HOST && name.ends_with('/'))
}

/// Whether a cluster with an xdstp name asks for endpoints of its own name, which can be no endpoints' (C-354).
fn is_no_service_name(name: &Name, reference: &Reference) -> bool {
    *reference.target() == ENDPOINT && reference.name() == name && name.is_url()
}

fn is_other(inner: &str, name: &Name) -> bool {
    Name::canonical(inner) != name.as_str()
}

/// Names without constraints, each once: what is there for different clients is there once for each.
fn stems<'a>(names: impl Iterator<Item = &'a Name>) -> Vec<Name> {
    let mut seen = BTreeSet::new();
    let stems = names.map(Name::to_stem);
    stems.filter(|stem| seen.insert(stem.clone())).collect()
}

fn list(names: &[Name]) -> String {
    let names: Vec<_> = names.iter().map(Name::as_str).collect();
    names.join(", ")
}
