use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use portolan::cache::{MuxCache, SnapshotCache, SnapshotCacheWriter};
use portolan::core::node_hash::NodeId;
use portolan::core::{Snapshot, Source};
use portolan::engine::{Event, Request, Variant};
use portolan::server::XdsServer;
use portolan::types::envoy::service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest};
use portolan_testkit::conformance::{Answer, Bed, NODE, Plan};
use prost::Message;
use tokio::io::DuplexStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

use crate::{messages, services};

/// Room for messages under way, in bytes.
const PIPE: usize = 64 * 1024;

/// While nobody has anything to do this passes at once; everything that is said for a moment is said in it.
const MOMENT: Duration = Duration::from_millis(1);

/// The services of a server behind HTTP/2, and streams of one node.
pub(crate) struct WireBed {
    runtime: Runtime,
    plan: Plan,
    store: Store,
    server: Running,
    streams: BTreeMap<usize, Stream>,
}

/// What the server reads from.
#[derive(Clone, Copy)]
pub(crate) enum Store {
    /// A snapshot cache.
    Snapshots,
    /// Two of them, of which each has a part of each type.
    Unions,
}

struct Running {
    /// Of the caches that together have what is published.
    writers: Vec<SnapshotCacheWriter<String>>,
    channel: Channel,
}

struct Stream {
    requests: Requests,
    sent: bool,
    state: Arc<Mutex<State>>,
}

enum Requests {
    Sotw(UnboundedSender<DiscoveryRequest>),
    Delta(UnboundedSender<DeltaDiscoveryRequest>),
}

#[derive(Default)]
struct State {
    received: Vec<Answer>,
    ended: Option<String>,
}

impl Store {
    fn open(self) -> (Vec<SnapshotCacheWriter<String>>, Arc<dyn Source>) {
        let cache = || SnapshotCache::new(NodeId::default()).split();
        match self {
            Self::Snapshots => {
                let (writer, reader) = cache();
                (vec![writer], Arc::new(reader))
            }
            Self::Unions => {
                let [first, second] = [cache(), cache()];
                let mut mux = MuxCache::builder();
                let parts = [
                    mux.part("first", Arc::new(first.1)),
                    mux.part("second", Arc::new(second.1)),
                ];
                mux.otherwise(parts);
                (vec![first.0, second.0], Arc::new(mux.build()))
            }
        }
    }
}

/// What one cache of several has of a snapshot: resources by the sums of their names.
fn part(snapshot: &Snapshot, at: usize, parts: usize) -> Snapshot {
    let mut part = Snapshot::builder();
    for (url, set) in snapshot.sets() {
        let is_in = |name: &str| name.bytes().map(usize::from).sum::<usize>() % parts == at;
        let pending = set.pending().filter_map(|name| set.held(name));
        let entries = set.entries().chain(pending);
        for entry in entries.filter(|entry| is_in(entry.name().stem())) {
            let put = part.insert_shared(entry.clone());
            put.expect("names differ where it is from");
        }
        if let Some(label) = snapshot.label(url) {
            part.label(url.clone(), label);
        }
    }
    part.build()
}

impl WireBed {
    pub(crate) fn new(plan: Plan, store: Store) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()?;
        let server = runtime
            .block_on(serve(&plan, store))
            .map_err(io::Error::other)?;
        Ok(Self {
            runtime,
            plan,
            store,
            server,
            streams: BTreeMap::new(),
        })
    }

    fn stream(&mut self, stream: usize) -> &mut Stream {
        let stream = self.streams.get_mut(&stream);
        stream.expect("a case opens a stream before it uses it")
    }
}

/// Starts a server with a client's connection to it. Both live as long as the runtime.
async fn serve(plan: &Plan, store: Store) -> Result<Running, tonic::transport::Error> {
    let (writers, source) = store.open();
    let parameters = plan.parameters.clone();
    let xds = XdsServer::builder(source)
        .with_session(plan.config.clone())
        .with_parameters(move |_| parameters.clone())
        .build();
    let (near, far) = tokio::io::duplex(PIPE);
    let incoming = tokio_stream::iter([Ok::<DuplexStream, io::Error>(far)]);
    let router = Server::builder().add_routes(xds.routes());
    tokio::spawn(router.serve_with_incoming(incoming));
    let mut near = Some(near);
    let connect = tower::service_fn(move |_| {
        let near = near.take().map(TokioIo::new);
        async move { near.ok_or_else(|| io::Error::other("there is one connection only")) }
    });
    let channel = Endpoint::from_static("http://in.process")
        .connect_with_connector(connect)
        .await?;
    Ok(Running { writers, channel })
}

