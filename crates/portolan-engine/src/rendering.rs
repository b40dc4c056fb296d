use alloc::vec::Vec;

use portolan_core::{EntryForm, Resource, Selection, timed_entry_len};

use crate::cut::cut;

/// Most bytes of a version that the engine makes: 128 bits and a count. A caller's label may be longer.
const VERSION: usize = 64;

/// How a session writes resources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rendering {
    pub(crate) form: EntryForm,
    /// With their times to live. Then entries are this response's own, where a resource has one.
    pub(crate) timed: bool,
}

impl Rendering {
    /// Whether times to live are told of any of these.
    pub(crate) fn is_timed(self, resources: &Selection) -> bool {
        self.timed && resources.is_timed()
    }

    /// Length of the entries, a little more than it is.
    pub(crate) fn len(self, resources: &Selection) -> usize {
        match self.is_timed(resources) {
            true => resources
                .iter()
                .map(|r| timed_entry_len(r, self.form, VERSION))
                .sum(),
            false => resources.encoded_len(self.form),
        }
    }

    /// Cuts a selection into selections of at most `max` bytes each, as far as that is possible.
    pub(crate) fn split(self, resources: Selection, max: usize) -> Vec<Selection> {
        if !self.is_timed(&resources) {
            return resources.split(self.form, max);
        }
        let len_of = |r: &Resource| timed_entry_len(r, self.form, VERSION);
        let runs = cut(resources.iter().cloned(), max, len_of);
        runs.into_iter().map(Selection::of).collect()
    }
}
