//! Several sources as one: configuration by group, a large collection of endpoints with a few that override it, and
//! secrets from a source of one's own.
//!
//! ```text
//! cargo run -p portolan-examples --bin mux
//! ```
//!
//! The client has one stream and does not know that there are four sources behind it. While an override stands, the part
//! that comes first wins, and the observer is told of the clash.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use portolan::cache::{Clash, ClashObserver, LinearCache, MuxCache};
use portolan::core::well_known::{CLUSTER, ENDPOINT, SECRET};
use portolan::core::{Announced, Publication, ResourceBuilder, Source, TypeUrl, View};
use portolan::prelude::*;
use portolan::server::transport::Incoming;
use portolan_examples::{DemoClient, node};

const CLUSTERS: u16 = 10_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (config, config_reader) = SnapshotCache::new(NodeId::default()).split();
    let (endpoints, endpoints_reader) = LinearCache::new(ENDPOINT).split();
    let (overrides, overrides_reader) = LinearCache::new(ENDPOINT).split();
    let vault = Vault::default();

    let mut mux = MuxCache::builder();
    let by_group = mux.part("config", Arc::new(config_reader));
    let all = mux.part("endpoints", Arc::new(endpoints_reader));
    let first = mux.part("overrides", Arc::new(overrides_reader));
    let secrets = mux.part("vault", Arc::new(vault.clone()));
    mux.otherwise([by_group])
        .route(ENDPOINT, [first, all])
        .route(SECRET, [secrets])
        .observe_clashes(Arc::new(Told));
    let xds = XdsServer::builder(Arc::new(mux.build())).build();
    let incoming = Incoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    tokio::spawn(xds.serve(incoming).until(pending()));

    let _ = endpoints.replace_all((0..CLUSTERS).map(|number| assignment(number, 8080)))?;
    // A union speaks when all its parts do, and this one has to say that it overrides nothing.
    let _ = overrides.replace_all([])?;
    vault.store("certificate", "first")?;
    let mut snapshot = Snapshot::builder();
    for number in 0..CLUSTERS {
        snapshot.add(&build::eds_cluster(name(number)))?;
    }
    let _ = config.set(&"edge-1".to_owned(), snapshot.build());

    let mut client = DemoClient::connect(address, node("edge-1")).await?;
    for (url, wanted) in [
        (CLUSTER, "*"),
        (ENDPOINT, "cluster-7"),
        (SECRET, "certificate"),
    ] {
        client.subscribe(&url, &[wanted]).await;
        hear(&mut client).await?;
    }

    println!("cluster-7 moves");
    let _ = endpoints.upsert(assignment(7, 9090))?;
    hear(&mut client).await?;
    println!("the certificate is renewed");
    vault.store("certificate", "second")?;
    hear(&mut client).await?;
    println!("cluster-7 is overridden");
    let _ = overrides.upsert(assignment(7, 7070))?;
    hear(&mut client).await?;
    println!("the override is lifted");
    let _ = overrides.remove("cluster-7");
    hear(&mut client).await?;
    Ok(())
}

fn name(number: u16) -> String {
    format!("cluster-{number}")
}

/// The endpoints of one cluster: one address.
fn assignment(number: u16, port: u16) -> ResourceBuilder {
    let [high, low] = number.to_be_bytes();
    let address = SocketAddr::from(([10, 0, high, low], port));
    build::assignment(name(number), [address]).to_resource()
}

async fn hear(client: &mut DemoClient) -> Result<(), Box<dyn Error>> {
    let response = client.next().await?;
    let response = response.ok_or("the server ended the stream")?;
    let url = TypeUrl::from(response.type_url.as_str());
    let kind = url.as_str().rsplit('.').next().unwrap_or_default();
    println!("  sent: {} of {kind}", response.resources.len());
    client.accept(&response).await;
    Ok(())
}

/// Prints what clashes.
#[derive(Debug)]
struct Told;

impl ClashObserver for Told {
    fn began(&self, clash: &Clash<'_>) {
        let (served, hidden) = (clash.served, clash.hidden);
        println!("  {} of {served} hides that of {hidden}", clash.name);
    }

    fn ended(&self, clash: &Clash<'_>) {
        println!("  {} is not hidden any more", clash.name);
    }
}

/// A source of one's own: secrets that are the same for everybody. It wakes its streams itself, so that there is nothing
/// to announce.
#[derive(Clone, Debug, Default)]
struct Vault(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    publication: Option<Publication>,
    streams: BTreeMap<u64, Waker>,
    opened: u64,
}

impl Vault {
    fn store(&self, name: &str, key: &'static str) -> Result<(), ResourceError> {
        let mut secrets = Snapshot::builder();
        secrets.only([SECRET]);
        secrets.add(&build::tls_certificate(name, key, key))?;
        let secrets = secrets.build();
        let wakers: Vec<_> = self.with(|held| {
            let next = match &held.publication {
                Some(last) => last.next(secrets),
                None => Publication::first(secrets),
            };
            held.publication = Some(next);
            held.streams.values().cloned().collect()
        });
        wakers.into_iter().for_each(Waker::wake);
        Ok(())
    }

    fn with<R>(&self, run: impl FnOnce(&mut Held) -> R) -> R {
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Source for Vault {
    fn open(&self, _: &Arc<Node>, _: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal> {
        let stream = self.with(|held| {
            held.opened += 1;
            held.streams.insert(held.opened, waker);
            held.opened
        });
        let vault = self.clone();
        Ok(Box::new(VaultView { vault, stream }))
    }

    fn announce(&self, _: usize) -> Announced {
        Announced::All
    }

    fn register_announcer(&self, _: Waker) {}
}

#[derive(Debug)]
struct VaultView {
    vault: Vault,
    stream: u64,
}

impl View for VaultView {
    fn load(&self) -> Option<Publication> {
        self.vault.with(|held| held.publication.clone())
    }
}

impl Drop for VaultView {
    fn drop(&mut self) {
        let waker = self.vault.with(|held| held.streams.remove(&self.stream));
        drop(waker);
    }
}
