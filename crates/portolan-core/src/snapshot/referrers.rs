use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::edges::{Edge, Edges};
use super::{Snapshot, TypeEntry};
use crate::{Name, Reference, References, Resource, ResourceSet, TypeUrl};

/// Over how many snapshots in which nobody asks an answer is handed on. It keeps the sets alive that it is of.
const HANDED_ON: u8 = 16;

/// A resource that refers to another, and how.
#[derive(Clone, Copy)]
pub struct Referrer<'a>(&'a Edge);

impl<'a> Referrer<'a> {
    /// Type of the resource that refers.
    #[must_use]
    pub fn type_url(&self) -> &'a TypeUrl {
        self.0.referrer().type_url()
    }

    /// Name of the resource that refers.
    #[must_use]
    pub fn name(&self) -> &'a Name {
        self.0.referrer().name()
    }

    /// The reference; of several to one name, the first.
    #[must_use]
    pub fn reference(&self) -> &'a Reference {
        self.0.reference()
    }
}

impl fmt::Debug for Referrer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reference = self.reference();
        write!(f, "Referrer({} at {})", self.name(), reference.path())
    }
}

/// Who refers to whom in a snapshot: not known before somebody asks.
#[derive(Debug)]
pub(super) struct Referrers {
    index: OnceLock<Arc<Index>>,
    /// What is known of a former snapshot.
    basis: Mutex<Option<Basis>>,
}

#[derive(Clone, Debug)]
struct Basis {
    index: Arc<Index>,
    handed_on: u8,
}

/// Who refers to whom in these sets.
#[derive(Debug, Default)]
pub(super) struct Index {
    sets: BTreeMap<TypeUrl, ResourceSet>,
    by_target: BTreeMap<TypeUrl, Edges>,
}

impl Referrers {
    /// Those of a snapshot that is made from another.
    pub(super) fn after(previous: Option<&Snapshot>) -> Self {
        let basis = previous.and_then(|snapshot| snapshot.0.referrers.hand_on());
        Self {
            index: OnceLock::new(),
            basis: Mutex::new(basis),
        }
    }

    pub(super) fn of(&self, types: &[TypeEntry], references: &dyn References) -> &Index {
        self.index.get_or_init(|| {
            let basis = self.basis().take();
            let former = basis.map_or_else(Arc::default, |basis| basis.index);
            Arc::new(former.followed_by(types, references))
        })
    }

    fn hand_on(&self) -> Option<Basis> {
        if let Some(index) = self.index.get() {
            return Some(Basis {
                index: Arc::clone(index),
                handed_on: 0,
            });
        }
        let mut basis = self.basis().clone()?;
        basis.handed_on += 1;
        (basis.handed_on < HANDED_ON).then_some(basis)
    }

    fn basis(&self) -> std::sync::MutexGuard<'_, Option<Basis>> {
        self.basis.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    pub(super) fn to<'a>(
        &'a self,
        target: &TypeUrl,
        name: &'a str,
    ) -> impl Iterator<Item = Referrer<'a>> + use<'a> {
        let edges = self.by_target.get(target);
        edges
            .into_iter()
            .flat_map(|edges| edges.to(name))
            .map(Referrer)
    }

    fn followed_by(&self, types: &[TypeEntry], references: &dyn References) -> Self {
        let entries = types
            .iter()
            .map(|entry| (entry.url.clone(), entry.set.clone()));
        let mut next = Self {
            sets: entries.collect(),
            by_target: self.by_target.clone(),
        };
        let nothing = ResourceSet::empty();
        for (url, old) in &self.sets {
            if !next.sets.contains_key(url) {
                follow(&mut next.by_target, old, &nothing, references);
            }
        }
        for entry in types {
            let old = self.sets.get(&entry.url).unwrap_or(&nothing);
            follow(&mut next.by_target, old, &entry.set, references);
        }
        next
    }
}

/// Brings the edges from one set to the one that follows it.
fn follow(
    by_target: &mut BTreeMap<TypeUrl, Edges>,
    old: &ResourceSet,
    new: &ResourceSet,
    references: &dyn References,
) {
    if old.is_empty() {
        // As a difference it would be remembered, and is all there is.
        for resource in new.iter() {
            put_in(by_target, resource, references);
        }
        return;
    }
    let diff = new.diff_from(old);
    for former in diff.names().filter_map(|name| old.get(name)) {
        take_out(by_target, former, new.get(former.name()), references);
    }
    let resources = diff.upserts().iter().filter(|r| r.is_resource());
    for resource in resources {
        put_in(by_target, resource, references);
    }
}

fn put_in(by_target: &mut BTreeMap<TypeUrl, Edges>, new: &Resource, references: &dyn References) {
    for (edge, reference) in Edge::of(new, references) {
        match by_target.get_mut(reference.target()) {
            Some(edges) => edges.put(edge),
            None => {
                let mut edges = Edges::default();
                edges.put(edge);
                by_target.insert(reference.target().clone(), edges);
            }
        }
    }
}

