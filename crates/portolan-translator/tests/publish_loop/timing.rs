use std::sync::Arc;

use portolan_core::SnapshotWriter;
use portolan_core::well_known::CLUSTER;
use portolan_translator::{Change, Outcome};
use tokio::task::yield_now;
use tokio::time::{advance, sleep};

use crate::bed::{Bed, Model, Opener, ms};

#[tokio::test(start_paused = true)]
async fn the_first_change_is_published_at_once() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    assert_eq!(bed.served("edge").unwrap(), ["a"]);
    assert_eq!(bed.elapsed(), ms(0));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_updates_are_few_translations_and_the_newest_wins() {
    let bed = Bed::new();
    bed.node_connects("edge");
    for number in 0..1000 {
        bed.publisher
            .update(Model::of([format!("v{number}")]))
            .unwrap();
        sleep(ms(1)).await;
    }
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.served("edge").unwrap(), ["v999"]);
    assert_eq!(
        bed.translated().len(),
        2,
        "the leading edge, and the maximum"
    );
    assert!(bed.elapsed() <= ms(1001), "{:?}", bed.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_burst_in_one_moment_is_one_translation() {
    let bed = Bed::new();
    bed.node_connects("edge");
    for number in 0..1000 {
        bed.publisher
            .update(Model::of([format!("v{number}")]))
            .unwrap();
    }
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.served("edge").unwrap(), ["v999"]);
    assert_eq!(bed.translated().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn endpoint_changes_wait_less_than_others() {
    for (change, expected) in [(Change::config(), ms(101)), (Change::endpoints(), ms(11))] {
        let bed = Bed::new();
        bed.node_connects("edge");
        bed.settle(Model::of(["a"])).await;
        sleep(ms(1)).await;
        bed.publisher.update_with(Model::of(["b"]), change).unwrap();
        bed.publisher.flush().await.unwrap();
        assert_eq!(bed.served("edge").unwrap(), ["b"]);
        assert_eq!(bed.elapsed(), expected);
        assert_eq!(bed.report("edge").times.wait, expected - ms(1));
    }
}

#[tokio::test(start_paused = true)]
async fn unchanged_content_is_not_published_again() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["a", "b"])).await;
    let first = bed.cache.get(&"edge".to_owned()).unwrap();
    bed.settle(Model::of(["b", "a"])).await;
    assert!(matches!(
        bed.report("edge").outcome,
        Outcome::Unchanged { .. }
    ));
    assert_eq!(bed.report("edge").revision.get(), 2);
    assert_eq!(bed.cache.get(&"edge".to_owned()).unwrap().id(), first.id());
}

#[tokio::test(start_paused = true)]
async fn a_publication_shares_what_did_not_change() {
    let bed = Bed::new();
    bed.node_connects("edge");
    let cluster_a = |bed: &Bed| {
        let snapshot = bed.cache.get(&"edge".to_owned()).unwrap();
        snapshot.set(&CLUSTER).unwrap().get("a").unwrap().body()
    };
    bed.settle(Model::of(["a"])).await;
    let before = cluster_a(&bed);
    bed.settle(Model::of(["a", "b"])).await;
    assert_eq!(cluster_a(&bed).as_ptr(), before.as_ptr());
}

#[tokio::test(start_paused = true)]
async fn models_that_are_shared_already_are_taken_as_they_are() {
    let bed = Bed::new();
    bed.publisher.serve_group(&"edge".to_owned());
    let model = Arc::new(Model::of(["a"]));
    bed.publisher.update(Arc::clone(&model)).unwrap();
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.served("edge").unwrap(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_group_holds_up_no_other() {
    let (bed, latch) = (Bed::new(), Opener::default());
    bed.node_connects("slow");
    bed.node_connects("edge");
    bed.publisher
        .update(Model::hanging_for("slow", &latch))
        .unwrap();
    bed.until_served("edge", &["hanging"]).await;
    bed.publisher.update(Model::of(["a"])).unwrap();
    yield_now().await;
    advance(ms(100)).await;
    bed.until_served("edge", &["a"]).await;
    assert_eq!(bed.elapsed(), ms(100));
    assert_eq!(bed.served("slow"), None);

    latch.open();
    bed.publisher.flush().await.unwrap();
    assert_eq!(
        bed.served("slow").unwrap(),
        ["a"],
        "the newest model comes next"
    );
}
