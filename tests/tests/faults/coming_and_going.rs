//! Clients that come and go, beside others that stay and publishers that do not rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use portolan::core::{Refusal, well_known::CLUSTER};
use portolan::server::{Admission, AdmissionRequest, BoxFuture};
use portolan_tests::{Delta, Sotw, Stream};
use tokio::task::JoinSet;
use tonic::Code;

use crate::plane::{Plane, follow_until, publish};

const CLIENTS: usize = 200;

/// Refuses every other node, and lets others run before it says so.
#[derive(Debug)]
struct EveryOther;

impl Admission for EveryOther {
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
        let number: usize = request.node().id().parse().unwrap_or_default();
        Box::pin(async move {
            tokio::task::yield_now().await;
            match number.is_multiple_of(2) {
                true => Ok(()),
                false => Err(Refusal::denied("every other")),
            }
        })
    }
}

/// One client's life: it opens a stream, is refused or takes what there is, and leaves at some stage. Something is
/// published for its neighbour when it does.
async fn come_and_go(plane: &Plane, number: usize, round: usize) {
    let node = number.to_string();
    let opened = Sotw::open(plane.transport(), &node, &[CLUSTER]).await;
    let mut stream = opened.expect("headers come before anything is decided");
    match (round + number / 2) % 4 {
        // It does not wait for an answer.
        0 => {}
        1 => {
            let Stream {
                requests,
                mut responses,
            } = stream;
            drop(requests);
            while let Ok(Some(_)) = responses.message().await {}
        }
        _ if number.is_multiple_of(2) => {
            let first = stream.next().await.expect("it is admitted");
            stream.ack(&first);
        }
        _ => {
            let refused = stream.next().await.expect_err("it is not admitted");
            assert_eq!(refused.code(), Code::PermissionDenied);
        }
    }
    let neighbour = (number + 1) % CLIENTS;
    plane.publish(&neighbour.to_string(), round);
}

/// Elsewhere a change that was handed to a stream just then closing took the whole control plane down.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b56_publishing_while_streams_close_harms_nobody() {
    const ROUNDS: usize = 8;

    let plane = Arc::new(Plane::build(|xds| xds.with_admission(Arc::new(EveryOther))));
    for number in 0..CLIENTS {
        plane.publish(&number.to_string(), 0);
    }
    let done = Arc::new(AtomicBool::new(false));
    let publisher = tokio::task::spawn_blocking({
        let (plane, done) = (Arc::clone(&plane), Arc::clone(&done));
        move || {
            let mut revision = 0;
            while !done.load(Ordering::SeqCst) {
                revision += 1;
                plane.publish(&(revision % CLIENTS).to_string(), revision);
                std::thread::yield_now();
            }
        }
    });
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let plane = Arc::clone(&plane);
        clients.spawn(async move {
            for round in 0..ROUNDS {
                come_and_go(&plane, number, round).await;
            }
        });
    }
    clients.join_all().await;
    done.store(true, Ordering::SeqCst);
    publisher.await.expect("the publisher did not panic");
    plane.drained().await;
    plane.ends.check(CLIENTS * ROUNDS);
}

/// Elsewhere the end of a delta stream cancelled a watch of the same number in another table, that of a stream that
/// went on, and a client that left in the middle of a response brought the server down.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b94_delta_streams_that_are_cut_off_leave_the_other_streams_of_their_node_alone() {
    const ROUNDS: usize = 20;
    const EACH: usize = 50;

    let plane = Plane::build(|xds| xds);
    let revisions = Arc::new(AtomicUsize::new(0));
    let next = |revisions: &AtomicUsize| 1 + revisions.fetch_add(1, Ordering::SeqCst);
    plane.publish("n", 0);
    let opened = Sotw::open(plane.transport(), "n", &[CLUSTER]).await;
    let mut steady = opened.expect("it is served");
    let reached = follow_until(&mut steady, 0).await;
    reached.expect("it is served");
    for _ in 0..ROUNDS {
        let mut leaving = JoinSet::new();
        for number in 0..EACH {
            let (transport, writer) = (plane.transport(), plane.writer.clone());
            let revisions = Arc::clone(&revisions);
            leaving.spawn(async move {
                let opened = Delta::open(transport, "n", &[CLUSTER]).await;
                let mut stream = opened.expect("it is served");
                for _ in 0..number % 3 {
                    stream.next().await.expect("it is served");
                    publish(&writer, "n", next(&revisions));
                }
            });
        }
        leaving.join_all().await;
        let last = next(&revisions);
        plane.publish("n", last);
        let reached = follow_until(&mut steady, last).await;
        reached.expect("it goes on");
        while plane.xds.streams() > 1 {
            tokio::task::yield_now().await;
        }
        assert_eq!(plane.writer.streams(&"n".to_owned()), 1);
    }
    drop(steady);
    plane.drained().await;
    plane.ends.check(ROUNDS * EACH + 1);
}
