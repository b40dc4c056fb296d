use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};

use crate::{EntryForm, Name, References, Resource, TypeUrl};

/// Most resources in one chunk. With resources of a few hundred bytes a chunk is 16 to 64 KiB, the size at which
/// HTTP/2 frames stop costing anything and re-encoding one after a change is still cheap.
pub(super) const MAX_CHUNK: usize = 128;

static ENCODED: AtomicU64 = AtomicU64::new(0);

/// How many chunks were encoded since the process started. A chunk is encoded at most once per form, however many
/// streams it is sent on; what this number grows by during a push is what the push changed.
#[must_use]
pub fn encoded_chunks() -> u64 {
    ENCODED.load(Ordering::Relaxed)
}

/// A run of resources sorted by name, never empty: the unit of sharing between values, of comparison, and of what
/// goes on the wire.
#[derive(Debug)]
pub(super) struct Chunk {
    resources: Box<[Resource]>,
    on_demand: usize,
    has_pending: bool,
    lens: EncodedLen,
    sotw: OnceLock<Bytes>,
    delta: OnceLock<Bytes>,
    referenced: OnceLock<Box<[(TypeUrl, Name)]>>,
}

impl Chunk {
    pub(super) fn new(resources: Vec<Resource>) -> Self {
        debug_assert!(!resources.is_empty() && resources.len() <= MAX_CHUNK);
        let on_demand = resources.iter().filter(|r| !r.is_for_all()).count();
        let has_pending = resources.iter().any(Resource::is_pending);
        let covered = resources.iter().filter(|r| r.is_for_all());
        Self {
            lens: EncodedLen::of(covered),
            resources: resources.into_boxed_slice(),
            on_demand,
            has_pending,
            sotw: OnceLock::new(),
            delta: OnceLock::new(),
            referenced: OnceLock::new(),
        }
    }

    pub(super) fn resources(&self) -> &[Resource] {
        &self.resources
    }

    pub(super) fn first(&self) -> &Name {
        self.resources[0].name()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Resource> {
        let at = self
            .resources
            .binary_search_by(|r| r.name().as_str().cmp(name));
        at.ok().map(|at| &self.resources[at])
    }

    /// Number of resources that not every wildcard covers.
    pub(super) fn on_demand(&self) -> usize {
        self.on_demand
    }

    /// Whether it is not known of any name here if there is a resource.
    pub(super) fn has_pending(&self) -> bool {
        self.has_pending
    }

    /// Length of what [`encoded`](Self::encoded) gives.
    pub(super) fn lens(&self) -> EncodedLen {
        self.lens
    }

    /// The entries of all resources that every wildcard covers, encoded once.
    pub(super) fn encoded(&self, form: EntryForm) -> &Bytes {
        let cell = match form {
            EntryForm::Sotw => &self.sotw,
            EntryForm::Delta => &self.delta,
        };
        cell.get_or_init(|| {
            ENCODED.fetch_add(1, Ordering::Relaxed);
            concat(self.resources.iter().filter(|r| r.is_for_all()), form)
        })
    }

    /// Whether a resource of this chunk refers to `name` of type `target`.
    pub(super) fn refers_to(
        &self,
        references: &dyn References,
        target: &TypeUrl,
        name: &str,
    ) -> bool {
        let referenced = self.referenced.get_or_init(|| {
            let facts = self
                .resources
                .iter()
                .flat_map(|r| r.facts(references).references());
            let mut edges: Vec<_> = facts
                .map(|r| (r.target().clone(), r.name().clone()))
                .collect();
            edges.sort_unstable();
            edges.dedup();
            edges.into_boxed_slice()
        });
        referenced
            .binary_search_by(|(t, n)| (t.as_str(), n.as_str()).cmp(&(target.as_str(), name)))
            .is_ok()
    }
}

/// Length of entries in both forms.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EncodedLen {
    sotw: usize,
    delta: usize,
}

impl EncodedLen {
    pub(super) fn of<'a>(resources: impl Iterator<Item = &'a Resource>) -> Self {
        let mut lens = Self::default();
        for resource in resources {
            lens.sotw += resource.entry_len(EntryForm::Sotw);
            lens.delta += resource.entry_len(EntryForm::Delta);
        }
        lens
    }

    pub(super) fn get(self, form: EntryForm) -> usize {
        match form {
            EntryForm::Sotw => self.sotw,
            EntryForm::Delta => self.delta,
        }
    }
}

pub(super) fn concat<'a>(
    resources: impl Iterator<Item = &'a Resource> + Clone,
    form: EntryForm,
) -> Bytes {
    let len = resources.clone().map(|r| r.entry_len(form)).sum();
    let mut bytes = BytesMut::with_capacity(len);
    for resource in resources {
        bytes.extend_from_slice(&resource.entry(form));
    }
    bytes.freeze()
}
