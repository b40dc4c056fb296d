//! What it costs to find out that nothing is wrong.

use std::sync::Arc;

use portolan_benches::{Clusters, cluster};
use portolan_consistency::schema::Validator;
use portolan_consistency::{Checker, Checks};
use portolan_core::well_known::CLUSTER;
use portolan_resources::EnvoyReferences;
use prost::Message as _;

use crate::{Growth, count};

/// The largest snapshot that is checked: it takes callgrind two minutes among ten times as many.
const MOST: usize = 10_000;

pub(crate) fn run(size: usize) {
    let validator = Validator::new();
    let body = cluster(0, 5).encode_to_vec();
    let validate = || validator.validate(CLUSTER.as_str(), &body);
    assert_eq!(validate(), []);
    let found = count("schema: a cluster", Growth::Validation, validate);
    assert_eq!(found, []);
    if size <= MOST {
        check(&mut Clusters::new(size));
    }
}

/// A snapshot, and once more after a change.
fn check(clusters: &mut Clusters) {
    let checks = Checks::new(EnvoyReferences::default()).with_schema(Validator::new());
    let mut checker = Checker::new(Arc::new(checks));
    let report = count("consistency: all clusters", Growth::Resources, || {
        checker.check(clusters.snapshot())
    });
    assert!(report.is_clean(), "{report}");
    // The second change finds what it will ever after.
    clusters.change();
    assert!(checker.check(clusters.snapshot()).is_clean());
    clusters.change();
    let report = count("consistency: again after one change", Growth::Flat, || {
        checker.check(clusters.snapshot())
    });
    assert!(report.is_clean(), "{report}");
}
