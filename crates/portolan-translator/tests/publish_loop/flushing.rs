use portolan_core::SnapshotWriter;
use portolan_core::well_known::CLUSTER;
use portolan_translator::Outcome;
use tokio::time::sleep;

use crate::bed::{Bed, Model, Opener, ms};

#[tokio::test(start_paused = true)]
async fn a_flush_without_anything_to_do_returns_at_once() {
    let bed = Bed::new();
    let reports = bed.publisher.flush().await.unwrap();
    assert_eq!(reports.iter().count(), 0);
    assert_eq!(bed.elapsed(), ms(0));
}

#[tokio::test(start_paused = true)]
async fn a_flush_waits_for_the_debounce_and_does_not_shorten_it() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    sleep(ms(1)).await;
    let revision = bed.publisher.update(Model::of(["b"])).unwrap();
    let reports = bed.publisher.flush().await.unwrap();
    assert_eq!(bed.elapsed(), ms(101));
    let report = reports.get(&"edge".to_owned()).unwrap();
    assert_eq!(report.revision, revision);
    assert!(matches!(
        report.outcome,
        Outcome::Published { generation, .. } if generation.get() == 2
    ));
}

#[tokio::test(start_paused = true)]
async fn a_flush_does_not_wait_for_what_comes_after_it() {
    let (bed, latch) = (Bed::new(), Opener::default());
    bed.node_connects("edge");
    bed.publisher.update(Model::of(["a"])).unwrap();
    let flush = tokio::spawn({
        let publisher = bed.publisher.clone();
        async move { publisher.flush().await.map(|_| ()) }
    });
    bed.translations_begin(1).await;
    bed.publisher.update(Model::hanging(&latch)).unwrap();
    assert_eq!(flush.await.unwrap(), Ok(()));
    assert_eq!(bed.served("edge").unwrap(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn flushes_of_many_callers_all_return() {
    let bed = Bed::new();
    bed.node_connects("edge");
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..50 {
        let publisher = bed.publisher.clone();
        callers.spawn(async move {
            sleep(ms(number * 7)).await;
            let revision = publisher.update(Model::of([format!("v{number}")])).unwrap();
            let reports = publisher.flush().await.unwrap();
            assert!(reports.get(&"edge".to_owned()).unwrap().revision >= revision);
        });
    }
    assert_eq!(callers.join_all().await.len(), 50);
}

#[tokio::test(start_paused = true)]
async fn the_loop_ends_with_its_last_publisher_and_publishes_what_it_was_given() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    bed.publisher.update(Model::of(["b"])).unwrap();
    bed.publisher.serve_group(&"inner".to_owned());
    let (cache, task) = (bed.cache, bed.task);
    drop(bed.publisher);
    task.await.unwrap();
    for group in ["edge", "inner"] {
        let snapshot = cache.get(&group.to_owned()).unwrap();
        assert!(snapshot.set(&CLUSTER).unwrap().contains("b"));
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_loop_publishers_are_told() {
    let bed = Bed::new();
    bed.task.abort();
    assert!(bed.task.await.unwrap_err().is_cancelled());
    assert!(bed.publisher.update(Model::of(["a"])).is_err());
    assert!(bed.publisher.flush().await.is_err());
}
