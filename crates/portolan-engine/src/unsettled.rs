use alloc::vec::Vec;

use portolan_core::{Name, ResourceSet, TypeUrl};

use crate::type_state::TypeState;

/// Most names that are remembered one by one; beyond, all of the type is in doubt.
const MAX_NAMES: usize = 64;

/// What is not known of a client when its stream ends: names that it was sent and neither accepted nor gave up.
///
/// It may have applied them or not. What it claims of them on its next stream is not to be believed, see
/// [`Session::distrust`](crate::Session::distrust).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsettled {
    type_url: TypeUrl,
    /// Sorted; `None` for all.
    names: Option<Vec<Name>>,
}

impl Unsettled {
    pub(crate) fn of(state: &TypeState) -> Option<Self> {
        let (awaited, rejected) = (state.window.awaited(), state.suspects.touched());
        let touched = awaited.chain(rejected);
        // An answer that held nothing leaves nothing in doubt.
        let touched: Vec<_> = touched.filter(|touched| touched.len() > 0).collect();
        if touched.is_empty() {
            return None;
        }
        let few = touched.iter().map(|t| t.len()).sum::<usize>() <= MAX_NAMES;
        let names = few.then(|| {
            let mut names: Vec<_> = touched.iter().flat_map(|t| t.names()).cloned().collect();
            names.sort_unstable();
            names.dedup();
            names
        });
        Some(Self {
            type_url: state.url().clone(),
            names,
        })
    }

    /// The type.
    #[must_use]
    pub fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }

    /// What is left of it when the client was told of all that `set` knows.
    pub(crate) fn untold(&self, set: &ResourceSet) -> Option<Self> {
        let pending = set.pending().filter(|name| self.contains(name));
        let names: Vec<_> = pending.cloned().collect();
        (!names.is_empty()).then(|| Self {
            type_url: self.type_url.clone(),
            names: Some(names),
        })
    }

    /// The same and this of the same type.
    pub(crate) fn add(&mut self, other: &Self) {
        self.names = match (self.names.take(), &other.names) {
            (Some(mut names), Some(more)) => {
                names.extend(more.iter().cloned());
                names.sort_unstable();
                names.dedup();
                (names.len() <= MAX_NAMES).then_some(names)
            }
            _ => None,
        };
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.names.is_none()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        let among = |names: &Vec<Name>| names.binary_search_by(|n| n.as_str().cmp(name)).is_ok();
        self.names.as_ref().is_none_or(among)
    }
}
