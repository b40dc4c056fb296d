//! What became of a change: who has accepted it, who rejected it and why, and who has not answered.
//!
//! ```text
//! cargo run -p portolan-examples --bin wait_for_acks
//! ```
//!
//! Three proxies have the first configuration. Of the second, one accepts what it is sent, one rejects it, and one keeps
//! silent. A wait for the first two ends when both have answered, a wait for all when the time is up.

use std::error::Error;
use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use portolan::core::node_hash::Constant;
use portolan::core::well_known::CLUSTER;
use portolan::prelude::*;
use portolan::server::transport::Incoming;
use portolan::translator::{Rollout, WaitScope};
use portolan_examples::{DemoClient, node};
use tonic::Status;

/// All proxies are one group.
type Group = &'static str;

#[derive(Debug)]
struct Clusters;

impl Translator<Vec<&'static str>, Group> for Clusters {
    type Error = ResourceError;

    fn translate(
        &self,
        names: &Vec<&'static str>,
        _: &Group,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        for name in names {
            out.add(&build::strict_dns_cluster(*name, "example.org", 443))?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start(Constant::new("edge"), Clusters);
    let publisher = plane.publisher();
    publisher.update(vec!["cart"])?;

    let incoming = Incoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    tokio::spawn(plane.xds().serve(incoming).until(pending()));
    for id in ["accepting", "rejecting", "silent"] {
        let proxy = with_first_configuration(address, id).await?;
        tokio::spawn(answer_as(id, proxy));
    }

    publisher.update(vec!["cart", "search"])?;
    let two = WaitScope::nodes(["accepting", "rejecting"]);
    print(&publisher.wait(two, Duration::from_secs(10)).await?);
    let all = WaitScope::all();
    print(&publisher.wait(all, Duration::from_millis(100)).await?);
    Ok(())
}

fn print(rollout: &Rollout<Group>) {
    println!("accepted by all: {}", rollout.is_accepted());
    // A change that could not be translated, or that a gate refused, reaches nobody.
    for (group, failed) in rollout.not_published() {
        println!("  {group} was not published: {:?}", failed.report());
    }
    for (_, node, outcome) in rollout.nodes() {
        println!("  {node}: {outcome}");
    }
}

async fn with_first_configuration(server: SocketAddr, id: &str) -> Result<DemoClient, Status> {
    let mut proxy = DemoClient::connect(server, node(id)).await?;
    proxy.subscribe(&CLUSTER, &["*"]).await;
    if let Some(response) = proxy.next().await? {
        proxy.accept(&response).await;
    }
    Ok(proxy)
}

async fn answer_as(id: &'static str, mut proxy: DemoClient) -> Result<(), Status> {
    while let Some(response) = proxy.next().await? {
        match id {
            "accepting" => proxy.accept(&response).await,
            "rejecting" => proxy.reject(&response, "no room for search").await,
            _ => {}
        }
    }
    Ok(())
}
