//! By what the transport knows of the client.

use super::NodeHash;
use crate::{Node, Peer, Refusal, RefusalKind};

/// Clients of one authenticated name are a group, named by it: a SPIFFE id, for instance. What the node says of itself
/// is not asked.
///
/// It is [`Peer::identity`], which whoever makes peers of connections must set: for mutual TLS, read from the client's
/// verified certificate. A peer without one is refused as [`RefusalKind::Unauthenticated`], which
/// [`or`](NodeHash::or) lets stand.
///
/// ```
/// use portolan_core::node_hash::PeerIdentity;
/// use portolan_core::{Node, NodeHash, Peer};
///
/// let hash = PeerIdentity::default();
/// let peer = Peer::unknown().with_identity("spiffe://example.org/edge");
/// assert_eq!(hash.key(&Node::new("claims-to-be-another"), &peer)?, "spiffe://example.org/edge");
/// assert!(hash.key(&Node::new("n1"), &Peer::unknown()).is_err());
/// # Ok::<(), portolan_core::Refusal>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PeerIdentity;

impl NodeHash for PeerIdentity {
    type Key = String;

    fn key(&self, _: &Node, peer: &Peer) -> Result<String, Refusal> {
        match peer.identity() {
            None | Some("") => Err(Refusal::new(
                RefusalKind::Unauthenticated,
                "the connection proves no identity; connect with mutual TLS and a certificate that names the client",
            )),
            Some(identity) => Ok(identity.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unproven_peer_is_told_how_to_prove_itself() {
        for peer in [Peer::unknown(), Peer::unknown().with_identity("")] {
            let refusal = PeerIdentity::default()
                .key(&Node::new("n"), &peer)
                .unwrap_err();
            assert_eq!(refusal.kind(), RefusalKind::Unauthenticated);
            assert!(
                refusal.reason().contains("connect with mutual TLS"),
                "{refusal}"
            );
        }
    }
}
