//! Waiting until nodes have what was handed in. What a cache would tell of streams, the tests tell.

use portolan_core::{DeliverySink, Generation, Node, Settlement, ViewId};
use portolan_translator::{
    Change, NodeOutcome, Outcome, PublishLoop, Publishing, Rollout, WaitError, WaitScope,
    WatchedGroups,
};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{advance, sleep};

use crate::bed::{Bed, Model, Opener, ms};

impl Bed {
    fn stream_opens(&self, view: u64, group: &str, node: &str) {
        self.node_connects(group);
        let (group, node) = (group.to_owned(), Node::new(node));
        self.tracker.opened(&group, ViewId::new(view), &node);
    }

    fn stream_closes(&self, view: u64, group: &str) {
        self.tracker.closed(&group.to_owned(), ViewId::new(view));
    }

    fn stream_settles(&self, view: u64, group: &str, generation: Generation) {
        let settlement = Settlement::new(generation, false);
        self.tracker
            .settled(&group.to_owned(), ViewId::new(view), settlement);
    }

    fn generation(&self, group: &str) -> Generation {
        self.report(group).outcome.generation().unwrap()
    }

    /// Begins to wait for ten seconds.
    async fn waits(&self, scope: WaitScope<String>) -> JoinHandle<Rollout<String>> {
        let publisher = self.publisher.clone();
        let waiting = tokio::spawn(async move { publisher.wait(scope, ms(10_000)).await.unwrap() });
        yield_now().await;
        waiting
    }
}

