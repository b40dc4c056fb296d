//! Where a session reads from: one of the sources that there are.

use std::sync::Arc;
use std::task::Waker;

use portolan_cache::{
    LinearCache, LinearCacheWriter, MuxCache, SnapshotCache, SnapshotCacheWriter,
};
use portolan_core::node_hash::Constant;
use portolan_core::{
    Announced, Node, Peer, Refusal, Resource, Snapshot, SnapshotBuilder, Source, View,
};
use portolan_testkit::Shelf;

use super::ops::TYPES;
use crate::resources::copy;

/// How many kinds of sources there are.
pub(crate) const SOURCES: u8 = 4;

/// The one group that there is.
const GROUP: &str = "all";

/// A source, and what is published on it.
#[derive(Debug)]
pub(super) struct Store {
    kind: u8,
    source: Chosen,
    writer: Writer,
    published: Option<Snapshot>,
}

#[derive(Debug)]
enum Writer {
    Shelf(Shelf),
    Cache(SnapshotCacheWriter<&'static str>),
    /// A linear cache for each type, put together by a mux cache.
    Linear(Vec<LinearCacheWriter>),
    /// Every type is the union of two snapshot caches: a resource is in one, in the other, or in both.
    Union([SnapshotCacheWriter<&'static str>; 2]),
}

/// A source of any kind.
#[derive(Clone, Debug)]
pub(super) struct Chosen(Arc<dyn Source>);

impl Store {
    /// A source of one kind, on which nothing is published.
    pub(super) fn new(kind: u8) -> Self {
        let (writer, source): (_, Arc<dyn Source>) = match kind % SOURCES {
            0 => {
                let shelf = Shelf::new();
                (Writer::Shelf(shelf.clone()), Arc::new(shelf))
            }
            1 => {
                let (writer, reader) = SnapshotCache::new(Constant::new(GROUP)).split();
                (Writer::Cache(writer), Arc::new(reader))
            }
            2 => linear(),
            _ => union(),
        };
        Self {
            kind,
            source: Chosen(source),
            writer,
            published: None,
        }
    }

    /// As after a restart: another source of the kind, on which the same is published.
    pub(super) fn restarted(&self) -> Self {
        let mut again = Self::new(self.kind);
        if let Some(snapshot) = self.published.clone() {
            again.publish(snapshot);
        }
        again
    }

    pub(super) fn source(&self) -> &Chosen {
        &self.source
    }

    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        self.published.as_ref()
    }

    pub(super) fn edit(&mut self, change: impl FnOnce(&mut SnapshotBuilder)) {
        let mut builder = match &self.published {
            Some(published) => published.edit(),
            None => Snapshot::builder(),
        };
        change(&mut builder);
        self.publish(builder.build());
    }

    pub(super) fn publish(&mut self, snapshot: Snapshot) {
        self.published = Some(snapshot.clone());
        match &self.writer {
            Writer::Shelf(shelf) => drop(shelf.publish(snapshot)),
            Writer::Cache(writer) => drop(writer.set(&GROUP, snapshot)),
            Writer::Linear(writers) => writers.iter().for_each(|writer| put(writer, &snapshot)),
            Writer::Union(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let _ = part.set(&GROUP, of_part(&snapshot, at));
                }
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.published = None;
        match &self.writer {
            Writer::Shelf(shelf) => shelf.clear(),
            Writer::Cache(writer) => writer.clear(&GROUP),
            Writer::Linear(writers) => writers.iter().for_each(LinearCacheWriter::clear),
            Writer::Union(parts) => parts.iter().for_each(|part| part.clear(&GROUP)),
        }
    }
}

fn linear() -> (Writer, Arc<dyn Source>) {
    let mut mux = MuxCache::builder();
    let types = TYPES.into_iter().map(|(_, url)| url);
    let types = types.filter(|url| !url.as_str().is_empty());
    let writers = types.map(|url| {
        let (writer, reader) = LinearCache::new(url.clone()).split();
        let part = mux.part(url.as_str(), Arc::new(reader));
        mux.route(url, [part]);
        writer
    });
    let writers = writers.collect();
    (Writer::Linear(writers), Arc::new(mux.build()))
}

fn union() -> (Writer, Arc<dyn Source>) {
    let caches = [(); 2].map(|()| SnapshotCache::new(Constant::new(GROUP)).split());
    let mut mux = MuxCache::builder();
    let parts = ["first", "second"].into_iter().zip(&caches);
    let parts: Vec<_> = parts
        .map(|(name, (_, reader))| mux.part(name, Arc::new(reader.clone())))
        .collect();
    mux.otherwise(parts);
    let writers = caches.map(|(writer, _)| writer);
    (Writer::Union(writers), Arc::new(mux.build()))
}

/// What a snapshot has of a linear cache's type.
fn put(writer: &LinearCacheWriter, snapshot: &Snapshot) {
    let url = writer.type_url();
    if let Some(label) = snapshot.label(url) {
        writer.label(label.clone());
    }
    let resources = snapshot.set(url).into_iter().flat_map(|set| set.iter());
    let put = writer.replace_all(resources.map(copy));
    let _ = put.expect("what is in a set can be in a cache");
}

/// The part of a snapshot that one of two caches has.
fn of_part(snapshot: &Snapshot, at: usize) -> Snapshot {
    let is_there = |resource: &&Resource| {
        let sum: usize = resource.name().bytes().map(usize::from).sum();
        sum % 3 != at
    };
    let mut part = Snapshot::builder();
    for (url, set) in snapshot.sets() {
        for resource in set.iter().filter(is_there) {
            let put = part.insert_shared(resource.clone());
            put.expect("names differ where it is from");
        }
        if let Some(label) = snapshot.label(url) {
            part.label(url.clone(), label.clone());
        }
    }
    part.build()
}

impl Source for Chosen {
    fn open(&self, node: &Arc<Node>, peer: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal> {
        self.0.open(node, peer, waker)
    }

    fn announce(&self, budget: usize) -> Announced {
        self.0.announce(budget)
    }

    fn register_announcer(&self, waker: Waker) {
        self.0.register_announcer(waker);
    }
}
