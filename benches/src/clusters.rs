use portolan_core::Snapshot;
use portolan_resources::{AddTyped, TypedResource, build};
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

use crate::collection::name;

/// A snapshot of clusters as one would write them, with the endpoints of each and the certificate of all.
#[derive(Debug)]
pub struct Clusters {
    snapshot: Snapshot,
    size: usize,
    seconds: i64,
}

/// The name of the secret that all clusters refer to.
const CERTIFICATE: &str = "certificate";

impl Clusters {
    /// So many clusters.
    ///
    /// # Panics
    /// Never: each name occurs once.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let seconds = 5;
        let mut snapshot = Snapshot::builder();
        let secret = build::tls_certificate(CERTIFICATE, "a chain", "a key");
        snapshot.add(&secret).expect("it is the only one");
        for index in 0..size {
            let endpoints = build::assignment(name(index), [([10, 0, 0, 1], 8080).into()]);
            let added = snapshot.add(&endpoints).map(drop);
            let added = added.and_then(|()| snapshot.add(&cluster(index, seconds)).map(drop));
            added.expect("each name occurs once");
        }
        Self {
            snapshot: snapshot.build(),
            size,
            seconds,
        }
    }

    /// The newest snapshot.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Gives the cluster in the middle another time to connect than ever before.
    ///
    /// # Panics
    /// Never: it has a name.
    pub fn change(&mut self) {
        self.seconds += 1;
        let mut edit = self.snapshot.edit();
        let put = edit.upsert(cluster(self.size / 2, self.seconds).to_resource());
        put.expect("it has a name");
        self.snapshot = edit.build();
    }
}

/// A cluster with TLS, a health check and limits, that may take so long to connect.
#[must_use]
pub fn cluster(index: usize, connect_seconds: i64) -> Cluster {
    let secret = |name: &str| SdsSecretConfig {
        name: name.into(),
        sds_config: Some(build::ads()),
    };
    let tls = UpstreamTlsContext {
        common_tls_context: Some(CommonTlsContext {
            tls_certificate_sds_secret_configs: vec![secret(CERTIFICATE)],
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
        connect_timeout: seconds(connect_seconds),
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
        ..build::eds_cluster(name(index))
    }
}
