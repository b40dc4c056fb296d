//! Listeners, their network filters, and the HTTP connection manager.

use portolan_core::well_known::{ROUTE, SCOPED_ROUTE};

use super::matching::{MATCHER, TYPED_EXTENSION_CONFIG};
use super::route::{ROUTE_CONFIGURATION, SCOPED_ROUTE_CONFIGURATION};
use super::services::{ACCESS_LOG, GRPC_SERVICE, RATE_LIMIT_SERVICE};
use super::tls::TRANSPORT_SOCKET;
use super::{At, Discovers, Message, Unnamed, any, many, needs_cluster, one};

pub(super) static LISTENER: Message = Message {
    name: "envoy.config.listener.v3.Listener",
    fields: &[
        many("filter_chains", 3, &FILTER_CHAIN),
        one("default_filter_chain", 25, &FILTER_CHAIN),
        many("listener_filters", 9, &LISTENER_FILTER),
        one("api_listener", 19, &API_LISTENER),
        many("access_log", 22, &ACCESS_LOG),
        one("udp_listener_config", 18, &UDP_LISTENER_CONFIG),
    ],
    discovers: None,
};

pub(super) const IN_ANY: &[&Message] = &[
    &HTTP_CONNECTION_MANAGER,
    &ENVOY_MOBILE_HTTP_CONNECTION_MANAGER,
    &TCP_PROXY,
    &UDP_PROXY,
    &UDP_ROUTE,
    &NETWORK_EXT_AUTHZ,
    &NETWORK_EXT_PROC,
    &NETWORK_RATE_LIMIT,
];

static FILTER_CHAIN: Message = Message {
    name: "envoy.config.listener.v3.FilterChain",
    fields: &[
        many("filters", 3, &FILTER),
        one("transport_socket", 6, &TRANSPORT_SOCKET),
    ],
    discovers: None,
};

static API_LISTENER: Message = Message {
    name: "envoy.config.listener.v3.ApiListener",
    fields: &[any("api_listener", 1)],
    discovers: None,
};

static UDP_LISTENER_CONFIG: Message = Message {
    name: "envoy.config.listener.v3.UdpListenerConfig",
    fields: &[one("quic_options", 7, &QUIC_PROTOCOL_OPTIONS)],
    discovers: None,
};

static QUIC_PROTOCOL_OPTIONS: Message = Message {
    name: "envoy.config.listener.v3.QuicProtocolOptions",
    fields: &[one(
        "connection_id_generator_config",
        8,
        &TYPED_EXTENSION_CONFIG,
    )],
    discovers: None,
};

static FILTER: Message = Message {
    name: "envoy.config.listener.v3.Filter",
    fields: &[
        any("typed_config", 4),
        one("config_discovery", 5, &EXTENSION_SOURCE),
    ],
    discovers: Some(Discovers::extension(
        &[At("config_discovery", 5), At("config_source", 1)],
        &[At("config_discovery", 5), At("default_config", 2)],
    )),
};

static LISTENER_FILTER: Message = Message {
    name: "envoy.config.listener.v3.ListenerFilter",
    fields: &[
        any("typed_config", 3),
        one("config_discovery", 5, &EXTENSION_SOURCE),
    ],
    discovers: Some(Discovers::extension(
        &[At("config_discovery", 5), At("config_source", 1)],
        &[At("config_discovery", 5), At("default_config", 2)],
    )),
};

pub(super) static HTTP_FILTER: Message = Message {
    name: "envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter",
    fields: &[
        any("typed_config", 4),
        one("config_discovery", 5, &EXTENSION_SOURCE),
    ],
    discovers: Some(Discovers::extension(
        &[At("config_discovery", 5), At("config_source", 1)],
        &[At("config_discovery", 5), At("default_config", 2)],
    )),
};

pub(super) static EXTENSION_SOURCE: Message = Message {
    name: "envoy.config.core.v3.ExtensionConfigSource",
    fields: &[any("default_config", 2)],
    discovers: None,
};

static HTTP_CONNECTION_MANAGER: Message = Message {
    name: "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    fields: &[
        one("rds", 3, &RDS),
        one("route_config", 4, &ROUTE_CONFIGURATION),
        one("scoped_routes", 31, &SCOPED_ROUTES),
        many("http_filters", 5, &HTTP_FILTER),
        many("upgrade_configs", 23, &UPGRADE_CONFIG),
        many("access_log", 13, &ACCESS_LOG),
        one("tracing", 7, &TRACING),
    ],
    discovers: None,
};

