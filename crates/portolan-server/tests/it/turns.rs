//! What observers are told of turns.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use portolan_server::{Callbacks, StreamInfo, TurnInfo, TurnOutcome, XdsServer};
use tokio::task::yield_now;
use tokio::time::{Instant, advance};

use crate::client::Client;
use crate::source::TestSource;

/// Remembers the turns that it is told of, and when.
#[derive(Debug, Default)]
struct Turns(Mutex<Vec<(TurnInfo, Instant)>>);

impl Turns {
    /// Those since the last call.
    fn take(&self) -> Vec<(TurnInfo, Instant)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// What there is to say of the publications that were new to the stream since the last call.
    fn first_looks(&self) -> Vec<(u64, u64, TurnOutcome)> {
        let turns = self.take().into_iter().map(|(turn, _)| turn);
        turns
            .filter(TurnInfo::is_first_look)
            .map(|turn| (turn.generation().get(), turn.superseded(), turn.outcome()))
            .collect()
    }
}

impl Callbacks for Turns {
    fn turn(&self, _: &StreamInfo, turn: &TurnInfo) {
        self.0.lock().unwrap().push((*turn, Instant::now()));
    }
}

fn observed(source: &TestSource) -> (XdsServer, Arc<Turns>) {
    let turns = Arc::new(Turns::default());
    let xds = XdsServer::builder(Arc::new(source.clone()))
        .with_callbacks(turns.clone())
        .build();
    (xds, turns)
}

#[tokio::test(start_paused = true)]
async fn a_turn_says_what_came_of_a_publication() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (xds, turns) = observed(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    assert_eq!(turns.first_looks(), [(1, 0, TurnOutcome::Answered)]);
    client.ack(&first);
    client.assert_quiet().await;
    assert_eq!(turns.first_looks(), [], "it looked again at what it knew");

    source.publish(&[("a", b"1")]);
    client.assert_quiet().await;
    assert_eq!(turns.first_looks(), [(2, 0, TurnOutcome::Quiet)]);

    source.publish(&[("a", b"2")]);
    client.response().await;
    source.publish(&[("a", b"3")]);
    client.assert_quiet().await;
    let expected = [(3, 0, TurnOutcome::Answered), (4, 0, TurnOutcome::Held)];
    assert_eq!(turns.first_looks(), expected);
}

#[tokio::test(start_paused = true)]
async fn publications_between_two_looks_are_superseded() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (xds, turns) = observed(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    client.assert_quiet().await;
    turns.take();
    source.publish(&[("a", b"2")]);
    source.publish(&[("a", b"3")]);
    source.publish(&[("a", b"4")]);
    client.response().await;
    assert_eq!(turns.first_looks(), [(4, 2, TurnOutcome::Answered)]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_knows_when_the_source_first_said_that_there_is_something_new() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (xds, turns) = observed(&source);
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    client.assert_quiet().await;
    let noticed = |(turn, _): &(TurnInfo, _)| turn.noticed();
    assert!(turns.take().iter().filter_map(noticed).next().is_none());

    // The client takes this one and nothing more, so that the stream does not look at the next two.
    source.publish(&[("a", b"2")]);
    let second = client.response().await;
    client.ack(&second);
    yield_now().await;
    turns.take();
    let published = Instant::now();
    source.publish(&[("a", b"3")]);
    advance(Duration::from_secs(2)).await;
    yield_now().await;
    source.publish(&[("a", b"4")]);
    advance(Duration::from_secs(3)).await;
    yield_now().await;
    assert_eq!(turns.take().len(), 0);
    client.response().await;
    let (turn, at) = turns.take().swap_remove(0);
    assert_eq!(turn.noticed(), Some(published.into_std()));
    assert_eq!(at - published, Duration::from_secs(5));
}
