//! Small builders: whole messages out of what a configuration is about.
//!
//! Everything that is discovered is asked for over ADS. Each builder gives an ordinary message; set its other fields
//! as you like.

mod address;
mod cluster;
mod endpoint;
mod listener;
mod route;
mod secret;

pub use address::socket_address;
pub use cluster::{aggregate_cluster, eds_cluster, http2, static_cluster, strict_dns_cluster};
pub use endpoint::{assignment, lb_endpoint};
pub use listener::{http_listener, inline_http_listener, tcp_listener};
use portolan_types::envoy::config::core::v3::config_source::ConfigSourceSpecifier;
use portolan_types::envoy::config::core::v3::{AggregatedConfigSource, ApiVersion, ConfigSource};
pub use route::{prefix_route, route_configuration, virtual_host, weighted_route};
pub use secret::tls_certificate;

/// Where to ask for a resource: on the client's aggregated stream.
#[must_use]
pub fn ads() -> ConfigSource {
    ConfigSource {
        resource_api_version: ApiVersion::V3 as i32,
        config_source_specifier: Some(ConfigSourceSpecifier::Ads(AggregatedConfigSource {})),
        ..ConfigSource::default()
    }
}
