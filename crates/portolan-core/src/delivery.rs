use std::fmt::Debug;

use crate::{Generation, GroupKey, Node, TypeUrl, Version};

/// What became of one response on one stream.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Delivery<'a> {
    /// The stream, numbered by the server.
    pub stream: u64,
    /// The client.
    pub node: &'a Node,
    /// Type of the response.
    pub type_url: &'a TypeUrl,
    /// Version that the response carried.
    pub version: &'a Version,
    /// Publication from which the response was made.
    pub generation: Generation,
    /// What became of it.
    pub outcome: DeliveryOutcome<'a>,
}

impl<'a> Delivery<'a> {
    /// An outcome of a response of `version`, made from publication `generation`.
    #[must_use]
    pub const fn new(
        stream: u64,
        node: &'a Node,
        type_url: &'a TypeUrl,
        version: &'a Version,
        generation: Generation,
        outcome: DeliveryOutcome<'a>,
    ) -> Self {
        Self {
            stream,
            node,
            type_url,
            version,
            generation,
            outcome,
        }
    }
}

/// How far a response got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeliveryOutcome<'a> {
    /// It was handed to the transport.
    Sent,
    /// The client accepted it.
    Acked,
    /// The client rejected it, in whole or in part, for this reason.
    Nacked(&'a str),
}

/// A stream has come to rest on a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    generation: Generation,
    rejecting: bool,
}

impl Settlement {
    /// A settlement on a publication, of which the client may reject a part.
    #[must_use]
    pub const fn new(generation: Generation, rejecting: bool) -> Self {
        Self {
            generation,
            rejecting,
        }
    }

    /// The publication.
    #[must_use]
    pub const fn generation(self) -> Generation {
        self.generation
    }

    /// Whether the client rejected some of what it was sent, and nothing has taken its place since.
    #[must_use]
    pub const fn is_rejecting(self) -> bool {
        self.rejecting
    }
}

/// The number of a view: unique among all that one cache ever opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId(u64);

impl ViewId {
    /// A view's number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Hears how far each stream of a group got: what a cache is told through [`View`](crate::View), with the group.
///
/// Of one view the calls come one after the other: `opened` first, `closed` last. Those of different views overlap.
/// They come from the streams' own tasks: they must not block.
pub trait DeliverySink<K: GroupKey>: Debug + Send + Sync {
    /// A stream of the group was opened, by `node`.
    fn opened(&self, _group: &K, _view: ViewId, _node: &Node) {}

    /// A response got further.
    fn delivered(&self, _group: &K, _view: ViewId, _delivery: &Delivery<'_>) {}

    /// A stream came to rest on a publication, see [`View::settled`](crate::View::settled).
    fn settled(&self, _group: &K, _view: ViewId, _settlement: Settlement) {}

    /// A stream ended.
    fn closed(&self, _group: &K, _view: ViewId) {}
}
