//! Listeners that the builders do not make.

use portolan::resources::build;
use portolan::types::Any;
use portolan::types::envoy::config::listener::v3::filter::ConfigType;
use portolan::types::envoy::config::listener::v3::{Filter, FilterChain, Listener};
use portolan::types::envoy::extensions::filters::http::router::v3::Router;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, HttpFilter, http_filter,
};

/// A listener on a free port of the loopback address.
pub(crate) fn http(name: &str, manager: HttpConnectionManager) -> Listener {
    Listener {
        name: name.to_owned(),
        address: Some(build::socket_address(([127, 0, 0, 1], 0).into())),
        filter_chains: vec![FilterChain {
            filters: vec![Filter {
                name: "envoy.filters.network.http_connection_manager".to_owned(),
                config_type: Some(ConfigType::TypedConfig(Any::pack(&manager))),
            }],
            ..FilterChain::default()
        }],
        ..Listener::default()
    }
}

pub(crate) fn router() -> HttpFilter {
    HttpFilter {
        name: "envoy.filters.http.router".to_owned(),
        config_type: Some(http_filter::ConfigType::TypedConfig(Any::pack(
            &Router::default(),
        ))),
        ..HttpFilter::default()
    }
}
