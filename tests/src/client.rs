use std::time::Duration;

use portolan::core::TypeUrl;
use portolan::types::envoy::config::core::v3::Node;
use portolan::types::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use portolan::types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::codegen::{Body as HttpBody, Bytes, StdError};
use tonic::{Status, Streaming};

/// Only reached when something hangs.
const TOO_LONG: Duration = Duration::from_secs(60);

/// A client's end of an aggregated stream, for tests that say themselves what goes over it.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests take it apart")]
pub struct Stream<Q, R> {
    /// What is sent.
    pub requests: UnboundedSender<Q>,
    /// What comes.
    pub responses: Streaming<R>,
}

/// A stream of the state of the world.
pub type Sotw = Stream<DiscoveryRequest, DiscoveryResponse>;

/// A delta stream.
pub type Delta = Stream<DeltaDiscoveryRequest, DeltaDiscoveryResponse>;

impl<Q, R> Stream<Q, R> {
    /// The next response, or how the stream ended.
    ///
    /// # Errors
    /// The status of the stream, if it has ended; `Ok` is one too.
    ///
    /// # Panics
    /// If nothing comes for a minute.
    pub async fn next(&mut self) -> Result<R, Status> {
        let message = timeout(TOO_LONG, self.responses.message()).await;
        let message = message.expect("nothing is sent")?;
        message.ok_or_else(|| Status::ok("ended"))
    }
}

impl Sotw {
    /// Opens a stream for everything of these types. The node has this id, and this cluster.
    ///
    /// # Errors
    /// What the call ended with.
    pub async fn open<T>(transport: T, node: &str, types: &[TypeUrl]) -> Result<Self, Status>
    where
        T: GrpcService<Body>,
        T::Error: Into<StdError>,
        T::ResponseBody: HttpBody<Data = Bytes> + Send + 'static,
        <T::ResponseBody as HttpBody>::Error: Into<StdError> + Send,
    {
        let (requests, outbound) = queue(types, |type_url| DiscoveryRequest {
            node: self::node(node),
            type_url,
            ..DiscoveryRequest::default()
        });
        let mut client = AggregatedDiscoveryServiceClient::new(transport);
        let responses = client
            .stream_aggregated_resources(outbound)
            .await?
            .into_inner();
        Ok(Self {
            requests,
            responses,
        })
    }

    /// Accepts a response.
    pub fn ack(&self, response: &DiscoveryResponse) {
        // The server does not read any more on a stream that it has ended.
        let _ = self.requests.send(DiscoveryRequest {
            version_info: response.version_info.clone(),
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            ..DiscoveryRequest::default()
        });
    }
}

impl Delta {
    /// Opens a stream for everything of these types. The node has this id, and this cluster.
    ///
    /// # Errors
    /// What the call ended with.
    pub async fn open<T>(transport: T, node: &str, types: &[TypeUrl]) -> Result<Self, Status>
    where
        T: GrpcService<Body>,
        T::Error: Into<StdError>,
        T::ResponseBody: HttpBody<Data = Bytes> + Send + 'static,
        <T::ResponseBody as HttpBody>::Error: Into<StdError> + Send,
    {
        let (requests, outbound) = queue(types, |type_url| DeltaDiscoveryRequest {
            node: self::node(node),
            type_url,
            ..DeltaDiscoveryRequest::default()
        });
        let mut client = AggregatedDiscoveryServiceClient::new(transport);
        let responses = client
            .delta_aggregated_resources(outbound)
            .await?
            .into_inner();
        Ok(Self {
            requests,
            responses,
        })
    }

    /// Accepts a response.
    pub fn ack(&self, response: &DeltaDiscoveryResponse) {
        // The server does not read any more on a stream that it has ended.
        let _ = self.requests.send(DeltaDiscoveryRequest {
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            ..DeltaDiscoveryRequest::default()
        });
    }
}

/// What is sent first, one request per type, and whatever is sent after it.
fn queue<Q>(
    types: &[TypeUrl],
    first: impl Fn(String) -> Q,
) -> (UnboundedSender<Q>, UnboundedReceiverStream<Q>) {
    let (requests, outbound) = unbounded_channel();
    for type_url in types {
        let _ = requests.send(first(type_url.to_string()));
    }
    (requests, UnboundedReceiverStream::new(outbound))
}

fn node(id: &str) -> Option<Node> {
    Some(Node {
        id: id.to_owned(),
        cluster: id.to_owned(),
        ..Node::default()
    })
}
