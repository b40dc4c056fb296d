//! What a client that comes back says it has, and is not believed: its last stream ended before it was settled.

use portolan_core::well_known::{CLUSTER, LISTENER};
use portolan_engine::{Response, Unsettled, Variant};
use portolan_testkit::{Client, Pair, PlainClient, Shelf, fixture};

/// A client that has cluster `a` at 1, rejected it at 2, of which it may have applied what it liked, and then lost its
/// stream, while the server went back to 1.
fn rolled_back_after_a_rejection(client: PlainClient) -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let mut pair = Pair::new(client, &shelf);
    pair.client.want(&CLUSTER, []);
    pair.drive();
    pair.client.set_acks(false);
    shelf.put([fixture::static_cluster("a").revision(2)]);
    pair.drive();
    pair.client.nack(&CLUSTER);
    pair.drive();
    pair.disconnect();
    shelf.put([
        fixture::static_cluster("a"),
        fixture::listener("l", "route"),
    ]);
    pair.client.set_acks(true);
    (shelf, pair)
}

/// Opens a stream on which the client says that it has what its first response held; gives what it is sent.
fn back_with_the_first_response(pair: &mut Pair<PlainClient>) -> Vec<Response> {
    pair.connect();
    let before = pair.client.received().len();
    let accepted = pair.client.received()[0].clone();
    match pair.client.variant() {
        Variant::Sotw => {
            let mut request = pair.client.sotw_request(&CLUSTER, [""; 0]);
            request.version = accepted.version.as_str().to_owned();
            pair.client.send(request);
        }
        _ => {
            let held = accepted.resources.iter();
            let held = held.map(|r| (r.name().as_str(), r.version().as_str()));
            pair.client.resume(&CLUSTER, [], held);
        }
    }
    pair.drive();
    pair.client.received()[before..].to_vec()
}

#[test]
fn a_client_that_left_with_a_rejection_is_not_believed() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let (_, mut pair) = rolled_back_after_a_rejection(client);
        let again = back_with_the_first_response(&mut pair);
        let sent: Vec<_> = again.iter().map(|r| r.resources.len()).collect();
        assert_eq!(sent, [1], "{}", pair.transcript());
        // It accepted that, and is believed the next time.
        let again = back_with_the_first_response(&mut pair);
        assert!(again.is_empty(), "{}", pair.transcript());
    }
}

#[test]
fn nor_is_it_when_it_left_again_before_it_was_answered() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let (_, mut pair) = rolled_back_after_a_rejection(client);
        pair.set_window(0);
        assert!(back_with_the_first_response(&mut pair).is_empty());
        pair.set_window(1);
        let again = back_with_the_first_response(&mut pair);
        assert_eq!(again.len(), 1, "{}", pair.transcript());
    }
}

#[test]
fn what_is_not_known_of_one_type_is_not_forgotten_for_another() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let (_, mut pair) = rolled_back_after_a_rejection(client);
        pair.connect();
        pair.client.set_acks(false);
        pair.client.want(&LISTENER, []);
        pair.drive();
        let unsettled = pair.session().unwrap().unsettled();
        let urls: Vec<_> = unsettled.iter().map(Unsettled::type_url).collect();
        assert_eq!(urls, [&LISTENER, &CLUSTER]);
        let again = back_with_the_first_response(&mut pair);
        assert_eq!(again.len(), 1, "{}", pair.transcript());
    }
}

/// Opens a stream on which a delta client says that it has these clusters as they are published; gives the names that it
/// is sent.
fn back_with(shelf: &Shelf, pair: &mut Pair<PlainClient>, names: &[&str]) -> Vec<String> {
    let snapshot = shelf.snapshot().expect("something is published");
    let set = snapshot.set(&CLUSTER).expect("clusters are published");
    let held = names
        .iter()
        .map(|name| set.get(name).expect("it is published"));
    pair.connect();
    let before = pair.client.received().len();
    let held = held.map(|r| (r.name().as_str(), r.version().as_str()));
    pair.client.resume(&CLUSTER, [], held);
    pair.drive();
    let sent = pair.client.received()[before..].iter();
    let sent = sent.flat_map(|response| response.resources.iter());
    sent.map(|r| r.name().to_string()).collect()
}

/// Says of a cluster that it is not known yet whether it exists.
fn forget(shelf: &Shelf, name: &str) {
    shelf.edit(|snapshot| {
        snapshot.pending(CLUSTER, name).expect("a name");
    });
}

#[test]
fn what_nothing_can_be_told_of_is_not_believed_the_next_time_either() {
    let (shelf, mut pair) = rolled_back_after_a_rejection(PlainClient::delta());
    let before = shelf.snapshot().unwrap();
    forget(&shelf, "a");
    let again = back_with_the_first_response(&mut pair);
    assert!(again.iter().all(|response| response.resources.is_empty()));
    pair.disconnect();
    shelf.publish(before);
    let sent = back_with(&shelf, &mut pair, &["a"]);
    assert_eq!(sent, ["a"], "{}", pair.transcript());
    assert!(back_with(&shelf, &mut pair, &["a"]).is_empty());
}

#[test]
fn what_is_not_believed_and_what_was_sent_since_are_remembered_together() {
    let (shelf, mut pair) = rolled_back_after_a_rejection(PlainClient::delta());
    shelf.put([fixture::static_cluster("b"), fixture::static_cluster("c")]);
    let before = shelf.snapshot().unwrap();
    forget(&shelf, "a");
    pair.client.set_acks(false);
    assert_eq!(back_with(&shelf, &mut pair, &["c"]), ["b"]);
    pair.disconnect();
    shelf.publish(before);
    pair.client.set_acks(true);
    let sent = back_with(&shelf, &mut pair, &["a", "b", "c"]);
    assert_eq!(sent, ["a", "b"], "{}", pair.transcript());
}
