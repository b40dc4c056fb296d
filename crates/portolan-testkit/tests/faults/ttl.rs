//! Times to live.

use std::time::Duration;

use portolan_core::well_known::{ROUTE, RUNTIME};
use portolan_core::{Node, TypeUrl};
use portolan_engine::{Response, Variant};
use portolan_testkit::fixture::{self, Fixture};
use portolan_testkit::{Client, Pair, PlainClient, Setup};

use crate::bed::{Bed, both};

const SECOND: Duration = Duration::from_secs(1);

/// A client that is told of times to live.
fn pair(bed: &Bed, client: PlainClient) -> Pair<PlainClient> {
    let node = Node::new(&*bed.group)
        .with_client_feature("xds.config.supports-resource-ttl")
        .with_client_feature("xds.config.resource-in-sotw");
    Pair::open(client, &bed.reader, Setup::default().with_node(node))
}

/// Asks in the words of the client's variant.
fn ask(client: &mut PlainClient, type_url: &TypeUrl, names: &[&str]) {
    match client.variant() {
        Variant::Sotw => client.ask(type_url, names.iter().copied()),
        _ => client.subscribe(type_url, names.iter().copied()),
    }
}

fn route(name: &str) -> Fixture {
    fixture::route(name, ["c"])
}

/// Elsewhere the clock of heartbeats ran before anything was published, and met nothing where it looked.
#[test]
fn b75_nothing_is_refreshed_before_there_is_anything() {
    for client in both() {
        let bed = Bed::new();
        let mut pair = pair(&bed, client);
        ask(&mut pair.client, &RUNTIME, &["a"]);
        pair.advance(SECOND);
        pair.skip();
        assert_eq!(pair.session().unwrap().poll_timeout(), None);
        let living = || fixture::runtime("a").ttl(Duration::from_millis(40));
        bed.put([living()]);
        pair.drive();
        assert_eq!(pair.client.received().len(), 1);
        pair.advance(Duration::from_millis(110));
        let received = pair.client.received();
        assert_eq!(received.len(), 6);
        assert!(received[1..].iter().all(|r| r.heartbeats.len() == 1));

        // So it is when all is taken back: the streams stay, and are told nothing.
        bed.writer.clear(&bed.group);
        pair.advance(SECOND);
        assert_eq!(pair.client.received().len(), 6);
        bed.put([living()]);
        pair.drive();
        let again = pair.client.received().last().unwrap();
        assert_eq!(again.resources.len(), 1, "the client has dropped it");
    }
}

/// What `b76` and `b77` have in common: ten heartbeats, and then the end of the time to live.
fn heartbeats(client: PlainClient) -> Pair<PlainClient> {
    let bed = Bed::with([route("a").ttl(SECOND), route("b")]);
    let mut pair = pair(&bed, client);
    ask(&mut pair.client, &ROUTE, &["a", "b"]);
    pair.drive();
    let first = &pair.client.received()[0];
    assert_eq!(first.resources.len(), 2);
    let version = (first.version.clone(), first.resources.get("a").cloned());
    pair.advance(SECOND * 5);
    let received = pair.client.received();
    assert_eq!(received.len(), 11);
    for response in &received[1..] {
        let [heartbeat] = &response.heartbeats[..] else {
            panic!("{response:?}");
        };
        assert_eq!((&*heartbeat.name, heartbeat.ttl), ("a", SECOND));
        assert!(response.resources.is_empty() && response.removed.is_empty());
        assert_eq!(response.version, version.0);
    }
    pair.skip();

    bed.put([route("a")]);
    pair.advance(SECOND * 60);
    pair
}

/// Elsewhere heartbeats had no version or a newer one, came for what has no time to live, or for what others subscribe.
#[test]
fn b76_a_heartbeat_is_name_version_and_time_of_what_lives_and_nothing_else() {
    let mut pair = heartbeats(PlainClient::sotw());
    let versions = |r: &Response| r.heartbeats.iter().all(|h| h.version == r.version);
    assert!(pair.client.received().iter().all(versions));
    pair.expect(["< RDS v1 n12 [a]", "> ACK RDS n12"]);
}

/// Elsewhere there were none in delta, and what had a time to live was lost when it was over.
#[test]
fn b77_there_are_heartbeats_in_delta() {
    let mut pair = heartbeats(PlainClient::delta());
    let received = pair.client.received();
    let sent = received[0].resources.get("a").unwrap().version();
    let mut beats = received.iter().flat_map(|r| &r.heartbeats);
    assert!(beats.all(|heartbeat| heartbeat.version == *sent));
    pair.expect(["< RDS n12 [a]", "> ACK RDS n12"]);
}
