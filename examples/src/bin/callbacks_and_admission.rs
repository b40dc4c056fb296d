//! Who may have a stream, and what happens on it: an admission that looks nodes up in an inventory, and two observers.
//!
//! ```text
//! cargo run -p portolan-examples --bin callbacks_and_admission
//! ```
//!
//! A client that the inventory does not have is refused. One that it has is served: it accepts what it is sent first,
//! rejects what it is sent then, and is sent a correction. One observer prints all of it, the other counts rejections.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use portolan::core::well_known::CLUSTER;
use portolan::prelude::*;
use portolan::server::{AdmissionRequest, BoxFuture, CloseReason, Event, ResponseInfo, StreamInfo};
use portolan_examples::{DemoClient, node};
use tokio::net::TcpListener;
use tokio::sync::RwLock;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

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

/// Prints what happens. Every method may be left out.
#[derive(Debug)]
struct Print;

impl Callbacks for Print {
    fn stream_admitted(&self, stream: &StreamInfo) {
        println!("{}: admitted to {}", id(stream), stream.service());
    }

    fn response(&self, stream: &StreamInfo, response: &ResponseInfo<'_>) {
        let (added, removed) = (response.resources(), response.removed());
        println!("{}: sent +{added} -{removed}", id(stream));
    }

    fn event(&self, stream: &StreamInfo, event: &Event) {
        match event {
            Event::Acked { nonce, .. } => println!("{}: accepted {nonce}", id(stream)),
            Event::Nacked { nonce, message, .. } => {
                println!("{}: rejected {nonce}: {message}", id(stream));
            }
            _ => {}
        }
    }

    fn stream_closed(&self, stream: &StreamInfo, reason: &CloseReason) {
        println!("{}: closed: {reason}", id(stream));
    }
}

fn id(stream: &StreamInfo) -> &str {
    stream.node().map_or("unknown", |node| node.id())
}

/// Another observer beside it.
#[derive(Debug, Default)]
struct Rejections(AtomicU64);

impl Callbacks for Rejections {
    fn event(&self, _: &StreamInfo, event: &Event) {
        let rejected = matches!(event, Event::Nacked { .. });
        self.0.fetch_add(rejected.into(), Ordering::Relaxed);
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
                .with_admission(inventory)
                .with_callbacks(Arc::new(Print))
                .with_callbacks(Arc::<Rejections>::clone(&rejections))
        },
    );
    let publisher = plane.publisher();
    publisher.update(vec!["cart"])?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = Server::builder().add_routes(plane.xds().routes());
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));

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
    client.next().await?;

    drop((stranger, client));
    plane.xds().drained().await;
    println!("rejections: {}", rejections.0.load(Ordering::Relaxed));
    Ok(())
}
