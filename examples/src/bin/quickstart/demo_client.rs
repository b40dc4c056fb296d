//! A client that asks for everything as an Envoy does, over delta ADS, and prints what it is told.

use std::error::Error;
use std::net::SocketAddr;

use portolan::core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan::core::{ResourceTypes, TypeUrl};
use portolan::types::envoy::config::core::v3::Node;
use portolan::types::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use portolan::types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;

/// Connects and stays until the server ends the stream.
pub(crate) async fn run(server: SocketAddr) {
    if let Err(error) = talk(server).await {
        eprintln!("demo client: {error}");
    }
}

async fn talk(server: SocketAddr) -> Result<(), Box<dyn Error + Send + Sync>> {
    let channel = Endpoint::try_from(format!("http://{server}"))?
        .connect()
        .await?;
    let (requests, outbound) = mpsc::channel(16);
    requests.send(first_request()).await?;
    let mut client = AggregatedDiscoveryServiceClient::new(channel);
    let stream = client
        .delta_aggregated_resources(ReceiverStream::new(outbound))
        .await?;
    let mut responses = stream.into_inner();
    while let Some(response) = responses.message().await? {
        print(&response);
        for request in reply(&response) {
            requests.send(request).await?;
        }
    }
    println!("demo client: the server ended the stream");
    Ok(())
}

fn first_request() -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        node: Some(Node {
            id: "demo-client".to_owned(),
            ..Node::default()
        }),
        ..request(&CLUSTER)
    }
}

/// The acknowledgement, and what the client asks for next: the endpoints of clusters, then listeners, then the route
/// table that the quickstart's listener uses.
fn reply(response: &DeltaDiscoveryResponse) -> Vec<DeltaDiscoveryRequest> {
    let mut replies = vec![DeltaDiscoveryRequest {
        response_nonce: response.nonce.clone(),
        ..request(&TypeUrl::from(response.type_url.as_str()))
    }];
    let names: Vec<_> = response.resources.iter().map(|r| r.name.clone()).collect();
    if names.is_empty() {
        return replies;
    }
    if CLUSTER.as_str() == response.type_url {
        replies.push(subscribe(&ENDPOINT, names));
        replies.push(request(&LISTENER));
    } else if LISTENER.as_str() == response.type_url {
        replies.push(subscribe(&ROUTE, vec!["routes".to_owned()]));
    }
    replies
}

fn request(type_url: &TypeUrl) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        type_url: type_url.to_string(),
        ..DeltaDiscoveryRequest::default()
    }
}

fn subscribe(type_url: &TypeUrl, names: Vec<String>) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        resource_names_subscribe: names,
        ..request(type_url)
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
