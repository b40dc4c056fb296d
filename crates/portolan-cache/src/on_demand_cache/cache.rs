use std::collections::BTreeSet;
use std::sync::Arc;

use portolan_core::{NodeHash, Snapshot, TypeUrl};

use super::limits::OnDemandLimits;
use super::reader::OnDemandCacheReader;
use super::resolutions::Resolutions;
use super::store::Store;
use super::writer::OnDemandCacheWriter;
use crate::SnapshotCache;

/// A cache of snapshots in which a name that a client wants and a snapshot does not have is resolved, before it is split
/// into its three handles.
///
/// For virtual hosts and clusters on demand, and whatever else is too many to be told to everybody. What is published for
/// a group is its *base*: a wildcard covers that, but for what is [on demand](portolan_core::Resource::on_demand) in it.
/// A name of one of the given types that the base does not have is *pending* from when a client of the group names it until
/// it is resolved: the client is not told that it does not exist, and is answered when it is known (C-235). What a name
/// means may depend on the group. No wildcard covers what was resolved.
///
/// Who resolves gets [`Resolutions`]; a [`Resolver`](super::Resolver) is the usual way. Where nobody wants a name any more,
/// its resolution is dropped and what was found is let go (C-236).
///
/// ```
/// use std::sync::Arc;
/// use std::task::Waker;
/// use std::time::Duration;
///
/// use portolan_cache::{OnDemandCache, Resolution, SnapshotCache, Step};
/// use portolan_core::{Interest, Lookup, Node, NodeId, Peer, Resource, Snapshot, Source, well_known::CLUSTER};
///
/// let cache = OnDemandCache::new(SnapshotCache::new(NodeId::default()), [CLUSTER]);
/// let (writer, reader, resolutions) = cache.with_base(Snapshot::empty()).split();
///
/// // A client names a cluster that is not there.
/// let node = Arc::new(Node::new("edge-1"));
/// let mut view = reader.open(&node, &Peer::unknown(), Waker::noop().clone())?;
/// view.interest(&Interest::new(&CLUSTER, &["a".into()], &[], false));
/// let lookup = |view: &dyn portolan_core::View| {
///     let publication = view.load().expect("there is a base");
///     publication.snapshot().lookup(&CLUSTER, "a").present().is_some()
/// };
/// assert!(!lookup(&*view));
///
/// // It is to be resolved, and is.
/// let Some(Step::Resolve(ticket, wanted)) = resolutions.next(Duration::ZERO) else { panic!() };
/// let cluster = Resource::builder(wanted.type_url, wanted.name, &b"\x0a\x01a"[..]).build()?;
/// resolutions.answer(ticket, Resolution::found(cluster), Duration::ZERO);
/// assert!(lookup(&*view));
/// # drop(writer);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct OnDemandCache<H: NodeHash> {
    snapshots: SnapshotCache<H>,
    types: BTreeSet<TypeUrl>,
    base: Option<Snapshot>,
    limits: OnDemandLimits,
}

impl<H: NodeHash> OnDemandCache<H> {
    /// A cache in which names of these types are resolved. Its groups, and who hears of them and of deliveries, are those
    /// of `snapshots`.
    pub fn new(snapshots: SnapshotCache<H>, types: impl IntoIterator<Item = TypeUrl>) -> Self {
        Self {
            snapshots,
            types: types.into_iter().collect(),
            base: None,
            limits: OnDemandLimits::default(),
        }
    }

    /// The base of groups that were given none. Default: such a group is told nothing until something is published for it
    /// (C-129).
    pub fn with_base(mut self, base: Snapshot) -> Self {
        self.base = Some(base);
        self
    }

    /// What is done at most for clients that may name anything. Default: [`OnDemandLimits::default`].
    pub fn with_limits(mut self, limits: OnDemandLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The three handles: one for publishers, one for servers, one for whoever resolves.
    #[must_use]
    pub fn split(
        self,
    ) -> (
        OnDemandCacheWriter<H::Key>,
        OnDemandCacheReader<H>,
        Resolutions<H::Key>,
    ) {
        let (published, reader) = self.snapshots.split();
        let store = Arc::new(Store::new(published, self.types, self.base, self.limits));
        let reader = OnDemandCacheReader::new(reader, Arc::clone(&store));
        let writer = OnDemandCacheWriter::new(Arc::clone(&store));
        (writer, reader, Resolutions::new(store))
    }
}
