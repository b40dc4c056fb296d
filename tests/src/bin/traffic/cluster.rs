//! Clusters of all kinds that differ in what they wait for before they can be used.

use std::net::SocketAddr;

use portolan::resources::build;
use portolan::types::Any;
use portolan::types::envoy::config::cluster::v3::Cluster;
use portolan::types::envoy::config::cluster::v3::cluster::DnsLookupFamily;
use portolan::types::envoy::config::core::v3::health_check::{HealthChecker, HttpHealthCheck};
use portolan::types::envoy::config::core::v3::transport_socket::ConfigType;
use portolan::types::envoy::config::core::v3::{
    HealthCheck, TransportSocket, TypedExtensionConfig,
};
use portolan::types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan::types::envoy::extensions::network::dns_resolver::cares::v3::CaresDnsResolverConfig;
use portolan::types::envoy::extensions::transport_sockets::tls::v3::common_tls_context::ValidationContextType;
use portolan::types::envoy::extensions::transport_sockets::tls::v3::{
    CommonTlsContext, SdsSecretConfig, UpstreamTlsContext,
};
use portolan::types::prost_types::Duration;

/// A cluster with one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct ClusterSpec {
    pub(crate) upstream: SocketAddr,
    pub(crate) waits: Waits,
    /// Of connections to the upstream. More than a machine that is busy needs, and otherwise without effect.
    pub(crate) timeout_seconds: i64,
    /// A load balancer that clusters of this type may not have, so that the cluster is rejected.
    pub(crate) broken: bool,
}

/// What a cluster waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Its assignment, which is there.
    Endpoints,
    /// Its assignment, which is there and empty.
    EmptyEndpoints,
    /// Its assignment, which does not come.
    Forever,
    /// The first check of its endpoint's health, which asks for this path.
    Health(String),
    /// An address for its host, from this server.
    Address(SocketAddr),
    /// The secret of this name.
    Secret(String),
}

impl ClusterSpec {
    pub(crate) fn new(upstream: SocketAddr) -> Self {
        Self {
            upstream,
            waits: Waits::Endpoints,
            timeout_seconds: 20,
            broken: false,
        }
    }

    pub(crate) fn waiting_for(upstream: SocketAddr, waits: Waits) -> Self {
        Self {
            waits,
            ..Self::new(upstream)
        }
    }

    pub(crate) fn assignment(&self, name: &str) -> Option<ClusterLoadAssignment> {
        match self.waits {
            Waits::Endpoints | Waits::Health(_) | Waits::Secret(_) => {
                Some(build::assignment(name, [self.upstream]))
            }
            Waits::EmptyEndpoints => Some(build::assignment(name, [])),
            Waits::Forever | Waits::Address(_) => None,
        }
    }

    pub(crate) fn message(&self, name: &str) -> Cluster {
        let mut cluster = match &self.waits {
            Waits::Address(server) => self.resolved(name, *server),
            _ => build::eds_cluster(name),
        };
        cluster.connect_timeout = Some(seconds(self.timeout_seconds));
        if let Waits::Health(path) = &self.waits {
            cluster.health_checks = vec![health_check(path)];
        }
        if let Waits::Secret(name) = &self.waits {
            cluster.transport_socket = Some(tls(name));
        }
        if self.broken {
            cluster.lb_policy = 6;
        }
        cluster
    }

    fn resolved(&self, name: &str, server: SocketAddr) -> Cluster {
        let resolver = CaresDnsResolverConfig {
            resolvers: vec![build::socket_address(server)],
            ..CaresDnsResolverConfig::default()
        };
        let mut cluster =
            build::strict_dns_cluster(name, "upstream.example.com", self.upstream.port());
        cluster.set_dns_lookup_family(DnsLookupFamily::V4Only);
        cluster.typed_dns_resolver_config = Some(TypedExtensionConfig {
            name: "envoy.network.dns_resolver.cares".to_owned(),
            typed_config: Some(Any::pack(&resolver)),
        });
        cluster
    }
}

fn seconds(seconds: i64) -> Duration {
    Duration { seconds, nanos: 0 }
}

fn health_check(path: &str) -> HealthCheck {
    HealthCheck {
        timeout: Some(seconds(20)),
        interval: Some(seconds(20)),
        unhealthy_threshold: Some(1),
        healthy_threshold: Some(1),
        health_checker: Some(HealthChecker::HttpHealthCheck(HttpHealthCheck {
            path: path.to_owned(),
            ..HttpHealthCheck::default()
        })),
        ..HealthCheck::default()
    }
}

/// TLS with the certificates that a secret says are to be trusted.
fn tls(secret: &str) -> TransportSocket {
    let trusted = SdsSecretConfig {
        name: secret.to_owned(),
        sds_config: Some(build::ads()),
    };
    let context = UpstreamTlsContext {
        sni: "localhost".to_owned(),
        common_tls_context: Some(CommonTlsContext {
            validation_context_type: Some(ValidationContextType::ValidationContextSdsSecretConfig(
                trusted,
            )),
            ..CommonTlsContext::default()
        }),
        ..UpstreamTlsContext::default()
    };
    TransportSocket {
        name: "envoy.transport_sockets.tls".to_owned(),
        config_type: Some(ConfigType::TypedConfig(Any::pack(&context))),
    }
}
