//! What each node was sent, accepted and rejected, for whoever wants to know.
//!
//! Each stream has a slot of its own, written by its task and copied by readers. The index of the slots is only
//! touched when a stream is admitted, when it ends, and by readers, who hold it for as long as it takes to copy
//! pointers.

mod entry;
mod index;
mod node_status;
mod progress;
#[cfg(test)]
mod tests;
mod transition_status;
mod type_status;

use std::sync::Arc;

use portolan_core::ResourceTypes;

pub(super) use self::entry::Entry;
use self::index::{Index, Slot};
pub use self::node_status::{NodeStatus, StreamStatus};
use self::progress::Progress;
pub use self::transition_status::{RetainedStatus, TransitionStatus, WithheldStatus};
pub use self::type_status::{RejectionStatus, ResponseStatus, TypeStatus};
use crate::StreamInfo;

/// What each node was sent, accepted and rejected: [`XdsServer::status`](crate::XdsServer::status).
///
/// It holds the streams that are admitted and open, and nothing of those that have ended, nor of calls of
/// [`Method::Fetch`](crate::Method::Fetch), which say nothing of what they are answered. A node is what its streams
/// say it is; several streams with the same id are one node here. Observers are called when it is up to date, and in
/// [`Callbacks::stream_closed`](crate::Callbacks::stream_closed) the stream can be looked at for the last time.
///
/// Reading keeps no stream waiting for longer than it takes to copy what is known of it. What is read of a stream
/// belongs together; streams are read one after the other.
///
/// ```
/// use portolan_server::XdsServer;
///
/// fn report(xds: &XdsServer) {
///     for node in xds.status().rejecting() {
///         for (stream, rejected) in node.types().filter(|(_, ty)| ty.is_rejecting()) {
///             let Some(rejection) = rejected.rejection() else { continue };
///             println!(
///                 "{} ({:?}) rejects {} {}: {}",
///                 node.id(),
///                 stream.info().peer().address(),
///                 rejected.type_url(),
///                 rejection.version(),
///                 rejection.message(),
///             );
///         }
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct StatusRegistry {
    index: Arc<Index>,
    types: Arc<ResourceTypes>,
}

impl StatusRegistry {
    pub(super) fn new(types: ResourceTypes) -> Self {
        Self {
            index: Arc::default(),
            types: Arc::new(types),
        }
    }

    pub(super) fn entry(&self, stream: &StreamInfo) -> Entry {
        Entry::new(&self.index, &self.types, stream)
    }

    /// One node; `None` where no stream of it is open.
    #[must_use]
    pub fn node(&self, id: &str) -> Option<NodeStatus> {
        NodeStatus::of(&self.index.of_node(id))
    }

    /// All nodes, by id. Each is read when the iterator comes to it.
    pub fn nodes(&self) -> impl Iterator<Item = NodeStatus> + use<> {
        self.nodes_with(|_| true)
    }

    /// The nodes that reject something. Their number is what to alert on.
    pub fn rejecting(&self) -> impl Iterator<Item = NodeStatus> + use<> {
        self.nodes_with(Progress::is_rejecting)
    }

    /// The nodes that are not on the latest content, as far as they want it: to which something is still to be said,
    /// or which have not answered yet, or for whom nothing was published. A client may keep its answer back for as
    /// long as something of it warms.
    pub fn unsettled(&self) -> impl Iterator<Item = NodeStatus> + use<> {
        self.nodes_with(|progress| !progress.is_settled())
    }

    /// The nodes with a stream that is so.
    fn nodes_with(&self, is_so: fn(&Progress) -> bool) -> impl Iterator<Item = NodeStatus> + use<> {
        let nodes = self.index.nodes().into_iter();
        nodes
            .filter(move |slots| slots.iter().any(|slot| is_so(&slot.progress())))
            .filter_map(|slots| NodeStatus::of(&slots))
    }
}
