//! A client without a transport: it calls the service and polls the body itself.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use portolan_core::well_known;
use portolan_server::XdsServer;
use portolan_types::envoy::config::core::v3::Node;
use portolan_types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use portolan_types::google::rpc::Status;
use prost::Message;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Code;
use tonic::body::Body;
use tonic::service::Routes;
use tower_service::Service;

pub(crate) const SOTW: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
pub(crate) const DELTA: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

/// Longer than anything the server waits for, except a client that reads nothing. On the paused clock this is no time.
const QUIET: Duration = Duration::from_secs(3);

/// Longer than anything takes.
const NEVER: Duration = Duration::from_secs(24 * 3600);

type Sender = mpsc::UnboundedSender<Result<Frame<Bytes>, Infallible>>;

#[derive(Debug)]
pub(crate) struct Client {
    requests: Option<Sender>,
    pub(crate) headers: HeaderMap,
    body: Body,
    received: BytesMut,
}

/// Why a stream ended, as a client sees it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// Bytes of messages that were received before it and not looked at.
    pub(crate) unread: usize,
}

impl Client {
    pub(crate) async fn open(xds: &XdsServer, path: &str) -> Self {
        Self::open_with(xds, path, |request| request).await
    }

    pub(crate) async fn open_with<F>(xds: &XdsServer, path: &str, change: F) -> Self
    where
        F: FnOnce(http::request::Builder) -> http::request::Builder,
    {
        let (requests, receiver) = mpsc::unbounded_channel();
        let body = Body::new(StreamBody::new(UnboundedReceiverStream::new(receiver)));
        Self::call(xds, change(Request::post(path)).body(body), Some(requests)).await
    }

    /// Opens a stream of one of these services.
    pub(crate) async fn open_on(mut routes: Routes, path: &str) -> Self {
        let (requests, receiver) = mpsc::unbounded_channel();
        let body = Body::new(StreamBody::new(UnboundedReceiverStream::new(receiver)));
        let request = Request::post(path).body(body).unwrap();
        Self::opened(routes.call(request).await.unwrap(), Some(requests))
    }

    /// Opens a stream on which this request comes again and again, as fast as it is read. Nothing else can be sent.
    pub(crate) async fn flooding(xds: &XdsServer, message: &impl Message) -> Self {
        let body = Body::new(Flood(framed(&message.encode_to_vec())));
        Self::call(xds, Request::post(SOTW).body(body), None).await
    }

    async fn call(
        xds: &XdsServer,
        request: http::Result<Request<Body>>,
        requests: Option<Sender>,
    ) -> Self {
        let request = request.unwrap();
        // By way of the routes only where it must be: making them costs more than a call.
        let response: Response<Body> = match request.uri().path() {
            SOTW | DELTA => xds.ads().call(request).await.unwrap(),
            _ => xds.routes().call(request).await.unwrap(),
        };
        Self::opened(response, requests)
    }

    fn opened(response: Response<Body>, requests: Option<Sender>) -> Self {
        let (head, body) = response.into_parts();
        Self {
            requests,
            headers: head.headers,
            body,
            received: BytesMut::new(),
        }
    }

    /// Opens a stream for all clusters.
    pub(crate) async fn of_clusters(xds: &XdsServer, node: &str) -> Self {
        let client = Self::open(xds, SOTW).await;
        client.send(&clusters(node));
        client
    }

    pub(crate) fn send(&self, message: &impl Message) {
        self.send_message(&message.encode_to_vec());
    }

    /// Sends what need not be a message.
    pub(crate) fn send_message(&self, message: &[u8]) {
        self.send_raw(framed(message));
    }

    /// Sends what need not even be framed.
    pub(crate) fn send_raw(&self, bytes: Bytes) {
        let requests = self.requests.as_ref().expect("half-closed");
        // A server that has ended the stream does not read any more.
        let _ = requests.send(Ok(Frame::data(bytes)));
    }

    pub(crate) fn half_close(&mut self) {
        self.requests = None;
    }

    /// Accepts a response.
    pub(crate) fn ack(&self, response: &DiscoveryResponse) {
        self.send(&DiscoveryRequest {
            version_info: response.version_info.clone(),
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            ..DiscoveryRequest::default()
        });
    }

