//! How streams end, and servers.

use std::sync::Arc;
use std::time::Duration;

use portolan_server::{XdsServer, XdsServerBuilder};
use tokio::time::Instant;
use tonic::Code;

use crate::client::{Client, SOTW, bodies, clusters};
use crate::observers::Journal;
use crate::source::TestSource;

fn observed(source: &TestSource) -> (XdsServerBuilder, Arc<Journal>) {
    let journal = Arc::new(Journal::default());
    let builder = XdsServer::builder(Arc::new(source.clone())).with_callbacks(journal.clone());
    (builder, journal)
}

#[tokio::test(start_paused = true)]
async fn c016_a_half_closed_stream_is_answered_and_ends_well() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.build();
    let mut client = Client::of_clusters(&xds, "n").await;
    client.half_close();
    assert_eq!(bodies(&client.response().await), [b"1"]);
    assert_eq!(client.ended().await.code, Code::Ok);
    xds.drained().await;
    assert_eq!(source.views(), 0);
    assert_eq!(journal.lines().last().unwrap(), "n closed HalfClosed");
}

#[tokio::test(start_paused = true)]
async fn c016_a_stream_that_never_asked_anything_ends_well() {
    let (builder, journal) = observed(&TestSource::default());
    let xds = builder.build();
    let mut client = Client::open(&xds, SOTW).await;
    client.half_close();
    assert_eq!(client.ended().await.code, Code::Ok);
    xds.drained().await;
    assert_eq!(journal.lines(), ["? opened", "? closed HalfClosed"]);
}

/// hyper shows a reset to the reader of requests as their end.
#[tokio::test(start_paused = true)]
async fn c017_a_reset_is_not_taken_for_a_half_close() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.build();
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    client.ack(&first);
    client.assert_quiet().await;
    client.half_close();
    drop(client);
    xds.drained().await;
    assert_eq!(journal.lines().last().unwrap(), "n closed Gone");
    assert_eq!(source.views(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_half_closes_and_reads_nothing_is_given_up() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.build();
    let mut client = Client::of_clusters(&xds, "n").await;
    client.half_close();
    let begin = Instant::now();
    xds.drained().await;
    assert!(begin.elapsed() < Duration::from_secs(15));
    assert_eq!(source.views(), 0);
    assert_eq!(journal.lines().last().unwrap(), "n closed HalfClosed");
    // What it would have read is still there.
    assert_eq!(client.ended().await.code, Code::Ok);
}

#[tokio::test(start_paused = true)]
async fn c017_clients_that_leave_release_everything() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.build();
    let mut clients = Vec::new();
    for _ in 0..1000 {
        clients.push(Client::of_clusters(&xds, "n").await);
    }
    for client in &mut clients {
        client.frame().await;
    }
    assert_eq!((xds.streams(), source.views()), (1000, 1000));
    drop(clients);
    xds.drained().await;
    assert_eq!((xds.streams(), source.views()), (0, 0));
    let closed = journal
        .lines()
        .iter()
        .filter(|l| l.contains("closed Gone"))
        .count();
    assert_eq!(closed, 1000);
    source.publish(&[("a", b"2")]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_ready_sends_clients_elsewhere() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.with_ready(false).build();
    let mut early = Client::open(&xds, SOTW).await;
    assert_eq!(early.ended().await.code, Code::Unavailable);
    xds.set_ready(true);
    let mut client = Client::of_clusters(&xds, "n").await;
    client.response().await;
    xds.set_ready(false);
    assert_eq!(
        Client::open(&xds, SOTW).await.ended().await.code,
        Code::Unavailable
    );
    assert_eq!(xds.streams(), 1);
    let opened = journal
        .lines()
        .iter()
        .filter(|l| l.contains("opened"))
        .count();
    assert_eq!(opened, 1);
}

#[tokio::test(start_paused = true)]
async fn a_full_server_takes_a_stream_when_one_has_ended() {
    let (builder, _) = observed(&TestSource::default());
    let xds = builder.with_max_streams(1).build();
    let client = Client::open(&xds, SOTW).await;
    let ended = Client::open(&xds, SOTW).await.ended().await;
    assert_eq!(ended.code, Code::ResourceExhausted);
    assert_eq!(
        ended.message,
        "the server has 1 streams, which is its limit"
    );
    drop(client);
    xds.drained().await;
    let client = Client::open(&xds, SOTW).await;
    assert!(!client.headers.contains_key("grpc-status"));
}

#[tokio::test(start_paused = true)]
async fn draining_ends_streams_and_takes_no_new_ones() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.build();
    let mut answered = Client::of_clusters(&xds, "answered").await;
    let first = answered.response().await;
    answered.ack(&first);
    answered.assert_quiet().await;
    let mut silent = Client::open(&xds, SOTW).await;
    xds.drain();
    assert_eq!(answered.ended().await.code, Code::Ok);
    assert_eq!(silent.ended().await.code, Code::Unavailable);
    assert_eq!(
        Client::open(&xds, SOTW).await.ended().await.code,
        Code::Unavailable
    );
    xds.drained().await;
    assert_eq!(source.views(), 0);
    let lines = journal.lines();
    assert!(lines.contains(&"answered closed Drained { answered: true }".to_owned()));
    assert!(lines.contains(&"? closed Drained { answered: false }".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn b79_a_thousand_idle_streams_are_drained_at_once_and_each_reported_once() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.build();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let mut client = Client::of_clusters(&xds, "n").await;
        let first = client.response().await;
        client.ack(&first);
        clients.spawn(async move { client.ended().await.code });
    }
    let begin = Instant::now();
    xds.drain();
    xds.drained().await;
    assert_eq!(begin.elapsed(), Duration::ZERO);
    let codes = clients.join_all().await;
    assert!(codes.iter().all(|code| *code == Code::Ok));
    let lines = journal.lines();
    let closed = lines.iter().filter(|line| line.contains("closed"));
    assert_eq!(closed.count(), 1000);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_asked_is_answered_before_it_is_drained() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, _) = observed(&source);
    let xds = builder.build();
    let mut client = Client::of_clusters(&xds, "n").await;
    tokio::task::yield_now().await;
    xds.drain();
    assert_eq!(bodies(&client.response().await), [b"1"]);
    assert_eq!(client.ended().await.code, Code::Ok);
}

