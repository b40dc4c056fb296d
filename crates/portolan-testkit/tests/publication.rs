//! Nothing published, published empty, cleared: three things.

use bytes::Bytes;
use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_core::{Publication, Resource, Snapshot};
use portolan_engine::Response;
use portolan_testkit::{EnvoyClient, EnvoyMux, Pair, PlainClient, Shelf, fixture};

fn clients() -> [PlainClient; 2] {
    [PlainClient::sotw(), PlainClient::delta()]
}

#[test]
fn an_empty_snapshot_lets_envoy_start() {
    for kind in EnvoyMux::ALL {
        let shelf = Shelf::new();
        shelf.publish(Snapshot::empty());
        let mut pair = Pair::new(EnvoyClient::new(kind), &shelf);
        pair.drive();
        let lines = pair.transcript().lines();
        assert!(lines.iter().any(|l| l.starts_with("> ACK LDS")), "{kind:?}");
        assert_eq!(pair.client.fetch_timeouts(), 0);
    }
}

#[test]
fn clearing_and_publishing_the_same_again_is_quiet() {
    for client in clients() {
        let shelf = Shelf::new();
        shelf.put([fixture::static_cluster("a")]);
        let mut pair = Pair::new(client, &shelf);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        shelf.clear();
        pair.drive();
        shelf.put([fixture::static_cluster("a")]);
        pair.drive();
        assert_eq!(pair.client.received().len(), 1);
    }
}

#[test]
fn c083_b18_what_was_asked_while_nothing_was_published_is_remembered() {
    for client in clients() {
        let shelf = Shelf::new();
        let mut pair = Pair::new(client, &shelf);
        pair.client.want(&ENDPOINT, ["a"]);
        pair.drive();
        shelf.put([fixture::endpoints("a", "1")]);
        pair.drive();
        assert_eq!(pair.client.held_names(&ENDPOINT), ["a".into()]);
    }
}

#[test]
fn a_snapshot_that_does_not_speak_for_a_type_leaves_it_alone() {
    for client in clients() {
        let shelf = Shelf::new();
        shelf.put([fixture::static_cluster("a"), fixture::endpoints("e", "1")]);
        let mut pair = Pair::new(client, &shelf);
        pair.client.want(&CLUSTER, []);
        pair.client.want(&LISTENER, []);
        pair.drive();
        let before = pair.client.received().len();
        let mut only = Snapshot::builder();
        only.only([ENDPOINT]);
        shelf.publish(only.build());
        pair.client.want(&ROUTE, ["r"]);
        pair.drive();
        assert_eq!(
            pair.client.received().len(),
            before,
            "clusters are not removed"
        );
        shelf.put([fixture::static_cluster("b")]);
        pair.drive();
        assert_eq!(pair.client.held_names(&CLUSTER), ["b".into()]);
    }
}

#[test]
fn c123_a_type_that_the_source_cannot_answer_for_holds_up_no_other() {
    for client in clients() {
        let shelf = Shelf::new();
        let clusters = |revision| {
            let mut only = Snapshot::builder();
            let cluster = fixture::static_cluster("a").revision(revision);
            only.insert(cluster.into()).unwrap();
            only.only([CLUSTER]);
            only.build()
        };
        shelf.publish(clusters(1));
        let mut pair = Pair::new(client, &shelf);
        pair.client.want(&ROUTE, ["r"]);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        shelf.publish(clusters(2));
        pair.drive();
        let received = pair.client.received();
        assert_eq!(received.len(), 2, "{}", pair.transcript());
        assert!(received.iter().all(|r| r.type_url == CLUSTER));
        assert!(pair.error().is_none());
        shelf.put([fixture::static_cluster("a"), fixture::route("r", ["a"])]);
        pair.drive();
        assert_eq!(pair.client.held_names(&ROUTE), ["r".into()]);
    }
}

