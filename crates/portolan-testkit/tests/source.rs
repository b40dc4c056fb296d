//! What a source hears of the streams that it serves.

use std::sync::{Arc, Mutex};
use std::task::Waker;

use portolan_core::well_known::{CLUSTER, ENDPOINT};
use portolan_core::{
    Announced, Delivery, DeliveryOutcome, Interest, Node, Peer, Publication, Refusal, Source, View,
};
use portolan_testkit::{Pair, PlainClient, Shelf, fixture};

/// A shelf that writes down what it hears.
#[derive(Clone, Debug, Default)]
struct Listening {
    shelf: Shelf,
    heard: Arc<Mutex<Vec<String>>>,
}

#[derive(Debug)]
struct ListeningView {
    view: Box<dyn View>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Listening {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.heard.lock().expect("nobody panicked"))
    }
}

impl Source for Listening {
    fn open(&self, node: &Arc<Node>, peer: &Peer, waker: Waker) -> Result<Box<dyn View>, Refusal> {
        Ok(Box::new(ListeningView {
            view: self.shelf.open(node, peer, waker)?,
            heard: Arc::clone(&self.heard),
        }))
    }

    fn announce(&self, budget: usize) -> Announced {
        self.shelf.announce(budget)
    }

    fn register_announcer(&self, waker: Waker) {
        self.shelf.register_announcer(waker);
    }
}

impl View for ListeningView {
    fn load(&self) -> Option<Publication> {
        self.view.load()
    }

    fn interest(&mut self, interest: &Interest<'_>) {
        let (added, removed) = (interest.added, interest.removed);
        let line = format!("+{added:?} -{removed:?} wildcard={}", interest.wildcard);
        self.heard.lock().expect("nobody panicked").push(line);
    }

    fn delivered(&mut self, delivery: &Delivery<'_>) {
        let outcome = match delivery.outcome {
            DeliveryOutcome::Sent => "sent".to_owned(),
            DeliveryOutcome::Acked => "acked".to_owned(),
            DeliveryOutcome::Nacked(why) => format!("nacked: {why}"),
            _ => return,
        };
        let line = format!("{} of {}", outcome, delivery.generation.get());
        self.heard.lock().expect("nobody panicked").push(line);
    }
}

#[test]
fn interest_is_told_as_it_changes_and_only_then() {
    // C-236
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let source = Listening::default();
        let mut pair = Pair::new(client, &source);
        pair.client.want(&ENDPOINT, ["a", "b"]);
        pair.drive();
        assert_eq!(source.take(), [r#"+["a", "b"] -[] wildcard=false"#]);
        pair.client.want(&ENDPOINT, ["a", "b"]);
        pair.drive();
        assert_eq!(source.take(), [""; 0]);
        pair.client.want(&ENDPOINT, ["a", "b", "*"]);
        pair.drive();
        assert_eq!(source.take(), ["+[] -[] wildcard=true"]);
    }
    let source = Listening::default();
    let mut pair = Pair::new(PlainClient::sotw(), &source);
    pair.client.ask(&ENDPOINT, ["a", "b"]);
    pair.client.ask(&ENDPOINT, ["b", "c"]);
    pair.drive();
    assert_eq!(source.take()[1], r#"+["c"] -["a"] wildcard=false"#);
}

#[test]
fn what_is_wanted_and_given_up_at_once_is_of_no_interest() {
    let source = Listening::default();
    let mut pair = Pair::new(PlainClient::delta(), &source);
    pair.client.subscribe(&ENDPOINT, ["a"]);
    pair.drive();
    source.take();
    let request = PlainClient::delta_request(&ENDPOINT, ["b"], ["b", "c"]);
    pair.client.send(request);
    pair.drive();
    assert_eq!(source.take(), [""; 0]);
}

#[test]
fn the_legacy_wildcard_is_interest_in_everything() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let source = Listening::default();
        let mut pair = Pair::new(client, &source);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        assert_eq!(source.take(), ["+[] -[] wildcard=true"]);
    }
}

#[test]
fn what_became_of_each_response_is_told_with_its_publication() {
    let source = Listening::default();
    source.shelf.put([fixture::static_cluster("a")]);
    let mut pair = Pair::new(PlainClient::delta(), &source);
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    source.shelf.put([fixture::static_cluster("a").bad()]);
    pair.drive();
    assert_eq!(
        source.take()[1..],
        [
            "sent of 1",
            "acked of 1",
            "sent of 2",
            "nacked: cannot use a of 2"
        ]
    );
}
