//! Virtual hosts that an Envoy asks for when the first request for them comes.

use std::time::Duration;

use portolan::core::well_known::VIRTUAL_HOST;
use portolan::core::{Resource, ResourceBuilder, SnapshotBuilder, TypeUrl};
use portolan::resources::{AddTyped, build};
use portolan::types::envoy::config::core::v3::ConfigSource;
use portolan::types::envoy::config::listener::v3::Listener;
use portolan::types::envoy::config::route::v3::Vhds;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use portolan::types::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, Rds,
};
use portolan::types::prost::Message;
use portolan_tests::{Envoy, TestError, get_with};

use super::resolved::{self, OnDemand};
use super::{Stage, back, promptly, soon, stays_refreshed};
use crate::listener;

const TABLE: &str = "routes";

/// Answers requests.
const FOUND: &str = "backend";
/// A cluster that there is not.
const LOST: &str = "nowhere";

pub(super) async fn check(stage: &mut Stage) -> Result<(), TestError> {
    let fill = filler(stage);
    let [a, b, c, late] = ["a", "b", "c", "late"].map(|name| host(name, FOUND));
    let moved = || host("a", LOST);
    stage.publish(|out| fill(out, &[&a, &b]))?;
    let envoy = stage.envoy().await?;
    // There is no host that comes unasked. Were that not said in a way that Envoy understands, it would wait for 15 s.
    soon("an answer", || gets(&envoy, "none", 404)).await?;
    gets_at_once(&envoy, "a", 200).await?;
    gets_at_once(&envoy, "late", 404).await?;

    stage.publish(|out| fill(out, &[&moved(), &b, &late]))?;
    soon("a changed host", || gets(&envoy, "a", 503)).await?;
    soon("a host that there was not", || gets(&envoy, "late", 200)).await?;
    gets_at_once(&envoy, "b", 200).await?;

    let base = host("base", FOUND).on_demand(false);
    stage.publish(|out| fill(out, &[&a, &b, &base]))?;
    soon("a host that was moved back", || gets(&envoy, "a", 200)).await?;
    let mark = stage.plane.recorder().mark();
    gets_at_once(&envoy, "base", 200).await?;
    if stage.plane.recorder().responses("VHDS", mark) > 0 {
        return Err("a host of the base set had to be asked for".into());
    }
    soon("a host that is gone", || gets(&envoy, "late", 404)).await?;
    stage.accepted().await?;

    let mark = stage.plane.recorder().mark();
    stage
        .plane
        .restart(Duration::from_millis(50), |out| {
            fill(out, &[&moved(), &b, &c])
        })
        .await?;
    back(stage, mark).await?;
    soon("a host that changed meanwhile", || gets(&envoy, "a", 503)).await?;
    gets_at_once(&envoy, "b", 200).await?;
    gets_at_once(&envoy, "c", 200).await?;
    gets_at_once(&envoy, "never", 404).await?;
    stage.publish(|out| fill(out, &[&a, &b, &c]))?;
    soon("a host that changes after all that", || {
        gets(&envoy, "a", 200)
    })
    .await?;
    stage.accepted().await
}

/// A host of several domains has another name than what is asked for.
pub(super) async fn check_aliases(stage: &mut Stage) -> Result<(), TestError> {
    let fill = filler(stage);
    stage.publish(|out| fill(out, &[&shared(&["a", "b"], FOUND)]))?;
    let envoy = stage.envoy().await?;
    soon("an answer", || gets(&envoy, "late", 404)).await?;
    gets_at_once(&envoy, "a", 200).await?;
    gets_at_once(&envoy, "b", 200).await?;
    stage.publish(|out| fill(out, &[&shared(&["a", "b", "late"], FOUND)]))?;
    soon("a domain that there was not", || gets(&envoy, "late", 200)).await?;
    stage.publish(|out| fill(out, &[&shared(&["a", "b", "late"], LOST)]))?;
    soon("a changed host", || gets(&envoy, "a", 503)).await?;
    gets_at_once(&envoy, "b", 503).await?;
    stage.accepted().await?;

    let mark = stage.plane.recorder().mark();
    let (own, rest) = (shared(&["a", "b"], FOUND), host("late", LOST));
    stage
        .plane
        .restart(Duration::from_millis(50), |out| fill(out, &[&own, &rest]))
        .await?;
    back(stage, mark).await?;
    soon("a host that changed meanwhile", || gets(&envoy, "a", 200)).await?;
    soon("a domain that has a host of its own", || {
        gets(&envoy, "late", 503)
    })
    .await?;
    stage.publish(|out| fill(out, &[&rest]))?;
    soon("a host that is gone", || gets(&envoy, "b", 404)).await?;
    gets_at_once(&envoy, "a", 404).await?;
    stage.accepted().await
}

