use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use portolan_cache::{SnapshotCache, SnapshotCacheReader, SnapshotCacheWriter};
use portolan_core::well_known::{CLUSTER, ENDPOINT, LOCALITY_ENDPOINT};
use portolan_core::{
    Facts, Node, NodeId, Peer, ReadyWhen, Reference, References, Resource, ResourceBuilder,
    Snapshot, Source, TypeUrl, View,
};

/// Length of a body in bytes: that of a plain cluster.
const BODY: usize = 200;

const GROUP: &str = "group";

/// Where all endpoints are.
const DIRECTORY: &str = "xdstp://bench/envoy.config.endpoint.v3.LbEndpoint/cluster/locality/";

/// A cache that serves so many clusters, so many assignments under the same names, and so many endpoints in one directory.
#[derive(Debug)]
pub struct Collection {
    writer: SnapshotCacheWriter<String>,
    reader: SnapshotCacheReader<NodeId>,
    names: Vec<Bytes>,
    revision: u32,
}

impl Collection {
    /// A collection in its first revision.
    ///
    /// # Panics
    /// Never: its resources have names and types.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let (writer, reader) = SnapshotCache::new(NodeId::default()).split();
        let mut snapshot = Snapshot::builder();
        for index in 0..size {
            for url in [CLUSTER, ENDPOINT, LOCALITY_ENDPOINT] {
                let added = snapshot.insert(resource(&url, index, 0));
                added.expect("each name occurs once");
            }
        }
        let collection = Self {
            writer,
            reader,
            names: (0..size).map(|index| Bytes::from(name(index))).collect(),
            revision: 0,
        };
        collection.publish(snapshot.build());
        collection
    }

    /// Number of resources of each type.
    #[must_use]
    pub fn size(&self) -> usize {
        self.names.len()
    }

    /// The names of clusters and assignments, as a request holds them.
    #[must_use]
    pub fn names(&self) -> &[Bytes] {
        &self.names
    }

    /// The name of a resource of this type.
    #[must_use]
    pub fn name(&self, url: &TypeUrl, index: usize) -> Bytes {
        Bytes::from(name_of(url, index))
    }

    /// Publishes a copy in which these resources have another body than ever before.
    ///
    /// # Panics
    /// Never: its resources have names and types.
    pub fn change(&mut self, url: &TypeUrl, indexes: impl IntoIterator<Item = usize>) {
        self.revision += 1;
        let mut edit = self.snapshot().edit();
        for index in indexes {
            let put = edit.upsert(resource(url, index, self.revision));
            put.expect("it has a name and a type");
        }
        self.publish(edit.build());
    }

    /// The newest snapshot.
    ///
    /// # Panics
    /// Never: there is one from the beginning.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let snapshot = self.writer.get(&GROUP.to_owned());
        snapshot.expect("it was published when the collection was made")
    }

    /// How many clusters refer to these endpoints.
    ///
    /// # Panics
    /// As [`snapshot`](Self::snapshot).
    #[must_use]
    pub fn referrers(&self, index: usize) -> usize {
        let (snapshot, name) = (self.snapshot(), name(index));
        snapshot.referrers(&SameName, &ENDPOINT, &name).count()
    }

    /// The view of a stream.
    ///
    /// # Panics
    /// Never: the node has an id.
    #[must_use]
    pub fn open(&self) -> Box<dyn View> {
        let node = Arc::new(Node::new(GROUP));
        let waker = Waker::noop().clone();
        let view = self.reader.open(&node, &Peer::unknown(), waker);
        view.expect("the node has an id")
    }

    fn publish(&self, snapshot: Snapshot) {
        let _ = self.writer.set(&GROUP.to_owned(), snapshot);
        // Nobody sleeps here: streams look when they are told to.
        let _ = self.reader.announce(usize::MAX);
    }
}

pub(crate) fn name(index: usize) -> String {
    format!("outbound|8080||service-{index:06}.default.svc.cluster.local")
}

/// The names of endpoints are in URL form; the glob of all of them is that of [`glob`].
fn name_of(url: &TypeUrl, index: usize) -> String {
    match *url == LOCALITY_ENDPOINT {
        true => format!("{DIRECTORY}{index:06}"),
        false => name(index),
    }
}

/// What stands for all endpoints.
pub(crate) fn glob() -> Bytes {
    Bytes::from(format!("{DIRECTORY}*"))
}

pub(crate) fn resource(url: &TypeUrl, index: usize, revision: u32) -> ResourceBuilder {
    let mut body = format!("revision {revision} of {index}").into_bytes();
    body.resize(BODY, b' ');
    Resource::builder(url.clone(), name_of(url, index), body)
}

/// A cluster refers to the endpoints of its name.
#[derive(Debug)]
pub(crate) struct SameName;

impl References for SameName {
    fn facts(&self, url: &TypeUrl, body: &Bytes) -> Facts {
        let index = std::str::from_utf8(body).ok().and_then(|text| {
            let index = text.trim_end().rsplit(' ').next()?;
            index.parse().ok()
        });
        match index {
            Some(index) if *url == CLUSTER => Facts::new(
                [Reference::new(ENDPOINT, name(index), "service_name")],
                ReadyWhen::ChildAcked,
            ),
            _ => Facts::default(),
        }
    }
}
