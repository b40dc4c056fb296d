//! Node hashes made of others.

use std::fmt;

use super::{GroupKey, NodeHash};
use crate::{Node, Peer, Refusal, RefusalKind};

/// All nodes are one group. Behind [`or`](NodeHash::or), it is the group of those that no other part knows.
///
/// ```
/// use portolan_core::node_hash::Constant;
/// use portolan_core::{Node, NodeHash, Peer};
///
/// assert_eq!(Constant::new("all").key(&Node::default(), &Peer::unknown())?, "all");
/// # Ok::<(), portolan_core::Refusal>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Constant<K>(K);

impl<K: GroupKey> Constant<K> {
    /// The group of all nodes.
    #[must_use]
    pub const fn new(key: K) -> Self {
        Self(key)
    }
}

impl<K: GroupKey> NodeHash for Constant<K> {
    type Key = K;

    fn key(&self, _: &Node, _: &Peer) -> Result<K, Refusal> {
        Ok(self.0.clone())
    }
}

/// Both keys; refused by the first that refuses.
impl<A: NodeHash, B: NodeHash> NodeHash for (A, B) {
    type Key = (A::Key, B::Key);

    fn key(&self, node: &Node, peer: &Peer) -> Result<Self::Key, Refusal> {
        Ok((self.0.key(node, peer)?, self.1.key(node, peer)?))
    }
}

/// Made by [`NodeHash::map`].
#[derive(Clone, Copy)]
pub struct Map<H, F> {
    hash: H,
    f: F,
}

impl<H, F> Map<H, F> {
    pub(super) const fn new(hash: H, f: F) -> Self {
        Self { hash, f }
    }
}

impl<H, K, F> NodeHash for Map<H, F>
where
    H: NodeHash,
    K: GroupKey,
    F: Fn(H::Key) -> K + Send + Sync + 'static,
{
    type Key = K;

    fn key(&self, node: &Node, peer: &Peer) -> Result<K, Refusal> {
        self.hash.key(node, peer).map(&self.f)
    }
}

impl<H: fmt::Debug, F> fmt::Debug for Map<H, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Map")
            .field(&self.hash)
            .finish_non_exhaustive()
    }
}

/// Made by [`NodeHash::or`].
#[derive(Clone, Copy, Debug)]
pub struct Or<A, B> {
    first: A,
    second: B,
}

impl<A, B> Or<A, B> {
    pub(super) const fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

impl<A: NodeHash, B: NodeHash<Key = A::Key>> NodeHash for Or<A, B> {
    type Key = A::Key;

    fn key(&self, node: &Node, peer: &Peer) -> Result<A::Key, Refusal> {
        let first = match self.first.key(node, peer) {
            Err(refusal) if refusal.kind() == RefusalKind::Invalid => refusal,
            decided => return decided,
        };
        let second = self.second.key(node, peer);
        second.map_err(|second| {
            Refusal::new(second.kind(), format!("{first}; failing that, {second}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_hash::{NodeCluster, NodeId, NodeMetadata, PeerIdentity, from_fn};

    fn key<H: NodeHash>(hash: &H, node: &Node) -> Result<H::Key, Refusal> {
        hash.key(node, &Peer::unknown())
    }

    #[test]
    fn a_pair_needs_both_keys() {
        let hash = (NodeCluster::default(), NodeId::default());
        let both = Node::new("n").with_cluster("c");
        assert_eq!(key(&hash, &both), Ok(("c".to_owned(), "n".to_owned())));
        let no_cluster = key(&hash, &Node::new("n")).unwrap_err();
        assert!(no_cluster.reason().contains("node.cluster"), "{no_cluster}");
        let no_id = key(&hash, &Node::default().with_cluster("c")).unwrap_err();
        assert!(no_id.reason().contains("node.id"), "{no_id}");
    }

    #[test]
    fn another_part_is_asked_only_where_the_first_does_not_know() {
        let hash = NodeMetadata::new("role").or(NodeCluster::default());
        let node = Node::default().with_cluster("c");
        assert_eq!(key(&hash, &node).as_deref(), Ok("c"));
        assert_eq!(
            key(&hash, &node.with_metadata("role", "r")).as_deref(),
            Ok("r")
        );
    }

    #[test]
    fn who_is_refused_by_both_hears_both_remedies() {
        let hash = NodeMetadata::new("role").or(NodeCluster::default());
        let refusal = key(&hash, &Node::default()).unwrap_err();
        assert_eq!(refusal.kind(), RefusalKind::Invalid);
        for remedy in [
            "node.metadata[\"role\"]",
            "; failing that, ",
            "node.cluster",
        ] {
            assert!(refusal.reason().contains(remedy), "{refusal}");
        }
        let refusal = key(
            &NodeId::default().or(PeerIdentity::default()),
            &Node::default(),
        );
        assert_eq!(
            refusal.map_err(|refusal| refusal.kind()),
            Err(RefusalKind::Unauthenticated)
        );
    }

    #[test]
    fn what_was_not_proved_is_not_replaced_by_what_is_said() {
        let node = Node::new("says-so");
        let unproven = PeerIdentity::default().or(NodeId::default());
        assert_eq!(
            key(&unproven, &node).map_err(|r| r.kind()),
            Err(RefusalKind::Unauthenticated)
        );
        let denied = from_fn(|_, _| Err::<String, _>(Refusal::denied("not for you")));
        let refusal = key(&denied.or(NodeId::default()), &node).unwrap_err();
        assert_eq!(refusal, Refusal::denied("not for you"));
    }

    #[test]
    fn parts_of_parts_are_parts() {
        let team = NodeMetadata::new("team").map(|team| team.to_lowercase());
        let hash = (
            team.or(Constant::new("none".to_owned())),
            NodeCluster::default(),
        )
            .map(|(team, cluster)| format!("{team}/{cluster}"));
        let node = Node::default().with_cluster("edge");
        assert_eq!(key(&hash, &node).as_deref(), Ok("none/edge"));
        assert_eq!(
            key(&hash, &node.with_metadata("team", "Shop")).as_deref(),
            Ok("shop/edge")
        );
        assert!(format!("{hash:?}").contains("NodeCluster"), "{hash:?}");
    }
}