static ENVOY_MOBILE_HTTP_CONNECTION_MANAGER: Message = Message {
    name: "envoy.extensions.filters.network.http_connection_manager.v3.EnvoyMobileHttpConnectionManager",
    fields: &[one("config", 1, &HTTP_CONNECTION_MANAGER)],
    discovers: None,
};

static RDS: Message = Message {
    name: "envoy.extensions.filters.network.http_connection_manager.v3.Rds",
    fields: &[],
    discovers: Some(Discovers::new(
        ROUTE,
        &[At("config_source", 1)],
        &[At("route_config_name", 2)],
        "route_config_name",
    )),
};

static SCOPED_ROUTES: Message = Message {
    name: "envoy.extensions.filters.network.http_connection_manager.v3.ScopedRoutes",
    fields: &[
        one("scoped_route_configurations_list", 4, &SCOPED_ROUTE_LIST),
        one("scoped_rds", 5, &SCOPED_RDS),
    ],
    discovers: None,
};

static SCOPED_ROUTE_LIST: Message = Message {
    name: "envoy.extensions.filters.network.http_connection_manager.v3.ScopedRouteConfigurationsList",
    fields: &[many(
        "scoped_route_configurations",
        1,
        &SCOPED_ROUTE_CONFIGURATION,
    )],
    discovers: None,
};

static SCOPED_RDS: Message = Message {
    name: "envoy.extensions.filters.network.http_connection_manager.v3.ScopedRds",
    fields: &[],
    discovers: Some(
        Discovers::new(
            SCOPED_ROUTE,
            &[At("scoped_rds_config_source", 1)],
            &[At("srds_resources_locator", 2)],
            "srds_resources_locator",
        )
        .or(Unnamed::Everything),
    ),
};

static UPGRADE_CONFIG: Message = Message {
    name: "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.UpgradeConfig",
    fields: &[many("filters", 2, &HTTP_FILTER)],
    discovers: None,
};

static TRACING: Message = Message {
    name: "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.Tracing",
    fields: &[one("provider", 9, &TRACING_PROVIDER)],
    discovers: None,
};

static TRACING_PROVIDER: Message = Message {
    name: "envoy.config.trace.v3.Tracing.Http",
    fields: &[any("typed_config", 3)],
    discovers: None,
};

static TCP_PROXY: Message = Message {
    name: "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
    fields: &[
        needs_cluster("cluster", 2),
        one("weighted_clusters", 10, &TCP_WEIGHTED_CLUSTER),
        many("access_log", 5, &ACCESS_LOG),
    ],
    discovers: None,
};

static TCP_WEIGHTED_CLUSTER: Message = Message {
    name: "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.WeightedCluster",
    fields: &[many("clusters", 1, &TCP_CLUSTER_WEIGHT)],
    discovers: None,
};

static TCP_CLUSTER_WEIGHT: Message = Message {
    name: "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.WeightedCluster.ClusterWeight",
    fields: &[needs_cluster("name", 1)],
    discovers: None,
};

static UDP_PROXY: Message = Message {
    name: "envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig",
    fields: &[
        needs_cluster("cluster", 2),
        one("matcher", 9, &MATCHER),
        many("access_log", 8, &ACCESS_LOG),
        many("proxy_access_log", 10, &ACCESS_LOG),
        many("session_filters", 11, &UDP_SESSION_FILTER),
    ],
    discovers: None,
};

static UDP_SESSION_FILTER: Message = Message {
    name: "envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig.SessionFilter",
    fields: &[
        any("typed_config", 2),
        one("config_discovery", 3, &EXTENSION_SOURCE),
    ],
    discovers: Some(Discovers::extension(
        &[At("config_discovery", 3), At("config_source", 1)],
        &[At("config_discovery", 3), At("default_config", 2)],
    )),
};

static UDP_ROUTE: Message = Message {
    name: "envoy.extensions.filters.udp.udp_proxy.v3.Route",
    fields: &[needs_cluster("cluster", 1)],
    discovers: None,
};

static NETWORK_EXT_AUTHZ: Message = Message {
    name: "envoy.extensions.filters.network.ext_authz.v3.ExtAuthz",
    fields: &[one("grpc_service", 2, &GRPC_SERVICE)],
    discovers: None,
};

static NETWORK_EXT_PROC: Message = Message {
    name: "envoy.extensions.filters.network.ext_proc.v3.NetworkExternalProcessor",
    fields: &[one("grpc_service", 1, &GRPC_SERVICE)],
    discovers: None,
};

static NETWORK_RATE_LIMIT: Message = Message {
    name: "envoy.extensions.filters.network.ratelimit.v3.RateLimit",
    fields: &[one("rate_limit_service", 6, &RATE_LIMIT_SERVICE)],
    discovers: None,
};
