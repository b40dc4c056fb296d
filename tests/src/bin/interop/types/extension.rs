//! A filter whose configuration is discovered, and changes.

use portolan::core::SnapshotBuilder;
use portolan::resources::{AddTyped, build};
use portolan::types::Any;
use portolan::types::envoy::config::core::v3::{ExtensionConfigSource, TypedExtensionConfig};
use portolan::types::envoy::extensions::filters::http::router::v3::Router;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, HttpFilter, http_filter,
};
use portolan::types::prost::Name;
use portolan_tests::{Envoy, TestError, get};

use super::{Stage, soon};
use crate::listener;

const FILTER: &str = "router";

/// What a router adds to responses, unless it is told not to.
const HEADER: &str = "x-envoy-upstream-service-time";

pub(super) async fn check(stage: &Stage) -> Result<(), TestError> {
    let backend = stage.backend.address();
    let fill = |out: &mut SnapshotBuilder, suppress_envoy_headers: bool| {
        let router = Router {
            suppress_envoy_headers,
            ..Router::default()
        };
        out.add(&build::static_cluster("backend", [backend]))?
            .add(&listener::http("http", manager()))?
            .add(&TypedExtensionConfig {
                name: FILTER.to_owned(),
                typed_config: Some(Any::pack(&router)),
            })?;
        Ok(())
    };
    stage.publish(|out| fill(out, false))?;
    let envoy = stage.envoy().await?;
    soon("a response with the header", || has_header(&envoy, true)).await?;
    stage.publish(|out| fill(out, true))?;
    soon("a response without the header", || {
        has_header(&envoy, false)
    })
    .await?;
    stage.accepted().await
}

fn manager() -> HttpConnectionManager {
    let discovery = ExtensionConfigSource {
        config_source: Some(build::ads()),
        type_urls: vec![Router::type_url()],
        ..ExtensionConfigSource::default()
    };
    let all = build::virtual_host("all", ["*"], [build::prefix_route("/", "backend")]);
    HttpConnectionManager {
        stat_prefix: "http".to_owned(),
        route_specifier: Some(RouteSpecifier::RouteConfig(build::route_configuration(
            "r",
            [all],
        ))),
        http_filters: vec![HttpFilter {
            name: FILTER.to_owned(),
            config_type: Some(http_filter::ConfigType::ConfigDiscovery(discovery)),
            ..HttpFilter::default()
        }],
        ..HttpConnectionManager::default()
    }
}

async fn has_header(envoy: &Envoy, expected: bool) -> Result<(), TestError> {
    let reply = get(envoy.listener("http").await?, "/").await?;
    match reply.status == 200 && reply.headers.contains_key(HEADER) == expected {
        true => Ok(()),
        false => Err(format!("{reply:?}").into()),
    }
}
