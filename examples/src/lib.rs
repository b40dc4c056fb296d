//! What the examples share: a client, so that none of them needs an Envoy to show what it serves.

use std::net::SocketAddr;

use portolan::core::TypeUrl;
use portolan::types::envoy::config::core::v3::Node;
use portolan::types::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use portolan::types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse,
};
use portolan::types::google::rpc;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

/// A node with this id and nothing else.
#[must_use]
pub fn node(id: &str) -> Node {
    Node {
        id: id.to_owned(),
        ..Node::default()
    }
}

/// A client of the aggregated discovery service, incremental variant. It does what it is told and nothing by itself.
#[derive(Debug)]
pub struct DemoClient {
    /// Sent with the first request, and not again.
    node: Option<Node>,
    requests: mpsc::Sender<DeltaDiscoveryRequest>,
    responses: Streaming<DeltaDiscoveryResponse>,
}

impl DemoClient {
    /// Connects to a server without TLS, and opens a stream for a node.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the call.
    pub async fn connect(server: SocketAddr, node: Node) -> Result<Self, Status> {
        let endpoint = Endpoint::from_shared(format!("http://{server}"));
        let endpoint = endpoint.expect("an address makes a URI");
        Self::open(endpoint.connect_lazy(), node).await
    }

    /// Opens a stream for a node on a channel.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the call.
    pub async fn open(channel: Channel, node: Node) -> Result<Self, Status> {
        let (requests, outbound) = mpsc::channel(16);
        let mut service = AggregatedDiscoveryServiceClient::new(channel);
        let outbound = ReceiverStream::new(outbound);
        let responses = service.delta_aggregated_resources(outbound).await?;
        Ok(Self {
            node: Some(node),
            requests,
            responses: responses.into_inner(),
        })
    }

    /// Asks for resources of a type: those that are named, or all with `*`. Of listeners and clusters, no name at all
    /// asks for all.
    pub async fn subscribe<S: AsRef<str>>(&mut self, type_url: &TypeUrl, names: &[S]) {
        let names = names.iter().map(|name| name.as_ref().to_owned());
        self.send(DeltaDiscoveryRequest {
            type_url: type_url.to_string(),
            resource_names_subscribe: names.collect(),
            ..DeltaDiscoveryRequest::default()
        })
        .await;
    }

    /// Gives names up.
    pub async fn unsubscribe<S: AsRef<str>>(&mut self, type_url: &TypeUrl, names: &[S]) {
        let names = names.iter().map(|name| name.as_ref().to_owned());
        self.send(DeltaDiscoveryRequest {
            type_url: type_url.to_string(),
            resource_names_unsubscribe: names.collect(),
            ..DeltaDiscoveryRequest::default()
        })
        .await;
    }

    /// The next response; `None` where the server has ended the stream.
    ///
    /// # Errors
    /// The status with which the server refuses the stream, or loses it.
    pub async fn next(&mut self) -> Result<Option<DeltaDiscoveryResponse>, Status> {
        self.responses.message().await
    }

    /// Acknowledges a response.
    pub async fn accept(&mut self, response: &DeltaDiscoveryResponse) {
        self.answer(response, None).await;
    }

    /// Rejects a response, and says why.
    pub async fn reject(&mut self, response: &DeltaDiscoveryResponse, reason: &str) {
        let error = rpc::Status {
            code: Code::InvalidArgument.into(),
            message: reason.to_owned(),
            ..rpc::Status::default()
        };
        self.answer(response, Some(error)).await;
    }

    async fn answer(&mut self, response: &DeltaDiscoveryResponse, error: Option<rpc::Status>) {
        self.send(DeltaDiscoveryRequest {
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            error_detail: error,
            ..DeltaDiscoveryRequest::default()
        })
        .await;
    }

    async fn send(&mut self, mut request: DeltaDiscoveryRequest) {
        request.node = self.node.take();
        // Where the stream has ended, the next response says how.
        let _ = self.requests.send(request).await;
    }
}
