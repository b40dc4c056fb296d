//! Metrics for Prometheus: the server records them through the `metrics` facade, and the recorder is yours.
//!
//! ```text
//! cargo run -p portolan-examples --bin metrics_prometheus
//! curl 127.0.0.1:18000/metrics
//! ```
//!
//! A client in the program accepts what it is sent, and then rejects a change, so that there is something to see. The
//! page is served on the port of the discovery services until Ctrl-C. Another address can be given as argument.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusBuilder;
use portolan::core::well_known::CLUSTER;
use portolan::prelude::*;
use portolan::translator::WaitScope;
use portolan_examples::{DemoClient, node};
use tokio::net::TcpListener;

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
    // Before the first stream: series are registered when they are first needed, and their handles kept.
    let recorder = PrometheusBuilder::new()
        .set_buckets(&[0.001, 0.01, 0.1, 1.0, 10.0])?
        .install_recorder()?;
    let plane = ControlPlane::start(NodeId::default(), Clusters);

    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:18000")).await?;
    let address = listener.local_addr()?;
    println!("serving on {address}");
    let publisher = plane.publisher().clone();
    tokio::spawn(async move {
        if let Err(error) = be_a_client(address, publisher).await {
            eprintln!("the client failed: {error}");
        }
    });

    let page = move || async move {
        recorder.run_upkeep();
        recorder.render()
    };
    let xds = plane.xds();
    let router = Router::new()
        .route("/metrics", get(page))
        .merge(xds.routes().into_axum_router().reset_fallback());
    let interrupted = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, router)
        .with_graceful_shutdown(xds.drain_after(interrupted))
        .await?;
    println!("stopped");
    Ok(())
}

async fn be_a_client(
    server: SocketAddr,
    publisher: Publisher<Vec<&'static str>, String>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut client = DemoClient::connect(server, node("proxy-1")).await?;
    client.subscribe(&CLUSTER, &["*"]).await;
    publisher.update(vec!["cart"])?;
    if let Some(response) = client.next().await? {
        client.accept(&response).await;
    }
    publisher.update(vec!["cart", "search"])?;
    if let Some(response) = client.next().await? {
        client.reject(&response, "search is down").await;
    }
    let settled = publisher.wait(WaitScope::all(), Duration::from_secs(10));
    for (_, node, outcome) in settled.await?.nodes() {
        println!("{node}: {outcome}");
    }
    // The stream stays open until the server ends it.
    client.next().await?;
    Ok(())
}
