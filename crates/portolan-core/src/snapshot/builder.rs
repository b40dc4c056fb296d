use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Coverage, Inner, Referrers, Snapshot, TypeEntry};
use crate::dynamic_parameters::check_alternatives;
use crate::resource_set::Changes;
use crate::{
    Lookup, Name, Resource, ResourceBuilder, ResourceError, ResourceFailure, ResourceSet, TypeUrl,
    ValueId, Version,
};

/// A [`Snapshot`] under construction.
///
/// An error leaves the builder as it was before the call.
///
/// Of a name there may be several resources, with other [constraints](crate::Constraints) each. One that is put in beside others is
/// refused if a client might be meant by two ([`ResourceError::AlternativesDiffer`],
/// [`AlternativesOverlap`](ResourceError::AlternativesOverlap),
/// [`TooManyAlternatives`](ResourceError::TooManyAlternatives); C-321): take out first what it is to replace.
#[derive(Debug)]
pub struct SnapshotBuilder {
    previous: Option<Snapshot>,
    types: BTreeMap<TypeUrl, Draft>,
    labels: BTreeMap<TypeUrl, Version>,
    /// As declared; what is put in is added in the end.
    coverage: Coverage,
}

/// The resources of one type: the set that an edit started with or that was put in whole, if any, and what was put in and
/// taken out since.
#[derive(Debug, Default)]
struct Draft {
    kept: Option<ResourceSet>,
    changes: Changes,
    /// Whether something with constraints was put in.
    constrained: bool,
}

impl Draft {
    fn of(kept: ResourceSet) -> Self {
        Self {
            kept: Some(kept),
            ..Self::default()
        }
    }

    /// Whether this may be put in beside what there is of its name.
    fn check(&self, resource: &Resource) -> Result<(), ResourceError> {
        let kept = self.kept.as_ref();
        let has_alternatives = self.constrained || kept.is_some_and(ResourceSet::has_alternatives);
        let is_alone = resource.constraints().is_none() && !has_alternatives;
        if is_alone || resource.is_pending() {
            return Ok(());
        }
        let stem = resource.name().stem();
        let kept = kept.into_iter().flat_map(|kept| kept.named(stem));
        let kept = kept.filter(|r| !self.changes.contains_key(r.name()));
        let changed = self.changes.range(resource.name().to_stem()..);
        let changed = changed.take_while(|(name, _)| name.stem() == stem);
        let put_in = changed.filter_map(|(_, resource)| resource.as_ref());
        let others = kept.chain(put_in).filter(|r| r.name() != resource.name());
        let mut all: Vec<_> = others.filter(|r| !r.is_pending()).collect();
        all.push(resource);
        check_alternatives(&all)
    }

    fn put(&mut self, resource: Resource) {
        self.constrained |= resource.constraints().is_some();
        self.changes.insert(resource.name().clone(), Some(resource));
    }

    fn entry(&self, name: &str) -> Option<&Resource> {
        match self.changes.get(name) {
            Some(change) => change.as_ref(),
            None => self.kept.as_ref()?.held(name),
        }
    }

    fn len(&self) -> usize {
        let after = self.changes.values().flatten();
        let after = after.filter(|r| r.is_resource()).count();
        let Some(kept) = &self.kept else {
            return after;
        };
        let before = self.changes.keys().filter(|name| kept.contains(name));
        kept.len() - before.count() + after
    }

    /// The finished set. One that started with none shares with `previous` whatever is equal.
    fn finish(self, previous: &ResourceSet) -> ResourceSet {
        if let Some(kept) = self.kept {
            return kept.apply(self.changes);
        }
        let resources = self.changes.into_iter();
        previous.replaced_by(resources.filter_map(|(name, r)| Some((name, r?))).collect())
    }
}

impl SnapshotBuilder {
    pub(super) fn new(previous: Option<Snapshot>) -> Self {
        Self {
            previous,
            types: BTreeMap::new(),
            labels: BTreeMap::new(),
            coverage: Coverage::all(),
        }
    }

    pub(super) fn keep_all(&mut self) {
        let Some(previous) = self.previous.clone() else {
            return;
        };
        self.coverage = previous.0.coverage.clone();
        for entry in &previous.0.types {
            let draft = Draft::of(entry.set.clone());
            self.types.insert(entry.url.clone(), draft);
            if let Some(label) = &entry.label {
                self.labels.insert(entry.url.clone(), label.clone());
            }
        }
    }

    /// Forgets what is there of a type, its label included.
    pub(super) fn start_over(&mut self, type_url: &TypeUrl) {
        if let Some(draft) = self.types.get_mut(type_url) {
            *draft = Draft::default();
        }
        self.labels.remove(type_url);
    }