    /// The next frame of the body.
    pub(crate) async fn frame(&mut self) -> Frame<Bytes> {
        let frame = timeout(NEVER, self.body.frame()).await;
        let frame = frame.expect("nothing is sent");
        frame.expect("the body has ended").unwrap()
    }

    /// The next message.
    pub(crate) async fn message<M: Message + Default>(&mut self) -> M {
        loop {
            if let Some(message) = self.take_message() {
                return M::decode(message).unwrap();
            }
            let frame = self.frame().await;
            let data = frame.into_data().expect("a message, not the end");
            self.received.put(data);
        }
    }

    pub(crate) async fn response(&mut self) -> DiscoveryResponse {
        self.message().await
    }

    fn take_message(&mut self) -> Option<Bytes> {
        let header = self.received.get(..5)?;
        let len = u32::from_be_bytes(header[1..].try_into().unwrap()) as usize;
        if self.received.len() < 5 + len {
            return None;
        }
        self.received.advance(5);
        Some(self.received.split_to(len).freeze())
    }

    /// The end of the stream.
    pub(crate) async fn ended(&mut self) -> Ended {
        if self.headers.contains_key("grpc-status") {
            return ended(&self.headers, 0);
        }
        let mut unread = 0;
        loop {
            match self.frame().await.into_trailers() {
                Ok(trailers) => {
                    assert!(self.body.frame().await.is_none());
                    return ended(&trailers, unread);
                }
                Err(data) => unread += data.into_data().unwrap().len(),
            }
        }
    }

    /// Asserts that the stream was reset, in the middle of whatever was sent.
    pub(crate) async fn assert_reset(&mut self) {
        let end = timeout(NEVER, self.body.frame()).await;
        assert!(matches!(end, Ok(Some(Err(_)))), "{end:?}");
    }

    /// Asserts that nothing is sent, although the client would read it.
    pub(crate) async fn assert_quiet(&mut self) {
        self.pass(QUIET).await;
    }

    /// As [`assert_quiet`](Self::assert_quiet), for this long.
    pub(crate) async fn pass(&mut self, time: Duration) {
        let quiet = timeout(time, self.body.frame()).await;
        assert!(quiet.is_err(), "{quiet:?}");
    }
}

/// A body that is always ready with the same bytes.
struct Flood(Bytes);

impl http_body::Body for Flood {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(self.0.clone()))))
    }
}

fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap());
    frame.put_slice(message);
    frame.freeze()
}

fn ended(trailers: &HeaderMap, unread: usize) -> Ended {
    let status = tonic::Status::from_header_map(trailers).unwrap();
    Ended {
        code: status.code(),
        message: status.message().to_owned(),
        unread,
    }
}

pub(crate) fn node(id: &str) -> Node {
    Node {
        id: id.into(),
        ..Node::default()
    }
}

/// The first request for all clusters.
pub(crate) fn clusters(id: &str) -> DiscoveryRequest {
    DiscoveryRequest {
        node: Some(node(id)),
        type_url: well_known::CLUSTER.as_str().into(),
        ..DiscoveryRequest::default()
    }
}

pub(crate) fn delta_clusters(id: &str) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        node: Some(node(id)),
        type_url: well_known::CLUSTER.as_str().into(),
        ..DeltaDiscoveryRequest::default()
    }
}

/// Rejects a response.
pub(crate) fn nack(client: &Client, response: &DiscoveryResponse, text: &str) {
    client.send(&DiscoveryRequest {
        type_url: response.type_url.clone(),
        response_nonce: response.nonce.clone(),
        error_detail: Some(error(text)),
        ..DiscoveryRequest::default()
    });
}

/// Accepts a response, or rejects it.
pub(crate) fn delta_answer(
    response: &DeltaDiscoveryResponse,
    rejection: Option<&str>,
) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest {
        type_url: response.type_url.clone(),
        response_nonce: response.nonce.clone(),
        error_detail: rejection.map(error),
        ..DeltaDiscoveryRequest::default()
    }
}

fn error(text: &str) -> Status {
    Status {
        code: 3,
        message: text.to_owned(),
        details: Vec::new(),
    }
}

/// The bodies in a response.
pub(crate) fn bodies(response: &DiscoveryResponse) -> Vec<&[u8]> {
    response.resources.iter().map(|any| &*any.value).collect()
}
