use portolan_core::{Facts, ReadyWhen, Reference, well_known::ENDPOINT};
use portolan_types::Any;
use portolan_types::envoy::config::cluster::v3::Cluster;
use portolan_types::envoy::config::cluster::v3::cluster::{ClusterDiscoveryType, DiscoveryType};
use portolan_types::envoy::config::core::v3::TransportSocket;
use portolan_types::envoy::config::core::v3::transport_socket::ConfigType;
use portolan_types::envoy::extensions::transport_sockets::tls::v3::common_tls_context::ValidationContextType;
use portolan_types::envoy::extensions::transport_sockets::tls::v3::{
    CommonTlsContext, UpstreamTlsContext,
};

use super::is_discovered;

/// A cluster with discovered endpoints refers to its assignment: the one that it names, or else its namesake (C-256).
///
/// Its acknowledged endpoints prove that it is ready, unless it warms for another reason too; every other cluster is
/// ready when it is acknowledged.
pub(super) fn facts(cluster: &Cluster) -> Facts {
    let Some(reference) = assignment(cluster) else {
        return Facts::new([], ReadyWhen::Acked);
    };
    let ready_when = match checks_health(cluster) || fetches_secrets(cluster) {
        true => ReadyWhen::BothAcked,
        false => ReadyWhen::ChildAcked,
    };
    Facts::new([reference], ready_when)
}

fn assignment(cluster: &Cluster) -> Option<Reference> {
    let eds = ClusterDiscoveryType::Type(DiscoveryType::Eds as i32);
    if cluster.cluster_discovery_type != Some(eds) {
        return None;
    }
    let config = cluster.eds_cluster_config.as_ref()?;
    is_discovered(config.eds_config.as_ref()).then(|| match config.service_name.as_str() {
        "" => Reference::new(ENDPOINT, &cluster.name, "name"),
        service => Reference::new(ENDPOINT, service, "eds_cluster_config.service_name"),
    })
}

fn checks_health(cluster: &Cluster) -> bool {
    !cluster.health_checks.is_empty()
}

fn fetches_secrets(cluster: &Cluster) -> bool {
    let matches = cluster.transport_socket_matches.iter();
    let sockets = matches
        .filter_map(|m| m.transport_socket.as_ref())
        .chain(&cluster.transport_socket);
    sockets.filter_map(tls_context).any(|tls| {
        use ValidationContextType::{CombinedValidationContext, ValidationContextSdsSecretConfig};
        let discovered = match tls.validation_context_type {
            Some(ValidationContextSdsSecretConfig(_)) => true,
            Some(CombinedValidationContext(combined)) => {
                combined.validation_context_sds_secret_config.is_some()
            }
            _ => false,
        };
        discovered || !tls.tls_certificate_sds_secret_configs.is_empty()
    })
}

fn tls_context(socket: &TransportSocket) -> Option<CommonTlsContext> {
    let Some(ConfigType::TypedConfig(config)) = &socket.config_type else {
        return None;
    };
    let tls = Any::unpack::<UpstreamTlsContext>(config).ok()?;
    tls.common_tls_context
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use portolan_core::{References, well_known::CLUSTER};
    use portolan_types::envoy::config::cluster::v3::cluster::EdsClusterConfig;
    use portolan_types::envoy::config::core::v3::config_source::ConfigSourceSpecifier;
    use portolan_types::envoy::config::core::v3::{ConfigSource, HealthCheck};
    use portolan_types::envoy::extensions::transport_sockets::tls::v3::SdsSecretConfig;
    use prost::Message;

    use super::*;
    use crate::{EnvoyReferences, build};

    fn names(cluster: &Cluster) -> Vec<String> {
        facts(cluster)
            .references_to(&ENDPOINT)
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn an_eds_cluster_refers_to_its_namesake_or_to_its_service() {
        let mut cluster = build::eds_cluster("web");
        assert_eq!(names(&cluster), ["web"]);
        cluster.eds_cluster_config = Some(EdsClusterConfig {
            eds_config: Some(build::ads()),
            service_name: "backend".into(),
        });
        assert_eq!(names(&cluster), ["backend"]);
    }

    #[test]
    fn endpoints_from_elsewhere_are_no_reference() {
        assert!(names(&build::static_cluster("web", [])).is_empty());
        let mut cluster = build::eds_cluster("web");
        let path = ConfigSourceSpecifier::PathConfigSource(Default::default());
        cluster.eds_cluster_config = Some(EdsClusterConfig {
            eds_config: Some(ConfigSource {
                config_source_specifier: Some(path),
                ..ConfigSource::default()
            }),
            service_name: String::new(),
        });
        assert!(names(&cluster).is_empty());
    }

    #[test]
    fn endpoints_alone_prove_readiness_of_a_plain_cluster_only() {
        let plain = build::eds_cluster("web");
        assert_eq!(facts(&plain).ready_when(), ReadyWhen::ChildAcked);

        let mut checked = plain.clone();
        checked.health_checks.push(HealthCheck::default());
        assert_eq!(facts(&checked).ready_when(), ReadyWhen::BothAcked);

        let mut secret = plain;
        let tls = UpstreamTlsContext {
            common_tls_context: Some(CommonTlsContext {
                tls_certificate_sds_secret_configs: vec![SdsSecretConfig::default()],
                ..CommonTlsContext::default()
            }),
            ..UpstreamTlsContext::default()
        };
        secret.transport_socket = Some(TransportSocket {
            name: "tls".into(),
            config_type: Some(ConfigType::TypedConfig(Any::pack(&tls))),
        });
        assert_eq!(facts(&secret).ready_when(), ReadyWhen::BothAcked);

        assert_eq!(
            facts(&build::static_cluster("web", [])).ready_when(),
            ReadyWhen::Acked
        );
    }

    #[test]
    fn a_body_that_is_no_cluster_refers_to_nothing() {
        let garbage = Bytes::from_static(b"\xff\xff\xff");
        assert_eq!(EnvoyReferences.facts(&CLUSTER, &garbage), Facts::default());
        let body = build::eds_cluster("web").encode_to_vec().into();
        assert_eq!(EnvoyReferences.facts(&CLUSTER, &body).references().len(), 1);
    }
}
