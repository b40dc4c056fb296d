//! By a closure.

use std::any::type_name;
use std::fmt;

use super::{GroupKey, NodeHash};
use crate::{Node, Peer, Refusal};

/// A node hash that is a function. It may ask others:
///
/// ```
/// use portolan_core::node_hash::{NodeCluster, from_fn};
/// use portolan_core::{Node, NodeHash, Peer, Refusal};
///
/// // Only clusters that are known: clients cannot make up groups.
/// let known = ["edge", "mesh"];
/// let hash = from_fn(move |node, peer| {
///     let cluster = NodeCluster::default().key(node, peer)?;
///     if known.contains(&&*cluster) {
///         Ok(cluster)
///     } else {
///         Err(Refusal::denied(format!("no cluster {cluster:?}; node.cluster may be one of {known:?}")))
///     }
/// });
///
/// assert_eq!(hash.key(&Node::new("n1").with_cluster("mesh"), &Peer::unknown())?, "mesh");
/// assert!(hash.key(&Node::new("n2").with_cluster("mash"), &Peer::unknown()).is_err());
/// # Ok::<(), Refusal>(())
/// ```
pub const fn from_fn<K, F>(f: F) -> FromFn<F>
where
    K: GroupKey,
    F: Fn(&Node, &Peer) -> Result<K, Refusal> + Send + Sync + 'static,
{
    FromFn(f)
}

/// Made by [`from_fn`].
#[derive(Clone, Copy)]
pub struct FromFn<F>(F);

impl<K, F> NodeHash for FromFn<F>
where
    K: GroupKey,
    F: Fn(&Node, &Peer) -> Result<K, Refusal> + Send + Sync + 'static,
{
    type Key = K;

    fn key(&self, node: &Node, peer: &Peer) -> Result<K, Refusal> {
        (self.0)(node, peer)
    }
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FromFn({})", type_name::<F>())
    }
}
