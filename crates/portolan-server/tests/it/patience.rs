//! For how long streams last, and clients that do not read are waited for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use portolan_server::{Callbacks, CloseReason, ResponseInfo, StreamInfo, XdsServer};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::Code;

use crate::client::{Client, SOTW, bodies};
use crate::observers::Journal;
use crate::source::TestSource;

const PATIENCE: Duration = Duration::from_secs(60);

fn server(source: &TestSource, callbacks: Arc<dyn Callbacks>) -> XdsServer {
    XdsServer::builder(Arc::new(source.clone()))
        .with_callbacks(callbacks)
        .with_stall_after(PATIENCE)
        .build()
}

/// Notes what is in flight when a stream is reported, and how it was.
#[derive(Debug, Default)]
struct InFlight(Mutex<Vec<(u64, bool)>>);

impl Callbacks for InFlight {
    fn response(&self, stream: &StreamInfo, _: &ResponseInfo<'_>) {
        self.0
            .lock()
            .unwrap()
            .push((stream.bytes_in_flight(), false));
    }

    fn stream_closed(&self, stream: &StreamInfo, reason: &CloseReason) {
        let stalled = *reason == CloseReason::Stalled;
        self.0
            .lock()
            .unwrap()
            .push((stream.bytes_in_flight(), stalled));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_ceases_to_read_is_given_up_and_holds_nothing() {
    let source = TestSource::with_clusters(&[("a", &[0; 50_000])]);
    let in_flight = Arc::new(InFlight::default());
    let xds = server(&source, in_flight.clone());
    let mut client = Client::of_clusters(&xds, "n").await;
    let head = client.frame().await;
    let begin = Instant::now();
    xds.drained().await;
    assert_eq!(begin.elapsed(), PATIENCE);
    assert_eq!(source.views(), 0);
    let noted = in_flight.0.lock().unwrap().clone();
    assert!(noted[0].0 > 50_000);
    assert_eq!(noted[1], (0, true));
    drop(head);
    client.assert_reset().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_client_is_waited_for_as_long_as_it_gets_on() {
    let large = [[1; 30_000], [2; 30_000], [3; 30_000], [4; 30_000]];
    let names = ["a", "b", "c", "d"];
    let clusters: Vec<_> = names
        .into_iter()
        .zip(large.iter().map(|b| &b[..]))
        .collect();
    let source = TestSource::with_clusters(&clusters);
    let xds = server(&source, Arc::new(Journal::default()));
    // By name, so that each comes in a piece of its own.
    let mut client = Client::open(&xds, SOTW).await;
    let mut request = crate::client::clusters("n");
    request.resource_names = names.map(str::to_owned).into();
    client.send(&request);
    let begin = Instant::now();
    for _ in 0..5 {
        tokio::time::sleep(PATIENCE - Duration::from_secs(1)).await;
        client.frame().await.into_data().unwrap();
    }
    assert!(begin.elapsed() > 4 * PATIENCE);
    client.pass(10 * PATIENCE).await;
    assert_eq!(xds.streams(), 1, "who has read everything is not given up");
}

#[tokio::test(start_paused = true)]
async fn streams_end_at_different_ages_within_the_bounds() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let journal = Arc::new(Journal::default());
    let ages = Duration::from_secs(100)..=Duration::from_secs(140);
    let xds = XdsServer::builder(Arc::new(source.clone()))
        .with_callbacks(journal.clone())
        .with_max_stream_age(ages.clone())
        .build();
    let begin = Instant::now();
    let mut ends = JoinSet::new();
    for _ in 0..40 {
        let mut client = Client::of_clusters(&xds, "n").await;
        let first = client.response().await;
        client.ack(&first);
        ends.spawn(async move {
            assert_eq!(client.ended().await.code, Code::Ok);
            begin.elapsed()
        });
    }
    let ends = ends.join_all().await;
    assert!(ends.iter().all(|end| ages.contains(end)), "{ends:?}");
    let early = ends.iter().filter(|end| **end < Duration::from_secs(120));
    assert!((10..=30).contains(&early.count()), "{ends:?}");
    assert!(
        journal
            .lines()
            .contains(&"n closed Expired { answered: true }".to_owned())
    );
    assert_eq!(source.views(), 0);

    let mut silent = Client::open(&xds, SOTW).await;
    let ended = silent.ended().await;
    assert_eq!(ended.code, Code::Unavailable);
    assert_eq!(ended.message, "the stream has reached its maximum age");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_has_reached_its_age_is_sent_what_it_is_owed() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let age = Duration::from_secs(10);
    let xds = XdsServer::builder(Arc::new(source))
        .with_max_stream_age(age..=age)
        .build();
    let mut client = Client::open(&xds, SOTW).await;
    client.pass(age - Duration::from_millis(1)).await;
    client.send(&crate::client::clusters("n"));
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert_eq!(bodies(&client.response().await), [b"1"]);
    assert_eq!(client.ended().await.code, Code::Ok);
}