/// Hosts that nobody has published.
pub(super) async fn check_resolved(stage: &mut Stage) -> Result<(), TestError> {
    let fill = filler(stage);
    resolved::check(stage, Hosts, |out| fill(out, &[])).await
}

#[derive(Clone)]
struct Hosts;

impl OnDemand for Hosts {
    const TYPE: TypeUrl = VIRTUAL_HOST;
    const MISSING: u16 = 404;

    fn resource(&self, name: &str) -> ResourceBuilder {
        host(name, FOUND)
    }

    async fn gets(envoy: &Envoy, name: &str, status: u16) -> Result<(), TestError> {
        gets(envoy, name, status).await
    }

    async fn is_gone(envoy: &Envoy, name: &str) -> Result<(), TestError> {
        gets(envoy, name, Self::MISSING).await
    }
}

/// Of a virtual host a resource without a body says that there is none, so that it cannot be a heartbeat.
pub(super) async fn check_lives(stage: &Stage) -> Result<(), TestError> {
    let ttl = Duration::from_secs(2);
    let fill = filler(stage);
    stage.publish(|out| fill(out, &[&host("a", FOUND).ttl(ttl)]))?;
    let envoy = stage.envoy().await?;
    soon("an answer", || gets(&envoy, "none", 404)).await?;
    gets_at_once(&envoy, "a", 200).await?;
    stays_refreshed(stage, &["VHDS"], ttl, || gets_at_once(&envoy, "a", 200)).await?;
    match stage.plane.recorder().heartbeats("VHDS", 0) {
        0 => stage.accepted().await,
        other => Err(format!("{other} heartbeats").into()),
    }
}

/// Requests for `<name>.example` go to a cluster. Only clients that ask for it are told.
fn host(name: &str, cluster: &str) -> ResourceBuilder {
    hosts(&domain(name), [domain(name)], cluster)
}

/// As [`host`], for several names, by which it can be asked for.
fn shared(names: &[&str], cluster: &str) -> ResourceBuilder {
    let domains = names.iter().map(|name| domain(name));
    let shared = hosts("shared", domains.clone(), cluster);
    domains.fold(shared, |shared, domain| {
        shared.alias(format!("{TABLE}/{domain}"))
    })
}

fn hosts(name: &str, domains: impl IntoIterator<Item = String>, cluster: &str) -> ResourceBuilder {
    let name = format!("{TABLE}/{name}");
    let route = build::prefix_route("/", cluster);
    let body = build::virtual_host(&name, domains, [route]).encode_to_vec();
    Resource::builder(VIRTUAL_HOST, name, body)
}

fn domain(name: &str) -> String {
    format!("{name}.example")
}

fn filler(
    stage: &Stage,
) -> impl Fn(&mut SnapshotBuilder, &[&ResourceBuilder]) -> Result<(), TestError> + use<> {
    let (backend, source) = (stage.backend.address(), stage.bootstrap.source());
    move |out, hosts| {
        let mut table = build::route_configuration(TABLE, []);
        table.vhds = Some(Vhds {
            config_source: Some(source.clone()),
        });
        out.add(&build::static_cluster(FOUND, [backend]))?
            .add(&table)?
            .add(&listener(&source))?;
        for host in hosts {
            out.insert((*host).clone())?;
        }
        Ok(())
    }
}

fn listener(source: &ConfigSource) -> Listener {
    let rds = Rds {
        config_source: Some(source.clone()),
        route_config_name: TABLE.to_owned(),
    };
    let manager = HttpConnectionManager {
        stat_prefix: "http".to_owned(),
        route_specifier: Some(RouteSpecifier::Rds(rds)),
        http_filters: vec![listener::on_demand(None), listener::router()],
        ..HttpConnectionManager::default()
    };
    listener::http("http", manager)
}

/// The first request must have the answer, and have it soon.
async fn gets_at_once(envoy: &Envoy, name: &str, status: u16) -> Result<(), TestError> {
    promptly(name, gets(envoy, name, status)).await
}

async fn gets(envoy: &Envoy, name: &str, status: u16) -> Result<(), TestError> {
    let listener = envoy.listener("http").await?;
    let reply = get_with(listener, "/", &[("host", &domain(name))]).await?;
    match reply.status == status {
        true => Ok(()),
        false => Err(format!("{reply:?}").into()),
    }
}
