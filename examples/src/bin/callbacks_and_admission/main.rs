//! Who may have a stream, and what happens on it: an admission that looks nodes up in an inventory, and two observers.
//!
//! ```text
//! cargo run -p portolan-examples --bin callbacks_and_admission
//! ```
//!
//! A client that the inventory does not have is refused. One that it has is served: it accepts what it is sent first,
//! rejects what it is sent then, and is sent a correction. Before it answers that, the inventory forgets it, and the
//! stream is ended. One observer prints all of it, the other counts rejections.

mod observers;

use std::collections::BTreeSet;
use std::error::Error;
use std::future::pending;
use std::sync::Arc;

use portolan::core::well_known::CLUSTER;
use portolan::prelude::*;
use portolan::server::transport::Incoming;
use portolan::server::{AdmissionRequest, BoxFuture};
use portolan_examples::{DemoClient, node};
use tokio::sync::RwLock;

use crate::observers::{Print, Rejections};

/// The nodes that are known. Asynchronous, as asking a database would be.
#[derive(Debug)]
struct Inventory(RwLock<BTreeSet<&'static str>>);

impl Admission for Inventory {
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move {
            match request.node().id() {
                id if self.0.read().await.contains(id) => Ok(()),
                id => Err(Refusal::denied(format!(
                    "no node {id:?}; register it first"
                ))),
            }
        })
    }
}

#[derive(Debug)]
struct Clusters;

impl Translator<Vec<&'static str>, String> for Clusters {
    type Error = ResourceError;

    fn translate(
        &self,
        names: &Vec<&'static str>,
        _: &String,
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
    let inventory = Arc::new(Inventory(RwLock::new(["edge-1"].into())));
    let rejections = Arc::new(Rejections::default());
    let plane = ControlPlane::start_with(
        SnapshotCache::new(NodeId::default()),
        Clusters,
        |publish| publish,
        |server| {
            server
                .with_admission(Arc::<Inventory>::clone(&inventory))
                .with_admission_per_request(true)
                .with_callbacks(Arc::new(Print))
                .with_callbacks(Arc::<Rejections>::clone(&rejections))
        },
    );
    let publisher = plane.publisher();
    publisher.update(vec!["cart"])?;
    let incoming = Incoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    tokio::spawn(plane.xds().serve(incoming).until(pending()));

    let mut stranger = DemoClient::connect(address, node("edge-2")).await?;
    stranger.subscribe(&CLUSTER, &["*"]).await;
    if let Err(status) = stranger.next().await {
        println!("the stranger is told: {}", status.message());
    }

    let mut client = DemoClient::connect(address, node("edge-1")).await?;
    client.subscribe(&CLUSTER, &["*"]).await;
    if let Some(response) = client.next().await? {
        client.accept(&response).await;
    }
    publisher.update(vec!["cart", "search"])?;
    if let Some(response) = client.next().await? {
        client.reject(&response, "search is down").await;
    }
    publisher.update(vec!["cart"])?;
    if let Some(response) = client.next().await? {
        inventory.0.write().await.clear();
        client.accept(&response).await;
    }
    if let Err(status) = client.next().await {
        println!("the client is told: {}", status.message());
    }
    plane.xds().drained().await;
    println!("rejections: {}", rejections.count());
    Ok(())
}
