use std::sync::LazyLock;

use bytes::Bytes;
use portolan_consistency::{Checks, Report};
use portolan_core::well_known::{
    CLUSTER, ENDPOINT, EXTENSION_CONFIG, LISTENER, ROUTE, SCOPED_ROUTE, SECRET, VIRTUAL_HOST,
};
use portolan_core::{Resource, Snapshot, SnapshotBuilder, TypeUrl};
use portolan_resources::EnvoyReferences;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};

const SHORT: &[(&str, &str)] = &[
    ("@ADS", "{ ads {} }"),
    (
        "@HCM",
        "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    ),
    ("@ext", "type.googleapis.com/envoy.extensions"),
];

/// A resource that is written as text; its body has its name.
pub(crate) fn resource(type_url: &TypeUrl, name: &str, text: &str) -> Resource {
    let field = if *type_url == ENDPOINT {
        "cluster_name"
    } else {
        "name"
    };
    keyed(type_url, name, &format!("{field}: {name:?} {text}"))
}

/// A resource whose body is written as text.
pub(crate) fn keyed(type_url: &TypeUrl, name: &str, text: &str) -> Resource {
    static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
        let pool = DescriptorPool::decode(portolan_types::FILE_DESCRIPTOR_SET);
        pool.expect("the committed set decodes")
    });
    let described = POOL
        .get_message_by_name(type_url.message_name())
        .expect("it is in the schema");
    let text = SHORT.iter().fold(text.to_owned(), |text, (short, long)| {
        text.replace(short, long)
    });
    let message = DynamicMessage::parse_text_format(described, &text);
    let message = message.unwrap_or_else(|error| panic!("{error}: {text}"));
    let body = Bytes::from(message.encode_to_vec());
    Resource::builder(type_url, name, body)
        .build()
        .expect("it has a name")
}

pub(crate) fn snapshot<const N: usize>(resources: [Resource; N]) -> Snapshot {
    let mut builder = Snapshot::builder();
    put(&mut builder, resources);
    builder.build()
}

fn put<const N: usize>(builder: &mut SnapshotBuilder, resources: [Resource; N]) {
    for resource in resources {
        builder.insert_shared(resource).expect("each is new");
    }
}

pub(crate) fn checks() -> Checks {
    Checks::new(EnvoyReferences::default())
}

pub(crate) fn eds_cluster(name: &str) -> Resource {
    resource(
        &CLUSTER,
        name,
        "type: EDS eds_cluster_config { eds_config @ADS }",
    )
}

/// All findings, as they are shown.
pub(crate) fn shown(report: &Report) -> Vec<String> {
    report.findings().iter().map(ToString::to_string).collect()
}

/// A snapshot in which everything is there that anything refers to, and that holds every kind of reference.
pub(crate) fn whole() -> Snapshot {
    let mut builder = Snapshot::builder();
    listeners(&mut builder);
    put(
        &mut builder,
        [
            resource(
                &ROUTE,
                "r1",
                r#"
            vhds { config_source @ADS }
            virtual_hosts { name: "v" domains: "*"
                typed_per_filter_config { key: "authz" value { [@ext.filters.http.ext_authz.v3.ExtAuthzPerRoute] {
                    check_settings { grpc_service { envoy_grpc { cluster_name: "authz" } } }
                } } }
                routes { route { cluster: "web" request_mirror_policies { cluster: "mirror" } } }
                routes { route { weighted_clusters { clusters { name: "heavy" weight { value: 1 } } clusters { name: "light" weight { value: 0 } } } } }
            }
        "#,
            ),
            resource(&ROUTE, "r2", ""),
            resource(&SCOPED_ROUTE, "s", r#"route_configuration_name: "r2""#),
            keyed(
                &VIRTUAL_HOST,
                "r1/h",
                r#"name: "h" domains: "h" routes { route { cluster: "on-demand" } }"#,
            ),
            eds_cluster("web"),
            resource(
                &CLUSTER,
                "named",
                r#"type: EDS eds_cluster_config { eds_config @ADS service_name: "service" }"#,
            ),
            resource(
                &CLUSTER,
                "aggregate",
                r#"cluster_type { name: "envoy.clusters.aggregate" typed_config {
            [@ext.clusters.aggregate.v3.ClusterConfig] { clusters: ["member"] }
        } }"#,
            ),
            resource(
                &CLUSTER,
                "secure",
                r#"transport_socket { name: "tls" typed_config { [@ext.transport_sockets.tls.v3.UpstreamTlsContext] {
            common_tls_context { validation_context_sds_secret_config { name: "ca" sds_config @ADS } }
        } } }"#,
            ),
            resource(&ENDPOINT, "web", ""),
            resource(&ENDPOINT, "service", ""),
            resource(&SECRET, "certificate", ""),
            resource(&SECRET, "ca", ""),
            resource(&EXTENSION_CONFIG, "waf", ""),
        ],
    );
    for name in [
        "authz",
        "mirror",
        "heavy",
        "light",
        "on-demand",
        "member",
        "tcp",
        "als",
    ] {
        put(&mut builder, [resource(&CLUSTER, name, "")]);
    }
    builder.build()
}

fn listeners(builder: &mut SnapshotBuilder) {
    put(
        builder,
        [
            resource(
                &LISTENER,
                "ingress",
                r#"
            address { socket_address { address: "0.0.0.0" port_value: 443 } }
            filter_chains {
                transport_socket { name: "tls" typed_config { [@ext.transport_sockets.tls.v3.DownstreamTlsContext] {
                    common_tls_context { tls_certificate_sds_secret_configs { name: "certificate" sds_config @ADS } }
                } } }
                filters { name: "http" typed_config { [@HCM] {
                    rds { config_source @ADS route_config_name: "r1" }
                    http_filters { name: "waf" config_discovery { config_source @ADS } }
                    access_log { name: "als" typed_config { [@ext.access_loggers.grpc.v3.HttpGrpcAccessLogConfig] {
                        common_config { grpc_service { envoy_grpc { cluster_name: "als" } } }
                    } } }
                } } }
            }
        "#,
            ),
            resource(
                &LISTENER,
                "scoped",
                r#"
            address { socket_address { address: "0.0.0.0" port_value: 80 } }
            filter_chains { filters { name: "http" typed_config { [@HCM] {
                scoped_routes { name: "s" rds_config_source @ADS scoped_rds { scoped_rds_config_source @ADS } }
            } } } }
        "#,
            ),
            resource(
                &LISTENER,
                "tcp",
                r#"
            address { socket_address { address: "0.0.0.0" port_value: 5432 } }
            filter_chains { filters { name: "tcp" typed_config { [@ext.filters.network.tcp_proxy.v3.TcpProxy] { cluster: "tcp" } } } }
        "#,
            ),
        ],
    );
}
