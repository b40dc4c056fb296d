//! Whatever a translator does, the last good snapshot keeps being served, also to those who come later, and the report
//! says what happened.

use std::sync::Arc;
use std::time::Duration;

use portolan::translator::{
    GateRefusal, MassDeletion, Outcome, PublishConfig, PublishReport, Stage,
};
use portolan_testkit::fixture::{Fixture, listener, route, static_cluster};
use portolan_testkit::{EnvoyClient, EnvoyMux};
use tokio::task::yield_now;
use tokio::time::advance;

use crate::bed::{Fault, Model, Opener, Plane};

const DEADLINE: Duration = Duration::from_secs(2);

fn good() -> Vec<Fixture> {
    vec![static_cluster("a"), listener("l", "r"), route("r", ["a"])]
}

/// Serves a good model, hands in a bad one, and asserts that clients old and new are served the good one, and that a
/// better one gets through. Gives the report.
async fn keeps_last_good(bad: Model) -> Arc<PublishReport> {
    let plane = Plane::configured(PublishConfig::default().with_deadline(DEADLINE));
    let mut old = plane.node("old", EnvoyClient::new(EnvoyMux::Delta));
    plane.settle(Model::of(good())).await;
    old.drive();
    old.skip();

    let hangs = matches!(bad.fault, Some(Fault::Hang(_)));
    plane.publisher.update(bad).unwrap();
    if hangs {
        // Past the debounce, and then past the deadline: time does not pass by itself while a translator works.
        yield_now().await;
        advance(Duration::from_millis(100)).await;
        yield_now().await;
        advance(DEADLINE).await;
    }
    let report = plane.flush().await;
    assert!(!report.is_current());

    old.drive();
    old.expect_quiet();
    let new = plane.node("new", EnvoyClient::new(EnvoyMux::Legacy));
    for client in [&old.client, &new.client] {
        assert!(client.clusters().contains_key("a"));
        assert!(client.listeners().contains_key("l"));
        assert!(client.routes().contains_key("r"));
    }

    let better = good().into_iter().chain([static_cluster("b")]);
    plane.settle(Model::of(better)).await;
    old.drive();
    assert!(old.client.clusters().contains_key("b"));
    report
}

fn refusal(report: &PublishReport) -> &GateRefusal {
    match &report.outcome {
        Outcome::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_translator_that_panics_keeps_the_last_good_snapshot() {
    let report = keeps_last_good(Model {
        fault: Some(Fault::Panic),
        ..Model::default()
    })
    .await;
    assert!(matches!(
        &report.outcome,
        Outcome::Panicked { stage: Stage::Translate, message, .. } if message == "a translator's own fault"
    ));
}

#[tokio::test(start_paused = true)]
async fn a_translator_that_hangs_keeps_the_last_good_snapshot() {
    let opener = Opener::default();
    let report = keeps_last_good(Model {
        fault: Some(Fault::Hang(opener.latch())),
        ..Model::default()
    })
    .await;
    assert!(matches!(
        report.outcome,
        Outcome::TimedOut {
            stage: Stage::Translate,
            deadline: DEADLINE,
            ..
        }
    ));
    assert_eq!(report.times.translate, DEADLINE);
}

#[tokio::test(start_paused = true)]
async fn a_translator_that_returns_nothing_keeps_the_last_good_snapshot() {
    let report = keeps_last_good(Model::default()).await;
    let refused: &MassDeletion = refusal(&report).reason().downcast_ref().unwrap();
    assert_eq!(
        refused.losses().len(),
        2,
        "the last cluster and the last listener"
    );
    let removed: usize = report.diff.iter().map(|diff| diff.removed().total()).sum();
    assert_eq!(removed, 3, "it says all that would have gone");
}

/// What can be told without knowing what resources mean: names that occur twice, resources without a name or a type,
/// bodies that are no message (see the loop's own tests; these fixtures have texts for bodies), and the loss of most of
/// what there is. What is well-formed and wrong reaches clients, who reject it.
#[tokio::test(start_paused = true)]
async fn a_translator_that_returns_garbage_keeps_the_last_good_snapshot() {
    let twice = good().into_iter().chain([static_cluster("a").revision(2)]);
    let unnamed = good().into_iter().chain([static_cluster("")]);
    let untyped = good().into_iter().chain([Fixture::new("", "x")]);
    for (resources, complaint) in [
        (twice.collect::<Vec<_>>(), "two resources of type"),
        (unnamed.collect(), "has no name"),
        (untyped.collect(), "has no type URL"),
    ] {
        let report = keeps_last_good(Model::of(resources)).await;
        assert!(matches!(report.outcome, Outcome::TranslateFailed(_)));
        let text = report.outcome.to_string();
        assert!(text.contains(complaint), "{text}");
    }
    let renamed = [static_cluster("z"), route("r", ["z"])];
    let report = keeps_last_good(Model::of(renamed)).await;
    assert!(refusal(&report).reason().is::<MassDeletion>());
}
