//! Clusters and their endpoints.

use portolan_core::well_known::{ENDPOINT, LOCALITY_ENDPOINT};

use super::listener::{EXTENSION_SOURCE, HTTP_FILTER};
use super::matching::MATCHER;
use super::route::REQUEST_MIRROR_POLICY;
use super::tls::TRANSPORT_SOCKET;
use super::{At, Discovers, Message, Unnamed, any, any_by_key, many, needs_cluster, one, repeated};

/// `DiscoveryType.EDS`.
const EDS: u64 = 3;

pub(super) static CLUSTER: Message = Message {
    name: "envoy.config.cluster.v3.Cluster",
    fields: &[
        one("cluster_type", 38, &CUSTOM_CLUSTER_TYPE),
        one("load_assignment", 33, &CLUSTER_LOAD_ASSIGNMENT),
        one("transport_socket", 24, &TRANSPORT_SOCKET),
        many("transport_socket_matches", 43, &TRANSPORT_SOCKET_MATCH),
        one("transport_socket_matcher", 59, &MATCHER),
        any_by_key("typed_extension_protocol_options", 36),
        many("filters", 40, &FILTER),
    ],
    discovers: Some(
        Discovers::new(
            ENDPOINT,
            &[At("eds_cluster_config", 3), At("eds_config", 1)],
            &[At("eds_cluster_config", 3), At("service_name", 2)],
            "eds_cluster_config.service_name",
        )
        .or(Unnamed::Namesake(At("name", 1)))
        .only_if(At("type", 2), EDS),
    ),
};

pub(super) const IN_ANY: &[&Message] = &[&AGGREGATE, &HTTP_PROTOCOL_OPTIONS];

static CUSTOM_CLUSTER_TYPE: Message = Message {
    name: "envoy.config.cluster.v3.Cluster.CustomClusterType",
    fields: &[any("typed_config", 2)],
    discovers: None,
};

static TRANSPORT_SOCKET_MATCH: Message = Message {
    name: "envoy.config.cluster.v3.Cluster.TransportSocketMatch",
    fields: &[one("transport_socket", 3, &TRANSPORT_SOCKET)],
    discovers: None,
};

static FILTER: Message = Message {
    name: "envoy.config.cluster.v3.Filter",
    fields: &[
        any("typed_config", 2),
        one("config_discovery", 3, &EXTENSION_SOURCE),
    ],
    discovers: Some(Discovers::extension(
        &[At("config_discovery", 3), At("config_source", 1)],
        &[At("config_discovery", 3), At("default_config", 2)],
    )),
};

static AGGREGATE: Message = Message {
    name: "envoy.extensions.clusters.aggregate.v3.ClusterConfig",
    fields: &[repeated(needs_cluster("clusters", 1))],
    discovers: None,
};

static HTTP_PROTOCOL_OPTIONS: Message = Message {
    name: "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
    fields: &[
        many("http_filters", 6, &HTTP_FILTER),
        many("request_mirror_policies", 9, &REQUEST_MIRROR_POLICY),
    ],
    discovers: None,
};

pub(super) static CLUSTER_LOAD_ASSIGNMENT: Message = Message {
    name: "envoy.config.endpoint.v3.ClusterLoadAssignment",
    fields: &[many("endpoints", 2, &LOCALITY_LB_ENDPOINTS)],
    discovers: None,
};

static LOCALITY_LB_ENDPOINTS: Message = Message {
    name: "envoy.config.endpoint.v3.LocalityLbEndpoints",
    fields: &[one("leds_cluster_locality_config", 8, &LEDS)],
    discovers: None,
};

static LEDS: Message = Message {
    name: "envoy.config.endpoint.v3.LedsClusterLocalityConfig",
    fields: &[],
    discovers: Some(Discovers::new(
        LOCALITY_ENDPOINT,
        &[At("leds_config", 1)],
        &[At("leds_collection_name", 2)],
        "leds_collection_name",
    )),
};
