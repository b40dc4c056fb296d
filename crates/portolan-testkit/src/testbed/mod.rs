//! A control plane that conformance harnesses drive: the library behind the binary `testbed`.
//!
//! It serves xDS as [`portolan_server`] does by default, and has two ways to change what is served, which share one
//! state: a gRPC service, `adapter.Adapter`, and [commands](HELP) of a line each.
//!
//! ```
//! use portolan_testkit::testbed::Testbed;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let any_port = "127.0.0.1:0".parse().expect("an address");
//! let testbed = Testbed::start(any_port, any_port)?;
//! println!("xDS at {}, the adapter at {}", testbed.xds_address(), testbed.adapter_address());
//!
//! assert_eq!(testbed.answer("set edge-1 v1 CDS=a CDS=b").line(), "ok");
//! assert_eq!(testbed.answer("update edge-1 CDS b v2").line(), "ok");
//! let unknown = testbed.answer("update edge-1 CDS c v3");
//! assert_eq!(unknown.line(), r#"error NOT_FOUND node "edge-1" has no CDS resource "c""#);
//! testbed.stop().await
//! # }
//! ```
//!
//! # What is served
//!
//! All discovery services, state of the world and delta, over HTTP/2 without TLS. A node is served the state of its own
//! id. There are listeners, clusters, route tables and endpoints; resources that a harness gives are served as they
//! are, valid or not. Versions that it names are labels: they are shown in `version_info` and `system_version_info`,
//! and neither cause a response nor prevent one.

mod adapter;
mod error;
#[rustfmt::skip]
#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::exhaustive_structs,
    clippy::too_many_lines,
    clippy::use_self,
    reason = "generated as is"
)]
mod generated;
mod kind;
mod lines;
mod state;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use portolan_cache::SnapshotCache;
use portolan_core::NodeId;
use portolan_resources::EnvoyReferences;
use portolan_server::transport::{Incoming, Serve};
use portolan_server::{SessionConfig, XdsServer};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::service::Routes;

use self::adapter::AdapterService;
use self::generated::adapter::adapter_server::AdapterServer;
use self::state::State;

pub use self::lines::{Answer, HELP};

/// How long clients may keep their connections once the testbed is to end. They are tests.
const GRACE: Duration = Duration::from_secs(1);

/// A running testbed. Dropped, it ends as with [`stop`](Self::stop), and nobody waits for it.
#[derive(Debug)]
pub struct Testbed {
    state: State,
    xds: XdsServer,
    xds_address: SocketAddr,
    adapter_address: SocketAddr,
    stop: watch::Sender<bool>,
    servers: [JoinHandle<Result<(), tonic::transport::Error>>; 2],
}

impl Testbed {
    /// Starts to serve xDS at one address and the adapter's service at another. Port 0 takes a free one.
    ///
    /// # Errors
    /// An address cannot be listened at; the error names it.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn start(xds: SocketAddr, adapter: SocketAddr) -> io::Result<Self> {
        let xds_incoming = listen(xds)?;
        let adapter_incoming = listen(adapter)?;
        let xds_address = xds_incoming.local_addr()?;
        let adapter_address = adapter_incoming.local_addr()?;

        let (writer, reader) = SnapshotCache::new(NodeId::default()).split();
        let state = State::new(writer);
        let session =
            SessionConfig::default().with_references(Arc::new(EnvoyReferences::default()));
        let xds = XdsServer::builder(Arc::new(reader))
            .with_session(session)
            .with_drain_window(Duration::ZERO)
            .build();

        let (stop, stopped) = watch::channel(false);
        let adapter = AdapterServer::new(AdapterService::new(state.clone()));
        let adapter = xds
            .serve(adapter_incoming)
            .with_routes(Routes::new(adapter));
        let servers = [xds.serve(xds_incoming), adapter].map(|server| serve(server, &stopped));
        Ok(Self {
            state,
            xds,
            xds_address,
            adapter_address,
            stop,
            servers,
        })
    }

    /// Where xDS is served.
    #[must_use]
    pub fn xds_address(&self) -> SocketAddr {
        self.xds_address
    }

    /// Where the adapter's service is served.
    #[must_use]
    pub fn adapter_address(&self) -> SocketAddr {
        self.adapter_address
    }

    /// Does what a line says: one of the [commands](HELP). A line that asks to end is for the caller to follow.
    #[must_use]
    pub fn answer(&self, line: &str) -> Answer {
        lines::answer(&self.state, self.xds.status(), line)
    }

    /// Ends all streams, and returns when nobody is connected any more, or after a second.
    ///
    /// # Errors
    /// A server has failed.
    pub async fn stop(self) -> io::Result<()> {
        self.stop.send_replace(true);
        for server in self.servers {
            server.await?.map_err(io::Error::other)?;
        }
        Ok(())
    }
}

fn listen(address: SocketAddr) -> io::Result<Incoming> {
    let because = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot listen at {address}: {error}"))
    };
    Incoming::bind(address).map_err(because)
}

fn serve(
    server: Serve,
    stopped: &watch::Receiver<bool>,
) -> JoinHandle<Result<(), tonic::transport::Error>> {
    let mut stopped = stopped.clone();
    let server = server.with_grace(GRACE).until(async move {
        // An error says that the testbed was dropped.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    });
    tokio::spawn(server)
}
