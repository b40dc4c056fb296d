use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::Request;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET};
use portolan_core::{Resource, TypeUrl};
use portolan_engine::{Limits, SessionConfig, Variant};
use portolan_server::XdsServer;
use portolan_testkit::Shelf;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::body::Body;
use tonic::{Code, Status};
use tower_service::Service;

use super::recorder::Recorder;

const SOTW: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
const DELTA: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

/// On the paused clock this is no time. No timer of the server's is shorter.
const MOMENT: Duration = Duration::from_millis(1);

/// Longer than everything that a server waits for.
const LONG: Duration = Duration::from_secs(600);

/// Small enough for all limits to be reached.
pub(super) const MAX_REQUEST: usize = 1 << 14;
pub(super) const MAX_NAMES: usize = 64;
pub(super) const MAX_NACK_TEXT: usize = 32;

/// A client with one call, at a server of its own.
#[derive(Debug)]
pub(super) struct Talk {
    xds: XdsServer,
    shelf: Shelf,
    pub(super) recorder: Arc<Recorder>,
    requests: Option<mpsc::UnboundedSender<Result<Frame<Bytes>, Infallible>>>,
    body: Body,
    /// All that came so far.
    pub(super) received: BytesMut,
    pub(super) status: Option<Status>,
}

/// Runs a conversation on a clock of its own, on which waiting takes no time.
pub(super) fn run(talk: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime
        .expect("a runtime without I/O needs nothing")
        .block_on(talk);
}

impl Talk {
    pub(super) async fn open(variant: Variant) -> Self {
        let shelf = Shelf::new();
        let limits = Limits::default()
            .with_types(8)
            .with_names(MAX_NAMES)
            .with_name_bytes(4096)
            .with_unacked(4)
            .with_nack_text(MAX_NACK_TEXT);
        let session = SessionConfig::default()
            .with_limits(limits)
            .with_max_response(1024);
        let recorder = Arc::new(Recorder::default());
        let xds = XdsServer::builder(Arc::new(shelf.clone()))
            .with_session(session)
            .with_callbacks(Arc::<Recorder>::clone(&recorder))
            .with_node_required(false)
            .with_max_request_size(MAX_REQUEST)
            .build();
        let (requests, receiver) = mpsc::unbounded_channel();
        let body = StreamBody::new(UnboundedReceiverStream::new(receiver));
        let path = match variant {
            Variant::Sotw => SOTW,
            _ => DELTA,
        };
        let request = Request::post(path).body(Body::new(body));
        let request = request.expect("the path is one");
        let Ok(response) = xds.ads().call(request).await;
        Self {
            xds,
            shelf,
            recorder,
            requests: Some(requests),
            body: response.into_body(),
            received: BytesMut::new(),
            status: None,
        }
    }

    /// Publishes as many resources of each type, in this revision. The body of each tells it from all others.
    pub(super) fn publish(&self, count: usize, revision: u8) {
        self.shelf.publish(snapshot(count, revision));
    }

    /// Sends a message, whatever it is.
    pub(super) fn send(&self, message: &[u8]) {
        let mut framed = BytesMut::with_capacity(5 + message.len());
        framed.put_u8(0);
        framed.put_u32(u32::try_from(message.len()).expect("inputs are short"));
        framed.put_slice(message);
        self.send_raw(framed.freeze());
    }

    /// Sends bytes that need not even be framed.
    pub(super) fn send_raw(&self, bytes: Bytes) {
        let requests = self.requests.as_ref().expect("the call goes on");
        // A server that has ended the call does not read any more.
        let _ = requests.send(Ok(Frame::data(bytes)));
    }

    /// Takes what the server has to say now.
    pub(super) async fn listen(&mut self) {
        while self.status.is_none() {
            match timeout(MOMENT, self.body.frame()).await {
                Err(_) => return,
                Ok(frame) => self.take(frame),
            }
        }
    }

    /// Ends the client's side, and takes what comes until the server ends its own.
    ///
    /// # Panics
    /// If that does not happen, or something of the call is left.
    pub(super) async fn end(&mut self) {
        self.requests = None;
        while self.status.is_none() {
            let frame = timeout(LONG, self.body.frame()).await;
            self.take(frame.expect("a call ends when the client has ended its side"));
        }
        tokio::time::sleep(MOMENT).await;
        assert_eq!(self.xds.streams(), 0, "no stream is left");
        assert_eq!(self.shelf.views(), 0, "no view is left");
        let recorded = self.recorder.recorded();
        assert_eq!((recorded.opened, recorded.closed.len()), (1, 1));
        let code = self.status.as_ref().map(Status::code);
        let documented = [
            Code::Ok,
            Code::InvalidArgument,
            Code::ResourceExhausted,
            Code::Internal,
        ];
        assert!(code.is_some_and(|c| documented.contains(&c)), "{code:?}");
    }

    fn take(&mut self, frame: Option<Result<Frame<Bytes>, Status>>) {
        let frame = frame.expect("a call ends with a status");
        let frame = frame.expect("a client that reads is not reset");
        match frame.into_data() {
            Ok(data) => self.received.put(data),
            Err(end) => {
                let trailers = end.into_trailers().expect("neither data nor trailers");
                self.status = Status::from_header_map(&trailers);
                assert!(self.status.is_some(), "{trailers:?}");
            }
        }
    }
}

fn snapshot(count: usize, revision: u8) -> portolan_core::Snapshot {
    let mut builder = portolan_core::Snapshot::builder();
    for type_url in [CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET] {
        for number in 0..count {
            let resource = resource(&type_url, number, revision);
            builder.insert(resource).expect("names are distinct");
        }
    }
    builder.build()
}

fn resource(type_url: &TypeUrl, number: usize, revision: u8) -> portolan_core::ResourceBuilder {
    let name = format!("c{}", number + 1);
    let body = format!("{name} {revision}");
    Resource::builder(type_url, name, body)
}