    /// Adds a resource that must be new to this snapshot.
    ///
    /// # Errors
    /// [`ResourceError::Duplicate`] names a name that was added before; otherwise as
    /// [`ResourceBuilder::build`].
    pub fn insert(&mut self, resource: ResourceBuilder) -> Result<&mut Self, ResourceError> {
        self.check_new(resource.type_url(), resource.name())?;
        self.upsert(resource)
    }

    /// Adds a resource, in place of one of the same name.
    ///
    /// # Errors
    /// As [`ResourceBuilder::build`].
    pub fn upsert(&mut self, resource: ResourceBuilder) -> Result<&mut Self, ResourceError> {
        let previous = self.previous.as_ref();
        let held = previous.and_then(|p| p.lookup(resource.type_url(), resource.name()).present());
        let resource = resource.build_onto(held)?;
        self.put(resource)?;
        Ok(self)
    }

    /// Adds a finished resource that must be new to this snapshot, for instance one shared between groups.
    ///
    /// # Errors
    /// [`ResourceError::Duplicate`] names a name that was added before.
    pub fn insert_shared(&mut self, resource: Resource) -> Result<&mut Self, ResourceError> {
        self.check_new(resource.type_url(), resource.name())?;
        self.put(resource)?;
        Ok(self)
    }

    /// Says of a name that its resource cannot be had, and why, in place of what there is of that name. Clients that
    /// name it are told; a wildcard leaves it out, so to let clients keep what they have through one, leave the last good
    /// resource in. See [`ResourceFailure`].
    ///
    /// # Errors
    /// As [`Resource::failed`].
    pub fn fail(
        &mut self,
        type_url: impl Into<TypeUrl>,
        name: impl Into<Name>,
        failure: ResourceFailure,
    ) -> Result<&mut Self, ResourceError> {
        let failed = Resource::failed(type_url, name, failure)?;
        let previous = self.previous.as_ref();
        let held = previous.and_then(|p| p.set(failed.type_url())?.entry(failed.name()));
        let same = held.filter(|held| held.same_content(&failed)).cloned();
        self.put(same.unwrap_or(failed))?;
        Ok(self)
    }

    /// Says of a name that it is not known yet whether there is a resource, in place of what there is of that name. Who
    /// names it waits, and is answered when it is known (C-235).
    ///
    /// # Errors
    /// As [`Resource::pending`].
    pub fn pending(
        &mut self,
        type_url: impl Into<TypeUrl>,
        name: impl Into<Name>,
    ) -> Result<&mut Self, ResourceError> {
        self.put(Resource::pending(type_url, name)?)?;
        Ok(self)
    }

    /// Takes out what there is of a name. A name that is not there is no error.
    pub fn remove(&mut self, type_url: &TypeUrl, name: &str) -> &mut Self {
        if let Some(draft) = self.types.get_mut(type_url) {
            draft.changes.insert(Name::from(name), None);
        }
        self
    }

    /// A label of the caller's own for a type, to be shown as its version. It decorates: content alone decides what
    /// is sent, and a reconnecting client that names a label is not believed.
    pub fn label(&mut self, type_url: impl Into<TypeUrl>, label: impl Into<Version>) -> &mut Self {
        self.labels.insert(type_url.into(), label.into());
        self
    }

    /// Makes `set` what there is of a type, in place of what there was: the same value, not a copy.
    ///
    /// # Errors
    /// [`ResourceError::WrongType`] if it is a set of another type.
    pub fn put_set(
        &mut self,
        type_url: &TypeUrl,
        set: ResourceSet,
    ) -> Result<&mut Self, ResourceError> {
        if let Some(stray) = set.entries().next().filter(|r| r.type_url() != type_url) {
            return Err(ResourceError::WrongType {
                name: stray.name().clone(),
                expected: type_url.clone(),
                found: stray.type_url().clone(),
            });
        }
        self.types.insert(type_url.clone(), Draft::of(set));
        Ok(self)
    }

    /// Declares that the snapshot speaks for these types alone, and for those that were declared before. Adding a
    /// resource of another type is refused by nobody, and adds its type. Default: the snapshot speaks for all types.
    pub fn only(&mut self, types: impl IntoIterator<Item = TypeUrl>) -> &mut Self {
        self.coverage.declare(types);
        self
    }

    /// Declares what the snapshot speaks for, in place of what was declared before. Adding a resource of another type
    /// adds its type.
    pub fn cover(&mut self, coverage: Coverage) -> &mut Self {
        self.coverage = coverage;
        self
    }

    /// The resource of that name as it stands now.
    #[must_use]
    pub fn get(&self, type_url: &TypeUrl, name: &str) -> Option<&Resource> {
        let entry = self.types.get(type_url)?.entry(name);
        entry.filter(|r| r.is_resource())
    }

