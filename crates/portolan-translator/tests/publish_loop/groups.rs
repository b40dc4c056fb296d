use portolan_translator::PublishConfig;
use tokio::time::sleep;

use crate::bed::{Bed, Model, ms};

#[tokio::test(start_paused = true)]
async fn a_group_without_nodes_is_not_translated() {
    let bed = Bed::new();
    bed.settle(Model::of(["a"])).await;
    assert_eq!(bed.translated(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_group_that_comes_later_is_translated_at_once() {
    let bed = Bed::new();
    bed.settle(Model::of(["a"])).await;
    sleep(ms(5)).await;
    bed.node_connects("edge");
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.served("edge").unwrap(), ["a"]);
    assert_eq!(bed.elapsed(), ms(5));
}

#[tokio::test(start_paused = true)]
async fn a_group_that_comes_first_is_translated_with_the_first_model() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.translated(), Vec::<String>::new());
    bed.settle(Model::of(["a"])).await;
    assert_eq!(bed.served("edge").unwrap(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_comes_during_the_debounce_gets_the_newest_model() {
    let bed = Bed::new();
    bed.settle(Model::of(["a"])).await;
    bed.publisher.update(Model::of(["b"])).unwrap();
    bed.node_connects("edge");
    bed.translations_begin(1).await;
    assert_eq!(bed.elapsed(), ms(0));
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.served("edge").unwrap(), ["b"]);
    assert_eq!(bed.translated(), ["edge"], "one translation serves both");
}

#[tokio::test(start_paused = true)]
async fn a_registered_group_is_translated_without_nodes() {
    let bed = Bed::new();
    bed.publisher.serve_group(&"edge".to_owned());
    bed.settle(Model::of(["a"])).await;
    assert_eq!(bed.served("edge").unwrap(), ["a"]);

    bed.publisher.release_group(&"edge".to_owned());
    sleep(ms(60_001)).await;
    assert_eq!(bed.served("edge"), None);
}

#[tokio::test(start_paused = true)]
async fn a_group_is_kept_current_until_its_linger_time_has_passed() {
    let config = PublishConfig::default().with_linger(ms(30_000));
    let bed = Bed::configured(config);
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    bed.last_node_leaves("edge");
    sleep(ms(29_000)).await;
    bed.settle(Model::of(["b"])).await;
    assert_eq!(bed.served("edge").unwrap(), ["b"]);

    sleep(ms(1001)).await;
    assert_eq!(bed.served("edge"), None);
    assert!(bed.publisher.last_report(&"edge".to_owned()).is_none());
    bed.translated();
    bed.settle(Model::of(["c"])).await;
    assert_eq!(bed.translated(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_reconnects_finds_its_group_served() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    bed.last_node_leaves("edge");
    bed.node_connects("edge");
    sleep(ms(120_000)).await;
    assert_eq!(bed.served("edge").unwrap(), ["a"]);
    assert_eq!(bed.translated(), ["edge"], "nothing had changed");
}

#[tokio::test(start_paused = true)]
async fn each_group_is_translated_by_itself() {
    let bed = Bed::new();
    let groups: Vec<_> = (0..20).map(|number| format!("g{number:02}")).collect();
    for group in &groups {
        bed.node_connects(group);
    }
    bed.settle(Model::of(["a"])).await;
    let mut translated = bed.translated();
    translated.sort();
    assert_eq!(translated, groups);
    assert_eq!(bed.publisher.reports().iter().count(), 20);
}
