//! Immutable sets of resources of one type that share what they have in common.

mod aliases;
mod chunk;
mod diff;
mod edit;
mod former;
mod new_references;
mod selection;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use self::aliases::Aliases;
use self::chunk::Chunk;
pub use self::chunk::encoded_chunks;
pub use self::diff::Diff;
use self::diff::Memo;
pub use self::edit::ResourceSetEdit;
use self::former::Mixtures;
pub use self::new_references::NewReference;
pub use self::selection::{Selection, coalesce};
use crate::{Name, References, Resource, TypeUrl, Version, xdstp};

/// Identity of an immutable value within this process. Two values with one id are the same value; the reverse need
/// not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(u64);

impl ValueId {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The resources of one type: an immutable, sorted, persistent value.
///
/// Internally a sorted array of shared chunks of at most 128 resources. A changed set shares all chunks but those
/// that a change touched, so comparing two generations is comparing pointers, and each chunk is encoded once for all
/// streams and generations that hold it. Cloning is cheap.
///
/// An entry of a set need not be a resource: an [error](Resource::failed) may stand in the place of one, or that it is
/// [pending](Resource::pending). [`get`](Self::get), [`iter`](Self::iter) and [`len`](Self::len) speak of resources alone,
/// [`entry`](Self::entry) and [`entries`](Self::entries) of errors as well.
///
/// ```
/// use portolan_core::{Resource, ResourceSet, well_known::CLUSTER};
///
/// let cluster = |name: &str, body: &'static [u8]| Resource::builder(CLUSTER, name, body).build();
/// let old: ResourceSet = ResourceSet::new([cluster("a", b"1")?, cluster("b", b"1")?])?;
/// let mut edit = old.edit();
/// edit.upsert(cluster("b", b"2")?);
/// let new = edit.finish()?;
///
/// let diff = new.diff_from(&old);
/// assert_eq!(diff.upserts().len(), 1);
/// assert_eq!(diff.upserts()[0].name().as_str(), "b");
/// # Ok::<(), portolan_core::ResourceError>(())
/// ```
#[derive(Clone)]
pub struct ResourceSet(Arc<Inner>);

struct Inner {
    id: ValueId,
    chunks: Box<[Arc<Chunk>]>,
    totals: Totals,
    /// `None` where no resource has one.
    aliases: Option<Aliases>,
    version: Version,
    memo: Mutex<Memo>,
    mixtures: Mutex<Mixtures>,
}

/// What a set says of all its resources without looking at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    /// Of all entries.
    len: usize,
    failed: usize,
    pending: usize,
    /// Entries that no wildcard covers, or not every wildcard; those that are no resources included.
    on_demand: usize,
    constrained: usize,
    timed: usize,
    sum: u128,
}

impl Totals {
    fn put_in(&mut self, resource: &Resource) {
        self.len += 1;
        self.failed += usize::from(resource.failure().is_some());
        self.pending += usize::from(resource.is_pending());
        self.on_demand += usize::from(!resource.is_for_all());
        self.constrained += usize::from(resource.constraints().is_some());
        self.timed += usize::from(resource.ttl().is_some());
        self.sum = self.sum.wrapping_add(resource.element());
    }

    fn take_out(&mut self, resource: &Resource) {
        self.len -= 1;
        self.failed -= usize::from(resource.failure().is_some());
        self.pending -= usize::from(resource.is_pending());
        self.on_demand -= usize::from(!resource.is_for_all());
        self.constrained -= usize::from(resource.constraints().is_some());
        self.timed -= usize::from(resource.ttl().is_some());
        self.sum = self.sum.wrapping_sub(resource.element());
    }
}

impl ResourceSet {
    /// The set without resources.
    #[must_use]
    pub fn empty() -> Self {
        static EMPTY: LazyLock<ResourceSet> =
            LazyLock::new(|| ResourceSet::from_chunks(Vec::new(), Totals::default(), None));
        EMPTY.clone()
    }

