use std::net::SocketAddr;

use portolan_types::envoy::config::core::v3::Address;
use portolan_types::envoy::config::endpoint::v3::lb_endpoint::HostIdentifier;
use portolan_types::envoy::config::endpoint::v3::{
    ClusterLoadAssignment, Endpoint, LbEndpoint, LocalityLbEndpoints,
};

use super::socket_address;

/// The endpoints of a cluster, all in one locality. With none of them the cluster exists and has nobody to answer:
/// that is how one drains it (C-133).
#[must_use]
pub fn assignment(
    cluster: impl Into<String>,
    endpoints: impl IntoIterator<Item = SocketAddr>,
) -> ClusterLoadAssignment {
    of(
        cluster.into(),
        endpoints.into_iter().map(lb_endpoint).collect(),
    )
}

/// One endpoint.
#[must_use]
pub fn lb_endpoint(address: SocketAddr) -> LbEndpoint {
    at(socket_address(address))
}

pub(super) fn at(address: Address) -> LbEndpoint {
    LbEndpoint {
        host_identifier: Some(HostIdentifier::Endpoint(Endpoint {
            address: Some(address),
            ..Endpoint::default()
        })),
        ..LbEndpoint::default()
    }
}

pub(super) fn of(cluster_name: String, lb_endpoints: Vec<LbEndpoint>) -> ClusterLoadAssignment {
    let locality = LocalityLbEndpoints {
        lb_endpoints,
        ..LocalityLbEndpoints::default()
    };
    let endpoints = match locality.lb_endpoints.is_empty() {
        true => Vec::new(),
        false => vec![locality],
    };
    ClusterLoadAssignment {
        cluster_name,
        endpoints,
        ..ClusterLoadAssignment::default()
    }
}
