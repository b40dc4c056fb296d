//! One snapshot after another: the same is found as at a first look, at the cost of what changed.

use std::sync::Arc;

use portolan_consistency::Checker;
use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_core::{Resource, Snapshot, TypeUrl};
use portolan_resources::{AddTyped, TypedResource, build};
use proptest::prelude::*;

use crate::world::{checks, keyed, resource};

/// One of a few resources of each name, for every way in which findings come and go.
fn variants(name: &str) -> Vec<(TypeUrl, Resource)> {
    let eds = "type: EDS eds_cluster_config { eds_config @ADS";
    let aggregate = |members: &str| {
        format!(
            "cluster_type {{ typed_config {{ [@ext.clusters.aggregate.v3.ClusterConfig] {{ clusters: [{members}] }} }} }}"
        )
    };
    let alias = Resource::builder(CLUSTER, name, resource(&CLUSTER, name, "").body()).alias("a");
    let listener = |port: u16, route: &str| {
        format!(
        "address {{ socket_address {{ address: \"::\" port_value: {port} }} }}
        filter_chains {{ filters {{ typed_config {{ [@HCM] {{ rds {{ config_source @ADS route_config_name: {route:?} }} }} }} }} }}"
    )
    };
    let route = |cluster: &str| {
        format!("virtual_hosts {{ routes {{ route {{ cluster: {cluster:?} }} }} }}")
    };
    let all = vec![
        resource(&CLUSTER, name, ""),
        resource(&CLUSTER, name, &format!("{eds} }}")),
        resource(&CLUSTER, name, &format!("{eds} service_name: \"b\" }}")),
        resource(&CLUSTER, name, &aggregate("\"a\", \"b\"")),
        resource(&CLUSTER, name, &aggregate("\"c\"")),
        keyed(&CLUSTER, name, "name: \"b\""),
        alias.build().expect("it has a name"),
        resource(&ENDPOINT, name, ""),
        resource(&LISTENER, name, &listener(1, "a")),
        resource(&LISTENER, name, &listener(2, "b")),
        resource(&ROUTE, name, &route("a")),
        resource(&ROUTE, name, &route("c")),
    ];
    all.into_iter()
        .map(|resource| (resource.type_url().clone(), resource))
        .collect()
}

#[derive(Clone, Debug)]
enum Step {
    Put(usize, usize),
    Remove(usize, usize),
    /// Starts over with the snapshot that speaks for these types.
    Only(Option<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..3_usize, 0..12_usize).prop_map(|(name, variant)| Step::Put(name, variant)),
        3 => (0..3_usize, 0..12_usize).prop_map(|(name, variant)| Step::Remove(name, variant)),
        1 => prop::option::of(0..3_u8).prop_map(Step::Only),
    ]
}

proptest! {
    #[test]
    fn the_same_is_found_as_at_a_first_look(steps in prop::collection::vec((step(), any::<bool>()), 1..40)) {
        let names = ["a", "b", "c"];
        let variants = names.map(variants);
        let checks = checks().with_external(CLUSTER, ["c"]);
        let mut checker = Checker::new(Arc::new(checks.clone()));
        let mut snapshot = Snapshot::empty();
        for (step, is_checked) in steps {
            let mut edit = snapshot.edit();
            match step {
                Step::Put(name, variant) => {
                    let (url, resource) = &variants[name][variant];
                    edit.remove(url, resource.name());
                    edit.insert_shared(resource.clone()).unwrap();
                }
                Step::Remove(name, variant) => {
                    edit.remove(&variants[name][variant].0, names[name]);
                }
                Step::Only(None) => {
                    let mut all = Snapshot::builder();
                    for resource in snapshot.sets().flat_map(|(_, set)| set.iter()) {
                        all.insert_shared(resource.clone()).unwrap();
                    }
                    edit = all;
                }
                Step::Only(Some(n)) => {
                    edit.only([[CLUSTER], [ENDPOINT], [ROUTE]][usize::from(n)].clone());
                }
            }
            snapshot = edit.build();
            if is_checked {
                prop_assert_eq!(checker.check(&snapshot), checks.check(&snapshot));
            }
        }
    }
}

/// Allocations of checking again after one cluster of so many changed.
fn cost(clusters: usize) -> u64 {
    let mut builder = Snapshot::builder();
    for n in 0..clusters {
        let cluster = build::eds_cluster(format!("c{n}"));
        builder.add(&cluster).expect("each is new");
        let endpoints = build::assignment(format!("c{n}"), []);
        builder.add(&endpoints).expect("each is new");
    }
    let mut checker = Checker::new(Arc::new(checks()));
    let first = builder.build();
    assert!(checker.check(&first).is_clean());
    let changed = |snapshot: &Snapshot, seconds: i64| {
        let mut cluster = build::eds_cluster("c7");
        cluster.connect_timeout = Some(portolan_types::prost_types::Duration { seconds, nanos: 0 });
        let mut edit = snapshot.edit();
        edit.upsert(cluster.to_resource()).expect("it has a name");
        edit.build()
    };
    let second = changed(&first, 2);
    assert!(checker.check(&second).is_clean());
    let third = changed(&second, 3);
    let info = allocation_counter::measure(|| assert!(checker.check(&third).is_clean()));
    info.count_total
}

#[test]
fn checking_again_costs_what_changed_and_not_what_there_is() {
    let (few, many) = (cost(500), cost(20_000));
    assert!(many * 2 <= few * 3, "{many} allocations instead of {few}");
}
