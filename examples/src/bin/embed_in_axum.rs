//! The control plane as a part of a program that you have: an axum application of your own and the discovery services
//! on one port, behind one server, which is yours.
//!
//! ```text
//! cargo run -p portolan-examples --bin embed_in_axum
//! curl -X POST 127.0.0.1:18000/backends/127.0.0.1:9001
//! curl 127.0.0.1:18000/nodes
//! ```
//!
//! What you post is served as a cluster; a client of the discovery services, which runs in the program too, prints
//! it. Ctrl-C ends the discovery streams, and then the server. Another address can be given as argument.

use std::collections::BTreeSet;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{Extensions, StatusCode};
use axum::routing::{get, post};
use portolan::core::well_known::CLUSTER;
use portolan::prelude::*;
use portolan_examples::{DemoClient, node};
use tokio::net::TcpListener;
use tonic::Status;

type Backends = BTreeSet<SocketAddr>;

#[derive(Debug)]
struct ClusterPerBackend;

impl Translator<Backends, String> for ClusterPerBackend {
    type Error = ResourceError;

    fn translate(
        &self,
        backends: &Backends,
        _: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        for backend in backends {
            out.add(&build::static_cluster(backend.to_string(), [*backend]))?;
        }
        Ok(())
    }
}

/// The application.
struct App {
    backends: Mutex<Backends>,
    plane: ControlPlane<Backends, String>,
}

async fn add_backend(State(app): State<Arc<App>>, Path(backend): Path<SocketAddr>) -> StatusCode {
    let mut backends = app.backends.lock().unwrap_or_else(PoisonError::into_inner);
    backends.insert(backend);
    match app.plane.publisher().update(backends.clone()) {
        Ok(_) => StatusCode::ACCEPTED,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

async fn nodes(State(app): State<Arc<App>>) -> String {
    app.plane.snapshots().groups().join("\n")
}

/// Where axum leaves the client's address; without this, streams are served but nobody knows of whom.
fn peer(extensions: &Extensions) -> Peer {
    match extensions.get::<ConnectInfo<SocketAddr>>() {
        Some(ConnectInfo(address)) => Peer::unknown().with_address(*address),
        None => Peer::unknown(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start_with(
        SnapshotCache::new(NodeId::default()),
        ClusterPerBackend,
        |publish| publish,
        |server| server.with_peer(peer),
    );
    let xds = plane.xds().clone();
    let backends = Mutex::default();
    let router = Router::new()
        .route("/backends/{backend}", post(add_backend))
        .route("/nodes", get(nodes))
        .with_state(Arc::new(App { backends, plane }))
        // Without tonic's fallback: what is not found is answered as the application does.
        .merge(xds.routes().into_axum_router().reset_fallback());

    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:18000")).await?;
    let address = listener.local_addr()?;
    println!("serving on {address}");
    tokio::spawn(async move {
        if let Err(status) = follow(address).await {
            eprintln!("the client was told: {status}");
        }
    });

    let interrupted = async { drop(tokio::signal::ctrl_c().await) };
    let app = router.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, app)
        .with_graceful_shutdown(xds.drain_after(interrupted))
        .await?;
    println!("stopped");
    Ok(())
}

async fn follow(server: SocketAddr) -> Result<(), Status> {
    let mut client = DemoClient::connect(server, node("proxy-1")).await?;
    client.subscribe(&CLUSTER, &["*"]).await;
    while let Some(response) = client.next().await? {
        for cluster in &response.resources {
            println!("the client was sent cluster {}", cluster.name);
        }
        client.accept(&response).await;
    }
    Ok(())
}
