use std::sync::Arc;
use std::time::SystemTime;

use portolan_core::{Generation, Node, Settlement, TypeUrl};

use super::{Progress, Slot, TypeStatus};
use crate::StreamInfo;

/// A node as its open streams show it.
#[derive(Clone, Debug)]
pub struct NodeStatus {
    node: Arc<Node>,
    streams: Vec<StreamStatus>,
}

impl NodeStatus {
    /// The node of these streams, which are not none.
    pub(super) fn of(slots: &[Arc<Slot>]) -> Option<Self> {
        let newest = slots.last()?;
        Some(Self {
            node: Arc::clone(&newest.node),
            streams: slots.iter().map(|slot| StreamStatus::of(slot)).collect(),
        })
    }

    /// The node's id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.node.id()
    }

    /// What the node said of itself on its newest stream.
    #[must_use]
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Its streams, in the order in which they were admitted; at least one.
    #[must_use]
    pub fn streams(&self) -> &[StreamStatus] {
        &self.streams
    }

    /// The types of all its streams.
    pub fn types(&self) -> impl Iterator<Item = (&StreamStatus, &TypeStatus)> {
        let of = |stream| {
            StreamStatus::types(stream)
                .iter()
                .map(move |ty| (stream, ty))
        };
        self.streams.iter().flat_map(of)
    }

    /// Whether a stream of the node rejects something.
    #[must_use]
    pub fn is_rejecting(&self) -> bool {
        self.streams.iter().any(StreamStatus::is_rejecting)
    }

    /// Whether all streams of the node are settled.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.streams.iter().all(StreamStatus::is_settled)
    }
}

/// An open stream, as it was at one moment.
#[derive(Clone, Debug)]
pub struct StreamStatus {
    info: StreamInfo,
    connected: SystemTime,
    progress: Progress,
}

impl StreamStatus {
    fn of(slot: &Slot) -> Self {
        Self {
            info: slot.info.clone(),
            connected: slot.connected,
            progress: slot.progress().clone(),
        }
    }

    /// Who is at the other end, and what the stream is.
    #[must_use]
    pub fn info(&self) -> &StreamInfo {
        &self.info
    }

    /// When the stream was admitted.
    #[must_use]
    pub fn connected_since(&self) -> SystemTime {
        self.connected
    }

    /// The types that the stream has asked for, in that order.
    #[must_use]
    pub fn types(&self) -> &[TypeStatus] {
        &self.progress.types
    }

    /// One of the types.
    #[must_use]
    pub fn of_type(&self, type_url: &TypeUrl) -> Option<&TypeStatus> {
        self.types().iter().find(|ty| ty.type_url() == type_url)
    }

    /// The publication that the stream last looked at; `None` as long as nothing is published for it.
    #[must_use]
    pub fn generation(&self) -> Option<Generation> {
        self.progress.generation
    }

    /// The newest publication on which the stream came to rest.
    #[must_use]
    pub fn settlement(&self) -> Option<Settlement> {
        self.progress.settlement
    }

    /// Whether the stream is on the latest content: all that the source has for it was sent, and was accepted or
    /// rejected. A publication counts from when the stream was told of it, which is shortly after it was made.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.progress.is_settled()
    }

    /// Since when it is not settled.
    #[must_use]
    pub fn unsettled_since(&self) -> Option<SystemTime> {
        self.progress.unsettled_since
    }

    /// Whether the client rejects something that it was sent on this stream.
    #[must_use]
    pub fn is_rejecting(&self) -> bool {
        self.progress.is_rejecting()
    }
}
