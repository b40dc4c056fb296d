use std::fmt::Debug;
use std::hash::Hash;

use crate::{Node, Peer};

/// What can name a group of nodes that are served the same: any value that can be a map's key.
pub trait GroupKey: Clone + Debug + Eq + Hash + Ord + Send + Sync + 'static {}

impl<T: Clone + Debug + Eq + Hash + Ord + Send + Sync + 'static> GroupKey for T {}

/// Maps a node to the group whose snapshot it is served.
///
/// Asked once per stream. It may look at the node, which the client made up, and at the peer, which it could not.
///
/// ```
/// use portolan_core::{Node, NodeHash, Peer, Refusal};
///
/// #[derive(Debug)]
/// struct ByRegion;
///
/// impl NodeHash for ByRegion {
///     type Key = String;
///
///     fn key(&self, node: &Node, _: &Peer) -> Result<String, Refusal> {
///         match node.locality().region() {
///             "" => Err(Refusal::invalid("the node has no region; set node.locality in the bootstrap")),
///             region => Ok(region.to_owned()),
///         }
///     }
/// }
/// ```
pub trait NodeHash: Debug + Send + Sync + 'static {
    /// The name of a group.
    type Key: GroupKey;

    /// The group of a node.
    ///
    /// # Errors
    /// A refusal ends the stream; its text should say how the client's operator can mend it.
    fn key(&self, node: &Node, peer: &Peer) -> Result<Self::Key, Refusal>;
}

/// Each node is a group of its own, named by the node's id.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct NodeId;

impl NodeHash for NodeId {
    type Key = String;

    fn key(&self, node: &Node, _: &Peer) -> Result<String, Refusal> {
        match node.id() {
            "" => Err(Refusal::invalid(
                "the node has no id; set node.id in the client's bootstrap (Envoy: or --service-node)",
            )),
            id => Ok(id.to_owned()),
        }
    }
}

/// Why a stream is not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    kind: RefusalKind,
    reason: String,
}

/// Whose fault a [`Refusal`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The client's request makes no sense as it is; trying again does not help.
    Invalid,
    /// The client did not prove who it is.
    Unauthenticated,
    /// The client may not have what it asks for.
    Denied,
    /// A limit is reached.
    Exhausted,
    /// Not now; trying again helps.
    Unavailable,
}

impl Refusal {
    /// A refusal of some kind. The reason is sent to the client.
    pub fn new(kind: RefusalKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
        }
    }

    /// [`RefusalKind::Invalid`].
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Invalid, reason)
    }

    /// [`RefusalKind::Denied`].
    pub fn denied(reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Denied, reason)
    }

    /// [`RefusalKind::Unavailable`].
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Unavailable, reason)
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}
