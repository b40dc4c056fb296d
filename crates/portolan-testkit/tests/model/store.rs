//! Where publications come from: a shelf or a snapshot cache.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

use portolan_cache::{SnapshotCache, SnapshotCacheWriter};
use portolan_core::{Announced, Node, NodeId, Peer, Snapshot, SnapshotBuilder, Source, View};
use portolan_testkit::Shelf;

use crate::content::{Contents, KINDS, name, put};

const NODE: &str = "node";

/// A server's source, and what was published on it.
pub(crate) struct Store {
    source: Arc<dyn Source>,
    writer: Writer,
    log: BTreeMap<u64, Arc<Contents>>,
    now: Option<u64>,
}

enum Writer {
    Shelf(Shelf),
    Cache(SnapshotCacheWriter<String>),
}

impl Store {
    pub(crate) fn new(cached: bool) -> Self {
        let (source, writer): (Arc<dyn Source>, _) = if cached {
            let (writer, reader) = SnapshotCache::new(NodeId::default()).split();
            (Arc::new(reader), Writer::Cache(writer))
        } else {
            let shelf = Shelf::new();
            (Arc::new(shelf.clone()), Writer::Shelf(shelf))
        };
        Self {
            source,
            writer,
            log: BTreeMap::new(),
            now: None,
        }
    }

    pub(crate) fn open(&self, waker: Waker) -> Box<dyn View> {
        let node = Arc::new(Node::new(NODE));
        let opened = self.source.open(&node, &Peer::unknown(), waker);
        opened.expect("every node is served")
    }

    pub(crate) fn announce(&self) {
        while self.source.announce(1) == Announced::More {}
    }

    /// Publishes `after`; `rebuild`: as a snapshot that shares nothing with `before`.
    pub(crate) fn publish(&mut self, before: &Contents, after: &Contents, rebuild: bool) {
        let previous = match &self.writer {
            Writer::Shelf(shelf) => shelf.snapshot(),
            Writer::Cache(writer) => writer.get(&NODE.to_owned()),
        };
        let snapshot = match previous.filter(|_| !rebuild) {
            Some(previous) => edited(&previous, before, after),
            None => edited(&Snapshot::empty(), &Contents::new(), after),
        };
        let generation = match &self.writer {
            Writer::Shelf(shelf) => shelf.publish(snapshot),
            Writer::Cache(writer) => writer.set(&NODE.to_owned(), snapshot).generation(),
        };
        self.log.insert(generation.get(), Arc::new(after.clone()));
        self.now = Some(generation.get());
    }

    pub(crate) fn clear(&mut self) {
        match &self.writer {
            Writer::Shelf(shelf) => shelf.clear(),
            Writer::Cache(writer) => writer.clear(&NODE.to_owned()),
        }
        self.now = None;
    }

    /// What was published under a number.
    pub(crate) fn publication(&self, generation: u64) -> Option<Arc<Contents>> {
        self.log.get(&generation).cloned()
    }

    /// What is published.
    pub(crate) fn newest(&self) -> Option<(u64, Arc<Contents>)> {
        let generation = self.now?;
        Some((generation, self.publication(generation)?))
    }
}

fn edited(previous: &Snapshot, before: &Contents, after: &Contents) -> Snapshot {
    let mut builder: SnapshotBuilder = previous.edit();
    for (at, number) in before.keys().filter(|key| !after.contains_key(*key)) {
        builder.remove(&KINDS[*at].url, &name(*number));
    }
    for ((at, number), content) in after {
        if before.get(&(*at, *number)) != Some(content) {
            put(&mut builder, *at, *number, *content);
        }
    }
    builder.build()
}
