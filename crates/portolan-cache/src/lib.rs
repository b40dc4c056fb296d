//! The caches of the Portolan xDS control plane.
//!
//! A cache stands between a publisher and a server. The publisher writes; the server opens a view per stream, and loads
//! from it when it can send. A cache that is written to is split into a writer and a reader that know nothing of each
//! other.
//!
//! | cache | what is written | who is served it |
//! |---|---|---|
//! | [`SnapshotCache`] | whole snapshots of all types | each group of nodes its own |
//! | [`OnDemandCache`] | whole snapshots, and answers to what is named besides | each group of nodes its own |
//! | [`LinearCache`] | resources of one type, one by one or in batches | all nodes the same |
//! | [`MuxCache`] | nothing: it puts other sources together, by type or as unions | whom these serve |
//!
//! ```
//! use std::sync::Arc;
//! use std::task::Waker;
//!
//! use portolan_cache::SnapshotCache;
//! use portolan_core::{Announced, Node, NodeId, Peer, Resource, Snapshot, Source, well_known::CLUSTER};
//!
//! let (writer, reader) = SnapshotCache::new(NodeId::default()).split();
//!
//! // A stream. Its node has no snapshot yet, which is not the same as an empty one.
//! let node = Arc::new(Node::new("edge-1"));
//! let view = reader.open(&node, &Peer::unknown(), Waker::noop().clone())?;
//! assert!(view.load().is_none());
//!
//! // A publisher.
//! let mut snapshot = Snapshot::builder();
//! snapshot.insert(Resource::builder(CLUSTER, "backend", &b"\x0a\x07backend"[..]))?;
//! let published = writer.set(&"edge-1".to_owned(), snapshot.build());
//!
//! // The server's announcer wakes the stream, which finds the publication.
//! assert_eq!(reader.announce(256), Announced::All);
//! let publication = view.load().expect("it was published");
//! assert_eq!(publication.generation(), published.generation());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Publishing costs the same however many streams there are
//!
//! [`set`](SnapshotCacheWriter::set) puts a pointer in place and queues the group once;
//! [`upsert`](LinearCacheWriter::upsert) queues the name that changed, if anybody wants it. Waking streams is the work
//! of the server's announcer ([`Source::announce`](portolan_core::Source::announce)), which does it in slices. A stream
//! that was woken is not woken again before it loads, and what it then loads is the newest publication: a slow client
//! costs its publisher nothing and skips what it was too late for.
//!
//! # No lock is held while other code runs
//!
//! Wakers, observers, delivery sinks, node hashes and the closures of [`update`](SnapshotCacheWriter::update) and
//! [`batch`](LinearCacheWriter::batch) run outside all locks, and may call the cache. The one exception is a group
//! key's own `Hash`, `Eq` and `Clone`. An observer, sink or waker that panics is contained: neither the publisher nor
//! another stream notices.
//!
//! # What this crate does not do
//!
//! It knows no nonces and no ACKs, and compares no resources with what a client has: what a client is sent is the
//! protocol engine's business. It does not close streams, persist anything, debounce, judge a snapshot, or choose between
//! snapshots for one node. It has no threads, no clocks and no async runtime.

mod announcer;
mod contain;
mod history;
mod ledger;
mod linear_cache;
mod lock;
mod mux_cache;
mod on_demand_cache;
mod sleepers;
mod snapshot_cache;
#[cfg(test)]
mod wakes;

pub use linear_cache::{LinearCache, LinearCacheReader, LinearCacheWriter, LinearEdit};
pub use mux_cache::{Clash, ClashObserver, MuxCache, MuxCacheBuilder, PartId};
pub use on_demand_cache::{
    Clock, Keep, OnDemandCache, OnDemandCacheReader, OnDemandCacheWriter, OnDemandLimits,
    Resolution, Resolutions, Resolver, Step, Ticket, Wanted,
};
pub use snapshot_cache::{SnapshotCache, SnapshotCacheReader, SnapshotCacheWriter};
