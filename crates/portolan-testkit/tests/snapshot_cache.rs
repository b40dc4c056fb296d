//! Sessions that read from a snapshot cache.

use std::sync::{Arc, Mutex};

use portolan_cache::{SnapshotCache, SnapshotCacheReader, SnapshotCacheWriter};
use portolan_core::well_known::CLUSTER;
use portolan_core::{
    Delivery, DeliveryOutcome, DeliverySink, Node, NodeId, Published, Snapshot, ViewId,
};
use portolan_testkit::fixture::Fixture;
use portolan_testkit::{EnvoyClient, EnvoyMux, Pair, PlainClient, Setup, fixture};

fn cache() -> (SnapshotCacheWriter<String>, SnapshotCacheReader<NodeId>) {
    SnapshotCache::new(NodeId::default()).split()
}

fn snapshot(resources: impl IntoIterator<Item = Fixture>) -> Snapshot {
    let mut builder = Snapshot::builder();
    for resource in resources {
        builder.insert(resource.into()).expect("names differ");
    }
    builder.build()
}

fn pair_of<C: portolan_testkit::Client>(
    client: C,
    node: &str,
    reader: &SnapshotCacheReader<NodeId>,
) -> Pair<C> {
    Pair::open(client, reader, Setup::default().with_node(Node::new(node)))
}

#[test]
fn each_group_is_served_its_own() {
    let (writer, reader) = cache();
    let mut a = pair_of(EnvoyClient::new(EnvoyMux::Delta), "a", &reader);
    let mut b = pair_of(EnvoyClient::new(EnvoyMux::Legacy), "b", &reader);
    a.drive();
    b.drive();
    assert!(a.client.clusters().is_empty() && b.client.clusters().is_empty());
    let own = |name| snapshot([fixture::cluster(name), fixture::endpoints(name, "1")]);
    let _ = writer.set(&"a".to_owned(), own("x"));
    let _ = writer.set(&"b".to_owned(), own("y"));
    a.drive();
    b.drive();
    assert_eq!(a.client.endpoints("x"), Some("host=1"));
    assert_eq!(b.client.endpoints("y"), Some("host=1"));
    assert_eq!(
        (a.client.clusters().len(), b.client.clusters().len()),
        (1, 1)
    );
}

#[test]
fn c121_c122_groups_of_equal_content_have_equal_versions_and_hear_nothing_of_each_other() {
    let (writer, reader) = cache();
    let content = |revision| snapshot([fixture::static_cluster("x").revision(revision)]);
    let groups = ["a", "b"].map(str::to_owned);
    let mut pairs = groups.clone().map(|group| {
        let _ = writer.set(&group, content(1));
        let mut pair = pair_of(PlainClient::sotw(), &group, &reader);
        pair.client.ask(&CLUSTER, [""; 0]);
        pair.drive();
        pair.skip();
        pair
    });
    let version = |pair: &Pair<PlainClient>| pair.client.received()[0].version.clone();
    assert_eq!(version(&pairs[0]), version(&pairs[1]));
    let _ = writer.set(&groups[1], content(2));
    pairs[1].drive();
    pairs[1].expect(["< CDS v2 n2 [x@2]", "> ACK CDS n2"]);
    pairs[0].drive();
    pairs[0].expect_quiet();
}

#[test]
fn an_unchanged_snapshot_is_told_nobody() {
    let (writer, reader) = cache();
    let mut pair = pair_of(PlainClient::sotw(), "a", &reader);
    let published = || snapshot([fixture::static_cluster("x")]);
    let _ = writer.set(&"a".to_owned(), published());
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    pair.skip();
    assert!(matches!(
        writer.set(&"a".to_owned(), published()),
        Published::Unchanged(_)
    ));
    pair.drive();
    pair.expect_quiet();
}

#[test]
fn a_hundred_streams_of_a_group_hear_of_one_publication() {
    let (writer, reader) = cache();
    let group = "a".to_owned();
    let _ = writer.set(&group, snapshot([fixture::static_cluster("x")]));
    let mut pairs: Vec<_> = (0..100)
        .map(|_| pair_of(PlainClient::delta(), "a", &reader))
        .collect();
    for pair in &mut pairs {
        pair.client.subscribe(&CLUSTER, []);
        pair.drive();
    }
    let _ = writer.set(&group, snapshot([fixture::static_cluster("x").revision(2)]));
    for pair in &mut pairs {
        pair.drive();
        assert_eq!(pair.client.received().len(), 2);
    }
}

#[derive(Debug, Default)]
struct Sink(Mutex<Vec<String>>);

impl DeliverySink<String> for Sink {
    fn delivered(&self, group: &String, _: ViewId, delivery: &Delivery<'_>) {
        let outcome = match delivery.outcome {
            DeliveryOutcome::Acked => "acked",
            DeliveryOutcome::Nacked(_) => "nacked",
            _ => return,
        };
        let line = format!("{group} {outcome} {}", delivery.generation.get());
        self.0.lock().expect("nobody panicked").push(line);
    }
}

#[test]
fn c110_rejections_reach_the_publisher_by_group_and_publication() {
    let sink = Arc::new(Sink::default());
    let cache = SnapshotCache::new(NodeId::default()).with_delivery_sink(Arc::<Sink>::clone(&sink));
    let (writer, reader) = cache.split();
    let group = "a".to_owned();
    let _ = writer.set(&group, snapshot([fixture::static_cluster("x")]));
    let mut pair = pair_of(PlainClient::sotw(), "a", &reader);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    let _ = writer.set(&group, snapshot([fixture::static_cluster("x").bad()]));
    pair.drive();
    let told = sink.0.lock().expect("nobody panicked").clone();
    assert_eq!(told, ["a acked 1", "a nacked 2"]);
}