impl Bed for WireBed {
    fn publish(&mut self, snapshot: Snapshot) {
        let parts = self.server.writers.len();
        for (at, writer) in self.server.writers.iter().enumerate() {
            let _ = writer.set(&NODE.to_owned(), part(&snapshot, at, parts));
        }
    }

    fn unpublish(&mut self) {
        for writer in &self.server.writers {
            writer.clear(&NODE.to_owned());
        }
    }

    fn open(&mut self, stream: usize) {
        let path = services::path(&self.plan).expect("what is run has a service");
        let channel = self.server.channel.clone();
        let state = Arc::<Mutex<State>>::default();
        let requests = match self.plan.variant {
            Variant::Sotw => {
                let (requests, outbound) = unbounded_channel();
                let read = read(
                    channel,
                    path,
                    outbound,
                    messages::of_sotw,
                    Arc::clone(&state),
                );
                self.runtime.spawn(read);
                Requests::Sotw(requests)
            }
            _ => {
                let (requests, outbound) = unbounded_channel();
                let read = read(
                    channel,
                    path,
                    outbound,
                    messages::of_delta,
                    Arc::clone(&state),
                );
                self.runtime.spawn(read);
                Requests::Delta(requests)
            }
        };
        let opened = Stream {
            requests,
            sent: false,
            state,
        };
        // The end of its requests ends the stream that was there before.
        self.streams.insert(stream, opened);
        self.settle(Duration::ZERO);
    }

    fn restart(&mut self, snapshot: Option<Snapshot>) {
        let started = self.runtime.block_on(serve(&self.plan, self.store));
        self.server = started.expect("a server starts as the one before did");
        if let Some(snapshot) = snapshot {
            self.publish(snapshot);
        }
        let streams: Vec<_> = self.streams.keys().copied().collect();
        streams.into_iter().for_each(|stream| self.open(stream));
    }

    fn send(&mut self, stream: usize, request: Request) {
        let node = messages::node(&self.plan.node);
        let stream = self.stream(stream);
        let is_first = !std::mem::replace(&mut stream.sent, true);
        let node = is_first.then_some(node);
        // The server does not read any more on a stream that it has ended.
        match &stream.requests {
            Requests::Sotw(requests) => {
                if let Some(request) = messages::sotw(request, node) {
                    let _ = requests.send(request);
                }
            }
            Requests::Delta(requests) => {
                if let Some(request) = messages::delta(request, node) {
                    let _ = requests.send(request);
                }
            }
        }
    }

    fn settle(&mut self, time: Duration) {
        let time = time.max(MOMENT);
        self.runtime.block_on(async { sleep(time).await });
    }

    fn received(&mut self, stream: usize) -> Vec<Answer> {
        let Some(stream) = self.streams.get(&stream) else {
            return Vec::new();
        };
        std::mem::take(&mut lock(&stream.state).received)
    }

    fn ended(&mut self, stream: usize) -> Option<String> {
        lock(&self.stream(stream).state).ended.clone()
    }

    fn told(&mut self, _: usize) -> Option<Vec<Event>> {
        None
    }
}

/// Opens a stream and reads it until it ends.
async fn read<Q, A>(
    channel: Channel,
    path: String,
    requests: UnboundedReceiver<Q>,
    answer: fn(A) -> Answer,
    state: Arc<Mutex<State>>,
) where
    Q: Message + Send + Sync + 'static,
    A: Message + Default + Send + Sync + 'static,
{
    let read = async {
        let mut client = Grpc::new(channel);
        let ready = client.ready().await;
        ready.map_err(|error| Status::unavailable(error.to_string()))?;
        let path = path.parse().map_err(|_| Status::internal("no path"))?;
        let requests = tonic::Request::new(UnboundedReceiverStream::new(requests));
        let codec = ProstCodec::<Q, A>::default();
        let opened = client.streaming(requests, path, codec).await?;
        let mut responses = opened.into_inner();
        while let Some(response) = responses.message().await? {
            lock(&state).received.push(answer(response));
        }
        Ok::<(), Status>(())
    };
    if let Err(status) = read.await {
        lock(&state).ended = Some(snake(status.code()));
    }
}

/// `InvalidArgument` as `invalid_argument`.
fn snake(code: Code) -> String {
    let mut text = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