    /// What stands for a name now. That nothing was said of it is [`Lookup::Absent`].
    #[must_use]
    pub fn lookup(&self, type_url: &TypeUrl, name: &str) -> Lookup<'_> {
        let entry = self.types.get(type_url).and_then(|t| t.entry(name));
        entry.map_or(Lookup::Absent, Lookup::of)
    }

    /// Number of resources of all types.
    #[must_use]
    pub fn len(&self) -> usize {
        self.types.values().map(Draft::len).sum()
    }

    /// Whether no resource was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The finished snapshot.
    #[must_use]
    pub fn build(mut self) -> Snapshot {
        for url in self.labels.keys() {
            self.types.entry(url.clone()).or_default();
        }
        let held = self.types.keys().cloned();
        let coverage = held.fold(self.coverage, Coverage::with);
        let nothing = ResourceSet::empty();
        let mut types = Vec::with_capacity(self.types.len());
        for (url, draft) in self.types {
            let previous = self
                .previous
                .as_ref()
                .and_then(|p| p.set(&url))
                .unwrap_or(&nothing);
            types.push(TypeEntry {
                set: draft.finish(previous),
                label: self.labels.remove(&url),
                url,
            });
        }
        Snapshot(Arc::new(Inner {
            id: ValueId::next(),
            types: types.into_boxed_slice(),
            coverage,
            empty: nothing,
            referrers: Referrers::after(self.previous.as_ref()),
        }))
    }

    fn check_new(&self, type_url: &TypeUrl, name: &Name) -> Result<(), ResourceError> {
        match self.types.get(type_url).and_then(|t| t.entry(name)) {
            Some(entry) if !entry.is_pending() => Err(ResourceError::Duplicate {
                type_url: type_url.clone(),
                name: name.clone(),
            }),
            _ => Ok(()),
        }
    }

    fn put(&mut self, resource: Resource) -> Result<(), ResourceError> {
        match self.types.get_mut(resource.type_url()) {
            Some(draft) => {
                draft.check(&resource)?;
                draft.put(resource);
            }
            None => {
                let url = resource.type_url().clone();
                self.types.entry(url).or_default().put(resource);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::well_known::{CLUSTER, ENDPOINT, LISTENER};

    fn cluster(name: &str, body: &'static [u8]) -> ResourceBuilder {
        Resource::builder(CLUSTER, name, body)
    }

    #[test]
    fn a_rebuilt_equal_snapshot_shares_its_sets() {
        let mut first = Snapshot::builder();
        first.insert(cluster("a", b"1")).unwrap();
        let first = first.build();
        let mut second = Snapshot::builder_from(&first);
        second.insert(cluster("a", b"1")).unwrap();
        let second = second.build();
        assert_eq!(
            first.set(&CLUSTER).unwrap().id(),
            second.set(&CLUSTER).unwrap().id()
        );
        assert!(first.same_content(&second));
    }

    #[test]
    fn what_a_rebuild_leaves_out_is_gone() {
        let mut first = Snapshot::builder();
        first.insert(cluster("a", b"1")).unwrap();
        first.insert(cluster("b", b"1")).unwrap();
        let first = first.build();
        let mut second = Snapshot::builder_from(&first);
        second.insert(cluster("b", b"1")).unwrap();
        let second = second.build();
        assert!(!second.set(&CLUSTER).unwrap().contains("a"));
        assert!(!first.same_content(&second));
    }

    #[test]
    fn a_duplicate_is_refused_and_named() {
        let mut builder = Snapshot::builder();
        builder.insert(cluster("a", b"1")).unwrap();
        let error = builder.insert(cluster("a", b"2")).unwrap_err();
        assert!(error.to_string().contains("\"a\""), "{error}");
        assert_eq!(builder.get(&CLUSTER, "a").unwrap().body(), &b"1"[..]);
    }

    #[test]
    fn an_error_stands_in_the_place_of_a_resource() {
        let gone = || ResourceFailure::unavailable("gone");
        let mut builder = Snapshot::builder();
        builder.insert(cluster("a", b"1")).unwrap();
        builder.fail(CLUSTER, "a", gone()).unwrap();
        assert!(builder.get(&CLUSTER, "a").is_none() && builder.is_empty());
        assert!(matches!(builder.lookup(&CLUSTER, "a"), Lookup::Error(f) if *f == gone()));
        assert!(builder.insert(cluster("a", b"1")).is_err());
        assert!(builder.fail(CLUSTER, "", gone()).is_err());
        let first = builder.build();
        assert!(matches!(first.lookup(&CLUSTER, "a"), Lookup::Error(f) if *f == gone()));
        assert!(first.is_empty() && !first.same_content(&Snapshot::empty()));

        let mut again = Snapshot::builder_from(&first);
        again.fail(CLUSTER, "a", gone()).unwrap();
        let id = |snapshot: &Snapshot| snapshot.set(&CLUSTER).unwrap().id();
        assert_eq!(id(&again.build()), id(&first));
        let mut edit = first.edit();
        edit.upsert(cluster("a", b"1")).unwrap();
        assert!(edit.build().lookup(&CLUSTER, "a").present().is_some());
        let mut edit = first.edit();
        edit.remove(&CLUSTER, "a");
        assert!(edit.build().same_content(&Snapshot::empty()));
    }

    #[test]
    fn an_absent_type_is_empty_unless_others_were_declared() {
        let mut builder = Snapshot::builder();
        builder.insert(cluster("a", b"1")).unwrap();
        let total = builder.build();
        assert!(total.set(&LISTENER).is_some_and(ResourceSet::is_empty));

        let mut partial = Snapshot::builder();
        partial.only([ENDPOINT]);
        let partial = partial.build();
        assert!(partial.set(&ENDPOINT).is_some());
        assert!(partial.set(&LISTENER).is_none());
        assert!(!partial.same_content(&Snapshot::empty()));
    }

    #[test]
    fn a_set_is_put_in_as_it_is() {
        let made = |url: &TypeUrl| Resource::builder(url.clone(), "a", &b"1"[..]).build();
        let set = ResourceSet::new([made(&CLUSTER).unwrap()]).unwrap();
        let mut builder = Snapshot::builder();
        builder.cover(Coverage::all().without(&CLUSTER).without(&LISTENER));
        builder.put_set(&CLUSTER, set.clone()).unwrap();
        let wrong = builder.put_set(&ENDPOINT, set.clone());
        assert!(matches!(wrong, Err(ResourceError::WrongType { .. })));
        let snapshot = builder.build();
        assert_eq!(snapshot.set(&CLUSTER).unwrap().id(), set.id());
        assert!(snapshot.set(&ENDPOINT).unwrap().is_empty());
        assert!(snapshot.set(&LISTENER).is_none());

        let mut edit = set.edit();
        edit.remove(Name::from("a"));
        let emptied = edit.finish().unwrap();
        let mut builder = Snapshot::builder_from(&snapshot);
        builder.put_set(&CLUSTER, emptied.clone()).unwrap();
        assert_eq!(builder.build().set(&CLUSTER).unwrap().id(), emptied.id());
    }

    #[test]
    fn labels_decorate_and_content_decides() {
        let build = |label: Option<&str>| {
            let mut builder = Snapshot::builder();
            builder.insert(cluster("a", b"1")).unwrap();
            if let Some(label) = label {
                builder.label(CLUSTER, label);
            }
            builder.build()
        };
        assert_eq!(build(Some("v7")).version_info(&CLUSTER), "v7");
        assert!(build(Some("v7")).same_content(&build(None)));
    }

    #[test]
    fn a_rebuilt_type_starts_empty_and_shares_what_is_equal() {
        let endpoints = |name: &str, body| Resource::builder(ENDPOINT, name, body);
        let mut builder = Snapshot::builder();
        builder.insert(cluster("a", b"1")).unwrap();
        for name in ["a", "b"] {
            builder.insert(endpoints(name, &b"1"[..])).unwrap();
        }
        builder.label(ENDPOINT, "v1").only([LISTENER]);
        let first = builder.build();

        let mut rebuilt = first.rebuild([ENDPOINT]);
        rebuilt.insert(endpoints("a", &b"1"[..])).unwrap();
        let second = rebuilt.build();
        let id = |snapshot: &Snapshot, url: &TypeUrl| snapshot.set(url).unwrap().id();
        assert_eq!(id(&second, &CLUSTER), id(&first, &CLUSTER));
        assert_eq!(second.set(&ENDPOINT).unwrap().len(), 1);
        assert_ne!(second.version_info(&ENDPOINT), "v1");
        assert!(second.set(&LISTENER).is_some());

        let mut again = second.rebuild([ENDPOINT]);
        again.insert(endpoints("a", &b"1"[..])).unwrap();
        assert_eq!(id(&again.build(), &ENDPOINT), id(&second, &ENDPOINT));
    }

    #[test]
    fn an_edit_starts_with_everything() {
        let mut builder = Snapshot::builder();
        builder.insert(cluster("a", b"1")).unwrap();
        builder.insert(cluster("b", b"1")).unwrap();
        let first = builder.build();
        let mut edit = first.edit();
        edit.remove(&CLUSTER, "a")
            .upsert(cluster("b", b"2"))
            .unwrap();
        let edited = edit.build();
        let set = edited.set(&CLUSTER).unwrap();
        assert_eq!(set.len(), 1);
        assert_eq!(set.get("b").unwrap().body(), &b"2"[..]);
    }
}
