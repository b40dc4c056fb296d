use portolan_types::envoy::config::core::v3::api_config_source::ApiType;
use portolan_types::envoy::config::core::v3::config_source::ConfigSourceSpecifier;
use portolan_types::envoy::config::core::v3::grpc_service::{EnvoyGrpc, TargetSpecifier};
use portolan_types::envoy::config::core::v3::{
    AggregatedConfigSource, ApiConfigSource, ApiVersion, ConfigSource, GrpcService,
};

/// Where to ask for a resource: on the client's aggregated stream.
#[must_use]
pub fn ads() -> ConfigSource {
    of(ConfigSourceSpecifier::Ads(AggregatedConfigSource {}))
}

/// Where to ask for a resource: the service of its type, state of the world, behind the client's cluster `cluster`.
#[must_use]
pub fn sotw_service(cluster: impl Into<String>) -> ConfigSource {
    service(cluster.into(), ApiType::Grpc)
}

/// As [`sotw_service`], incremental.
#[must_use]
pub fn delta_service(cluster: impl Into<String>) -> ConfigSource {
    service(cluster.into(), ApiType::DeltaGrpc)
}

fn service(cluster_name: String, api_type: ApiType) -> ConfigSource {
    let envoy_grpc = EnvoyGrpc {
        cluster_name,
        ..EnvoyGrpc::default()
    };
    let service = GrpcService {
        target_specifier: Some(TargetSpecifier::EnvoyGrpc(envoy_grpc)),
        ..GrpcService::default()
    };
    of(ConfigSourceSpecifier::ApiConfigSource(ApiConfigSource {
        api_type: api_type as i32,
        transport_api_version: ApiVersion::V3 as i32,
        grpc_services: vec![service],
        set_node_on_first_message_only: true,
        ..ApiConfigSource::default()
    }))
}

fn of(specifier: ConfigSourceSpecifier) -> ConfigSource {
    ConfigSource {
        resource_api_version: ApiVersion::V3 as i32,
        config_source_specifier: Some(specifier),
        ..ConfigSource::default()
    }
}
