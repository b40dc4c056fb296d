use std::fmt;
use std::sync::Arc;

use portolan_core::{
    Name, Published, Resource, ResourceBuilder, ResourceError, ResourceFailure, ResourceSet,
    TypeUrl, Version,
};

use super::edit::LinearEdit;
use super::store::Store;

/// The handle of a [`LinearCache`](super::LinearCache) for publishers. Clones write to the same cache, from any
/// thread; of two that write at a time, one comes after the other, and none waits for a stream.
///
/// The first write publishes, and from then on what is not there does not exist: clients are told so. A cache that is
/// filled resource by resource while clients come shows them a collection that is not complete; begin with
/// [`replace_all`](Self::replace_all) or [`batch`](Self::batch).
#[derive(Clone)]
pub struct LinearCacheWriter {
    store: Arc<Store>,
}

impl LinearCacheWriter {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self { store }
    }

    /// Puts a resource in, in place of one of the same name, and publishes that. One that is equal is no news.
    ///
    /// Costs O(1) and a copy of the list of chunks, of which there is one per hundred resources; nothing that depends
    /// on the number of streams.
    ///
    /// # Errors
    /// As [`ResourceBuilder::build`], and [`ResourceError::WrongType`], and as [`batch`](Self::batch) of alternatives; nothing
    /// is published then.
    pub fn upsert(&self, resource: ResourceBuilder) -> Result<Published, ResourceError> {
        self.batch(|edit| edit.upsert(resource).map(drop))
    }

    /// Says of a name that its resource cannot be had, and why, and publishes that. See [`LinearEdit::fail`].
    ///
    /// # Errors
    /// As [`Resource::failed`]; nothing is published then.
    pub fn fail(
        &self,
        name: impl Into<Name>,
        failure: ResourceFailure,
    ) -> Result<Published, ResourceError> {
        self.batch(|edit| edit.fail(name, failure).map(drop))
    }

    /// Takes out what there is of a name and publishes that. A name that is not there is no error and no news; while nothing is
    /// published, no name is there.
    pub fn remove(&self, name: impl Into<Name>) -> Published {
        let mut edit = self.store.edit();
        edit.remove(name);
        let removed = self.store.apply(edit);
        removed.expect("what is left was published together before")
    }

    /// Publishes several changes as one: streams are woken once, and see all of them or none.
    ///
    /// `edit` runs once, without a lock; what others write meanwhile stays, but for the names that are changed here.
    /// A batch that puts nothing in publishes nothing as long as nothing is published.
    ///
    /// # Errors
    /// That of `edit`, and that of alternatives which a client is not to choose from ([`ResourceError::AlternativesDiffer`],
    /// [`ResourceError::AlternativesOverlap`], [`ResourceError::TooManyAlternatives`]); nothing is published then.
    pub fn batch<E: From<ResourceError>>(
        &self,
        edit: impl FnOnce(&mut LinearEdit) -> Result<(), E>,
    ) -> Result<Published, E> {
        let mut changes = self.store.edit();
        edit(&mut changes)?;
        Ok(self.store.apply(changes)?)
    }

    /// Makes these the resources, all at once, and publishes what that changes: a resource that is equal keeps its
    /// value and is not pushed. Without resources, it publishes that there are none.
    ///
    /// Costs O(resources).
    ///
    /// # Errors
    /// As [`ResourceBuilder::build`], [`ResourceError::WrongType`] and, where two have one name,
    /// [`ResourceError::Duplicate`]; nothing is published then.
    pub fn replace_all(
        &self,
        resources: impl IntoIterator<Item = ResourceBuilder>,
    ) -> Result<Published, ResourceError> {
        let mut edit = self.store.edit();
        for resource in resources {
            edit.insert(resource)?;
        }
        self.store.replace(edit)
    }

    /// A label of the caller's own, to be shown as the version of the type by what is sent from now on. It decorates:
    /// it causes, prevents and skips no push, and a reconnecting client that names it is not believed.
    pub fn label(&self, label: impl Into<Version>) {
        self.store.label(label.into());
    }

    /// Forgets resources and label. Streams stay open and are told nothing until something is published again, which
    /// goes on with the numbers (C-129). To tell them that there are no resources, replace all by none.
    pub fn clear(&self) {
        self.store.clear();
    }

    /// The type.
    #[must_use]
    pub fn type_url(&self) -> &TypeUrl {
        self.store.type_url()
    }

    /// The resource of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Resource> {
        self.resources()?.get(name).cloned()
    }

    /// All resources as they are now, sorted by name; `None` while nothing is published. Cheap: a pointer is copied.
    #[must_use]
    pub fn resources(&self) -> Option<ResourceSet> {
        self.store.resources()
    }

    /// Number of resources.
    #[must_use]
    pub fn len(&self) -> usize {
        self.resources().map_or(0, |resources| resources.len())
    }

    /// Whether there are no resources, published or not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of open streams.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.store.streams().len()
    }

    #[cfg(test)]
    pub(super) fn store(&self) -> &Store {
        &self.store
    }
}

impl fmt::Debug for LinearCacheWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store
            .describe(&mut f.debug_struct("LinearCacheWriter"))
    }
}
