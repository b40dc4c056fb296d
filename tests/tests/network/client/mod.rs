//! A client that keeps the protocol: it comes back when its stream is lost, and says what it has.

mod delta;
mod sotw;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use portolan::types::envoy::config::core::v3::Node;
use portolan::types::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use portolan::types::google::rpc;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::Channel;
use tonic::{Response, Status, Streaming};

use self::delta::Delta;
use self::sotw::Sotw;
use crate::dice::Dice;
use crate::link;
use crate::model::Model;
use crate::server::GROUP;

type Ads = AggregatedDiscoveryServiceClient<Channel>;

/// How much clients let come before they take it.
const WINDOWS: [u32; 3] = [16 << 10, 64 << 10, 1 << 20];

/// What a client is told, and what it tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handle(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// How long it waits before it takes a response.
    pub(crate) reads_after: Duration,
    /// Whether it rejects responses now and then.
    pub(crate) rejects: bool,
    pub(crate) stopped: bool,
    /// What it has.
    pub(crate) held: Model,
    /// Streams that it opened, and responses that it rejected.
    pub(crate) streams: u64,
    pub(crate) rejections: u64,
    /// What a server should never do.
    pub(crate) complaints: Vec<String>,
}

impl Handle {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the two variants, as a client speaks it.
trait Dialect {
    type Request: Send + 'static;
    type Response;

    fn new(node: String) -> Self;

    fn call(
        ads: Ads,
        requests: UnboundedReceiverStream<Self::Request>,
    ) -> impl Future<Output = Result<Response<Streaming<Self::Response>>, Status>>;

    /// The first requests of a stream.
    fn open(&mut self) -> Vec<Self::Request>;

    /// Whether there is something in a response that could be rejected.
    fn is_rejectable(response: &Self::Response) -> bool;

    /// What a response is answered with. One that is rejected is not applied.
    fn answer(&mut self, response: Self::Response, rejects: bool) -> Vec<Self::Request>;

    fn held(&self) -> &Model;

    /// A name that was twice in a response.
    fn complaint(&mut self) -> Option<String>;
}

/// The program of a client's host. Clients with an even number speak state of the world, the others delta.
pub(crate) async fn run(number: u64, handle: Handle) -> turmoil::Result {
    // What a process knew is gone with it.
    handle.lock().held = Model::default();
    match number % 2 {
        0 => come_back::<Sotw>(number, &handle).await,
        _ => come_back::<Delta>(number, &handle).await,
    }
    Ok(())
}

/// Opens a stream, and another one when that is lost, and so on.
async fn come_back<D: Dialect>(number: u64, handle: &Handle) {
    let mut dice = Dice::new(number);
    let mut dialect = D::new(format!("client-{number}"));
    let window = WINDOWS[number as usize / 2 % WINDOWS.len()];
    while !handle.lock().stopped {
        // That a stream is lost, or that there is none, is what this is about.
        if let Ok(channel) = link::connect(window).await {
            let ads = AggregatedDiscoveryServiceClient::new(channel);
            let (requests, outbound) = mpsc::unbounded_channel();
            for request in dialect.open() {
                let _ = requests.send(request);
            }
            let outbound = UnboundedReceiverStream::new(outbound);
            if let Ok(stream) = D::call(ads, outbound).await {
                handle.lock().streams += 1;
                talk(
                    &mut dialect,
                    requests,
                    stream.into_inner(),
                    handle,
                    &mut dice,
                )
                .await;
            }
        }
        sleep(Duration::from_millis(100 + dice.below(400))).await;
    }
}

/// Takes responses until the stream is lost, or the client is told to stop.
async fn talk<D: Dialect>(
    dialect: &mut D,
    requests: mpsc::UnboundedSender<D::Request>,
    mut stream: Streaming<D::Response>,
    handle: &Handle,
    dice: &mut Dice,
) {
    let mut look = Instant::now();
    loop {
        look += Duration::from_millis(200);
        let response = tokio::time::timeout_at(look, stream.message()).await;
        let (reads_after, rejects, stopped) = {
            let shared = handle.lock();
            (shared.reads_after, shared.rejects, shared.stopped)
        };
        match response {
            Err(_) if stopped => return,
            Err(_) => continue,
            Ok(Ok(Some(response))) => {
                let rejects = rejects && dice.once_in(4) && D::is_rejectable(&response);
                for request in dialect.answer(response, rejects) {
                    let _ = requests.send(request);
                }
                let mut shared = handle.lock();
                shared.rejections += u64::from(rejects);
                shared.held = dialect.held().clone();
                shared.complaints.extend(dialect.complaint());
            }
            Ok(_) => return,
        }
        sleep(reads_after).await;
        look = Instant::now();
    }
}

fn node(id: &str) -> Option<Node> {
    Some(Node {
        id: id.to_owned(),
        cluster: GROUP.to_owned(),
        ..Node::default()
    })
}

fn rejection(rejects: bool) -> Option<rpc::Status> {
    rejects.then(|| rpc::Status {
        code: 13,
        message: "no".to_owned(),
        details: Vec::new(),
    })
}

/// The first name that is there twice.
fn twice<'a>(mut names: impl Iterator<Item = &'a String>) -> Option<String> {
    let mut seen = BTreeSet::new();
    let name = names.find(|name| !seen.insert(*name))?;
    Some(format!("{name} is twice in a response"))
}
