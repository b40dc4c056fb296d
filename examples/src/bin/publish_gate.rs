//! Nothing is published that does not fit together: what is found is told in the words of the model, and only the group
//! that it is found in stays behind.
//!
//! ```text
//! cargo run -p portolan-examples --bin publish_gate
//! ```
//!
//! Two regions are served. In a new model one of them loses a service and keeps a route to it, while in the other a
//! service moves. A dry run tells so and publishes nothing. Published all the same, it is refused for the one region,
//! whose proxies keep what they have, and not for the other. Then the route goes too.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::pending;
use std::net::SocketAddr;

use portolan::consistency::{Checks, Finding, FindingKind, Policy, Report};
use portolan::core::well_known::CLUSTER;
use portolan::prelude::*;
use portolan::resources::EnvoyReferences;
use portolan::server::transport::Incoming;
use portolan::translator::Outcome;
use portolan_examples::{DemoClient, node};
use tonic::Status;

/// The model: what each region has.
type Fleet = BTreeMap<String, Region>;

#[derive(Clone, Debug, Default)]
struct Region {
    /// Where each service is.
    services: BTreeMap<&'static str, SocketAddr>,
    /// Which service answers the paths that begin so.
    routes: BTreeMap<&'static str, &'static str>,
}

/// The group of a proxy is its id, and its id that of its region.
#[derive(Debug)]
struct RegionTranslator;

impl Translator<Fleet, String> for RegionTranslator {
    type Error = ResourceError;

    fn translate(
        &self,
        fleet: &Fleet,
        name: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        let Some(region) = fleet.get(name) else {
            return Ok(());
        };
        for (service, address) in &region.services {
            out.add(&build::static_cluster(*service, [*address]))?;
        }
        let routes = region.routes.iter();
        let routes = routes.map(|(prefix, service)| build::prefix_route(*prefix, *service));
        let all = build::virtual_host("all", ["*"], routes);
        let everywhere = ([0, 0, 0, 0], 8080).into();
        out.add(&build::route_configuration("routes", [all]))?
            .add(&build::http_listener("ingress", everywhere, "routes"))?;
        Ok(())
    }
}

/// What is refused: a reference to what is not there. All else that is found is told, and published.
fn checks() -> Checks {
    Checks::new(EnvoyReferences::default()).with_policy(FindingKind::Missing, Policy::Refuse)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start_with(
        SnapshotCache::new(NodeId::default()),
        RegionTranslator,
        |publish| publish.with_checks(checks()),
        |server| server,
    );
    let publisher = plane.publisher();
    let incoming = Incoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    tokio::spawn(plane.xds().serve(incoming).until(pending()));

    let mut eu = Region {
        services: [
            ("cart", "10.0.0.1:80".parse()?),
            ("search", "10.0.0.2:80".parse()?),
        ]
        .into(),
        routes: [("/", "search"), ("/cart", "cart")].into(),
    };
    let mut us = eu.clone();
    let fleet = |eu: &Region, us: &Region| -> Fleet {
        [("eu", eu), ("us", us)]
            .map(|(name, region)| (name.to_owned(), region.clone()))
            .into()
    };
    let [mut in_eu, mut in_us] = [proxy(address, "eu").await?, proxy(address, "us").await?];
    publish(publisher, fleet(&eu, &us)).await?;
    print_next("eu", &mut in_eu).await?;
    print_next("us", &mut in_us).await?;

    println!("a dry run: eu loses cart, and in us it moves");
    eu.services.remove("cart");
    us.services.insert("cart", "10.0.0.3:80".parse()?);
    dry_run(&fleet(&eu, &us))?;

    println!("it is published all the same");
    publish(publisher, fleet(&eu, &us)).await?;
    print_next("us", &mut in_us).await?;

    println!("the route goes too");
    eu.routes.remove("/cart");
    publish(publisher, fleet(&eu, &us)).await?;
    print_next("eu", &mut in_eu).await
}

/// Tells what would be found, and publishes nothing.
fn dry_run(fleet: &Fleet) -> Result<(), ResourceError> {
    for (name, region) in fleet {
        let mut snapshot = Snapshot::builder();
        RegionTranslator.translate(fleet, name, &mut snapshot)?;
        let report = checks().check(&snapshot.build());
        let verdict = match report.is_refused() {
            true => "would be refused",
            false => "would be published",
        };
        println!("  {name}: {verdict}");
        print_findings(&report, region);
    }
    Ok(())
}

/// Publishes a model, and tells what became of it for each region.
async fn publish(publisher: &Publisher<Fleet, String>, fleet: Fleet) -> Result<(), Box<dyn Error>> {
    publisher.update(fleet.clone())?;
    for name in fleet.keys() {
        publisher.serve_group(name);
    }
    for (name, report) in publisher.flush().await?.iter() {
        match &report.outcome {
            Outcome::Refused(_) => println!("  {name}: refused, its proxies keep what they have"),
            outcome => println!("  {name}: {outcome}"),
        }
        if let Some(report) = &report.findings {
            print_findings(report, &fleet[name]);
        }
    }
    Ok(())
}

fn print_findings(report: &Report, region: &Region) {
    for finding in report.findings() {
        println!("    {}", in_words_of_the_model(finding, region));
    }
}

/// Clusters and fields of a route table are nothing that who wrote the model knows of.
fn in_words_of_the_model(finding: &Finding, region: &Region) -> String {
    if (finding.kind(), finding.target()) != (FindingKind::Missing, Some(&CLUSTER)) {
        return finding.to_string();
    }
    let routes = region.routes.iter();
    let astray = routes.filter(|(_, service)| **service == finding.value());
    let prefixes: Vec<_> = astray.map(|(prefix, _)| *prefix).collect();
    let services: Vec<_> = region.services.keys().copied().collect();
    format!(
        "route {} goes to service {}, which is not among the services ({})",
        prefixes.join(", "),
        finding.value(),
        services.join(", ")
    )
}

async fn proxy(server: SocketAddr, id: &str) -> Result<DemoClient, Status> {
    let mut client = DemoClient::connect(server, node(id)).await?;
    client.subscribe(&CLUSTER, &["*"]).await;
    Ok(client)
}

async fn print_next(region: &str, client: &mut DemoClient) -> Result<(), Box<dyn Error>> {
    if let Some(response) = client.next().await? {
        let sent: Vec<_> = response.resources.iter().map(|r| &*r.name).collect();
        let gone = response.removed_resources.join(" ");
        println!(
            "  the proxy in {region} is sent [{}], gone [{gone}]",
            sent.join(" ")
        );
        client.accept(&response).await;
    }
    Ok(())
}
