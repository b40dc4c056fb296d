use portolan_cache::{SnapshotCache, SnapshotCacheReader, SnapshotCacheWriter};
use portolan_core::{Node, NodeId, Snapshot, TypeUrl};
use portolan_engine::Event;
use portolan_testkit::fixture::Fixture;
use portolan_testkit::{Client, Pair, PlainClient, Setup};

/// The node of all clients.
const NODE: &str = "n1";

/// A snapshot cache, and the group of the one node there is.
pub(crate) struct Bed {
    pub(crate) writer: SnapshotCacheWriter<String>,
    pub(crate) reader: SnapshotCacheReader<NodeId>,
    pub(crate) group: String,
}

impl Bed {
    /// A cache that holds nothing.
    pub(crate) fn new() -> Self {
        let (writer, reader) = SnapshotCache::new(NodeId::default()).split();
        let group = NODE.to_owned();
        Self {
            writer,
            reader,
            group,
        }
    }

    /// A cache that holds these resources.
    pub(crate) fn with(resources: impl IntoIterator<Item = Fixture>) -> Self {
        let bed = Self::new();
        bed.put(resources);
        bed
    }

    /// Publishes these beside or in place of what there is.
    pub(crate) fn put(&self, resources: impl IntoIterator<Item = Fixture>) {
        let mut snapshot = self.snapshot().edit();
        for resource in resources {
            let put = snapshot.upsert(resource.into());
            put.expect("a fixture has a name and a type");
        }
        self.set(snapshot.build());
    }

    /// Publishes what there is without these.
    pub(crate) fn remove<'a>(&self, url: &TypeUrl, names: impl IntoIterator<Item = &'a str>) {
        let mut snapshot = self.snapshot().edit();
        for name in names {
            snapshot.remove(url, name);
        }
        self.set(snapshot.build());
    }

    pub(crate) fn set(&self, snapshot: Snapshot) {
        let _ = self.writer.set(&self.group, snapshot);
    }

    /// What is published; an empty snapshot where nothing is.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let published = self.writer.get(&self.group);
        published.unwrap_or_else(Snapshot::empty)
    }

    /// A client on a stream of its own.
    pub(crate) fn pair<C: Client>(&self, client: C) -> Pair<C> {
        self.pair_set_up(client, Setup::default())
    }

    /// A client on a stream that is set up otherwise.
    pub(crate) fn pair_set_up<C: Client>(&self, client: C, setup: Setup) -> Pair<C> {
        Pair::open(client, &self.reader, setup.with_node(Node::new(NODE)))
    }
}

/// A snapshot that was built from nothing.
pub(crate) fn snapshot(resources: impl IntoIterator<Item = Fixture>) -> Snapshot {
    let mut builder = Snapshot::builder();
    for resource in resources {
        let inserted = builder.insert(resource.into());
        inserted.expect("names of a test differ");
    }
    builder.build()
}

/// A client of each variant.
pub(crate) fn both() -> [PlainClient; 2] {
    [PlainClient::sotw(), PlainClient::delta()]
}

/// The messages of the rejections among these events.
pub(crate) fn rejections(events: &[Event]) -> Vec<&str> {
    let messages = events.iter().filter_map(|event| match event {
        Event::Nacked { message, .. } => Some(message.as_ref()),
        _ => None,
    });
    messages.collect()
}
