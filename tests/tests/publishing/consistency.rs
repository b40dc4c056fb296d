//! What does not fit together is delivered unless it is to be refused; then clients hear nothing of it.

use portolan::consistency::{Checks, FindingKind, Policy};
use portolan::core::well_known::ROUTE;
use portolan::translator::Outcome;
use portolan_testkit::fixture::{
    Fixture, FixtureReferences, cluster, endpoints, listener, route, static_cluster,
};
use portolan_testkit::{EnvoyClient, EnvoyMux};

use crate::bed::{Model, Plane};

fn good() -> Vec<Fixture> {
    vec![static_cluster("a"), listener("l", "r"), route("r", ["a"])]
}

/// Moves the route to a cluster that does not exist, and adds another cluster with its endpoints.
fn bad() -> Vec<Fixture> {
    vec![
        static_cluster("a"),
        listener("l", "r"),
        route("r", ["b"]),
        cluster("c"),
        endpoints("c", "10.0.0.1"),
    ]
}

fn checks() -> Checks {
    // The bodies of fixtures have no names of their own.
    Checks::new(FixtureReferences::default()).with_policy(FindingKind::InnerName, Policy::Ignore)
}

const MISSING: &str = "RouteConfiguration \"r\" › to \"b\": there is no such Cluster";

#[tokio::test(start_paused = true)]
async fn b74_by_default_clients_get_what_does_not_fit_together() {
    let plane = Plane::checked(checks());
    let mut envoy = plane.node("envoy", EnvoyClient::new(EnvoyMux::Delta));
    assert!(plane.settle(Model::of(good())).await.is_current());
    envoy.drive();

    let report = plane.settle(Model::of(bad())).await;
    assert!(matches!(report.outcome, Outcome::Published { .. }));
    let found = report.findings.as_ref().expect("it was checked");
    assert_eq!(found.to_string(), MISSING);
    envoy.drive();
    assert!(envoy.client.clusters().contains_key("c"));
    assert!(envoy.client.endpoints("c").is_some());
}

#[tokio::test(start_paused = true)]
async fn b74_what_is_refused_never_reaches_a_client() {
    let plane = Plane::checked(checks().with_policy(FindingKind::Missing, Policy::Refuse));
    let mut envoy = plane.node("envoy", EnvoyClient::new(EnvoyMux::Delta));
    plane.settle(Model::of(good())).await;
    envoy.drive();
    envoy.skip();
    let held = plane
        .snapshots
        .get(&"edge".to_owned())
        .expect("it was published");

    let report = plane.settle(Model::of(bad())).await;
    let Outcome::Refused(refusal) = &report.outcome else {
        panic!("{:?}", report.outcome);
    };
    assert!(refusal.to_string().contains(MISSING), "{refusal}");
    envoy.drive();
    envoy.expect_quiet();
    let kept = plane.snapshots.get(&"edge".to_owned()).expect("it is kept");
    assert_eq!(kept.id(), held.id());
    assert!(kept.set(&ROUTE).is_some_and(|routes| routes.contains("r")));
}
