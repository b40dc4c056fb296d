use std::net::SocketAddr;

use portolan_types::Any;
use portolan_types::envoy::config::cluster::v3::Cluster;
use portolan_types::envoy::config::cluster::v3::cluster::{
    ClusterDiscoveryType, CustomClusterType, DiscoveryType, EdsClusterConfig, LbPolicy,
};
use portolan_types::envoy::config::core::v3::Http2ProtocolOptions;
use portolan_types::envoy::extensions::clusters::aggregate::v3::ClusterConfig;
use portolan_types::envoy::extensions::upstreams::http::v3::HttpProtocolOptions;
use portolan_types::envoy::extensions::upstreams::http::v3::http_protocol_options::explicit_http_config::ProtocolConfig;
use portolan_types::envoy::extensions::upstreams::http::v3::http_protocol_options::{
    ExplicitHttpConfig, UpstreamProtocolOptions,
};

use super::{address, ads, endpoint};

/// Key under which a cluster holds its upstream HTTP options.
const HTTP_OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/// A cluster whose endpoints are the [`assignment`](super::assignment) of the same name.
#[must_use]
pub fn eds_cluster(name: impl Into<String>) -> Cluster {
    Cluster {
        eds_cluster_config: Some(EdsClusterConfig {
            eds_config: Some(ads()),
            service_name: String::new(),
        }),
        ..of_type(name, DiscoveryType::Eds)
    }
}

/// A cluster with fixed endpoints.
#[must_use]
pub fn static_cluster(
    name: impl Into<String>,
    endpoints: impl IntoIterator<Item = SocketAddr>,
) -> Cluster {
    let cluster = of_type(name, DiscoveryType::Static);
    Cluster {
        load_assignment: Some(super::assignment(&cluster.name, endpoints)),
        ..cluster
    }
}

/// A cluster whose endpoints are all addresses of a host name.
#[must_use]
pub fn strict_dns_cluster(name: impl Into<String>, host: impl Into<String>, port: u16) -> Cluster {
    let cluster = of_type(name, DiscoveryType::StrictDns);
    let host = endpoint::at(address::host_and_port(host.into(), port));
    Cluster {
        load_assignment: Some(endpoint::of(cluster.name.clone(), vec![host])),
        ..cluster
    }
}

/// A cluster that is the first healthy one of others.
#[must_use]
pub fn aggregate_cluster<S: Into<String>>(
    name: impl Into<String>,
    members: impl IntoIterator<Item = S>,
) -> Cluster {
    let config = ClusterConfig {
        clusters: members.into_iter().map(Into::into).collect(),
    };
    let custom = CustomClusterType {
        name: "envoy.clusters.aggregate".to_owned(),
        typed_config: Some(Any::pack(&config)),
    };
    Cluster {
        name: name.into(),
        cluster_discovery_type: Some(ClusterDiscoveryType::ClusterType(custom)),
        lb_policy: LbPolicy::ClusterProvided as i32,
        ..Cluster::default()
    }
}

/// Makes a cluster speak HTTP/2 to its endpoints, as gRPC services need.
#[must_use]
pub fn http2(mut cluster: Cluster) -> Cluster {
    let explicit = ExplicitHttpConfig {
        protocol_config: Some(ProtocolConfig::Http2ProtocolOptions(
            Http2ProtocolOptions::default(),
        )),
    };
    let options = HttpProtocolOptions {
        upstream_protocol_options: Some(UpstreamProtocolOptions::ExplicitHttpConfig(explicit)),
        ..HttpProtocolOptions::default()
    };
    cluster
        .typed_extension_protocol_options
        .insert(HTTP_OPTIONS.to_owned(), Any::pack(&options));
    cluster
}

fn of_type(name: impl Into<String>, discovery: DiscoveryType) -> Cluster {
    Cluster {
        name: name.into(),
        cluster_discovery_type: Some(ClusterDiscoveryType::Type(discovery as i32)),
        ..Cluster::default()
    }
}
