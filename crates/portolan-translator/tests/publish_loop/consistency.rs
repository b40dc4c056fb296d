use std::sync::Arc;

use bytes::Bytes;
use portolan_consistency::schema::Validator;
use portolan_consistency::{Checks, FindingKind, Policy};
use portolan_core::well_known::{CLUSTER, ENDPOINT};
use portolan_core::{
    Facts, NoReferences, ReadyWhen, Reference, References, Resource, ResourceError,
    SnapshotBuilder, SnapshotWriter, TypeUrl,
};
use portolan_translator::{
    GroupWatch, Inconsistent, Outcome, PublishLoop, PublishReport, Publisher, Translator,
};

use crate::bed::message;
use crate::memory_cache::MemoryCache;

/// A cluster refers to the endpoints of its name.
#[derive(Debug)]
struct Namesakes;

impl References for Namesakes {
    fn facts(&self, type_url: &TypeUrl, body: &Bytes) -> Facts {
        let name = std::str::from_utf8(&body[2..]).unwrap_or_default();
        match *type_url == CLUSTER {
            true => Facts::new(
                [Reference::new(ENDPOINT, name, "name")],
                ReadyWhen::ChildAcked,
            ),
            false => Facts::default(),
        }
    }
}

/// The model: the clusters, and whether one group, `edge`, has their endpoints too. Others always have.
#[derive(Debug)]
struct Clusters(&'static [&'static str], bool);

#[derive(Debug)]
struct WithEndpoints;

impl Translator<Clusters, String> for WithEndpoints {
    type Error = ResourceError;

    fn translate(
        &self,
        model: &Clusters,
        group: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        let Clusters(names, edge_has_endpoints) = model;
        for name in *names {
            out.insert(Resource::builder(CLUSTER, *name, message(name)))?;
            if *edge_has_endpoints || group != "edge" {
                out.insert(Resource::builder(ENDPOINT, *name, message(name)))?;
            }
        }
        Ok(())
    }
}

/// A loop for two groups, and what it writes to.
struct Checked {
    publisher: Publisher<Clusters, String>,
    cache: Arc<MemoryCache>,
}

impl Checked {
    fn by(checks: Checks) -> Self {
        let (_, groups) = GroupWatch::channel();
        let cache = Arc::new(MemoryCache::default());
        let (publisher, publish_loop) = PublishLoop::builder(WithEndpoints, cache.clone(), groups)
            .with_checks(checks)
            .build();
        publish_loop.spawn();
        for group in ["edge", "mesh"] {
            publisher.serve_group(&group.to_owned());
        }
        Self { publisher, cache }
    }

    async fn settle(&self, model: Clusters) -> [Arc<PublishReport>; 2] {
        self.publisher.update(model).unwrap();
        let reports = self.publisher.flush().await.unwrap();
        ["edge", "mesh"].map(|group| Arc::clone(reports.get(&group.to_owned()).unwrap()))
    }

    fn clusters(&self, group: &str) -> usize {
        let snapshot = self.cache.get(&group.to_owned());
        snapshot.map_or(0, |snapshot| snapshot.set(&CLUSTER).unwrap().len())
    }
}

fn findings(report: &PublishReport) -> Vec<String> {
    let findings = report.findings.as_ref().expect("it was checked").findings();
    findings.iter().map(ToString::to_string).collect()
}

const MISSING: &str = "Cluster \"b\" › name \"b\": there is no such ClusterLoadAssignment";

#[tokio::test(start_paused = true)]
async fn b74_what_does_not_fit_together_is_reported_and_published() {
    let checked = Checked::by(Checks::new(Namesakes));
    let [edge, mesh] = checked.settle(Clusters(&["b"], false)).await;
    assert!(matches!(edge.outcome, Outcome::Published { .. }));
    assert_eq!(findings(&edge), [MISSING]);
    assert!(findings(&mesh).is_empty());
    assert_eq!(checked.clusters("edge"), 1);

    let [edge, _] = checked.settle(Clusters(&["b"], true)).await;
    assert!(findings(&edge).is_empty());
    let [edge, _] = checked.settle(Clusters(&["b"], true)).await;
    assert!(matches!(edge.outcome, Outcome::Unchanged { .. }) && edge.findings.is_none());
}

#[tokio::test(start_paused = true)]
async fn b74_what_is_refused_stays_as_it_was_for_its_group_and_no_other() {
    let strict = Checks::new(Namesakes).with_policy(FindingKind::Missing, Policy::Refuse);
    let checked = Checked::by(strict);
    checked.settle(Clusters(&["a"], true)).await;
    let [edge, mesh] = checked.settle(Clusters(&["a", "b"], false)).await;
    let Outcome::Refused(refusal) = &edge.outcome else {
        panic!("{:?}", edge.outcome);
    };
    let inconsistent = refusal.reason().downcast_ref::<Inconsistent>().unwrap();
    assert_eq!(inconsistent.report().count(FindingKind::Missing), 2);
    assert!(findings(&edge).contains(&MISSING.to_owned()));
    assert!(matches!(mesh.outcome, Outcome::Published { .. }));
    assert_eq!((checked.clusters("edge"), checked.clusters("mesh")), (1, 2));

    let [edge, _] = checked.settle(Clusters(&["a", "b"], true)).await;
    assert!(matches!(edge.outcome, Outcome::Published { .. }));
    assert_eq!(checked.clusters("edge"), 2);
}

/// The model: whether the one cluster has a timeout that clients accept.
struct Timeout(bool);

#[derive(Debug)]
struct WithTimeout;

impl Translator<Timeout, String> for WithTimeout {
    type Error = ResourceError;

    fn translate(
        &self,
        Timeout(is_good): &Timeout,
        _: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        // `connect_timeout`, of a second or of none.
        let timeout: &[u8] = if *is_good {
            b"\x22\x02\x08\x01"
        } else {
            b"\x22\x00"
        };
        let body = [&message("web")[..], timeout].concat();
        out.insert(Resource::builder(CLUSTER, "web", body))?;
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_schema_does_not_allow_is_refused_by_the_name_of_its_resource() {
    let checks = Checks::new(NoReferences::default())
        .with_schema(Validator::new())
        .with_policy(FindingKind::Schema, Policy::Refuse);
    let (_, groups) = GroupWatch::channel();
    let cache = Arc::new(MemoryCache::default());
    let (publisher, publish_loop) = PublishLoop::builder(WithTimeout, cache.clone(), groups)
        .with_checks(checks)
        .build();
    publish_loop.spawn();
    let edge = "edge".to_owned();
    publisher.serve_group(&edge);
    for is_good in [true, false] {
        publisher.update(Timeout(is_good)).unwrap();
        let reports = publisher.flush().await.unwrap();
        let report = reports.get(&edge).unwrap();
        let is_refused = matches!(report.outcome, Outcome::Refused(_));
        assert_eq!(is_refused, !is_good, "{:?}", report.outcome);
        let found = "Cluster \"web\" › connect_timeout: must be more than 0s, and is 0s";
        let expected = if is_good { vec![] } else { vec![found] };
        assert_eq!(findings(report), expected);
    }
}
