//! A cache that resolves what its base does not have, by a resolver that finds nothing.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use portolan_cache::{
    OnDemandCache, OnDemandCacheReader, OnDemandCacheWriter, Resolution, Resolutions,
    SnapshotCache, Step,
};
use portolan_core::{
    Announced, Delivery, Interest, Node, NodeId, Peer, Publication, Refusal, ResourceTypes,
    Settlement, Snapshot, Source, View,
};
use portolan_testkit::conformance::{NODE, Subject};

/// Names of every type are resolved.
pub(crate) struct OnDemand {
    writer: OnDemandCacheWriter<String>,
    source: Resolved,
}

impl OnDemand {
    pub(crate) fn new() -> Self {
        let types = ResourceTypes::well_known();
        let urls = types.iter().map(|known| known.url().clone());
        let cache = OnDemandCache::new(SnapshotCache::new(NodeId::default()), urls);
        let (writer, reader, resolutions) = cache.split();
        let resolutions = Arc::new(resolutions);
        Self {
            writer,
            source: Resolved {
                reader,
                resolutions,
            },
        }
    }
}

impl Subject for OnDemand {
    type Source = Resolved;

    fn source(&self) -> Resolved {
        self.source.clone()
    }

    fn publish(&self, snapshot: Snapshot) {
        let _ = self.writer.set(&NODE.to_owned(), snapshot);
        resolve(&self.source.resolutions);
    }

    fn unpublish(&self) {
        self.writer.clear(&NODE.to_owned());
    }
}

/// The cache, with a resolver that is never late.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    reader: OnDemandCacheReader<NodeId>,
    resolutions: Arc<Resolutions<String>>,
}

fn resolve(resolutions: &Resolutions<String>) {
    while let Some(step) = resolutions.next(Duration::ZERO) {
        if let Step::Resolve(ticket, _) = step {
            resolutions.answer(ticket, Resolution::absent(), Duration::ZERO);
        }
    }
}

impl Source for Resolved {
    fn open(&self, node: &Arc<Node>, peer: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal> {
        let view = self.reader.open(node, peer, waker)?;
        let resolutions = Arc::clone(&self.resolutions);
        Ok(Box::new(ResolvedView { view, resolutions }))
    }

    fn announce(&self, budget: usize) -> Announced {
        self.reader.announce(budget)
    }

    fn register_announcer(&self, waker: Waker) {
        self.reader.register_announcer(waker);
    }
}

#[derive(Debug)]
struct ResolvedView {
    view: Box<dyn View>,
    resolutions: Arc<Resolutions<String>>,
}

impl View for ResolvedView {
    fn load(&self) -> Option<Publication> {
        self.view.load()
    }

    fn interest(&mut self, interest: &Interest<'_>) {
        self.view.interest(interest);
        resolve(&self.resolutions);
    }

    fn delivered(&mut self, delivery: &Delivery<'_>) {
        self.view.delivered(delivery);
    }

    fn settled(&mut self, settlement: Settlement) {
        self.view.settled(settlement);
    }
}