    /// A set of these chunks, of which these are the totals and the aliases: they follow from what changed, and are not
    /// gathered anew.
    fn from_chunks(chunks: Vec<Arc<Chunk>>, totals: Totals, aliases: Option<Aliases>) -> Self {
        let Totals { len, sum, .. } = totals;
        Self(Arc::new(Inner {
            id: ValueId::next(),
            chunks: chunks.into_boxed_slice(),
            totals,
            aliases,
            version: Version::from(format!("{sum:032x}-{len}")),
            memo: Mutex::default(),
            mixtures: Mutex::default(),
        }))
    }

    /// Identity of the value.
    #[must_use]
    pub fn id(&self) -> ValueId {
        self.0.id
    }

    /// Version of the content, equal for equal content whatever its history: the sum of a hash of each entry, with their
    /// number.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.0.version
    }

    /// Whether both hold the same resources in the same versions, the same errors, and the same pending names.
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        self.0.id == other.0.id || self.0.version == other.0.version
    }

    /// Number of resources.
    #[must_use]
    pub fn len(&self) -> usize {
        let totals = &self.0.totals;
        totals.len - totals.failed - totals.pending
    }

    /// Whether there are no resources.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of resources and errors.
    #[must_use]
    pub fn entries_len(&self) -> usize {
        self.0.totals.len - self.0.totals.pending
    }

    /// Whether any name is [pending](Resource::pending).
    #[must_use]
    pub fn has_pending(&self) -> bool {
        self.0.totals.pending > 0
    }

    /// Number of resources that every wildcard covers: all that are neither on demand nor have constraints.
    #[must_use]
    pub fn wildcard_len(&self) -> usize {
        self.0.totals.len - self.0.totals.on_demand
    }

    /// Whether every wildcard covers every entry.
    #[must_use]
    pub fn is_all_wildcard(&self) -> bool {
        self.0.totals.on_demand == 0
    }

    /// Whether any resource has a [time to live](Resource::ttl).
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.0.totals.timed > 0
    }

    /// The resource of that name, which is looked up as it stands: one in URL form has to be [canonical](Name::canonical).
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Resource> {
        self.held(name).filter(|r| r.is_resource())
    }

    /// What there is to say of that name: the resource, or the error in its place.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&Resource> {
        self.held(name).filter(|r| !r.is_pending())
    }

    /// Whether it is not known yet if there is a resource of that name.
    #[must_use]
    pub fn is_pending(&self, name: &str) -> bool {
        self.has_pending() && self.held(name).is_some_and(Resource::is_pending)
    }

    /// The pending names, sorted.
    pub fn pending(&self) -> impl Iterator<Item = &Name> {
        // Mostly there are none, and then no chunk is looked at; else only those that have some, for streams ask in every turn.
        let chunks = match self.has_pending() {
            true => &self.0.chunks[..],
            false => &[],
        };
        let waiting = chunks.iter().filter(|chunk| chunk.has_pending());
        let all = waiting.flat_map(|chunk| chunk.resources());
        all.filter(|r| r.is_pending()).map(Resource::name)
    }

    /// Whether there is a resource of that name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// What there is to say of a name whoever asks: the resource or the error without constraints, or else the
    /// [alternatives](crate::Constraints).
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Resource> {
        self.entry(name).into_iter().chain(self.alternatives(name))
    }

    /// The entries of a name that have constraints. They stand behind each other, and behind the one without.
    fn alternatives<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Resource> {
        let behind = self.has_alternatives().then(|| self.from(name));
        let behind = behind.into_iter().flatten();
        behind
            .take_while(move |r| r.name().starts_with(name))
            .skip_while(move |r| r.name().len() == name.len())
            .take_while(move |r| r.name().stem().len() == name.len())
    }

    /// Whether anything has constraints.
    #[must_use]
    pub fn has_alternatives(&self) -> bool {
        self.0.totals.constrained > 0
    }

    /// What an identifier stands for whoever asks: what is [named](Self::named) so, the resources that have it for an
    /// [alias](Resource::aliases), and if it is a [glob](Name::glob) its members. One may be among them twice.
    ///
    /// Costs O(what it stands for); of a glob, O(what its directory has at any depth and with any parameters).
    pub fn identified_by<'a>(&'a self, identifier: &'a str) -> impl Iterator<Item = &'a Resource> {
        let aliases = self.0.aliases.iter();
        let owners = aliases.flat_map(move |aliases| aliases.owners(identifier));
        let aliased = owners.filter_map(|owner| self.get(owner));
        let members = self.members_of(identifier);
        self.named(identifier).chain(aliased).chain(members)
    }

    /// The resources beside each other in one directory, which are those between others whose names begin like theirs.
    fn members_of<'a>(&'a self, glob: &'a str) -> impl Iterator<Item = &'a Resource> {
        let directory = xdstp::directory_of(glob);
        let all = directory.into_iter().flat_map(|directory| {
            let inside = self.from(directory);
            inside.take_while(move |r| r.name().starts_with(directory))
        });
        all.filter(move |r| r.glob().is_some_and(|g| g.as_str() == glob))
    }

    /// The resources from this name on.
    fn from<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Resource> {
        let chunks = &self.chunks()[self.place_of(name).unwrap_or(0)..];
        let resources = chunks.iter().flat_map(|chunk| chunk.resources());
        let resources = resources.filter(|r| !r.is_pending());
        resources.skip_while(move |r| r.name().as_str() < name)
    }

    /// Whether any resource has an [alias](Resource::aliases).
    #[must_use]
    pub fn has_aliases(&self) -> bool {
        self.0.aliases.is_some()
    }

    /// All resources, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Resource> + Clone {
        self.all().filter(|r| r.is_resource())
    }

    /// All resources and errors, sorted by name.
    pub fn entries(&self) -> impl Iterator<Item = &Resource> + Clone {
        self.all().filter(|r| !r.is_pending())
    }

    /// Whether a resource of this set refers to `name` of type `target`. What refers to what is kept per chunk, so
    /// after a change only the changed chunks are read again.
    pub fn refers_to(&self, references: &dyn References, target: &TypeUrl, name: &str) -> bool {
        self.0
            .chunks
            .iter()
            .any(|c| c.refers_to(references, target, name))
    }

    /// Starts a changed copy.
    #[must_use]
    pub fn edit(&self) -> ResourceSetEdit {
        ResourceSetEdit::new(self.clone())
    }

    fn chunk_of(&self, name: &str) -> Option<&Chunk> {
        self.place_of(name).map(|at| &*self.0.chunks[at])
    }

    /// Which chunk holds the name, if there is a resource of that name.
    fn place_of(&self, name: &str) -> Option<usize> {
        let is_before = |chunk: &Arc<Chunk>| chunk.first().as_str() <= name;
        self.0.chunks.partition_point(is_before).checked_sub(1)
    }

    /// What the set holds under that name: the [entry](Self::entry), or that the name is pending.
    #[must_use]
    pub fn held(&self, name: &str) -> Option<&Resource> {
        self.chunk_of(name)?.get(name)
    }

    /// Whether there is an entry of any kind.
    pub(crate) fn holds_something(&self) -> bool {
        self.0.totals.len > 0
    }

    /// All that the set holds, sorted by name.
    fn all(&self) -> impl Iterator<Item = &Resource> + Clone {
        self.0.chunks.iter().flat_map(|c| c.resources())
    }

    fn chunks(&self) -> &[Arc<Chunk>] {
        &self.0.chunks
    }
}

impl Default for ResourceSet {
    fn default() -> Self {
        Self::empty()
    }
}

impl fmt::Debug for ResourceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.all()).finish()
    }
}

/// Changes to a set by name; `None` takes a resource out.
pub(crate) type Changes = std::collections::BTreeMap<Name, Option<Resource>>;
