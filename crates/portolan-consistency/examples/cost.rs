//! What validation costs: how long a cluster takes as one would write it, with TLS, a health check and limits.
//!
//! `cargo run --release -p portolan-consistency --features schema --example cost`

use std::hint::black_box;
use std::time::Instant;

use portolan_consistency::schema::Validator;
use portolan_core::well_known::CLUSTER;
use portolan_resources::build;
use portolan_types::Any;
use portolan_types::envoy::config::cluster::v3::circuit_breakers::Thresholds;
use portolan_types::envoy::config::cluster::v3::{CircuitBreakers, Cluster};
use portolan_types::envoy::config::core::v3::health_check::{HealthChecker, HttpHealthCheck};
use portolan_types::envoy::config::core::v3::transport_socket::ConfigType;
use portolan_types::envoy::config::core::v3::{HealthCheck, TransportSocket};
use portolan_types::envoy::extensions::transport_sockets::tls::v3::{
    CommonTlsContext, SdsSecretConfig, UpstreamTlsContext,
};
use portolan_types::prost_types::Duration;
use prost::Message as _;

const ROUNDS: u32 = 2_000;

/// So few that most rounds end before something else gets the processor.
const TIMES: u32 = 100;

fn main() {
    let bytes = cluster().encode_to_vec();
    let validator = Validator::new();
    assert_eq!(validator.validate(CLUSTER.as_str(), &bytes), []);

    let round = |_| {
        let started = Instant::now();
        for _ in 0..TIMES {
            black_box(validator.validate(CLUSTER.as_str(), black_box(&bytes)));
        }
        started.elapsed()
    };
    let mut rounds: Vec<_> = (0..ROUNDS).map(round).collect();
    rounds.sort();
    let took = rounds[rounds.len() / 2];
    println!(
        "{} bytes: {:?} each, {:.0} in a second, in the middle of {ROUNDS} rounds",
        bytes.len(),
        took / TIMES,
        f64::from(TIMES) / took.as_secs_f64(),
    );
}

fn cluster() -> Cluster {
    let secret = |name: &str| SdsSecretConfig {
        name: name.into(),
        sds_config: Some(build::ads()),
    };
    let tls = UpstreamTlsContext {
        common_tls_context: Some(CommonTlsContext {
            tls_certificate_sds_secret_configs: vec![secret("certificate")],
            alpn_protocols: vec!["h2".into()],
            ..CommonTlsContext::default()
        }),
        sni: "web.example".into(),
        ..UpstreamTlsContext::default()
    };
    let seconds = |seconds| Some(Duration { seconds, nanos: 0 });
    let check = HealthCheck {
        timeout: seconds(1),
        interval: seconds(5),
        unhealthy_threshold: Some(3),
        healthy_threshold: Some(2),
        health_checker: Some(HealthChecker::HttpHealthCheck(HttpHealthCheck {
            path: "/healthz".into(),
            ..HttpHealthCheck::default()
        })),
        ..HealthCheck::default()
    };
    Cluster {
        connect_timeout: seconds(5),
        health_checks: vec![check],
        circuit_breakers: Some(CircuitBreakers {
            thresholds: vec![Thresholds {
                max_connections: Some(1024),
                max_requests: Some(4096),
                ..Thresholds::default()
            }],
            ..CircuitBreakers::default()
        }),
        transport_socket: Some(TransportSocket {
            name: "tls".into(),
            config_type: Some(ConfigType::TypedConfig(Any::pack(&tls))),
        }),
        ..build::eds_cluster("outbound|8080||web.prod.svc.cluster.local")
    }
}
