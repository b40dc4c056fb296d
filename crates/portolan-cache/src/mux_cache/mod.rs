//! Several sources as one.

mod builder;
mod clashes;
mod composite;
mod line;
mod memo;
mod merged;
mod routes;
#[cfg(test)]
mod tests;
mod trail;
mod unions;
mod view;

use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use portolan_core::{Announced, Node, Peer, Refusal, Source, View};

use self::builder::Plan;
pub use self::builder::{MuxCacheBuilder, PartId};
use self::clashes::Clashes;
pub use self::clashes::{Clash, ClashObserver};
use self::line::Line;
use self::unions::Unions;
use self::view::MuxView;

/// Puts other [`Source`]s together: each type comes from the source that is named for it, or from several at once. It
/// holds nothing that could be written; publishers write to the parts. Clones read the same parts.
///
/// Any source can be a part: our caches, one of your own, another `MuxCache`.
///
/// ```
/// use std::sync::Arc;
/// use std::task::Waker;
///
/// use portolan_cache::{LinearCache, MuxCache, SnapshotCache};
/// use portolan_core::well_known::{CLUSTER, ENDPOINT, SECRET};
/// use portolan_core::{Node, NodeId, Peer, Resource, Snapshot, Source};
///
/// let (config, config_reader) = SnapshotCache::new(NodeId::default()).split();
/// let (endpoints, endpoints_reader) = LinearCache::new(ENDPOINT).split();
///
/// let mut mux = MuxCache::builder();
/// let by_group = mux.part("config", Arc::new(config_reader));
/// let by_name = mux.part("endpoints", Arc::new(endpoints_reader));
/// mux.otherwise([by_group]).route(ENDPOINT, [by_name]);
/// let mux = mux.build();
///
/// let view = mux.open(&Arc::new(Node::new("edge-1")), &Peer::unknown(), Waker::noop().clone())?;
/// endpoints.upsert(Resource::builder(ENDPOINT, "web", &b"10.0.0.1"[..]))?;
/// let publication = view.load().expect("a part has published something");
/// assert_eq!(publication.snapshot().set(&ENDPOINT).map(|set| set.len()), Some(1));
/// assert!(publication.snapshot().set(&CLUSTER).is_none(), "nobody has said what clusters there are");
/// # drop(config);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Who speaks for a type
///
/// A type that one part serves is spoken for as far as that part speaks for it. A type that several serve, a union, is
/// spoken for when all of them have published something that speaks for it; until then clients are told nothing of it,
/// or else they would be told that what the others have does not exist (C-129). The same holds when a part's data is
/// cleared later. A stream has nothing to load while none of its parts has published anything.
///
/// # Unions
///
/// Of resources that have one name, that of the part stands which comes first. If another part has other content under
/// that name this is a clash, of which a [`ClashObserver`] hears; clients see one resource (C-378). The merged set is
/// made once for all streams whose parts show them the same, and follows what changes in the parts: a change costs what
/// it changes, and what is encoded and compared is shared as in any other cache.
///
/// A label is shown for a type if all parts that serve it give it the same.
///
/// # Publications
///
/// A stream's publications are numbered for itself. It has a new one for every publication of a part that serves it
/// something, and for each part that is cleared; in between its number stays. All parts are read at one moment: who
/// writes endpoints into one part and then a cluster into another is not seen to have written the cluster alone, unless
/// the parts are written to without a pause.
///
/// Parts hear of a stream what concerns them, in their own numbers: of interest and deliveries those that serve the
/// type (of a union, all of it), with the version that the response had; of settlements all parts that serve the stream
/// anything. A stream settles on all types or none, so a part waits for the slowest; that a client rejects something is
/// told to the parts of the types that it rejected. What becomes of a response is not told any more when, since, more
/// than 256 publications have been answered that did not settle.
#[derive(Clone)]
pub struct MuxCache {
    shared: Arc<Shared>,
}

/// What the streams of a cache share.
#[derive(Debug)]
struct Shared {
    names: Box<[Box<str>]>,
    sources: Box<[Arc<dyn Source>]>,
    plan: Plan,
    line: Arc<Line>,
    unions: Unions,
    clashes: Clashes,
}

impl MuxCache {
    /// Starts a cache without parts.
    pub fn builder() -> MuxCacheBuilder {
        MuxCacheBuilder::new()
    }
}

impl Source for MuxCache {
    /// Opens a view of each part that serves the node anything, and one of them all.
    ///
    /// # Errors
    /// The refusal of the first part that refuses.
    fn open(&self, node: &Arc<Node>, peer: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal> {
        let shared = &self.shared;
        let routes = shared.plan.routes(node, peer);
        let mut views: Vec<_> = shared.sources.iter().map(|_| None).collect();
        for part in routes.used() {
            let source = &shared.sources[*part];
            views[*part] = Some(source.open(node, peer, waker.clone())?);
        }
        Ok(Box::new(MuxView::new(Arc::clone(shared), routes, views)))
    }

    /// Lets the parts that may have something to announce share the budget.
    fn announce(&self, budget: usize) -> Announced {
        self.shared.line.announce(budget, &self.shared.sources)
    }

    fn register_announcer(&self, waker: Waker) {
        self.shared.line.register(waker, &self.shared.sources);
    }
}

impl fmt::Debug for MuxCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.shared.names.iter().zip(&self.shared.sources);
        f.debug_map().entries(parts).finish()
    }
}
