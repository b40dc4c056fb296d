use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use portolan::core::{Snapshot, SnapshotBuilder};
use portolan::resources::{AddTyped, build};
use portolan::types::envoy::config::cluster::v3::Cluster;
use portolan::types::envoy::config::core::v3::address::Address;
use portolan::types::envoy::config::core::v3::socket_address::PortSpecifier;
use portolan::types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan::types::envoy::config::endpoint::v3::lb_endpoint::HostIdentifier;

use crate::dice::Dice;

/// Most clusters. With what each weighs, many do not fit into what a client lets come at once.
const CLUSTERS: u64 = 40;
const WEIGHT: usize = 500;

/// Names with revisions.
pub(crate) type Revisions = BTreeMap<String, u16>;

/// What is, or should be, at a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) clusters: Revisions,
    pub(crate) endpoints: Revisions,
}

impl Model {
    /// Changes, adds or removes a few.
    pub(crate) fn change(&mut self, dice: &mut Dice) {
        for _ in 0..=dice.below(6) {
            let name = format!("c{}", dice.below(CLUSTERS));
            match dice.below(4) {
                0 => {
                    self.clusters.remove(&name);
                    self.endpoints.remove(&name);
                }
                1 if self.clusters.contains_key(&name) => raise(&mut self.clusters, &name),
                _ => {
                    self.clusters.entry(name.clone()).or_insert(1);
                    raise(&mut self.endpoints, &name);
                }
            }
        }
    }

    /// Changes everything, so that what was rejected is replaced.
    pub(crate) fn change_all(&mut self) {
        let revisions = self
            .clusters
            .values_mut()
            .chain(self.endpoints.values_mut());
        revisions.for_each(|revision| *revision += 1);
        self.clusters.insert("last".to_owned(), 1);
        self.endpoints.insert("last".to_owned(), 1);
    }

    pub(crate) fn fill(&self, snapshot: &mut SnapshotBuilder) {
        let has = "names are distinct";
        for (name, revision) in &self.clusters {
            let mut cluster = build::eds_cluster(name);
            cluster.alt_stat_name = format!("{revision} {}", "x".repeat(WEIGHT));
            snapshot.add(&cluster).expect(has);
        }
        for (name, revision) in &self.endpoints {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *revision));
            let assignment = build::assignment(name, [address]);
            snapshot.add(&assignment).expect(has);
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::builder();
        self.fill(&mut snapshot);
        snapshot.build()
    }
}

/// The next revision, which is 1 for what is new.
fn raise(revisions: &mut Revisions, name: &str) {
    *revisions.entry(name.to_owned()).or_default() += 1;
}

/// The revision that a cluster was published in.
pub(crate) fn cluster_revision(cluster: &Cluster) -> Option<u16> {
    let (revision, _) = cluster.alt_stat_name.split_once(' ')?;
    revision.parse().ok()
}

/// The revision that an assignment was published in.
pub(crate) fn assignment_revision(assignment: &ClusterLoadAssignment) -> Option<u16> {
    let endpoint = assignment.endpoints.first()?.lb_endpoints.first()?;
    let Some(HostIdentifier::Endpoint(endpoint)) = &endpoint.host_identifier else {
        return None;
    };
    match endpoint.address.as_ref()?.address.as_ref()? {
        Address::SocketAddress(address) => match address.port_specifier {
            Some(PortSpecifier::PortValue(port)) => u16::try_from(port).ok(),
            _ => None,
        },
        _ => None,
    }
}
