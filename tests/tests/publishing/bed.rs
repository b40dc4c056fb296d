use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use portolan::cache::{SnapshotCache, SnapshotCacheReader, SnapshotCacheWriter};
use portolan::consistency::Checks;
use portolan::core::well_known::ENDPOINT;
use portolan::core::{Node, NodeHash, Peer, Refusal, SnapshotBuilder};
use portolan::translator::{
    BoxError, DeliveryTracker, GroupWatch, PublishConfig, PublishLoop, PublishLoopBuilder,
    PublishReport, Publisher, Rollout, Translator, WaitScope,
};
use portolan_testkit::fixture::Fixture;
use portolan_testkit::{Client, Pair, Setup};
use tokio::task::{JoinHandle, yield_now};

/// What every group is served, and what translating it does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) resources: Vec<Fixture>,
    pub(crate) fault: Option<Fault>,
}

#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Panic,
    Hang(Arc<Latch>),
}

impl Model {
    pub(crate) fn of(resources: impl IntoIterator<Item = Fixture>) -> Self {
        Self {
            resources: resources.into_iter().collect(),
            fault: None,
        }
    }
}

/// Holds threads until it is opened.
#[derive(Debug, Default)]
pub(crate) struct Latch {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Latch {
    fn hold(&self) {
        let is_open = self.is_open.lock().unwrap();
        drop(self.opened.wait_while(is_open, |open| !*open).unwrap());
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

/// Opens a latch when it is dropped: a test's runtime waits for its threads, also when the test fails.
#[derive(Debug, Default)]
pub(crate) struct Opener(Arc<Latch>);

impl Opener {
    pub(crate) fn latch(&self) -> Arc<Latch> {
        Arc::clone(&self.0)
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[derive(Debug)]
pub(crate) struct ModelTranslator;

impl Translator<Model, String> for ModelTranslator {
    type Error = BoxError;

    fn translate(
        &self,
        model: &Model,
        _: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), BoxError> {
        match &model.fault {
            None => {}
            Some(Fault::Panic) => panic!("a translator's own fault"),
            Some(Fault::Hang(latch)) => latch.hold(),
        }
        for resource in &model.resources {
            out.insert(resource.clone().into())?;
        }
        Ok(())
    }
}

/// A node's group is its cluster.
#[derive(Debug)]
pub(crate) struct ByCluster;

impl NodeHash for ByCluster {
    type Key = String;

    fn key(&self, node: &Node, _: &Peer) -> Result<String, Refusal> {
        Ok(node.cluster().to_owned())
    }
}

type LoopBuilder = PublishLoopBuilder<Model, String>;

/// A control plane but for the server.
pub(crate) struct Plane {
    pub(crate) publisher: Publisher<Model, String>,
    pub(crate) snapshots: SnapshotCacheWriter<String>,
    pub(crate) tracker: Arc<DeliveryTracker<String>>,
    reader: SnapshotCacheReader<ByCluster>,
}

impl Plane {
    pub(crate) fn new() -> Self {
        Self::configured(PublishConfig::default())
    }

    pub(crate) fn configured(config: PublishConfig) -> Self {
        // The bodies of fixtures are texts.
        let config = config.with_unchecked_bodies();
        Self::with(|publish_loop| publish_loop.with_config(config))
    }

    /// Checks snapshots before it publishes them.
    pub(crate) fn checked(checks: Checks) -> Self {
        let config = PublishConfig::default().with_unchecked_bodies();
        Self::with(|publish_loop| publish_loop.with_config(config).with_checks(checks))
    }

    fn with(with: impl FnOnce(LoopBuilder) -> LoopBuilder) -> Self {
        let (watch, groups) = GroupWatch::channel();
        let tracker = Arc::new(DeliveryTracker::new());
        let (snapshots, reader) = SnapshotCache::new(ByCluster)
            .with_observer(Arc::new(watch))
            .with_delivery_sink(Arc::<DeliveryTracker<String>>::clone(&tracker))
            .split();
        let writer = Arc::new(snapshots.clone());
        let publish_loop = PublishLoop::builder(ModelTranslator, writer, groups)
            .with_endpoint_translator(EndpointTranslator)
            .with_tracker(Arc::clone(&tracker));
        let (publisher, publish_loop) = with(publish_loop).build();
        publish_loop.spawn();
        Self {
            publisher,
            snapshots,
            tracker,
            reader,
        }
    }

    /// A node of group `edge`.
    pub(crate) fn node<C: Client>(&self, id: &str, client: C) -> Pair<C> {
        self.node_of("edge", id, client)
    }

    pub(crate) fn node_of<C: Client>(&self, group: &str, id: &str, client: C) -> Pair<C> {
        let setup = Setup::default().with_node(Node::new(id).with_cluster(group));
        let mut pair = Pair::open(client, &self.reader, setup);
        pair.drive();
        pair
    }

    pub(crate) async fn settle(&self, model: Model) -> Arc<PublishReport> {
        self.publisher.update(model).unwrap();
        self.flush().await
    }

    pub(crate) async fn flush(&self) -> Arc<PublishReport> {
        let reports = self.publisher.flush().await.unwrap();
        Arc::clone(reports.get(&"edge".to_owned()).unwrap())
    }

    /// Hands a model in, begins to wait for all nodes for ten seconds, and comes back once it is published.
    pub(crate) async fn roll_out(&self, model: Model) -> JoinHandle<Rollout<String>> {
        self.publisher.update(model).unwrap();
        let publisher = self.publisher.clone();
        let deadline = Duration::from_secs(10);
        let waiting =
            tokio::spawn(async move { publisher.wait(WaitScope::all(), deadline).await.unwrap() });
        yield_now().await;
        self.flush().await;
        waiting
    }
}

/// Makes the endpoints of a model and nothing else.
#[derive(Debug)]
struct EndpointTranslator;

impl Translator<Model, String> for EndpointTranslator {
    type Error = BoxError;

    fn translate(
        &self,
        model: &Model,
        group: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), BoxError> {
        let resources = model.resources.iter();
        let endpoints = resources.filter(|r| *(*r).clone().build().type_url() == ENDPOINT);
        let endpoints = Model::of(endpoints.cloned());
        ModelTranslator.translate(&endpoints, group, out)
    }
}

/// What became of a publication at each node, as text.
pub(crate) fn outcomes(rollout: &Rollout<String>) -> Vec<String> {
    let nodes = rollout.nodes();
    nodes
        .map(|(_, node, outcome)| format!("{node} {outcome}"))
        .collect()
}