fn outcomes(rollout: &Rollout<String>) -> Vec<String> {
    let nodes = rollout.nodes();
    nodes
        .map(|(group, node, outcome)| format!("{group}/{node} {outcome}"))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn without_nodes_there_is_nothing_to_wait_for() {
    let bed = Bed::new();
    bed.publisher.serve_group(&"edge".to_owned());
    bed.settle(Model::of(["a"])).await;
    bed.publisher.update(Model::of(["b"])).unwrap();
    let rollout = bed
        .publisher
        .wait(WaitScope::all(), ms(10_000))
        .await
        .unwrap();
    assert_eq!(rollout.groups().count(), 0);
    assert!(rollout.is_accepted());
    assert_eq!(bed.elapsed(), ms(0));
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_the_last_node_has_settled() {
    let bed = Bed::new();
    bed.stream_opens(1, "edge", "a");
    bed.stream_opens(2, "edge", "b");
    bed.publisher.update(Model::of(["x"])).unwrap();
    let waiting = bed.waits(WaitScope::all()).await;
    bed.publisher.flush().await.unwrap();
    bed.stream_settles(1, "edge", bed.generation("edge"));
    sleep(ms(500)).await;
    assert!(!waiting.is_finished());
    bed.stream_settles(2, "edge", bed.generation("edge"));
    let rollout = waiting.await.unwrap();
    assert_eq!(outcomes(&rollout), ["edge/a accepted", "edge/b accepted"]);
    let edge = rollout.get(&"edge".to_owned()).unwrap();
    assert_eq!(
        edge.publishing(),
        Publishing::Published(bed.generation("edge"))
    );
    assert!(rollout.is_accepted());
    assert_eq!(bed.elapsed(), ms(500));
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_it_says_how_far_it_got() {
    let bed = Bed::new();
    for (view, node) in ["a", "b", "c"].into_iter().enumerate() {
        bed.stream_opens(view as u64, "edge", node);
    }
    bed.publisher.update(Model::of(["x"])).unwrap();
    let waiting = bed.waits(WaitScope::all()).await;
    bed.publisher.flush().await.unwrap();
    bed.stream_settles(0, "edge", bed.generation("edge"));
    bed.stream_closes(1, "edge");
    let rollout = waiting.await.unwrap();
    assert_eq!(
        outcomes(&rollout),
        ["edge/a accepted", "edge/b gone", "edge/c pending"]
    );
    assert!(!rollout.is_accepted());
    assert_eq!(bed.elapsed(), ms(10_000));
}

#[tokio::test(start_paused = true)]
async fn a_publish_that_changes_nothing_waits_for_what_there_is() {
    let bed = Bed::new();
    bed.stream_opens(1, "edge", "a");
    bed.settle(Model::of(["x"])).await;
    bed.stream_settles(1, "edge", bed.generation("edge"));
    bed.publisher.update(Model::of(["x"])).unwrap();
    let rollout = bed
        .publisher
        .wait(WaitScope::all(), ms(10_000))
        .await
        .unwrap();
    assert!(matches!(
        bed.report("edge").outcome,
        Outcome::Unchanged { .. }
    ));
    assert_eq!(outcomes(&rollout), ["edge/a accepted"]);
    assert_eq!(bed.elapsed(), ms(100), "the debounce and no more");
}

#[tokio::test(start_paused = true)]
async fn a_group_whose_publish_fails_says_so_and_holds_up_nobody() {
    let bed = Bed::new();
    bed.stream_opens(1, "edge", "a");
    bed.settle(Model::of(["x"])).await;
    bed.publisher.update(Model::numbered(0..0)).unwrap();
    let rollout = bed
        .publisher
        .wait(WaitScope::all(), ms(10_000))
        .await
        .unwrap();
    let failed: Vec<_> = rollout.not_published().collect();
    assert_eq!(failed.len(), 1);
    let (group, edge) = failed[0];
    assert_eq!(
        (group.as_str(), edge.publishing()),
        ("edge", Publishing::NotPublished)
    );
    assert!(matches!(
        edge.report().unwrap().outcome,
        Outcome::Refused(_)
    ));
    assert_eq!(edge.nodes().count(), 0);
    assert!(!rollout.is_accepted());
    assert_eq!(bed.elapsed(), ms(100));
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_not_translated_in_time_is_pending() {
    let (bed, latch) = (Bed::new(), Opener::default());
    bed.stream_opens(1, "edge", "a");
    bed.publisher.update(Model::hanging(&latch)).unwrap();
    let waiting = tokio::spawn({
        let publisher = bed.publisher.clone();
        async move { publisher.wait(WaitScope::all(), ms(300)).await.unwrap() }
    });
    bed.translations_begin(1).await;
    advance(ms(300)).await;
    let rollout = waiting.await.unwrap();
    let edge = rollout.get(&"edge".to_owned()).unwrap();
    assert_eq!(edge.publishing(), Publishing::Pending);
    assert!(edge.report().is_none());
    assert_eq!(outcomes(&rollout), ["edge/a pending"]);
}

#[tokio::test(start_paused = true)]
async fn before_there_is_a_model_nothing_is_published() {
    let bed = Bed::new();
    bed.stream_opens(1, "edge", "a");
    let rollout = bed
        .publisher
        .wait(WaitScope::all(), ms(10_000))
        .await
        .unwrap();
    let edge = rollout.get(&"edge".to_owned()).unwrap();
    assert_eq!(edge.publishing(), Publishing::NotPublished);
    assert!(edge.report().is_none());
    assert_eq!(bed.elapsed(), ms(0));
}

#[tokio::test(start_paused = true)]
async fn a_later_publication_takes_the_place_of_one_that_is_skipped() {
    let bed = Bed::new();
    bed.stream_opens(1, "edge", "a");
    bed.publisher.update(Model::of(["x"])).unwrap();
    let waiting = bed.waits(WaitScope::all()).await;
    bed.publisher.flush().await.unwrap();
    bed.settle(Model::of(["y"])).await;
    assert!(!waiting.is_finished());
    let newer = bed.generation("edge");
    bed.stream_settles(1, "edge", newer);
    let rollout = waiting.await.unwrap();
    let (_, _, outcome) = rollout.nodes().next().unwrap();
    assert!(matches!(outcome, NodeOutcome::Superseded { by, .. } if *by == newer));
    assert!(rollout.is_accepted());
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_a_later_model_is_not_held_against_an_earlier_one() {
    let bed = Bed::new();
    bed.stream_opens(1, "edge", "a");
    bed.settle(Model::of(["x"])).await;
    let published = bed.generation("edge");
    bed.publisher.update(Model::of(["y"])).unwrap();
    let waiting = bed.waits(WaitScope::all()).await;
    // The model that it waits for is published, and the next fails, before the wait has looked.
    advance(ms(100)).await;
    bed.until_served("edge", &["y"]).await;
    bed.settle(Model::failing()).await;
    let newer = published.next();
    bed.stream_settles(1, "edge", newer);
    let rollout = waiting.await.unwrap();
    let edge = rollout.get(&"edge".to_owned()).unwrap();
    assert_eq!(edge.publishing(), Publishing::Published(newer));
    assert_eq!(outcomes(&rollout), ["edge/a accepted"]);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_no_change_concerns_is_waited_for_on_what_it_has() {
    let bed = Bed::new();
    bed.stream_opens(1, "edge", "a");
    bed.settle(Model::of(["x"])).await;
    bed.stream_settles(1, "edge", bed.generation("edge"));
    let change = Change::config().in_groups(["inner".to_owned()]);
    bed.publisher.update_with(Model::of(["y"]), change).unwrap();
    let rollout = bed
        .publisher
        .wait(WaitScope::all(), ms(10_000))
        .await
        .unwrap();
    assert_eq!(outcomes(&rollout), ["edge/a accepted"]);
    assert_eq!(bed.elapsed(), ms(0));
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_ends_ends_the_wait() {
    let bed = Bed::new();
    bed.stream_opens(1, "edge", "a");
    bed.publisher.update(Model::of(["x"])).unwrap();
    let publisher = bed.publisher.clone();
    let waiting = tokio::spawn(async move { publisher.wait(WaitScope::all(), ms(10_000)).await });
    bed.task.abort();
    assert!(matches!(waiting.await.unwrap(), Err(WaitError::Closed(_))));
    let again = bed.publisher.wait(WaitScope::all(), ms(1)).await;
    assert!(matches!(again, Err(WaitError::Closed(_))));
}

#[tokio::test(start_paused = true)]
async fn without_a_tracker_there_can_be_no_waiting() {
    let bed = Bed::new();
    let cache = bed.cache.clone();
    let (publisher, _loop) =
        PublishLoop::builder(bed.translator(), cache, WatchedGroups::none()).build();
    let waited = publisher.wait(WaitScope::all(), ms(1)).await;
    assert!(matches!(waited, Err(WaitError::Untracked)));
}
