//! A client that asks for everything as an Envoy does, and prints what it is told.

use std::net::SocketAddr;

use portolan::core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan::core::{ResourceTypes, TypeUrl};
use portolan::types::envoy::service::discovery::v3::DeltaDiscoveryResponse;
use portolan_examples::{DemoClient, node};
use tonic::Status;

const EVERYTHING: &[&str] = &[];

/// Connects and stays until the server ends the stream.
pub(crate) async fn run(server: SocketAddr) {
    match talk(server).await {
        Ok(()) => println!("demo client: the server ended the stream"),
        Err(status) => eprintln!("demo client: {status}"),
    }
}

async fn talk(server: SocketAddr) -> Result<(), Status> {
    let mut client = DemoClient::connect(server, node("demo-client")).await?;
    client.subscribe(&CLUSTER, EVERYTHING).await;
    while let Some(response) = client.next().await? {
        print(&response);
        client.accept(&response).await;
        ask_on(&mut client, &response).await;
    }
    Ok(())
}

/// What the client asks for next: the endpoints of clusters, then listeners, then the route table that the
/// quickstart's listener uses.
async fn ask_on(client: &mut DemoClient, response: &DeltaDiscoveryResponse) {
    let names: Vec<_> = response.resources.iter().map(|r| &r.name).collect();
    if names.is_empty() {
        return;
    }
    let type_url = TypeUrl::from(response.type_url.as_str());
    if type_url == CLUSTER {
        client.subscribe(&ENDPOINT, &names).await;
        client.subscribe(&LISTENER, EVERYTHING).await;
    } else if type_url == LISTENER {
        client.subscribe(&ROUTE, &["routes"]).await;
    }
}

fn print(response: &DeltaDiscoveryResponse) {
    let types = ResourceTypes::well_known();
    println!(
        "   demo client got {}:",
        types.get(&response.type_url).short_name()
    );
    for resource in &response.resources {
        let version = resource.version.get(..8).unwrap_or(&resource.version);
        println!("     {} at version {version}", resource.name);
    }
    for name in &response.removed_resources {
        println!("     {name} is gone");
    }
}
