//! Small builders: whole messages out of what a configuration is about.
//!
//! Everything that is discovered is asked for over ADS, unless a builder is given another source. Each builder gives an ordinary message; set its other fields
//! as you like.

mod address;
mod cluster;
mod endpoint;
mod listener;
mod route;
mod secret;
mod source;

pub use address::socket_address;
pub use cluster::{aggregate_cluster, eds_cluster, http2, static_cluster, strict_dns_cluster};
pub use endpoint::{assignment, lb_endpoint};
pub use listener::{discovered_http_listener, http_listener, inline_http_listener, tcp_listener};
pub use route::{prefix_route, route_configuration, virtual_host, weighted_route};
pub use secret::tls_certificate;
pub use source::{ads, delta_service, sotw_service};
