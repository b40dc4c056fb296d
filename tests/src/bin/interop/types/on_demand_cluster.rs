//! Clusters that an Envoy asks for when the first request for them comes.

use std::net::SocketAddr;
use std::time::Duration;

use portolan::core::well_known::CLUSTER;
use portolan::core::{ResourceBuilder, SnapshotBuilder, TypeUrl};
use portolan::resources::{AddTyped, TypedResource, build};
use portolan::types::envoy::config::core::v3::ConfigSource;
use portolan::types::envoy::config::route::v3::route::Action;
use portolan::types::envoy::config::route::v3::route_action::ClusterSpecifier;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::HttpConnectionManager;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use portolan::types::prost_types;
use portolan_tests::{Envoy, TestError, get_with};

use super::resolved::{self, OnDemand};
use super::{Stage, back, promptly, soon};
use crate::listener;

/// Names the cluster of a request.
const HEADER: &str = "x-cluster";

/// In every Envoy, asked for or not.
const ALWAYS: &str = "always";

const BURST: [&str; 8] = ["b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"];

pub(super) async fn check(stage: &mut Stage) -> Result<(), TestError> {
    let fill = filler(stage);
    stage.publish(|out| fill(out, 5, &["a"]))?;
    let envoy = stage.envoy().await?;
    soon("a cluster that comes unasked", || gets(&envoy, ALWAYS, 200)).await?;
    expect_held(&envoy, "a", false).await?;
    gets_at_once(&envoy, "a", 200).await?;
    expect_held(&envoy, "b1", false).await?;
    gets_at_once(&envoy, "late", 503).await?;

    stage.publish(|out| fill(out, 5, &[&["a", "late"][..], &BURST].concat()))?;
    soon("a cluster that there was not", || gets(&envoy, "late", 200)).await?;
    Box::pin(burst(&envoy)).await?;

    stage.publish(|out| fill(out, 6, &["a", "b1"]))?;
    soon("changed clusters", || async {
        for name in ["a", "b1", ALWAYS] {
            has_timeout(&envoy, name, "6s").await?;
        }
        expect_held(&envoy, "late", false).await
    })
    .await?;
    gets_at_once(&envoy, "a", 200).await?;
    gets_at_once(&envoy, ALWAYS, 200).await?;
    stage.accepted().await?;

    let mark = stage.plane.recorder().mark();
    stage
        .plane
        .restart(Duration::from_millis(50), |out| fill(out, 7, &["a", "c"]))
        .await?;
    back(stage, mark).await?;
    soon("what changed meanwhile", || async {
        has_timeout(&envoy, "a", "7s").await?;
        expect_held(&envoy, "b1", false).await
    })
    .await?;
    gets_at_once(&envoy, "a", 200).await?;
    gets_at_once(&envoy, "c", 200).await?;
    gets_at_once(&envoy, "never", 503).await?;
    stage.accepted().await
}

/// Clusters that nobody has published.
pub(super) async fn check_resolved(stage: &mut Stage) -> Result<(), TestError> {
    let fill = filler(stage);
    let clusters = Clusters(stage.backend.address());
    resolved::check(stage, clusters, |out| fill(out, 5, &[])).await
}

/// Where their endpoint is.
#[derive(Clone)]
struct Clusters(SocketAddr);

impl OnDemand for Clusters {
    const TYPE: TypeUrl = CLUSTER;
    const MISSING: u16 = 503;

    fn resource(&self, name: &str) -> ResourceBuilder {
        build::static_cluster(name, [self.0]).to_resource()
    }

    async fn gets(envoy: &Envoy, name: &str, status: u16) -> Result<(), TestError> {
        gets(envoy, name, status).await
    }

    async fn is_gone(envoy: &Envoy, name: &str) -> Result<(), TestError> {
        expect_held(envoy, name, false).await
    }
}

/// Publishes clusters that must be asked for, with a timeout in seconds.
fn filler(
    stage: &Stage,
) -> impl Fn(&mut SnapshotBuilder, i64, &[&str]) -> Result<(), TestError> + use<> {
    let (backend, source) = (stage.backend.address(), stage.bootstrap.source());
    move |out, timeout, names| {
        add_cluster(out, ALWAYS, backend, &source, timeout, false)?;
        for name in names {
            add_cluster(out, name, backend, &source, timeout, true)?;
        }
        out.add(&listener::http("http", manager(&source)))?;
        Ok(())
    }
}

fn add_cluster(
    out: &mut SnapshotBuilder,
    name: &str,
    backend: SocketAddr,
    source: &ConfigSource,
    timeout: i64,
    on_demand: bool,
) -> Result<(), TestError> {
    let mut cluster = build::eds_cluster(name);
    cluster.connect_timeout = Some(prost_types::Duration {
        seconds: timeout,
        nanos: 0,
    });
    if let Some(eds) = &mut cluster.eds_cluster_config {
        eds.eds_config = Some(source.clone());
    }
    out.insert(cluster.to_resource().on_demand(on_demand))?;
    out.add(&build::assignment(name, [backend]))?;
    Ok(())
}

fn manager(source: &ConfigSource) -> HttpConnectionManager {
    let mut route = build::prefix_route("/", "");
    if let Some(Action::Route(action)) = &mut route.action {
        action.cluster_specifier = Some(ClusterSpecifier::ClusterHeader(HEADER.to_owned()));
    }
    let all = build::virtual_host("all", ["*"], [route]);
    HttpConnectionManager {
        stat_prefix: "http".to_owned(),
        route_specifier: Some(RouteSpecifier::RouteConfig(build::route_configuration(
            "r",
            [all],
        ))),
        http_filters: vec![
            listener::on_demand(Some(source.clone())),
            listener::router(),
        ],
        ..HttpConnectionManager::default()
    }
}

/// First requests for several clusters, all at once.
async fn burst(envoy: &Envoy) -> Result<(), TestError> {
    let [a, b, c, d, e, f, g, h] = BURST.map(|name| gets_at_once(envoy, name, 200));
    tokio::try_join!(a, b, c, d, e, f, g, h)?;
    Ok(())
}

/// The first request must have the answer, and have it soon.
async fn gets_at_once(envoy: &Envoy, cluster: &str, status: u16) -> Result<(), TestError> {
    promptly(cluster, gets(envoy, cluster, status)).await
}

async fn gets(envoy: &Envoy, cluster: &str, status: u16) -> Result<(), TestError> {
    let listener = envoy.listener("http").await?;
    let reply = get_with(listener, "/", &[(HEADER, cluster)]).await?;
    match reply.status == status {
        true => Ok(()),
        false => Err(format!("{reply:?}").into()),
    }
}

async fn has_timeout(envoy: &Envoy, name: &str, timeout: &str) -> Result<(), TestError> {
    let held = envoy.held().await?;
    let cluster = held.clusters.iter().find(|c| c["name"] == name);
    match cluster.is_some_and(|c| c["connect_timeout"] == timeout) {
        true => Ok(()),
        false => Err(format!("{cluster:?}").into()),
    }
}

async fn expect_held(envoy: &Envoy, name: &str, expected: bool) -> Result<(), TestError> {
    let held = envoy.held().await?;
    match held.active.contains(name) == expected {
        true => Ok(()),
        false => Err(format!("{name} held: {}", !expected).into()),
    }
}