#[tokio::test(start_paused = true)]
async fn draining_can_be_spread_over_time() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, _) = observed(&source);
    let xds = builder.build();
    let window = Duration::from_secs(100);
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = Client::of_clusters(&xds, "n").await;
        let first = client.response().await;
        client.ack(&first);
        clients.push(client);
    }
    xds.drain_within(window);
    let begin = Instant::now();
    let mut ends = tokio::task::JoinSet::new();
    for mut client in clients {
        ends.spawn(async move {
            assert_eq!(client.ended().await.code, Code::Ok);
            begin.elapsed()
        });
    }
    let ends = ends.join_all().await;
    let early = ends.iter().filter(|end| **end < window / 2).count();
    assert!((5..=15).contains(&early), "{ends:?}");
    assert!(ends.iter().all(|end| *end < window));
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_server_is_left_when_it_is_dropped() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let shared = Arc::new(source.clone());
    let gone = Arc::downgrade(&shared);
    let xds = XdsServer::builder(shared).build();
    let mut client = Client::of_clusters(&xds, "n").await;
    let first = client.response().await;
    drop(xds);
    // The stream does not need the handle.
    client.ack(&first);
    source.publish(&[("a", b"2")]);
    assert_eq!(bodies(&client.response().await), [b"2"]);
    drop(client);
    while gone.strong_count() > 0 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn streams_are_reported_when_their_runtime_stops() {
    let source = TestSource::with_clusters(&[("a", b"1")]);
    let (builder, journal) = observed(&source);
    let xds = builder.build();
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let client = runtime.block_on(async {
            let mut client = Client::open(&xds, SOTW).await;
            client.send(&clusters("n"));
            let first = client.response().await;
            client.ack(&first);
            // The announcer of an earlier runtime is gone; this one has its own.
            source.publish(&[("a", b"2")]);
            client.response().await;
            source.publish(&[("a", b"1")]);
            client
        });
        drop(runtime);
        client
    };
    run();
    run();
    assert_eq!((xds.streams(), source.views()), (0, 0));
    let aborted = journal
        .lines()
        .iter()
        .filter(|l| l.contains("closed Aborted"))
        .count();
    assert_eq!(aborted, 2);
}

/// Streams are opened, served, half-closed and abandoned at every stage, some of them refused, while a publisher
/// publishes as fast as it can.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn clients_that_come_and_go_leave_nothing() {
    const CLIENTS: usize = 8;
    const ROUNDS: usize = 200;

    let source = TestSource::with_clusters(&[("a", b"0")]);
    let (builder, journal) = observed(&source);
    let xds = builder.build();
    let mut steady = Client::of_clusters(&xds, "steady").await;
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        let (xds, source) = (xds.clone(), source.clone());
        clients.spawn(async move {
            for round in 0..ROUNDS {
                let mut client = Client::open(&xds, SOTW).await;
                let stage = (number + round) % 5;
                if stage > 0 {
                    client.send(&clusters("n"));
                }
                if stage == 2 {
                    client.half_close();
                }
                if stage > 2 {
                    let first = client.response().await;
                    client.ack(&first);
                }
                if stage == 4 {
                    source.publish(&[("a", format!("{number} {round}").as_bytes())]);
                    client.response().await;
                }
            }
        });
    }
    clients.join_all().await;
    source.publish(&[("a", b"last")]);
    loop {
        let response = steady.response().await;
        steady.ack(&response);
        if bodies(&response) == [b"last"] {
            break;
        }
    }
    drop(steady);
    xds.drained().await;
    assert_eq!(source.views(), 0);
    let lines = journal.lines();
    let count = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert_eq!(count("opened"), CLIENTS * ROUNDS + 1);
    assert_eq!(count("closed"), CLIENTS * ROUNDS + 1);
    assert_eq!(count("Panicked") + count("Aborted"), 0);
}
