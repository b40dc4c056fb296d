//! The main job: a control plane that serves what a person wrote into `services.yaml`, and follows the file.
//!
//! ```text
//! cargo run -p portolan-examples --bin quickstart -- --help
//! ```

mod backends;
mod bootstrap;
mod check;
mod demo_client;
mod proxy;
mod report;
mod services;
mod translate;
mod watch;

use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use portolan::prelude::*;
use portolan::server::transport::Incoming;

use crate::report::Report;
use crate::services::Services;
use crate::translate::ServicesTranslator;
use crate::watch::FileWatch;

/// Serves what services.yaml says to Envoy proxies, and follows the file.
#[derive(Debug, Parser)]
#[command(name = "quickstart")]
struct Args {
    /// The file to serve.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/services.yaml"))]
    config: PathBuf,
    /// Where to serve xDS; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:18000")]
    listen: SocketAddr,
    /// Start a client that speaks the protocol and prints it, to see it at work without Envoy.
    #[arg(long)]
    demo_client: bool,
    /// Start this Envoy with the right bootstrap.
    #[arg(long, value_name = "PATH")]
    envoy: Option<PathBuf>,
    /// Answer at every local endpoint of the file as it is now, so that requests through a proxy find somebody.
    #[arg(long)]
    backends: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    if let Err(error) = run(args).await {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
    Ok(())
}

async fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let services = Services::read(&args.config)?;
    if args.backends {
        backends::start(&services).await?;
    }
    let incoming = Incoming::bind(args.listen)?;
    let address = incoming.local_addr()?;
    let plane = start_control_plane();
    describe(&services);
    plane.publisher().update(services.clone())?;
    println!("serving xDS on {address}");

    let bootstrap = bootstrap::yaml(address);
    let envoy = match &args.envoy {
        Some(envoy) => Some(proxy::start(envoy, &bootstrap)?),
        None if args.demo_client => None,
        None => {
            bootstrap::explain(&bootstrap);
            None
        }
    };
    if args.demo_client {
        tokio::spawn(demo_client::run(address));
    }
    tokio::spawn(follow(args.config, services, plane.publisher().clone()));

    let interrupted = async { drop(tokio::signal::ctrl_c().await) };
    plane.xds().serve(incoming).until(interrupted).await?;
    drop(envoy);
    println!("stopped");
    Ok(())
}

fn start_control_plane() -> ControlPlane<Services, String> {
    let report = Arc::new(Report::default());
    ControlPlane::start_with(
        SnapshotCache::new(NodeId::default()),
        ServicesTranslator,
        |publish| publish.with_observer(Arc::<Report>::clone(&report)),
        |server| server.with_callbacks(Arc::<Report>::clone(&report)),
    )
}

/// Publishes the file whenever it differs from what is served. A file that makes no sense is reported, and what was
/// last served stays.
async fn follow(path: PathBuf, served: Services, publisher: Publisher<Services, String>) {
    let watch = match FileWatch::new(&path) {
        Ok(watch) => watch,
        Err(error) => {
            eprintln!(
                "{} cannot be watched, changes will go unnoticed: {error}",
                path.display()
            );
            return;
        }
    };
    let mut last = Ok(served);
    loop {
        // Read before the first wait, for it may have changed before it was watched; and an editor may write more than
        // once for one save.
        let read = read_settled(&path).await;
        if read != last {
            match &read {
                Ok(services) => {
                    println!("{} changed", path.display());
                    describe(services);
                    if publisher.update(services.clone()).is_err() {
                        return;
                    }
                }
                Err(problems) => {
                    for problem in problems.iter() {
                        eprintln!("refused: {problem}");
                    }
                    eprintln!("what was served before stays");
                }
            }
            last = read;
        }
        watch.changed().await;
    }
}

/// Reads the file, once more where it makes no sense: a save may be seen half done.
async fn read_settled(path: &Path) -> Result<Services, services::Problems> {
    match Services::read(path) {
        Ok(services) => Ok(services),
        Err(_) => {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            Services::read(path)
        }
    }
}

fn describe(services: &Services) {
    println!("listener on port {}", services.port);
    for (name, endpoints) in &services.endpoints {
        let endpoints: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
        println!("  service {name}: {}", endpoints.join(", "));
    }
    for route in &services.routes {
        println!("  route {} -> {}", route.prefix, route.service);
    }
}
