//! Listeners that the builders do not make.

use portolan::resources::build;
use portolan::types::Any;
use portolan::types::envoy::config::core::v3::ConfigSource;
use portolan::types::envoy::config::listener::v3::filter::ConfigType;
use portolan::types::envoy::config::listener::v3::{Filter, FilterChain, Listener};
use portolan::types::envoy::extensions::filters::http::on_demand::v3::{OnDemand, OnDemandCds};
use portolan::types::envoy::extensions::filters::http::router::v3::Router;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, HttpFilter, http_filter,
};
use portolan::types::prost::{Message, Name};

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
    filter("envoy.filters.http.router", &Router::default())
}

/// The filter that asks for what a request needs and the Envoy does not have: virtual hosts, and clusters if it is told
/// where.
pub(crate) fn on_demand(clusters: Option<ConfigSource>) -> HttpFilter {
    let odcds = clusters.map(|source| OnDemandCds {
        source: Some(source),
        ..OnDemandCds::default()
    });
    filter("envoy.filters.http.on_demand", &OnDemand { odcds })
}

fn filter<M: Message + Name>(name: &str, config: &M) -> HttpFilter {
    HttpFilter {
        name: name.to_owned(),
        config_type: Some(http_filter::ConfigType::TypedConfig(Any::pack(config))),
        ..HttpFilter::default()
    }
}
