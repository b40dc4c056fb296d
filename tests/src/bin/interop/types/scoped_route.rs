//! Route tables chosen by a header: scopes added, changed and removed.

use std::net::SocketAddr;

use portolan::core::SnapshotBuilder;
use portolan::resources::{AddTyped, build};
use portolan::types::envoy::config::route::v3::ScopedRouteConfiguration;
use portolan::types::envoy::config::route::v3::scoped_route_configuration::Key;
use portolan::types::envoy::config::route::v3::scoped_route_configuration::key::{Fragment, fragment};
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::scoped_routes::scope_key_builder::fragment_builder::{
    HeaderValueExtractor, Type, header_value_extractor::ExtractType,
};
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::scoped_routes::scope_key_builder::FragmentBuilder;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::scoped_routes::{
    ConfigSpecifier, ScopeKeyBuilder,
};
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, ScopedRds, ScopedRoutes,
};
use portolan_tests::{Envoy, TestError, get_with};

use super::{Stage, promptly, soon};
use crate::listener;

const HEADER: &str = "x-scope";

pub(super) async fn check(stage: &Stage) -> Result<(), TestError> {
    let backend = stage.backend.address();
    let fill = |out: &mut SnapshotBuilder, scopes: &[(&str, &str)]| {
        let scopes = scopes.iter().map(|(value, table)| scope(value, table));
        fill(out, backend, scopes)
    };
    stage.publish(|out| fill(out, &[("blue", "found")]))?;
    let envoy = stage.envoy().await?;
    soon("blue is routed", || gets(&envoy, "blue", 200)).await?;
    soon("green is not", || gets(&envoy, "green", 404)).await?;

    stage.publish(|out| fill(out, &[("blue", "found"), ("green", "found")]))?;
    soon("green is routed", || gets(&envoy, "green", 200)).await?;
    // Another table and, in the same publication, one scope less.
    stage.publish(|out| fill(out, &[("green", "lost")]))?;
    soon("green is lost", || gets(&envoy, "green", 503)).await?;
    soon("blue is gone", || gets(&envoy, "blue", 404)).await?;
    stage.accepted().await
}

/// C-234: the table of a scope is asked for when the first request for it comes.
pub(super) async fn check_on_demand(stage: &Stage) -> Result<(), TestError> {
    let backend = stage.backend.address();
    let scopes = ["blue", "green"].map(|value| ScopedRouteConfiguration {
        on_demand: true,
        ..scope(value, "found")
    });
    stage.publish(|out| fill(out, backend, scopes))?;
    let envoy = stage.envoy().await?;
    soon("red is not routed", || gets(&envoy, "red", 404)).await?;
    if stage.plane.recorder().responses("RDS", 0) > 0 {
        return Err("a table was asked for before there was a request".into());
    }
    promptly("blue", gets(&envoy, "blue", 200)).await?;
    promptly("green", gets(&envoy, "green", 200)).await?;
    stage.accepted().await
}

fn fill(
    out: &mut SnapshotBuilder,
    backend: SocketAddr,
    scopes: impl IntoIterator<Item = ScopedRouteConfiguration>,
) -> Result<(), TestError> {
    let route =
        |cluster: &str| build::virtual_host("all", ["*"], [build::prefix_route("/", cluster)]);
    out.add(&build::static_cluster("backend", [backend]))?
        .add(&build::route_configuration("found", [route("backend")]))?
        .add(&build::route_configuration("lost", [route("nowhere")]))?
        .add(&listener::http("http", manager()))?;
    for scope in scopes {
        out.add(&scope)?;
    }
    Ok(())
}

/// A scope for a value of the header, with the name of its table.
fn scope(value: &str, table: &str) -> ScopedRouteConfiguration {
    ScopedRouteConfiguration {
        name: format!("scope-{value}"),
        route_configuration_name: table.to_owned(),
        key: Some(Key {
            fragments: vec![Fragment {
                r#type: Some(fragment::Type::StringKey(value.to_owned())),
            }],
        }),
        ..ScopedRouteConfiguration::default()
    }
}

fn manager() -> HttpConnectionManager {
    let extractor = HeaderValueExtractor {
        name: HEADER.to_owned(),
        extract_type: Some(ExtractType::Index(0)),
        ..HeaderValueExtractor::default()
    };
    let scoped_rds = ScopedRds {
        scoped_rds_config_source: Some(build::ads()),
        ..ScopedRds::default()
    };
    let routes = ScopedRoutes {
        name: "scopes".to_owned(),
        scope_key_builder: Some(ScopeKeyBuilder {
            fragments: vec![FragmentBuilder {
                r#type: Some(Type::HeaderValueExtractor(extractor)),
            }],
        }),
        rds_config_source: Some(build::ads()),
        config_specifier: Some(ConfigSpecifier::ScopedRds(scoped_rds)),
    };
    HttpConnectionManager {
        stat_prefix: "http".to_owned(),
        route_specifier: Some(RouteSpecifier::ScopedRoutes(routes)),
        http_filters: vec![listener::on_demand(None), listener::router()],
        ..HttpConnectionManager::default()
    }
}

async fn gets(envoy: &Envoy, scope: &str, status: u16) -> Result<(), TestError> {
    let reply = get_with(envoy.listener("http").await?, "/", &[(HEADER, scope)]).await?;
    match reply.status == status {
        true => Ok(()),
        false => Err(format!("{reply:?}").into()),
    }
}
