//! The snapshot cache: what is cleared, who comes again, several streams of one node.

use portolan_cache::SnapshotCache;
use portolan_core::node_hash::NodeCluster;
use portolan_core::well_known::CLUSTER;
use portolan_core::{Node, TypeUrl};
use portolan_testkit::{Pair, PlainClient, Setup, fixture};

use crate::bed::{Bed, both, snapshot};

/// The body that a client has of a resource.
fn held(pair: &Pair<PlainClient>, url: &TypeUrl, name: &str) -> String {
    let body = pair.client.held(url)[name].body();
    String::from_utf8_lossy(&body).into_owned()
}

/// Elsewhere clearing a snapshot forgot who was waiting for the next, so that proxies heard nothing more.
#[test]
fn b57_a_cleared_group_keeps_its_streams_and_hears_what_follows_as_a_difference() {
    for client in both() {
        let bed = Bed::with(["a", "b"].map(fixture::static_cluster));
        let mut pair = bed.pair(client);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        bed.writer.clear(&bed.group);
        pair.drive();
        assert_eq!(
            pair.client.received().len(),
            1,
            "nothing is removed (C-129)"
        );
        assert!(bed.writer.get(&bed.group).is_none());
        assert_eq!(bed.writer.streams(&bed.group), 1);
        bed.set(snapshot(["b", "c"].map(fixture::static_cluster)));
        pair.drive();
        assert_eq!(pair.client.received().len(), 2);
        assert_eq!(pair.client.held_names(&CLUSTER), ["b".into(), "c".into()]);
    }
}

/// Elsewhere a node that came back was served what its group had when it left, expired certificates among it.
#[test]
fn b58_a_node_that_comes_back_is_served_the_newest_of_its_group() {
    for client in both() {
        let (writer, reader) = SnapshotCache::new(NodeCluster::default()).split();
        let group = "edge".to_owned();
        let publish = |revision| {
            let cluster = fixture::static_cluster("a").revision(revision);
            let _ = writer.set(&group, snapshot([cluster]));
        };
        publish(1);
        let node = Node::new("n1").with_cluster("edge");
        let mut pair = Pair::open(client, &reader, Setup::default().with_node(node));
        pair.client.want(&CLUSTER, []);
        pair.drive();
        assert_eq!(writer.streams(&group), 1);
        pair.disconnect();
        assert_eq!(writer.streams(&group), 0);
        publish(2);
        publish(3);
        pair.connect();
        pair.client.want(&CLUSTER, []);
        pair.drive();
        assert_eq!(pair.client.received().len(), 2, "one for each stream");
        assert_eq!(held(&pair, &CLUSTER, "a"), "rev=3");
    }
}

/// Elsewhere streams were told apart by the node's id, and the end of an old one took the new one's watches along.
#[test]
fn b60_streams_of_one_node_are_served_and_end_on_their_own() {
    for variant in 0..2 {
        let bed = Bed::with([fixture::static_cluster("a")]);
        let open = || {
            let [sotw, delta] = both();
            let mut pair = bed.pair(if variant == 0 { sotw } else { delta });
            pair.client.want(&CLUSTER, []);
            pair.drive();
            pair
        };
        let mut first = open();
        let mut second = open();
        bed.put([fixture::static_cluster("a").revision(2)]);
        for pair in [&mut first, &mut second] {
            pair.drive();
            assert_eq!(held(pair, &CLUSTER, "a"), "rev=2");
        }
        drop(first);
        for revision in 3..103 {
            bed.put([fixture::static_cluster("a").revision(revision)]);
            second.drive();
            assert_eq!(held(&second, &CLUSTER, "a"), format!("rev={revision}"));
            let restarted = open();
            assert_eq!(bed.writer.streams(&bed.group), 2);
            second = restarted;
        }
        assert_eq!(bed.writer.streams(&bed.group), 1);
    }
}

/// Elsewhere a resource was changed in place while a response that held it was being encoded.
#[test]
fn b61_a_response_holds_what_was_published_when_it_was_made() {
    for client in both() {
        let bed = Bed::with([fixture::static_cluster("a")]);
        let mut pair = bed.pair(client);
        pair.client.want(&CLUSTER, []);
        pair.set_reading(false);
        pair.drive();
        bed.put([fixture::static_cluster("a").revision(2)]);
        pair.drive();
        pair.set_reading(true);
        pair.drive();
        let sent = pair.client.received().iter().map(|response| {
            let bytes = response.parts().concat();
            String::from_utf8_lossy(&bytes).contains("rev=2")
        });
        assert_eq!(sent.collect::<Vec<_>>(), [false, true]);
    }
}
