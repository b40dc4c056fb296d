//! A change that costs what it changes: of a thousand services only the one is translated that is said to have changed.
//!
//! ```text
//! cargo run -p portolan-examples --bin incremental_translator
//! ```
//!
//! A client is sent all clusters. Then one service moves and another goes, each with a word on which it is, and last a
//! change comes without: everything is translated then, and since it is as it was, nothing is sent for it.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::pending;
use std::net::SocketAddr;

use portolan::core::well_known::CLUSTER;
use portolan::prelude::*;
use portolan::server::transport::Incoming;
use portolan::translator::{Change, IncrementalTranslator};
use portolan::types::envoy::config::cluster::v3::Cluster;
use portolan_examples::{DemoClient, node};
use tonic::Status;

/// The model: where each service is.
type Services = BTreeMap<String, SocketAddr>;

#[derive(Debug)]
struct ClusterPerService;

fn cluster(name: &str, address: SocketAddr) -> Cluster {
    build::static_cluster(name, [address])
}

impl Translator<Services, String> for ClusterPerService {
    type Error = ResourceError;

    /// For a group that has nothing yet, and wherever it is not known what changed.
    fn translate(
        &self,
        services: &Services,
        _: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        println!("translating all of {} services", services.len());
        for (name, address) in services {
            out.add(&cluster(name, *address))?;
        }
        Ok(())
    }
}

impl IncrementalTranslator<Services, String> for ClusterPerService {
    /// The name of a service that is new, changed or gone.
    type Detail = String;

    /// `out` starts with what the group has.
    fn translate_details(
        &self,
        services: &Services,
        _: &String,
        names: &[&String],
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        println!("translating {} of {} services", names.len(), services.len());
        for name in names {
            match services.get(*name) {
                Some(address) => out.upsert(cluster(name, *address).to_resource())?,
                None => out.remove(&CLUSTER, name),
            };
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start_incremental(NodeId::default(), ClusterPerService);
    let publisher = plane.publisher();

    let incoming = Incoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    tokio::spawn(plane.xds().serve(incoming).until(pending()));
    let mut client = DemoClient::connect(address, node("proxy-1")).await?;
    client.subscribe(&CLUSTER, &["*"]).await;

    let name = |number| format!("service-{number}");
    let mut services = Services::new();
    for number in 1..=1000 {
        services.insert(name(number), ([10, 0, 0, 1], 8000 + number).into());
    }
    publisher.update(services.clone())?;
    print_next(&mut client).await?;

    services.insert(name(7), "10.0.0.2:8007".parse()?);
    let moved = Change::config().with_detail(name(7));
    publisher.update_with(services.clone(), moved)?;
    print_next(&mut client).await?;

    services.remove(&name(8));
    let gone = Change::config().with_detail(name(8));
    publisher.update_with(services.clone(), gone)?;
    print_next(&mut client).await?;

    publisher.update(services)?;
    for (group, report) in publisher.flush().await?.iter() {
        println!("{group}: {}", report.outcome);
    }
    Ok(())
}

async fn print_next(client: &mut DemoClient) -> Result<(), Status> {
    if let Some(response) = client.next().await? {
        let (sent, gone) = (response.resources.len(), response.removed_resources.len());
        println!("the client was sent {sent} clusters, and that {gone} are gone");
        client.accept(&response).await;
    }
    Ok(())
}
