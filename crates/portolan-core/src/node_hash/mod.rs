//! From a node to the group that it is served with: [`NodeHash`], and parts to build one from.
//!
//! | part | a node's group is |
//! |---|---|
//! | [`NodeId`] | its id: each node for itself |
//! | [`NodeCluster`] | the cluster that it says it belongs to |
//! | [`NodeLocality`] | where it runs, to the region, the zone or the sub-zone |
//! | [`NodeMetadata`] | a text in its metadata |
//! | [`PeerIdentity`] | the name that was authenticated for the connection, whatever the node says |
//! | [`Constant`] | the same for all |
//! | [`from_fn`] | what a closure says |
//!
//! Parts are put together: [`map`](NodeHash::map) makes another key of a key, [`or`](NodeHash::or) asks another part
//! where a node does not say, and a pair of parts is a part whose key is the pair of their keys.
//!
//! ```
//! use portolan_core::node_hash::{Constant, NodeCluster, NodeLocality, NodeMetadata};
//! use portolan_core::{Locality, Node, NodeHash, Peer};
//!
//! // By the role in the metadata, else by the cluster, each zone apart.
//! let role = NodeMetadata::new("role").or(NodeCluster::default());
//! let hash = (role, NodeLocality::zone());
//!
//! let node = Node::new("n1").with_cluster("edge").with_locality(Locality::new("eu", "eu-a", "rack-3"));
//! let key = hash.key(&node, &Peer::unknown())?;
//! assert_eq!(key, ("edge".to_owned(), Locality::new("eu", "eu-a", "")));
//!
//! // What no part can tell is refused, in words that say what to do.
//! let refusal = hash.key(&Node::new("n2"), &Peer::unknown()).unwrap_err();
//! assert!(refusal.reason().contains("node.metadata[\"role\"]"), "{refusal}");
//! assert!(refusal.reason().contains("node.cluster"), "{refusal}");
//! # Ok::<(), portolan_core::Refusal>(())
//! ```

mod by_node;
mod by_peer;
mod combine;
mod from_fn;
mod metadata;

use std::fmt::Debug;
use std::hash::Hash;

use crate::{Node, Peer, Refusal};

pub use by_node::{NodeCluster, NodeId, NodeLocality};
pub use by_peer::PeerIdentity;
pub use combine::{Constant, Map, Or};
pub use from_fn::{FromFn, from_fn};
pub use metadata::NodeMetadata;

/// What can name a group of nodes that are served the same: any value that can be a map's key.
pub trait GroupKey: Clone + Debug + Eq + Hash + Ord + Send + Sync + 'static {}

impl<T: Clone + Debug + Eq + Hash + Ord + Send + Sync + 'static> GroupKey for T {}

/// Maps a node to the group whose snapshot it is served.
///
/// Asked once per stream. It may look at the node, which the client made up, and at the peer, which it could not.
///
/// The [module](crate::node_hash) has parts for the usual ways to tell nodes apart. One of your own:
///
/// ```
/// use portolan_core::{Node, NodeHash, Peer, Refusal};
///
/// /// Proxies of one release are served the same.
/// #[derive(Debug)]
/// struct ByRelease;
///
/// impl NodeHash for ByRelease {
///     type Key = String;
///
///     fn key(&self, node: &Node, _: &Peer) -> Result<String, Refusal> {
///         match node.user_agent_version() {
///             "" => Err(Refusal::invalid("the node has no version; use a client that says its own")),
///             version => Ok(version.to_owned()),
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

    /// Makes another key of each key: one of your own type, or one that several keys share.
    ///
    /// ```
    /// use portolan_core::node_hash::{NodeCluster, NodeMetadata};
    /// use portolan_core::{Node, NodeHash, Peer};
    ///
    /// #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    /// struct Fleet {
    ///     team: String,
    ///     canary: bool,
    /// }
    ///
    /// let hash = (NodeCluster::default(), NodeMetadata::new("track"))
    ///     .map(|(team, track)| Fleet { team, canary: track == "canary" });
    ///
    /// let node = Node::new("n1").with_cluster("shop").with_metadata("track", "stable");
    /// let fleet = hash.key(&node, &Peer::unknown())?;
    /// assert_eq!(fleet, Fleet { team: "shop".to_owned(), canary: false });
    /// # Ok::<(), portolan_core::Refusal>(())
    /// ```
    fn map<K, F>(self, f: F) -> Map<Self, F>
    where
        Self: Sized,
        K: GroupKey,
        F: Fn(Self::Key) -> K + Send + Sync + 'static,
    {
        Map::new(self, f)
    }

    /// Asks another where this one finds that the node does not say: where it refuses as [`RefusalKind::Invalid`].
    /// Any other refusal stands; what a client may not have, or did not prove, is not to be had by saying something
    /// else.
    ///
    /// [`RefusalKind::Invalid`]: crate::RefusalKind::Invalid
    ///
    /// ```
    /// use portolan_core::node_hash::{Constant, NodeMetadata};
    /// use portolan_core::{Node, NodeHash, Peer};
    ///
    /// let hash = NodeMetadata::new("role").or(Constant::new("default".to_owned()));
    /// assert_eq!(hash.key(&Node::new("n1"), &Peer::unknown())?, "default");
    /// # Ok::<(), portolan_core::Refusal>(())
    /// ```
    fn or<H>(self, other: H) -> Or<Self, H>
    where
        Self: Sized,
        H: NodeHash<Key = Self::Key>,
    {
        Or::new(self, other)
    }
}
