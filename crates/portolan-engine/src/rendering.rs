use alloc::vec::Vec;

use bytes::Bytes;
use portolan_core::{
    EntryForm, Resource, Selection, Version, coalesce, timed_entry, timed_entry_len, wrapped_entry,
    wrapped_entry_len,
};

use crate::cut::cut;

/// Most bytes of a version that the engine makes: 128 bits and a count. A caller's label may be longer.
const VERSION: usize = 64;

/// How a session writes resources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rendering {
    pub(crate) form: EntryForm,
    /// With their times to live. Then entries are this response's own, where a resource has one.
    pub(crate) timed: bool,
    /// In state of the world within wrappers, where a resource has constraints.
    pub(crate) wrapped: bool,
}

impl Rendering {
    /// Whether times to live are told of any of these.
    pub(crate) fn is_timed(self, resources: &Selection) -> bool {
        self.timed && resources.is_timed()
    }

    /// Whether some entries are this response's own.
    fn is_own(self, resources: &Selection) -> bool {
        self.is_timed(resources) || (self.wrapped && resources.has_alternatives())
    }

    fn wraps(self, resource: &Resource) -> bool {
        self.wrapped && self.form == EntryForm::Sotw && resource.constraints().is_some()
    }

    fn entry(self, resource: &Resource, version: &Version) -> Bytes {
        match self.timed {
            _ if self.wraps(resource) => {
                let ttl = resource.ttl().filter(|_| self.timed);
                wrapped_entry(resource, version, ttl)
            }
            true => timed_entry(resource, self.form, version),
            false => resource.entry(self.form),
        }
    }

    /// Length of one entry.
    pub(crate) fn entry_len(self, resource: &Resource) -> usize {
        match self.timed {
            _ if self.wraps(resource) => {
                let ttl = resource.ttl().filter(|_| self.timed);
                wrapped_entry_len(resource, VERSION, ttl)
            }
            true => timed_entry_len(resource, self.form, VERSION),
            false => resource.entry_len(self.form),
        }
    }

    /// The encoded entries of a response with this version.
    pub(crate) fn parts(self, resources: &Selection, version: &Version) -> Vec<Bytes> {
        match self.is_own(resources) {
            true => coalesce(resources.iter().map(|r| self.entry(r, version))),
            false => resources.parts(self.form),
        }
    }

    /// Length of the entries, a little more than it is.
    pub(crate) fn len(self, resources: &Selection) -> usize {
        match self.is_own(resources) {
            true => resources.iter().map(|r| self.entry_len(r)).sum(),
            false => resources.encoded_len(self.form),
        }
    }

    /// Cuts a selection into selections of at most `max` bytes each, as far as that is possible.
    pub(crate) fn split(self, resources: Selection, max: usize) -> Vec<Selection> {
        if !self.is_own(&resources) {
            return resources.split(self.form, max);
        }
        let runs = cut(resources.iter().cloned(), max, |r| self.entry_len(r));
        runs.into_iter().map(Selection::of).collect()
    }
}
