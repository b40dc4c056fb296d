//! By what a node says of itself outside its metadata.

use super::NodeHash;
use crate::{Locality, Node, Peer, Refusal};

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

/// Nodes of one cluster are a group, named by the cluster.
///
/// ```
/// use portolan_core::node_hash::NodeCluster;
/// use portolan_core::{Node, NodeHash, Peer};
///
/// let hash = NodeCluster::default();
/// let node = Node::new("n1").with_cluster("edge");
/// assert_eq!(hash.key(&node, &Peer::unknown())?, "edge");
/// # Ok::<(), portolan_core::Refusal>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct NodeCluster;

impl NodeHash for NodeCluster {
    type Key = String;

    fn key(&self, node: &Node, _: &Peer) -> Result<String, Refusal> {
        match node.cluster() {
            "" => Err(Refusal::invalid(
                "the node has no cluster; set node.cluster in the client's bootstrap (Envoy: or --service-cluster)",
            )),
            cluster => Ok(cluster.to_owned()),
        }
    }
}

/// Nodes of one place are a group, named by the place.
///
/// A node must say the part that groups are told apart by. The parts above it may be empty; those below it are left
/// out of the key.
///
/// ```
/// use portolan_core::node_hash::NodeLocality;
/// use portolan_core::{Locality, Node, NodeHash, Peer};
///
/// let node = Node::new("n1").with_locality(Locality::new("eu", "eu-a", "rack-3"));
/// let zone = NodeLocality::zone().key(&node, &Peer::unknown())?;
/// assert_eq!(zone, Locality::new("eu", "eu-a", ""));
///
/// // As a text, to go with other texts:
/// let region = NodeLocality::region().map(|place| place.region().to_owned());
/// assert_eq!(region.key(&node, &Peer::unknown())?, "eu");
/// # Ok::<(), portolan_core::Refusal>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NodeLocality(Granularity);

#[derive(Clone, Copy, Debug)]
enum Granularity {
    Region,
    Zone,
    SubZone,
}

impl NodeLocality {
    /// Each region is a group.
    #[must_use]
    pub const fn region() -> Self {
        Self(Granularity::Region)
    }

    /// Each zone of each region is a group.
    #[must_use]
    pub const fn zone() -> Self {
        Self(Granularity::Zone)
    }

    /// Each sub-zone of each zone is a group.
    #[must_use]
    pub const fn sub_zone() -> Self {
        Self(Granularity::SubZone)
    }
}

impl NodeHash for NodeLocality {
    type Key = Locality;

    fn key(&self, node: &Node, _: &Peer) -> Result<Locality, Refusal> {
        let place = node.locality();
        let (region, zone, sub_zone) = (place.region(), place.zone(), place.sub_zone());
        match self.0 {
            Granularity::Region if region.is_empty() => Err(Refusal::invalid(
                "the node has no region; set node.locality.region in the client's bootstrap",
            )),
            Granularity::Zone if zone.is_empty() => Err(Refusal::invalid(
                "the node has no zone; set node.locality.zone in the client's bootstrap (Envoy: or --service-zone)",
            )),
            Granularity::SubZone if sub_zone.is_empty() => Err(Refusal::invalid(
                "the node has no sub-zone; set node.locality.sub_zone in the client's bootstrap",
            )),
            Granularity::Region => Ok(Locality::new(region, "", "")),
            Granularity::Zone => Ok(Locality::new(region, zone, "")),
            Granularity::SubZone => Ok(place.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalKind;

    fn refusal<H: NodeHash>(hash: &H) -> Refusal {
        hash.key(&Node::default(), &Peer::unknown()).unwrap_err()
    }

    #[test]
    fn a_node_that_does_not_say_is_told_what_to_set() {
        let refusals = [
            (refusal(&NodeId::default()), "node.id"),
            (refusal(&NodeCluster::default()), "node.cluster"),
            (refusal(&NodeLocality::region()), "node.locality.region"),
            (refusal(&NodeLocality::zone()), "node.locality.zone"),
            (refusal(&NodeLocality::sub_zone()), "node.locality.sub_zone"),
        ];
        for (refusal, field) in refusals {
            assert_eq!(refusal.kind(), RefusalKind::Invalid);
            let remedy = format!("set {field} in the client's bootstrap");
            assert!(refusal.reason().contains(&remedy), "{refusal}");
        }
    }

    #[test]
    fn a_key_has_no_part_below_the_one_that_counts() {
        let key = |hash: NodeLocality, place: [&str; 3]| {
            let [region, zone, sub_zone] = place;
            let node = Node::default().with_locality(Locality::new(region, zone, sub_zone));
            hash.key(&node, &Peer::unknown()).ok()
        };
        let place = |region, zone, sub_zone| Some(Locality::new(region, zone, sub_zone));
        let full = ["r", "z", "s"];
        assert_eq!(key(NodeLocality::region(), full), place("r", "", ""));
        assert_eq!(key(NodeLocality::zone(), full), place("r", "z", ""));
        assert_eq!(key(NodeLocality::sub_zone(), full), place("r", "z", "s"));

        assert_eq!(
            key(NodeLocality::zone(), ["", "z", "s"]),
            place("", "z", "")
        );
        assert_eq!(key(NodeLocality::zone(), ["r", "", "s"]), None);
        // Zones of one name in two regions are two.
        assert_ne!(
            key(NodeLocality::zone(), ["r1", "z", ""]),
            key(NodeLocality::zone(), ["r2", "z", ""])
        );
    }
}
