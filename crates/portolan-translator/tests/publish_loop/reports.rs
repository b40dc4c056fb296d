//! What a report says.

use std::sync::Arc;

use portolan_core::SnapshotWriter;
use portolan_core::well_known::CLUSTER;
use portolan_translator::{
    Gate, GateRefusal, MalformedResource, Outcome, Proposal, PublishConfig, Stage,
};
use tokio::task::yield_now;
use tokio::time::{advance, sleep};

use crate::bed::{Bed, Latch, Model, Opener, ms};

#[tokio::test(start_paused = true)]
async fn a_report_says_what_changed_by_type_and_name() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["a", "b"])).await;
    let first = bed.report("edge");
    assert_eq!(first.diff.len(), 1);
    assert_eq!(first.diff[0].added().to_string(), "2 (a, b)");
    assert_eq!(first.diff[0].before(), None);

    bed.settle(Model::of(["b", "c"])).await;
    let second = bed.report("edge");
    let clusters = &second.diff[0];
    assert_eq!(*clusters.type_url(), CLUSTER);
    assert_eq!(clusters.added().to_string(), "1 (c)");
    assert_eq!(clusters.removed().to_string(), "1 (a)");
    assert_eq!(clusters.changed().total(), 0);
    assert_eq!(clusters.before(), Some(first.diff[0].after()));
    let shown = bed
        .cache
        .get(&"edge".to_owned())
        .unwrap()
        .version_info(&CLUSTER);
    assert_eq!(*clusters.after(), shown);
}

#[tokio::test(start_paused = true)]
async fn a_report_lists_some_names_and_counts_all() {
    let bed = Bed::configured(PublishConfig::default().with_reported_names(2));
    bed.node_connects("edge");
    bed.settle(Model::numbered(0..1000)).await;
    let report = bed.report("edge");
    let added = report.diff[0].added();
    assert_eq!((added.total(), added.first().len()), (1000, 2));
}

#[tokio::test(start_paused = true)]
async fn a_report_says_how_long_each_stage_took() {
    let (bed, latch) = (Bed::new(), Opener::default());
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    sleep(ms(1)).await;
    bed.publisher.update(Model::hanging(&latch)).unwrap();
    yield_now().await;
    advance(ms(100)).await;
    bed.translations_begin(2).await;
    advance(ms(70)).await;
    latch.open();
    bed.publisher.flush().await.unwrap();
    let times = bed.report("edge").times;
    assert_eq!((times.wait, times.translate), (ms(100), ms(70)));
    assert_eq!((times.gates, times.publish), (ms(0), ms(0)));
    assert_eq!(times.total(), ms(170));
}

#[derive(Debug)]
struct Thinks(Arc<Latch>);

impl Gate<String> for Thinks {
    fn check(&self, _: &Proposal<'_, String>) -> Result<(), GateRefusal> {
        self.0.hold();
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_hangs_is_told_from_a_translator() {
    let opener = Opener::default();
    let latch = opener.latch();
    let config = PublishConfig::default().with_deadline(ms(500));
    let gate = Thinks(Arc::clone(&latch));
    let bed = Bed::with(|builder| builder.with_config(config).with_gate(gate));
    bed.node_connects("edge");
    bed.publisher.update(Model::of(["a"])).unwrap();
    latch.holds_one().await;
    advance(ms(500)).await;
    bed.publisher.flush().await.unwrap();
    let report = bed.report("edge");
    assert!(matches!(
        report.outcome,
        Outcome::TimedOut {
            stage: Stage::Gates,
            ..
        }
    ));
    assert_eq!(
        (report.times.translate, report.times.gates),
        (ms(0), ms(500))
    );
    assert_eq!(bed.served("edge"), None);
}

/// Elsewhere what could not be decoded was published, and the error of publishing thrown away.
#[tokio::test(start_paused = true)]
async fn b64_a_body_that_is_no_message_is_refused_and_named() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["good"])).await;
    bed.settle(Model::torn()).await;
    assert_eq!(bed.served("edge").unwrap(), ["good"]);
    let report = bed.report("edge");
    let Outcome::Refused(refusal) = &report.outcome else {
        panic!("{:?}", report.outcome);
    };
    let found: &MalformedResource = refusal.reason().downcast_ref().unwrap();
    assert_eq!(found.name().as_str(), "torn");
}

#[tokio::test(start_paused = true)]
async fn bodies_are_not_looked_at_where_nobody_wants_that() {
    let bed = Bed::configured(PublishConfig::default().with_unchecked_bodies());
    bed.node_connects("edge");
    bed.settle(Model::torn()).await;
    assert_eq!(bed.served("edge").unwrap(), ["torn"]);
}

#[tokio::test(start_paused = true)]
async fn the_last_report_tells_of_a_failure_and_the_publication_stays() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["good"])).await;
    let published = bed.report("edge").outcome.generation();
    bed.settle(Model::failing()).await;
    assert_eq!(bed.report("edge").outcome.generation(), None);
    bed.settle(Model::of(["good"])).await;
    let again = bed.report("edge");
    assert!(matches!(again.outcome, Outcome::Unchanged { .. }));
    assert_eq!(again.outcome.generation(), published);
}
