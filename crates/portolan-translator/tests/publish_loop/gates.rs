use portolan_translator::{
    Change, Gate, GateRefusal, MassDeletion, Outcome, Proposal, PublishConfig, PublishReport, Stage,
};

use crate::bed::{Bed, Model};

fn mass_deletion(report: &PublishReport) -> Option<&MassDeletion> {
    match &report.outcome {
        Outcome::Refused(refusal) => refusal.reason().downcast_ref(),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_without_clusters_is_refused() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    bed.settle(Model::numbered(0..0)).await;
    assert_eq!(bed.served("edge").unwrap(), ["a"]);
    let report = bed.report("edge");
    assert_eq!(
        mass_deletion(&report).unwrap().losses()[0].lost().total(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_first_model_may_be_empty() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::numbered(0..0)).await;
    assert_eq!(bed.served("edge").unwrap(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_mass_deletion_can_be_allowed_for_one_change() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::numbered(0..100)).await;
    let allowed = Change::config().allow_mass_deletion();
    bed.publisher
        .update_with(Model::numbered(0..20), allowed)
        .unwrap();
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.served("edge").unwrap().len(), 20);

    bed.settle(Model::numbered(0..1)).await;
    assert!(mass_deletion(&bed.report("edge")).is_some());
}

#[tokio::test(start_paused = true)]
async fn an_allowance_lasts_until_the_change_is_published() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::numbered(0..100)).await;
    let allowed = Change::config().allow_mass_deletion();
    bed.publisher
        .update_with(Model::failing(), allowed)
        .unwrap();
    bed.publisher.flush().await.unwrap();
    bed.settle(Model::numbered(0..20)).await;
    assert_eq!(bed.served("edge").unwrap().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn the_guard_can_be_switched_off() {
    let config = PublishConfig::default().with_mass_deletion_guard(None);
    let bed = Bed::configured(config);
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    bed.settle(Model::numbered(0..0)).await;
    assert_eq!(bed.served("edge").unwrap(), Vec::<String>::new());
}

#[derive(Debug)]
struct Frozen;

impl Gate<String> for Frozen {
    fn check(&self, proposal: &Proposal<'_, String>) -> Result<(), GateRefusal> {
        match proposal.previous() {
            None => Ok(()),
            Some(_) => Err(GateRefusal::new("changes are frozen until Monday")),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_gate_refuses_is_not_published() {
    let bed = Bed::with(|builder| builder.with_gate(Frozen));
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    let allowed = Change::config().allow_mass_deletion();
    bed.publisher
        .update_with(Model::of(["b"]), allowed)
        .unwrap();
    let reports = bed.publisher.flush().await.unwrap();
    assert_eq!(bed.served("edge").unwrap(), ["a"]);
    let failed: Vec<_> = reports.failed().collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(
        failed[0].1.outcome.to_string(),
        "refused: changes are frozen until Monday"
    );
}

#[derive(Debug)]
struct Broken;

impl Gate<String> for Broken {
    fn check(&self, _: &Proposal<'_, String>) -> Result<(), GateRefusal> {
        panic!("a gate's own fault");
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_panics_lets_nothing_through() {
    let bed = Bed::with(|builder| builder.with_gate(Broken));
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    assert_eq!(bed.served("edge"), None);
    let outcome = &bed.report("edge").outcome;
    assert!(matches!(
        outcome,
        Outcome::Panicked {
            stage: Stage::Gates,
            ..
        }
    ));
}
