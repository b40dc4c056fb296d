//! The smallest source: one group, whose streams are all woken by each publication.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use portolan_core::{
    Announced, Delivery, DeliveryOutcome, Interest, Node, Peer, Publication, Refusal, Resource,
    Settlement, Snapshot, Source, TypeUrl, View, well_known,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct TestSource(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) publication: Option<Publication>,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) panics: bool,
    /// What views were told, in order.
    pub(crate) told: Vec<String>,
    /// The publications that views settled on, in order.
    pub(crate) settled: Vec<u64>,
    pub(crate) opened: u64,
    views: BTreeMap<u64, Waker>,
    to_wake: Vec<Waker>,
    announcer: Option<Waker>,
}

impl TestSource {
    pub(crate) fn with_clusters(clusters: &[(&str, &[u8])]) -> Self {
        let source = Self::default();
        source.publish(clusters);
        source
    }

    /// Publishes these clusters and nothing else.
    pub(crate) fn publish(&self, clusters: &[(&str, &[u8])]) {
        self.publish_of(&well_known::CLUSTER, clusters);
    }

    /// Publishes these resources of one type and nothing else.
    pub(crate) fn publish_of(&self, type_url: &TypeUrl, resources: &[(&str, &[u8])]) {
        let mut builder = Snapshot::builder();
        for (name, body) in resources {
            let resource = Resource::builder(type_url, *name, body.to_vec());
            builder.insert(resource).unwrap();
        }
        self.publish_snapshot(builder.build());
    }

    pub(crate) fn publish_snapshot(&self, snapshot: Snapshot) {
        let mut state = self.state();
        state.publication = Some(match state.publication.take() {
            Some(last) => last.next(snapshot),
            None => Publication::first(snapshot),
        });
        state.to_wake = state.views.values().cloned().collect();
        if let Some(announcer) = state.announcer.take() {
            announcer.wake();
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Number of views that are open.
    pub(crate) fn views(&self) -> usize {
        self.state().views.len()
    }
}

impl Source for TestSource {
    fn open(&self, node: &Arc<Node>, _: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal> {
        let mut state = self.state();
        if state.panics {
            drop(state);
            panic!("the source panics");
        }
        if let Some(refusal) = &state.refusal {
            return Err(refusal.clone());
        }
        assert!(!node.raw().is_empty() || node.id().is_empty());
        state.opened += 1;
        let id = state.opened;
        state.views.insert(id, waker);
        let source = self.clone();
        Ok(Box::new(TestView { id, source }))
    }

    fn announce(&self, budget: usize) -> Announced {
        let mut state = self.state();
        let slice = state.to_wake.len().min(budget);
        state.to_wake.drain(..slice).for_each(Waker::wake);
        if state.to_wake.is_empty() {
            Announced::All
        } else {
            Announced::More
        }
    }

    fn register_announcer(&self, waker: Waker) {
        self.state().announcer = Some(waker);
    }
}

#[derive(Debug)]
struct TestView {
    id: u64,
    source: TestSource,
}

impl View for TestView {
    fn load(&self) -> Option<Publication> {
        self.source.state().publication.clone()
    }

    fn interest(&mut self, interest: &Interest<'_>) {
        let added = interest.added;
        let told = format!("interest {added:?} wildcard={}", interest.wildcard);
        self.source.state().told.push(told);
    }

    fn delivered(&mut self, delivery: &Delivery<'_>) {
        let outcome = match delivery.outcome {
            DeliveryOutcome::Nacked(reason) => format!("nacked {reason}"),
            outcome => format!("{outcome:?}").to_lowercase(),
        };
        let told = format!("{} {outcome}", delivery.generation.get());
        self.source.state().told.push(told);
    }

    fn settled(&mut self, settlement: Settlement) {
        let generation = settlement.generation().get();
        self.source.state().settled.push(generation);
    }
}

impl Drop for TestView {
    fn drop(&mut self) {
        self.source.state().views.remove(&self.id);
    }
}
