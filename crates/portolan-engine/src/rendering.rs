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

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use portolan_core::well_known::CLUSTER;
    use portolan_core::{Constraints, ResourceSet};

    use super::*;

    const TTL: Duration = Duration::from_secs(2);

    fn resource(is_timed: bool, is_constrained: bool) -> Resource {
        let mut builder = Resource::builder(CLUSTER, "a", &b"x"[..]);
        if is_timed {
            builder = builder.ttl(TTL);
        }
        if is_constrained {
            builder = builder.constraints(Constraints::exists("k"));
        }
        builder.build().unwrap()
    }

    fn all() -> impl Iterator<Item = Rendering> {
        let forms = [EntryForm::Sotw, EntryForm::Delta].into_iter();
        let flags = [(false, false), (false, true), (true, false), (true, true)];
        forms.flat_map(move |form| {
            flags.map(|(timed, wrapped)| Rendering {
                form,
                timed,
                wrapped,
            })
        })
    }

    /// What is written of one resource.
    fn expected(rendering: Rendering, resource: &Resource, version: &Version) -> Bytes {
        let Rendering {
            form,
            timed,
            wrapped,
        } = rendering;
        let ttl = resource.ttl().filter(|_| timed);
        match form {
            EntryForm::Sotw if wrapped && resource.constraints().is_some() => {
                wrapped_entry(resource, version, ttl)
            }
            _ if ttl.is_some() => timed_entry(resource, form, version),
            _ => resource.entry(form),
        }
    }

    #[test]
    fn c287_c327_only_who_reads_a_wrapper_is_sent_one_and_its_length_is_known() {
        let version = Version::from("v");
        for rendering in all() {
            for (is_timed, is_constrained) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let resource = resource(is_timed, is_constrained);
                let expected = expected(rendering, &resource, &version);
                let selection = Selection::of([resource]);
                let written = rendering.parts(&selection, &version).concat();
                assert_eq!(written, expected, "{rendering:?}");
                // A version may be as long as that, and constraints that are not told are reckoned.
                let (least, len) = (written.len(), rendering.len(&selection));
                assert!(
                    (least..least + VERSION + 24).contains(&len),
                    "{rendering:?}: {len}"
                );
            }
        }
    }

    #[test]
    fn what_all_streams_are_sent_alike_is_encoded_once() {
        let plain = |name: &str| Resource::builder(CLUSTER, name, &b"x"[..]);
        let plain = [plain("a"), plain("b")].map(|builder| builder.build().unwrap());
        let set = ResourceSet::new(plain).unwrap();
        let diff = set.diff_from(&ResourceSet::empty());
        for selection in [Selection::wildcard(&set), Selection::upserts(&diff)] {
            for rendering in all() {
                let shared = selection.parts(rendering.form);
                let written = rendering.parts(&selection, &Version::from("v"));
                let places =
                    |parts: &[Bytes]| parts.iter().map(|part| part.as_ptr()).collect::<Vec<_>>();
                assert_eq!(places(&written), places(&shared), "{rendering:?}");
            }
        }
    }
}
