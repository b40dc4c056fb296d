use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use portolan_cache::{LinearCache, LinearCacheReader, LinearCacheWriter};
use portolan_core::well_known::ENDPOINT;
use portolan_core::{Announced, Interest, Name, Node, Peer, Source, View};

use crate::collection::{name, resource};

/// Streams of a [`Linear`].
const STREAMS: usize = 1_000;

/// Names that each of them wants.
const NAMES: usize = 10;

/// A linear cache that serves so many endpoints to a thousand streams, each of which wants ten of them. Ten streams
/// want the one in the middle, whatever there is besides.
#[derive(Debug)]
pub struct Linear {
    writer: LinearCacheWriter,
    reader: LinearCacheReader,
    size: usize,
    revision: u32,
    views: Vec<Box<dyn View>>,
    wakes: Arc<Wakes>,
}

#[derive(Debug, Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Linear {
    /// A cache in its first revision, of which all streams have heard.
    ///
    /// # Panics
    /// Never: its resources have names, and it refuses nobody.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let (writer, reader) = LinearCache::new(ENDPOINT).split();
        let resources = (0..size).map(|index| resource(&ENDPOINT, index, 0));
        let replaced = writer.replace_all(resources);
        let _ = replaced.expect("each name occurs once");
        let mut linear = Self {
            writer,
            reader,
            size,
            revision: 0,
            views: Vec::new(),
            wakes: Arc::default(),
        };
        for stream in 0..STREAMS {
            let view = linear.open(stream);
            linear.views.push(view);
        }
        linear.look();
        linear
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

    /// Wakes whom the change concerns.
    pub fn announce(&self) -> Announced {
        self.reader.announce(usize::MAX)
    }

    /// What all streams do who were woken, and others may; gives the number of wakes since they last did.
    pub fn look(&mut self) -> usize {
        for view in &self.views {
            let _ = view.load();
        }
        self.wakes.0.swap(0, Ordering::Relaxed)
    }

    fn open(&self, stream: usize) -> Box<dyn View> {
        let (node, waker) = (Node::new("node"), Waker::from(Arc::clone(&self.wakes)));
        let view = self.reader.open(&Arc::new(node), &Peer::unknown(), waker);
        let mut view = view.expect("it refuses nobody");
        let names: Vec<_> = self.wanted(stream).into_iter().map(name).collect();
        let names: Vec<_> = names.into_iter().map(Name::from).collect();
        view.interest(&Interest::new(&ENDPOINT, &names, &[], false));
        view
    }

    /// The endpoints that a stream wants, spread over all.
    fn wanted(&self, stream: usize) -> BTreeSet<usize> {
        let middle = self.size / 2;
        let mut wanted: BTreeSet<_> = (stream < NAMES).then_some(middle).into_iter().collect();
        let step = self.size / NAMES;
        let mut next = stream % step;
        while wanted.len() < NAMES {
            if next % self.size != middle {
                wanted.insert(next % self.size);
            }
            next += step + 1;
        }
        wanted
    }
}
