//! Whom a change concerns, and what of it is translated.

use portolan_core::well_known::ENDPOINT;
use portolan_core::{Resource, ResourceError, SnapshotBuilder, SnapshotWriter};
use portolan_translator::{Change, Extent, Translator};
use tokio::time::sleep;

use crate::bed::{Bed, Model, message, ms};

#[tokio::test(start_paused = true)]
async fn a_change_that_names_groups_is_translated_for_them_alone() {
    let bed = Bed::new();
    for group in ["a", "b", "c"] {
        bed.node_connects(group);
    }
    bed.settle(Model::of(["old"])).await;
    bed.translated();
    let change = Change::config().in_groups(["b".to_owned(), "nobody".to_owned()]);
    let revision = bed
        .publisher
        .update_with(Model::of(["new"]), change)
        .unwrap();
    let reports = bed.publisher.flush().await.unwrap();
    assert_eq!(bed.translated(), ["b"]);
    assert_eq!(bed.served("a").unwrap(), ["old"]);
    assert_eq!(bed.served("b").unwrap(), ["new"]);
    assert_eq!(reports.get(&"b".to_owned()).unwrap().revision, revision);

    bed.node_connects("d");
    bed.publisher.flush().await.unwrap();
    assert_eq!(
        bed.served("d").unwrap(),
        ["new"],
        "whoever comes gets the newest"
    );
}

#[tokio::test(start_paused = true)]
async fn a_flush_does_not_wait_for_groups_that_nothing_concerns() {
    let bed = Bed::new();
    bed.node_connects("a");
    bed.settle(Model::of(["old"])).await;
    sleep(ms(5)).await;
    let change = Change::config().in_groups(["nobody".to_owned()]);
    bed.publisher
        .update_with(Model::of(["new"]), change)
        .unwrap();
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.elapsed(), ms(5));
}

/// The endpoints of a model whose clusters the scripted translator makes.
#[derive(Debug)]
struct Endpoints;

impl Translator<Model, String> for Endpoints {
    type Error = ResourceError;

    fn translate(
        &self,
        model: &Model,
        _: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        for cluster in model.clusters() {
            out.insert(Resource::builder(ENDPOINT, cluster, message(cluster)))?;
        }
        Ok(())
    }
}

fn endpoints(bed: &Bed) -> Vec<String> {
    let snapshot = bed.cache.get(&"edge".to_owned()).unwrap();
    let endpoints = snapshot.set(&ENDPOINT).unwrap();
    endpoints.iter().map(|e| e.name().to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn of_a_change_of_endpoints_endpoints_are_translated() {
    let bed = Bed::with(|builder| builder.with_endpoint_translator(Endpoints));
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    bed.translated();
    let change = Change::endpoints();
    bed.publisher.update_with(Model::of(["b"]), change).unwrap();
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.translated(), Vec::<String>::new());
    assert_eq!(bed.report("edge").extent, Extent::Endpoints);
    assert_eq!(bed.served("edge").unwrap(), ["a"], "all else stays");
    assert_eq!(endpoints(&bed), ["b"]);

    let change = Change::endpoints();
    bed.publisher.update_with(Model::of(["c"]), change).unwrap();
    bed.publisher.flush().await.unwrap();
    assert_eq!(endpoints(&bed), ["c"], "what is left out is gone");
}

#[tokio::test(start_paused = true)]
async fn a_change_of_endpoints_that_takes_others_along_is_translated_in_full() {
    let bed = Bed::with(|builder| builder.with_endpoint_translator(Endpoints));
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    sleep(ms(1)).await;
    bed.publisher.update(Model::of(["b"])).unwrap();
    let change = Change::endpoints();
    bed.publisher.update_with(Model::of(["c"]), change).unwrap();
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.report("edge").extent, Extent::Everything);
    assert_eq!(bed.served("edge").unwrap(), ["c"]);
    assert_eq!(bed.elapsed(), ms(11));
}

#[tokio::test(start_paused = true)]
async fn without_a_translator_for_endpoints_everything_is_translated() {
    let bed = Bed::new();
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    let change = Change::endpoints();
    bed.publisher.update_with(Model::of(["b"]), change).unwrap();
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.report("edge").extent, Extent::Everything);
    assert_eq!(bed.served("edge").unwrap(), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn endpoints_are_put_into_nothing_but_what_the_loop_published() {
    let bed = Bed::with(|builder| builder.with_endpoint_translator(Endpoints));
    bed.node_connects("edge");
    bed.settle(Model::of(["a"])).await;
    let mut foreign = bed.cache.get(&"edge".to_owned()).unwrap().edit();
    let resource = Resource::builder(ENDPOINT, "foreign", message("foreign"));
    foreign.insert(resource).unwrap();
    let _ = bed.cache.set(&"edge".to_owned(), foreign.build());
    let change = Change::endpoints();
    bed.publisher.update_with(Model::of(["b"]), change).unwrap();
    bed.publisher.flush().await.unwrap();
    assert_eq!(bed.report("edge").extent, Extent::Everything);
    assert_eq!(bed.served("edge").unwrap(), ["b"]);
}
