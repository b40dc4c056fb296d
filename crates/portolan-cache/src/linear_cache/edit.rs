use std::collections::BTreeMap;

use portolan_core::{
    Name, Resource, ResourceBuilder, ResourceError, ResourceFailure, ResourceSet, TypeUrl,
};

/// Changes to the resources of a [`LinearCache`](super::LinearCache), published together; see
/// [`LinearCacheWriter::batch`](super::LinearCacheWriter::batch). Of several to one name the last counts.
#[derive(Debug)]
pub struct LinearEdit {
    type_url: TypeUrl,
    held: ResourceSet,
    changes: BTreeMap<Name, Option<Resource>>,
}

impl LinearEdit {
    pub(super) fn new(type_url: TypeUrl, held: ResourceSet) -> Self {
        Self {
            type_url,
            held,
            changes: BTreeMap::new(),
        }
    }

    /// Puts a resource in, in place of one of the same name. One that is equal changes nothing.
    ///
    /// # Errors
    /// As [`ResourceBuilder::build`], and [`ResourceError::WrongType`]. The edit is then as it was before the call.
    pub fn upsert(&mut self, resource: ResourceBuilder) -> Result<&mut Self, ResourceError> {
        let resource = self.build(resource)?;
        self.changes.insert(resource.name().clone(), Some(resource));
        Ok(self)
    }

    /// Says of a name that its resource cannot be had, and why, in place of what there is of that name. See
    /// [`SnapshotBuilder::fail`](portolan_core::SnapshotBuilder::fail).
    ///
    /// # Errors
    /// As [`Resource::failed`]. The edit is then as it was before the call.
    pub fn fail(
        &mut self,
        name: impl Into<Name>,
        failure: ResourceFailure,
    ) -> Result<&mut Self, ResourceError> {
        let failed = Resource::failed(self.type_url.clone(), name, failure)?;
        let held = self.held.entry(failed.name());
        let same = held.filter(|held| held.same_content(&failed)).cloned();
        let change = same.unwrap_or(failed);
        self.changes.insert(change.name().clone(), Some(change));
        Ok(self)
    }

    /// Says of a name that it is not known yet whether there is a resource, in place of what there is of that name. See
    /// [`SnapshotBuilder::pending`](portolan_core::SnapshotBuilder::pending).
    ///
    /// # Errors
    /// As [`Resource::pending`]. The edit is then as it was before the call.
    pub fn pending(&mut self, name: impl Into<Name>) -> Result<&mut Self, ResourceError> {
        let pending = Resource::pending(self.type_url.clone(), name)?;
        self.changes.insert(pending.name().clone(), Some(pending));
        Ok(self)
    }

    /// Takes out what there is of a name. A name that is not there is no error.
    pub fn remove(&mut self, name: impl Into<Name>) -> &mut Self {
        self.changes.insert(name.into(), None);
        self
    }

    /// Puts a resource in that must be the first of its name.
    pub(super) fn insert(&mut self, resource: ResourceBuilder) -> Result<(), ResourceError> {
        if self.changes.contains_key(resource.name()) {
            return Err(ResourceError::Duplicate {
                type_url: resource.type_url().clone(),
                name: resource.name().clone(),
            });
        }
        self.upsert(resource).map(drop)
    }

    pub(super) fn into_changes(self) -> BTreeMap<Name, Option<Resource>> {
        self.changes
    }

    fn build(&self, resource: ResourceBuilder) -> Result<Resource, ResourceError> {
        if *resource.type_url() != self.type_url {
            return Err(ResourceError::WrongType {
                name: resource.name().clone(),
                expected: self.type_url.clone(),
                found: resource.type_url().clone(),
            });
        }
        let held = self.held.get(resource.name());
        resource.build_onto(held)
    }
}
