//! A listener that fetches its certificate, and gets another.

use std::collections::BTreeSet;

use portolan::core::SnapshotBuilder;
use portolan::resources::{AddTyped, build};
use portolan::types::Any;
use portolan::types::envoy::config::core::v3::TransportSocket;
use portolan::types::envoy::config::core::v3::transport_socket::ConfigType;
use portolan::types::envoy::config::listener::v3::Listener;
use portolan::types::envoy::extensions::transport_sockets::tls::v3::{
    CommonTlsContext, DownstreamTlsContext, SdsSecretConfig,
};
use portolan_tests::{Envoy, TestError};

use super::{Stage, soon};

const SECRET: &str = "certificate";

pub(super) async fn check(stage: &Stage) -> Result<(), TestError> {
    let backend = stage.backend.address();
    let fill = |out: &mut SnapshotBuilder, (chain, key): (String, String)| {
        out.add(&build::static_cluster("backend", [backend]))?
            .add(&listener())?
            .add(&build::tls_certificate(SECRET, chain, key))?;
        Ok(())
    };
    stage.publish(|out| fill(out, certificate()?))?;
    let envoy = stage.envoy().await?;
    soon("a listener with its certificate", || async {
        envoy.listener("tls").await?;
        match serials(&envoy).await?.is_empty() {
            true => Err("no certificate".into()),
            false => Ok(()),
        }
    })
    .await?;

    let before = serials(&envoy).await?;
    stage.publish(|out| fill(out, certificate()?))?;
    soon("another certificate", || async {
        let after = serials(&envoy).await?;
        match !after.is_empty() && after.is_disjoint(&before) {
            true => Ok(()),
            false => Err(format!("{after:?}, before {before:?}").into()),
        }
    })
    .await?;
    stage.accepted().await
}

fn listener() -> Listener {
    let tls = DownstreamTlsContext {
        common_tls_context: Some(CommonTlsContext {
            tls_certificate_sds_secret_configs: vec![SdsSecretConfig {
                name: SECRET.to_owned(),
                sds_config: Some(build::ads()),
            }],
            ..CommonTlsContext::default()
        }),
        ..DownstreamTlsContext::default()
    };
    let mut listener = build::tcp_listener("tls", ([127, 0, 0, 1], 0).into(), "backend");
    for chain in &mut listener.filter_chains {
        chain.transport_socket = Some(TransportSocket {
            name: "envoy.transport_sockets.tls".to_owned(),
            config_type: Some(ConfigType::TypedConfig(Any::pack(&tls))),
        });
    }
    listener
}

/// A chain and its key.
fn certificate() -> Result<(String, String), TestError> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    Ok((made.cert.pem(), made.signing_key.serialize_pem()))
}

async fn serials(envoy: &Envoy) -> Result<BTreeSet<String>, TestError> {
    let certs = envoy.json("/certs").await?;
    let certificates = certs["certificates"].as_array().into_iter().flatten();
    let chains = certificates.flat_map(|c| c["cert_chain"].as_array().into_iter().flatten());
    let serials = chains.filter_map(|c| c["serial_number"].as_str());
    Ok(serials.map(str::to_owned).collect())
}
