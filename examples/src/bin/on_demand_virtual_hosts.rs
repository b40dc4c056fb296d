//! Virtual hosts that are looked up when a proxy has a request for one, and let go when no proxy wants them.
//!
//! ```text
//! cargo run -p portolan-examples --bin on_demand_virtual_hosts
//! ```
//!
//! There are too many hosts to tell every proxy of all. Envoy with the on-demand filter holds the first request for a host,
//! asks for `<route configuration>/<host>`, and goes on with the answer. Here a registry is asked, which takes its time;
//! what it says depends on where the proxy runs. A host that does not exist is answered as well, so that the request fails
//! at once.

use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use portolan::TokioClock;
use portolan::cache::{OnDemandCache, Resolution, Resolver, Wanted};
use portolan::core::node_hash::NodeCluster;
use portolan::core::well_known::VIRTUAL_HOST;
use portolan::prelude::*;
use portolan::server::transport::Incoming;
use portolan::types::envoy::config::core::v3::Node;
use portolan::types::envoy::config::route::v3::VirtualHost;
use portolan::types::envoy::config::route::v3::route::Action;
use portolan::types::envoy::config::route::v3::route_action::ClusterSpecifier;
use portolan::types::prost::Message;
use portolan_examples::{DemoClient, node};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::sleep;

/// Where the hosts are known.
struct Registry {
    released: UnboundedSender<String>,
}

impl Resolver<String> for Registry {
    async fn resolve(&self, wanted: &Wanted<String>) -> Resolution {
        let Some((_, host)) = wanted.name.rsplit_once('/') else {
            return Resolution::absent();
        };
        println!("looking up {host} for {}", wanted.group);
        sleep(Duration::from_millis(20)).await;
        match host {
            "cart.example" => found(wanted, host, &format!("cart-{}", wanted.group)),
            _ => Resolution::absent(),
        }
    }

    fn released(&self, wanted: &Wanted<String>) {
        let _ = self.released.send(wanted.name.to_string());
    }
}

/// All requests for the host go to one cluster.
fn found(wanted: &Wanted<String>, host: &str, cluster: &str) -> Resolution {
    let routes = [build::prefix_route("/", cluster)];
    let host = build::virtual_host(wanted.name.as_str(), [host], routes);
    let resource = Resource::builder(VIRTUAL_HOST, wanted.name.clone(), host.encode_to_vec());
    match resource.build() {
        Ok(resource) => Resolution::found(resource),
        Err(_) => Resolution::absent(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Groups are the clusters that proxies say they belong to. Listeners, routes and clusters of one would be published with `writer.set`.
    let cache = OnDemandCache::new(SnapshotCache::new(NodeCluster::default()), [VIRTUAL_HOST]);
    let (writer, reader, resolutions) = cache.with_base(Snapshot::empty()).split();
    let (released, mut gone) = unbounded_channel();
    tokio::spawn(resolutions.run(Registry { released }, TokioClock::new()));
    let xds = XdsServer::builder(Arc::new(reader)).build();
    let incoming = Incoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    tokio::spawn(xds.serve(incoming).until(pending()));
    let proxy = Node {
        cluster: "eu".to_owned(),
        ..node("proxy-1")
    };
    let mut client = DemoClient::connect(address, proxy).await?;

    for name in ["shop/cart.example", "shop/nowhere.example"] {
        println!("the proxy asks for {name}");
        client.subscribe(&VIRTUAL_HOST, &[name]).await;
        hear(&mut client).await?;
    }

    println!("cart.example moves");
    let wanted = Wanted::new("eu".to_owned(), VIRTUAL_HOST, "shop/cart.example".into());
    writer.revise(&wanted, found(&wanted, "cart.example", "cart-new"));
    hear(&mut client).await?;

    println!("the proxy gives up shop/cart.example");
    client
        .unsubscribe(&VIRTUAL_HOST, &["shop/cart.example"])
        .await;
    if let Some(name) = gone.recv().await {
        println!("nobody wants {} any more", name.trim_start_matches("shop/"));
    }
    Ok(())
}

/// Takes one response, and says what it says of hosts.
async fn hear(client: &mut DemoClient) -> Result<(), Box<dyn Error>> {
    let response = client.next().await?;
    let response = response.ok_or("the server has ended the stream")?;
    client.accept(&response).await;
    for resource in response.resources {
        let Some(body) = resource.resource else {
            println!("  {}: no such host", resource.name);
            continue;
        };
        let host = VirtualHost::decode(&*body.value)?;
        let action = host.routes.into_iter().find_map(|route| route.action);
        if let Some(Action::Route(route)) = action
            && let Some(ClusterSpecifier::Cluster(cluster)) = route.cluster_specifier
        {
            println!("  {}: to {cluster}", resource.name);
        }
    }
    Ok(())
}
