//! All that one group of nodes is served, as one immutable value.

mod builder;
mod changed;
mod coverage;
mod edges;
mod publication;
mod referrers;
mod substitute;

use std::fmt;
use std::sync::Arc;

pub use self::builder::SnapshotBuilder;
pub use self::coverage::Coverage;
pub use self::publication::{Generation, Publication};
pub use self::referrers::Referrer;
use self::referrers::Referrers;
use crate::{Lookup, References, ResourceSet, TypeUrl, ValueId, Version};

/// The resources of all types that belong together. Immutable; cloning is cheap.
///
/// A snapshot is total: a type that it does not hold is empty, and clients are told so. One that was declared with
/// [`SnapshotBuilder::only`] speaks for the declared types alone; of the others nothing is known. That nothing was
/// published at all is a third thing, and not a snapshot (C-129).
///
/// ```
/// use portolan_core::{Resource, Snapshot, well_known::{CLUSTER, LISTENER}};
///
/// let mut builder = Snapshot::builder();
/// builder.insert(Resource::builder(CLUSTER, "a", &b"\x0a\x01a"[..]))?;
/// let snapshot = builder.build();
/// assert_eq!(snapshot.set(&CLUSTER).map(|set| set.len()), Some(1));
/// assert_eq!(snapshot.set(&LISTENER).map(|set| set.len()), Some(0));
/// # Ok::<(), portolan_core::ResourceError>(())
/// ```
#[derive(Clone)]
pub struct Snapshot(Arc<Inner>);

struct Inner {
    id: ValueId,
    types: Box<[TypeEntry]>,
    coverage: Coverage,
    empty: ResourceSet,
    referrers: Referrers,
}

#[derive(Clone)]
struct TypeEntry {
    url: TypeUrl,
    set: ResourceSet,
    label: Option<Version>,
}

impl Snapshot {
    /// A snapshot in which every type is empty.
    #[must_use]
    pub fn empty() -> Self {
        Self::builder().build()
    }

    /// Starts a snapshot.
    #[must_use]
    pub fn builder() -> SnapshotBuilder {
        SnapshotBuilder::new(None)
    }

    /// Starts a snapshot that replaces `previous`. It starts without resources, and shares with `previous` whatever
    /// turns out equal: unchanged resources are neither hashed nor encoded again, unchanged sets are the same value.
    #[must_use]
    pub fn builder_from(previous: &Self) -> SnapshotBuilder {
        SnapshotBuilder::new(Some(previous.clone()))
    }

    /// Starts a changed copy: a builder that starts with all that `self` holds.
    #[must_use]
    pub fn edit(&self) -> SnapshotBuilder {
        let mut builder = Self::builder_from(self);
        builder.keep_all();
        builder
    }

    /// Starts a copy in which `types` are made anew: a builder that starts with all that `self` holds of the other
    /// types, and with none of these, of which it shares with `self` whatever turns out equal.
    #[must_use]
    pub fn rebuild(&self, types: impl IntoIterator<Item = TypeUrl>) -> SnapshotBuilder {
        let mut builder = self.edit();
        types.into_iter().for_each(|url| builder.start_over(&url));
        builder
    }

    /// Identity of the value.
    #[must_use]
    pub fn id(&self) -> ValueId {
        self.0.id
    }

    /// The set of a type; `None` where the snapshot does not speak for the type.
    #[must_use]
    pub fn set(&self, type_url: &TypeUrl) -> Option<&ResourceSet> {
        match self.entry(type_url) {
            Some(entry) => Some(&entry.set),
            None => self.0.coverage.contains(type_url).then_some(&self.0.empty),
        }
    }

    /// What the snapshot says of one name.
    #[must_use]
    pub fn lookup(&self, type_url: &TypeUrl, name: &str) -> Lookup<'_> {
        let Some(set) = self.set(type_url) else {
            return Lookup::Pending;
        };
        set.held(name).map_or(Lookup::Absent, Lookup::of)
    }

    /// What goes into `version_info` for a type: the caller's label, or else the version of the set's content.
    #[must_use]
    pub fn version_info(&self, type_url: &TypeUrl) -> Version {
        match self.entry(type_url) {
            Some(TypeEntry {
                label: Some(label), ..
            }) => label.clone(),
            Some(entry) => entry.set.version().clone(),
            None => self.0.empty.version().clone(),
        }
    }

    /// The caller's label for a type, if there is one.
    #[must_use]
    pub fn label(&self, type_url: &TypeUrl) -> Option<&Version> {
        self.entry(type_url)?.label.as_ref()
    }

    /// The types that the snapshot speaks for.
    #[must_use]
    pub fn coverage(&self) -> &Coverage {
        &self.0.coverage
    }

    /// The types that hold resources, errors or a label, with their sets, ordered by URL.
    pub fn sets(&self) -> impl Iterator<Item = (&TypeUrl, &ResourceSet)> {
        self.0.types.iter().map(|entry| (&entry.url, &entry.set))
    }

    /// The resources that refer to `name` of type `target`, whether there is such a resource or not; sorted by type and
    /// name.
    ///
    /// Who refers to whom is found out when this is first asked. In a snapshot that was made from one which was asked
    /// before, that costs what differs between the two; in any other, all that it holds.
    ///
    /// A name is found as it stands in the references: a set that is referred to as a whole under `*`, or by the prefix of
    /// its names under that prefix.
    pub fn referrers<'a>(
        &'a self,
        references: &dyn References,
        target: &TypeUrl,
        name: &'a str,
    ) -> impl Iterator<Item = Referrer<'a>> + use<'a> {
        self.0
            .referrers
            .of(&self.0.types, references)
            .to(target, name)
    }

    /// Number of resources of all types.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.types.iter().map(|entry| entry.set.len()).sum()
    }

    /// Whether there are no resources of any type.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both hold the same resources in the same versions the same errors and pending names, and speak for the same types. Labels do not count.
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        let same_in = |a: &Self, b: &Self| {
            a.sets()
                .all(|(url, set)| b.set(url).is_some_and(|theirs| theirs.same_content(set)))
        };
        self.0.id == other.0.id
            || (self.0.coverage == other.0.coverage && same_in(self, other) && same_in(other, self))
    }

    fn entry(&self, type_url: &TypeUrl) -> Option<&TypeEntry> {
        let at = self
            .0
            .types
            .binary_search_by(|entry| entry.url.cmp(type_url));
        at.ok().map(|at| &self.0.types[at])
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.sets()).finish()
    }
}
