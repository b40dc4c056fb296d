use std::sync::Arc;
use std::task::Waker;

use portolan_cache::{LinearCache, LinearCacheWriter, MuxCache};
use portolan_core::well_known::ENDPOINT;
use portolan_core::{Node, Peer, Publication, ResourceBuilder, Source, View};

use crate::collection::resource;

/// Resources of the part that stands first in the union.
const FIRST: usize = 10;

/// Two streams of a union: a small part before one that has so many endpoints.
#[derive(Debug)]
pub struct Mux {
    writer: LinearCacheWriter,
    size: usize,
    revision: u32,
    views: [Box<dyn View>; 2],
}

impl Mux {
    /// A union in its first revision, which both streams have loaded.
    ///
    /// # Panics
    /// Never: its resources have names, and it refuses nobody.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let part = |resources: Vec<ResourceBuilder>| {
            let (writer, reader) = LinearCache::new(ENDPOINT).split();
            let replaced = writer.replace_all(resources);
            let _ = replaced.expect("each name occurs once");
            (writer, Arc::new(reader))
        };
        let (_, first) = part((0..FIRST).map(|n| resource(&ENDPOINT, n, 0)).collect());
        let (writer, second) = part((0..size).map(|n| resource(&ENDPOINT, n, 0)).collect());
        let mut mux = MuxCache::builder();
        let parts = [mux.part("first", first), mux.part("second", second)];
        mux.route(ENDPOINT, parts);
        let mux = mux.build();
        let open = || {
            let node = Arc::new(Node::new("node"));
            let view = mux.open(&node, &Peer::unknown(), Waker::noop().clone());
            view.expect("it refuses nobody")
        };
        let mux = Self {
            writer,
            size,
            revision: 0,
            views: [open(), open()],
        };
        (0..2).for_each(|stream| drop(mux.load(stream)));
        mux
    }

    /// Gives the endpoints in the middle another body than ever before.
    ///
    /// # Panics
    /// Never: they have a name.
    pub fn change(&mut self) {
        self.revision += 1;
        let next = resource(&ENDPOINT, self.size / 2, self.revision);
        let _ = self.writer.upsert(next).expect("it has a name");
    }

    /// What one of the two streams is shown now.
    #[must_use]
    pub fn load(&self, stream: usize) -> Option<Publication> {
        self.views[stream].load()
    }
}
