mod model;
mod publishing;
mod releasing;
mod stress;
mod waking;

use std::sync::Arc;
use std::task::Waker;

use portolan_core::well_known::ENDPOINT;
use portolan_core::{
    Announced, Interest, Name, Node, Peer, Publication, Resource, ResourceBuilder, Source, View,
};

use super::{LinearCache, LinearCacheReader, LinearCacheWriter};
use crate::wakes::Wakes;

fn cache() -> (LinearCacheWriter, LinearCacheReader) {
    LinearCache::new(ENDPOINT).split()
}

/// A cache with these resources, of which everybody has heard.
fn cache_of(names: &[&str]) -> (LinearCacheWriter, LinearCacheReader) {
    let (writer, reader) = cache();
    let resources = names.iter().map(|name| resource(name, "1"));
    let _ = writer.replace_all(resources).unwrap();
    (writer, reader)
}

fn resource(name: &str, body: &str) -> ResourceBuilder {
    Resource::builder(ENDPOINT, name, body.as_bytes().to_vec())
}

fn names(names: &[&str]) -> Vec<Name> {
    names.iter().copied().map(Name::from).collect()
}

/// A stream that counts how often it was woken.
struct Stream {
    view: Box<dyn View>,
    wakes: Arc<Wakes>,
}

impl Stream {
    fn open(reader: &LinearCacheReader) -> Self {
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let node = Arc::new(Node::new("node"));
        let view = reader.open(&node, &Peer::unknown(), waker).unwrap();
        Self { view, wakes }
    }

    /// One that subscribes these names, or everything with `*`, and has loaded.
    fn of(reader: &LinearCacheReader, wanted: &[&str]) -> Self {
        let mut stream = Self::open(reader);
        match wanted {
            ["*"] => stream.interest(&[], &[], true),
            wanted => stream.interest(wanted, &[], false),
        }
        let _ = stream.view.load();
        stream
    }

    fn interest(&mut self, added: &[&str], removed: &[&str], wildcard: bool) {
        let [added, removed] = [added, removed].map(names);
        let view = &mut self.view;
        view.interest(&Interest::new(&ENDPOINT, &added, &removed, wildcard));
    }

    fn wakes(&self) -> usize {
        self.wakes.count()
    }

    /// What there is when the stream looks.
    fn look(&self) -> Vec<(String, String)> {
        contents(&self.view.load().expect("something was published"))
    }
}

fn contents(publication: &Publication) -> Vec<(String, String)> {
    let set = publication.snapshot().set(&ENDPOINT).unwrap();
    let content = |r: &Resource| {
        let body = String::from_utf8(r.body().to_vec()).unwrap();
        (r.name().to_string(), body)
    };
    set.iter().map(content).collect()
}

fn drain(reader: &LinearCacheReader) {
    assert_eq!(reader.announce(usize::MAX), Announced::All);
}
