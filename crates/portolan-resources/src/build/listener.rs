use std::net::SocketAddr;

use portolan_types::Any;
use portolan_types::envoy::config::core::v3::ConfigSource;
use portolan_types::envoy::config::listener::v3::filter::ConfigType;
use portolan_types::envoy::config::listener::v3::{Filter, FilterChain, Listener};
use portolan_types::envoy::config::route::v3::RouteConfiguration;
use portolan_types::envoy::extensions::filters::http::router::v3::Router;
use portolan_types::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use portolan_types::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, HttpFilter, Rds, http_filter,
};
use portolan_types::envoy::extensions::filters::network::tcp_proxy::v3::TcpProxy;
use portolan_types::envoy::extensions::filters::network::tcp_proxy::v3::tcp_proxy::ClusterSpecifier;
use prost::{Message, Name};

use super::{ads, socket_address};

/// A listener for HTTP whose route table is the [`route_configuration`](super::route_configuration) named `route`.
#[must_use]
pub fn http_listener(
    name: impl Into<String>,
    address: SocketAddr,
    route: impl Into<String>,
) -> Listener {
    discovered_http_listener(name, address, route, ads())
}

/// As [`http_listener`], with the route table from a source of choice.
#[must_use]
pub fn discovered_http_listener(
    name: impl Into<String>,
    address: SocketAddr,
    route: impl Into<String>,
    source: ConfigSource,
) -> Listener {
    let rds = Rds {
        config_source: Some(source),
        route_config_name: route.into(),
    };
    http(name.into(), address, RouteSpecifier::Rds(rds))
}

/// A listener for HTTP that holds its route table itself. A change of its routes drains the listener's connections;
/// prefer [`http_listener`].
#[must_use]
pub fn inline_http_listener(
    name: impl Into<String>,
    address: SocketAddr,
    routes: RouteConfiguration,
) -> Listener {
    http(name.into(), address, RouteSpecifier::RouteConfig(routes))
}

/// A listener that passes connections on to `cluster`.
#[must_use]
pub fn tcp_listener(
    name: impl Into<String>,
    address: SocketAddr,
    cluster: impl Into<String>,
) -> Listener {
    let name = name.into();
    let proxy = TcpProxy {
        stat_prefix: name.clone(),
        cluster_specifier: Some(ClusterSpecifier::Cluster(cluster.into())),
        ..TcpProxy::default()
    };
    listener(
        name,
        address,
        filter("envoy.filters.network.tcp_proxy", &proxy),
    )
}

fn http(name: String, address: SocketAddr, routes: RouteSpecifier) -> Listener {
    let router = HttpFilter {
        name: "envoy.filters.http.router".to_owned(),
        config_type: Some(http_filter::ConfigType::TypedConfig(Any::pack(
            &Router::default(),
        ))),
        ..HttpFilter::default()
    };
    let manager = HttpConnectionManager {
        stat_prefix: name.clone(),
        route_specifier: Some(routes),
        http_filters: vec![router],
        ..HttpConnectionManager::default()
    };
    listener(
        name,
        address,
        filter("envoy.filters.network.http_connection_manager", &manager),
    )
}

fn listener(name: String, address: SocketAddr, filter: Filter) -> Listener {
    Listener {
        name,
        address: Some(socket_address(address)),
        filter_chains: vec![FilterChain {
            filters: vec![filter],
            ..FilterChain::default()
        }],
        ..Listener::default()
    }
}

fn filter<M: Message + Name>(name: &str, config: &M) -> Filter {
    Filter {
        name: name.to_owned(),
        config_type: Some(ConfigType::TypedConfig(Any::pack(config))),
    }
}