/// Takes out the edges of a resource, but for those that `next` has too and that it will replace.
fn take_out(
    by_target: &mut BTreeMap<TypeUrl, Edges>,
    former: &Resource,
    next: Option<&Resource>,
    references: &dyn References,
) {
    let stays = next.map(|next| next.facts(references).references());
    let stays: BTreeSet<_> = stays
        .unwrap_or_default()
        .iter()
        .map(|reference| (reference.target(), reference.name()))
        .collect();
    for (edge, reference) in Edge::of(former, references) {
        if !stays.contains(&(reference.target(), reference.name()))
            && let Some(edges) = by_target.get_mut(reference.target())
        {
            edges.remove(&edge);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::well_known::{CLUSTER, ENDPOINT, LISTENER};
    use crate::{Facts, ReadyWhen, ResourceFailure};

    /// A body names the endpoints that it refers to, and a listener's clusters.
    #[derive(Debug, Default)]
    struct Words {
        read: AtomicUsize,
    }

    impl References for Words {
        fn facts(&self, type_url: &TypeUrl, body: &Bytes) -> Facts {
            self.read.fetch_add(1, Ordering::Relaxed);
            let target = if *type_url == LISTENER {
                CLUSTER
            } else {
                ENDPOINT
            };
            let words = std::str::from_utf8(body)
                .unwrap_or_default()
                .split_whitespace();
            let references = words.map(|word| Reference::new(&target, word, "word"));
            Facts::new(references.collect::<Vec<_>>(), ReadyWhen::Acked)
        }
    }

    fn put(from: &Snapshot, type_url: &TypeUrl, name: &str, body: Option<&str>) -> Snapshot {
        let mut edit = from.edit();
        match body {
            None => {
                edit.remove(type_url, name);
            }
            Some(body) => {
                let body = Bytes::from(body.to_owned());
                edit.upsert(Resource::builder(type_url, name, body))
                    .unwrap();
            }
        }
        edit.build()
    }

    fn told(snapshot: &Snapshot, target: &TypeUrl, name: &str) -> Vec<(TypeUrl, Name)> {
        let referrers = snapshot.referrers(&Words::default(), target, name);
        referrers
            .map(|referrer| {
                assert_eq!(referrer.reference().name().as_str(), name);
                (referrer.type_url().clone(), referrer.name().clone())
            })
            .collect()
    }

    fn searched(snapshot: &Snapshot, target: &TypeUrl, name: &str) -> Vec<(TypeUrl, Name)> {
        let all = snapshot.sets().flat_map(|(_, set)| set.iter());
        all.filter(|resource| {
            let facts = resource.facts(&Words::default());
            facts.references_to(target).any(|n| n.as_str() == name)
        })
        .map(|resource| (resource.type_url().clone(), resource.name().clone()))
        .collect()
    }

    #[test]
    fn only_what_changed_is_read_again() {
        let mut builder = Snapshot::builder();
        for n in 0..1000 {
            let body = Bytes::from(format!("e{n}"));
            builder
                .insert(Resource::builder(CLUSTER, format!("c{n}"), body))
                .unwrap();
        }
        let first = builder.build();
        let words = Words::default();
        assert_eq!(first.referrers(&words, &ENDPOINT, "e7").count(), 1);
        assert_eq!(words.read.swap(0, Ordering::Relaxed), 1000);

        let second = put(&first, &CLUSTER, "c7", Some("e8"));
        let third = put(&second, &CLUSTER, "c9", Some("e8"));
        let names: Vec<_> = third
            .referrers(&words, &ENDPOINT, "e8")
            .map(|r| r.name().to_string())
            .collect();
        assert_eq!(names, ["c7", "c8", "c9"]);
        assert_eq!(words.read.load(Ordering::Relaxed), 2);
        assert_eq!(first.referrers(&words, &ENDPOINT, "e8").count(), 1);
    }

    #[test]
    fn an_error_in_the_place_of_a_resource_refers_to_nothing() {
        let there = put(&Snapshot::empty(), &CLUSTER, "c", Some("e"));
        assert_eq!(told(&there, &ENDPOINT, "e").len(), 1);
        let mut edit = there.edit();
        edit.fail(CLUSTER, "c", ResourceFailure::unavailable("gone"))
            .unwrap();
        let failed = edit.build();
        assert_eq!(told(&failed, &ENDPOINT, "e").len(), 0);
        let again = put(&failed, &CLUSTER, "c", Some("e"));
        assert_eq!(told(&again, &ENDPOINT, "e").len(), 1);
    }

    #[test]
    fn an_answer_is_not_handed_on_for_ever() {
        let asked = put(&Snapshot::empty(), &CLUSTER, "c", Some("e"));
        assert_eq!(told(&asked, &ENDPOINT, "e").len(), 1);
        let mut newest = asked.clone();
        drop(asked);
        for n in 0..=HANDED_ON {
            newest = put(&newest, &CLUSTER, "d", Some(&format!("e{n}")));
        }
        assert!(newest.0.referrers.basis().is_none());
        assert_eq!(told(&newest, &ENDPOINT, "e").len(), 1);
    }

    proptest! {
        #[test]
        fn referrers_are_those_that_a_search_finds(
            steps in prop::collection::vec(
                (any::<bool>(), 0..12_u8, prop::option::of("([a-d] ){0,4}"), any::<bool>()),
                1..60,
            ),
        ) {
            let mut snapshot = Snapshot::empty();
            for (is_listener, name, body, asks) in steps {
                let url = if is_listener { LISTENER } else { CLUSTER };
                snapshot = put(&snapshot, &url, &format!("r{name}"), body.as_deref());
                if asks {
                    for (target, name) in [(&CLUSTER, "a"), (&CLUSTER, "b"), (&ENDPOINT, "a"), (&ENDPOINT, "d")] {
                        prop_assert_eq!(told(&snapshot, target, name), searched(&snapshot, target, name));
                    }
                }
            }
        }
    }
}
