//! What is translated, and what of it goes out.

use portolan::core::well_known::{CLUSTER, ENDPOINT};
use portolan::translator::{Change, Extent};
use portolan_testkit::PlainClient;
use portolan_testkit::fixture::{cluster, endpoints};

use crate::bed::{Model, Plane};

#[tokio::test(start_paused = true)]
async fn a_change_of_endpoints_sends_endpoints_whatever_else_the_model_holds() {
    let plane = Plane::new();
    let mut pair = plane.node("n", PlainClient::delta());
    pair.client.subscribe(&CLUSTER, []);
    pair.client.subscribe(&ENDPOINT, ["a"]);
    plane
        .settle(Model::of([cluster("a"), endpoints("a", 1)]))
        .await;
    pair.drive();
    pair.skip();
    let model = Model::of([cluster("a").revision(2), endpoints("a", 2)]);
    plane
        .publisher
        .update_with(model.clone(), Change::endpoints())
        .unwrap();
    let report = plane.flush().await;
    assert_eq!(report.extent, Extent::Endpoints);
    pair.drive();
    pair.expect(["< EDS n3 [a@2]", "> ACK EDS n3"]);

    let report = plane.settle(model).await;
    assert_eq!(report.extent, Extent::Everything);
    pair.drive();
    pair.expect([
        "< CDS n4 [a@2]",
        "< EDS n5 [a@2]",
        "> ACK CDS n4",
        "> ACK EDS n5",
    ]);
}
