//! Snapshots that are not whole, and are right.

use portolan_consistency::{FindingKind, Policy};
use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_core::{ResourceFailure, Snapshot};

use crate::world::{checks, eds_cluster, resource, shown, snapshot, whole};

const NONE: [&str; 0] = [];

#[test]
fn b71_route_tables_alone_miss_nothing() {
    let report = checks().check(&snapshot([resource(&ROUTE, "r", "")]));
    assert_eq!(
        shown(&report),
        ["RouteConfiguration \"r\": nothing refers to it"]
    );
    assert_eq!(report.count(FindingKind::Missing), 0);
}

#[test]
fn b71_endpoints_that_are_missing_and_endpoints_that_are_left_over_are_two_findings() {
    let report = checks().check(&snapshot([eds_cluster("c")]));
    assert_eq!(report.count(FindingKind::Missing), 1);
    assert_eq!(report.total(), 1);
    let report = checks().check(&snapshot([resource(&ENDPOINT, "extra", "")]));
    assert_eq!(report.count(FindingKind::Unreferenced), 1);
    assert_eq!(report.total(), 1);
}

#[test]
fn b71_what_a_snapshot_does_not_speak_for_is_not_missed() {
    let mut builder = Snapshot::builder();
    builder.insert_shared(eds_cluster("c")).unwrap();
    builder.only([CLUSTER]);
    assert_eq!(shown(&checks().check(&builder.build())), NONE);
    let mut builder = Snapshot::builder();
    builder.insert_shared(resource(&ENDPOINT, "c", "")).unwrap();
    builder.only([ENDPOINT]);
    assert_eq!(shown(&checks().check(&builder.build())), NONE);
}

#[test]
fn b71_what_is_declared_to_come_from_elsewhere_is_not_missed() {
    let clusters = snapshot([eds_cluster("local")]);
    assert_eq!(checks().check(&clusters).total(), 1);
    let by_name = checks().with_external(ENDPOINT, ["local"]);
    assert_eq!(shown(&by_name.check(&clusters)), NONE);
    let by_type = checks().with_external_type(ENDPOINT);
    assert_eq!(shown(&by_type.check(&clusters)), NONE);
}

#[test]
fn b72_what_another_source_supplies_is_not_missed() {
    let sources = [
        r#"type: EDS eds_cluster_config { eds_config { path_config_source { path: "/eds" } } }"#,
        r#"type: EDS eds_cluster_config { eds_config { api_config_source { api_type: GRPC } } }"#,
        r#"type: STATIC load_assignment { cluster_name: "c" }"#,
    ];
    for source in sources {
        let snapshot = snapshot([resource(&CLUSTER, "c", source)]);
        assert_eq!(shown(&checks().check(&snapshot)), NONE);
    }
    let listeners = snapshot([
        resource(
            &LISTENER,
            "inline",
            r#"filter_chains { filters { name: "h" typed_config { [@HCM] { route_config { name: "r" } } } } }"#,
        ),
        resource(
            &LISTENER,
            "other",
            r#"filter_chains { filters { name: "h" typed_config { [@HCM] {
            rds { config_source { api_config_source { api_type: GRPC } } route_config_name: "r" }
        } } } }"#,
        ),
    ]);
    assert_eq!(shown(&checks().check(&listeners)), NONE);
}

#[test]
fn what_cannot_be_had_and_is_said_so_is_not_missed() {
    let mut edit = whole().edit();
    edit.fail(
        ENDPOINT,
        "web",
        ResourceFailure::unavailable("the registry is away"),
    )
    .unwrap();
    assert_eq!(shown(&checks().check(&edit.build())), NONE);
}

#[test]
fn a_type_that_is_served_elsewhere_should_not_be_here_too() {
    let checks = checks().with_external_type(ENDPOINT);
    let report = checks.check(&whole());
    let expected = "ClusterLoadAssignment: there are 2, of a type that is served elsewhere";
    assert_eq!(shown(&report), [expected]);
    assert_eq!(report.findings()[0].kind(), FindingKind::ServedElsewhere);
}

#[test]
fn b74_nothing_is_refused_unless_it_is_said() {
    let clusters = snapshot([eds_cluster("c")]);
    assert!(!checks().check(&clusters).is_refused());
    for kind in FindingKind::ALL {
        let checks = checks().with_policy(kind, Policy::Refuse);
        assert_eq!(
            checks.check(&clusters).is_refused(),
            kind == FindingKind::Missing
        );
    }
    let ignoring = checks().with_policy(FindingKind::Missing, Policy::Ignore);
    assert_eq!(shown(&ignoring.check(&clusters)), NONE);
}
