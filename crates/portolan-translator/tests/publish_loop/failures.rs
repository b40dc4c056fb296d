use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use portolan_translator::{Outcome, PublishConfig, PublishObserver, PublishReport, Stage};
use tokio::task::yield_now;
use tokio::time::{advance, sleep};

use crate::bed::{Bed, Model, Opener, ms};

fn panicked(report: &PublishReport) -> Option<(Stage, &str)> {
    match &report.outcome {
        Outcome::Panicked { stage, message, .. } => Some((*stage, message)),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_error_the_last_good_is_kept() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["good"])).await;
    bed.settle(Model::failing()).await;
    assert_eq!(bed.served("edge").unwrap(), ["good"]);
    let report = bed.report("edge");
    assert!(matches!(report.outcome, Outcome::TranslateFailed(_)));
    assert!(report.outcome.to_string().contains("no such backend"));

    bed.settle(Model::of(["better"])).await;
    assert_eq!(bed.served("edge").unwrap(), ["better"]);
}

#[tokio::test(start_paused = true)]
async fn after_a_panic_the_last_good_is_kept() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["good"])).await;
    bed.settle(Model::panicking()).await;
    assert_eq!(bed.served("edge").unwrap(), ["good"]);
    let report = bed.report("edge");
    assert_eq!(
        panicked(&report),
        Some((Stage::Translate, "index out of bounds"))
    );

    bed.settle(Model::of(["better"])).await;
    assert_eq!(bed.served("edge").unwrap(), ["better"]);
}

/// A bed that served `good` and whose translation of the next model has passed its deadline.
async fn timed_out(latch: &Opener) -> Bed {
    let bed = Bed::configured(PublishConfig::default().with_deadline(ms(500)));
    bed.node_connects("edge");
    bed.settle(Model::of(["good"])).await;
    bed.publisher.update(Model::hanging(latch)).unwrap();
    advance(ms(100)).await;
    bed.translations_begin(2).await;
    advance(ms(500)).await;
    bed.publisher.flush().await.unwrap();
    bed
}

#[tokio::test(start_paused = true)]
async fn after_the_deadline_the_last_good_is_kept() {
    let latch = Opener::default();
    let bed = timed_out(&latch).await;
    assert!(matches!(
        bed.report("edge").outcome,
        Outcome::TimedOut { stage: Stage::Translate, deadline, .. } if deadline == ms(500)
    ));
    assert_eq!(bed.served("edge").unwrap(), ["good"]);
}

#[tokio::test(start_paused = true)]
async fn what_comes_late_counts_while_there_is_nothing_newer() {
    let latch = Opener::default();
    let bed = timed_out(&latch).await;
    latch.open();
    bed.until_served("edge", &["hanging"]).await;
    yield_now().await;
    assert!(bed.report("edge").is_current());
}

#[tokio::test(start_paused = true)]
async fn what_comes_later_than_a_newer_translation_is_thrown_away() {
    let latch = Opener::default();
    let bed = timed_out(&latch).await;
    bed.publisher.update(Model::failing()).unwrap();
    bed.publisher.flush().await.unwrap();
    latch.open();
    sleep(ms(1000)).await;
    assert_eq!(bed.served("edge").unwrap(), ["good"]);
    assert!(matches!(
        bed.report("edge").outcome,
        Outcome::TranslateFailed(_)
    ));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_translator_gets_no_more_threads_than_it_may() {
    let config = PublishConfig::default()
        .with_deadline(ms(500))
        .with_concurrency(1);
    let (bed, latch) = (Bed::configured(config), Opener::default());
    bed.node_connects("edge");
    for _ in 0..2 {
        bed.publisher.update(Model::hanging(&latch)).unwrap();
        advance(ms(100)).await;
        bed.translations_begin(1).await;
        advance(ms(500)).await;
        bed.publisher.flush().await.unwrap();
        assert!(matches!(
            bed.report("edge").outcome,
            Outcome::TimedOut { .. }
        ));
    }
    bed.publisher.update(Model::of(["good"])).unwrap();
    bed.publisher.flush().await.unwrap();
    assert!(matches!(bed.report("edge").outcome, Outcome::NotTried));

    latch.open();
    bed.until_served("edge", &["good"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_panics_is_reported() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.cache.panics.store(true, Ordering::Relaxed);
    bed.settle(Model::of(["a"])).await;
    let report = bed.report("edge");
    assert_eq!(
        panicked(&report),
        Some((Stage::Publish, "the cache is broken"))
    );

    bed.cache.panics.store(false, Ordering::Relaxed);
    bed.settle(Model::of(["a"])).await;
    assert_eq!(bed.served("edge").unwrap(), ["a"]);
}

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<(String, bool)>>);

impl PublishObserver<String> for Heard {
    fn reported(&self, group: &String, report: &PublishReport) {
        let mut heard = self.0.lock().unwrap();
        heard.push((group.clone(), report.is_current()));
    }
}

#[tokio::test(start_paused = true)]
async fn the_observer_hears_of_every_group() {
    let heard = Arc::new(Heard::default());
    let bed = Bed::with(|builder| builder.with_observer(heard.clone()));
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    bed.settle(Model::failing()).await;
    let expected = [("edge".to_owned(), true), ("edge".to_owned(), false)];
    assert_eq!(*heard.0.lock().unwrap(), expected);
}

#[derive(Debug)]
struct Panics;

impl PublishObserver<String> for Panics {
    fn reported(&self, _: &String, _: &PublishReport) {
        panic!("an observer's own fault");
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_stops_nothing() {
    let bed = Bed::with(|builder| builder.with_observer(Arc::new(Panics)));
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    bed.settle(Model::of(["b"])).await;
    assert_eq!(bed.served("edge").unwrap(), ["b"]);
}