#[test]
fn c093_a_label_changes_what_is_shown_and_not_what_is_sent() {
    // Decision: labels decorate, content decides.
    for client in clients() {
        let shelf = Shelf::new();
        let publish = |label: &str, revision| {
            shelf.edit(|snapshot| {
                let a = fixture::static_cluster("a").revision(revision);
                snapshot.upsert(a.into()).unwrap();
                snapshot.label(CLUSTER, label);
            });
        };
        publish("7", 1);
        let mut pair = Pair::new(client, &shelf);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        publish("8", 1);
        pair.drive();
        assert_eq!(
            pair.client.received().len(),
            1,
            "a new label alone is no change"
        );
        publish("8", 2);
        pair.drive();
        let versions: Vec<_> = pair
            .client
            .received()
            .iter()
            .map(|r| r.version.as_str())
            .collect();
        assert_eq!(
            versions,
            ["7", "8"],
            "a label that is used again does not hide a change"
        );
    }
}

#[test]
fn c092_a_change_of_one_type_leaves_the_version_of_the_others() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::endpoints("e", "1")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.client.ask(&ENDPOINT, ["e"]);
    pair.drive();
    pair.skip();
    shelf.put([fixture::endpoints("e", "2")]);
    pair.drive();
    pair.expect(["< EDS v2 n3 [e@2]", "> ACK EDS n3"]);
}

#[test]
fn c095_going_back_to_an_older_snapshot_is_a_change() {
    for client in clients() {
        let shelf = Shelf::new();
        shelf.put([fixture::static_cluster("a")]);
        let first = shelf.snapshot().unwrap();
        let mut pair = Pair::new(client, &shelf);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        shelf.put([fixture::static_cluster("b")]);
        pair.drive();
        shelf.publish(first);
        pair.drive();
        assert_eq!(pair.client.held_names(&CLUSTER), ["a".into()]);
        let generations: Vec<_> = pair
            .client
            .received()
            .iter()
            .map(|r| r.generation.get())
            .collect();
        assert_eq!(generations, [1, 2, 3]);
    }
}

#[test]
fn c142_c143_what_is_sent_are_the_bytes_of_the_resources() {
    let shelf = Shelf::new();
    shelf.put((0..300).map(|i| fixture::static_cluster(format!("c{i:03}"))));
    let snapshot = shelf.snapshot().unwrap();
    let publication = Publication::first(snapshot.clone());
    assert_eq!(publication.generation().get(), 1);
    for (client, form) in clients().into_iter().zip([
        portolan_core::EntryForm::Sotw,
        portolan_core::EntryForm::Delta,
    ]) {
        let mut pair = Pair::new(client, &shelf);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        let entries = snapshot
            .set(&CLUSTER)
            .unwrap()
            .iter()
            .flat_map(|r: &Resource| r.entry(form));
        let sent: Vec<u8> = pair.client.received()[0].parts().concat();
        assert_eq!(sent, entries.collect::<Vec<u8>>());
    }
}

#[test]
fn what_streams_are_sent_alike_is_encoded_once() {
    for client in [PlainClient::sotw, PlainClient::delta] {
        let shelf = Shelf::new();
        shelf.put((0..300).map(|i| fixture::endpoints(format!("e{i:03}"), "1")));
        let mut pairs = [(); 2].map(|()| Pair::new(client(), &shelf));
        for pair in &mut pairs {
            pair.client.want(&ENDPOINT, ["*"]);
            pair.drive();
        }
        shelf.put(["e007", "e123"].map(|name| fixture::endpoints(name, "2")));
        pairs.iter_mut().for_each(Pair::drive);
        let [one, other] = pairs.each_ref().map(|pair| {
            let parts = pair.client.received().iter().map(Response::parts);
            parts.collect::<Vec<_>>()
        });
        assert_eq!(one.len(), 2);
        let places = |responses: &[Vec<Bytes>]| {
            let parts = responses.iter().flatten();
            parts.map(|part| part.as_ptr()).collect::<Vec<_>>()
        };
        assert_eq!(places(&one), places(&other));
    }
}

#[test]
fn c086_an_answer_that_held_nothing_leaves_nothing_in_doubt_though_it_was_not_acknowledged() {
    let shelf = Shelf::new();
    shelf.publish(Snapshot::empty());
    let mut pair = Pair::new(PlainClient::sotw().without_acks(), &shelf);
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.drive();
    let version = pair.client.received()[0].version.clone();
    pair.connect();
    let mut request = pair.client.sotw_request(&CLUSTER, [""; 0]);
    request.nonce = String::new();
    request.version = version.to_string();
    pair.client.send(request);
    pair.drive();
    assert_eq!(pair.client.received().len(), 1, "it has that version");
}
