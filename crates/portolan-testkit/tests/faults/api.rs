//! What an embedding program relies on: bounded work for slow proxies, and types of its own.

use std::time::Duration;

use portolan_core::well_known::CLUSTER;
use portolan_core::{Resource, ResourceType, ResourceTypes, SotwMode, TypeUrl};
use portolan_testkit::{Pair, PlainClient, Setup, fixture};

use crate::bed::{Bed, both};

/// Elsewhere each change was queued for a proxy that had not acknowledged the last.
///
/// A client that says nothing is taken to have read after five seconds (ADR 0004); here it answers before.
#[test]
fn b87_a_client_that_acknowledges_nothing_has_one_response_outstanding() {
    const HALF: u32 = 500;

    for client in both() {
        let bed = Bed::with([fixture::static_cluster("a")]);
        let mut pair = bed.pair(client);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        pair.client.set_acks(false);
        let publish = |pair: &mut Pair<PlainClient>, revisions: std::ops::Range<u32>| {
            for revision in revisions {
                bed.put([fixture::static_cluster("a").revision(revision)]);
                pair.advance(Duration::from_millis(1));
            }
        };
        publish(&mut pair, 1_000..1_000 + HALF);
        let more = allocation_counter::measure(|| {
            publish(&mut pair, 1_000 + HALF..1_000 + 2 * HALF);
        });
        assert_eq!(pair.client.received().len(), 2, "the first change");
        assert!(more.count_total > 0, "allocations are counted");
        assert_eq!(more.bytes_current, 0, "memory grows with what is published");

        pair.client.ack(&CLUSTER);
        pair.drive();
        assert_eq!(pair.client.received().len(), 3);
        assert_eq!(pair.client.held(&CLUSTER)["a"].body(), "rev=1999");
        pair.client.ack(&CLUSTER);
        pair.advance(Duration::from_secs(60));
        assert_eq!(pair.client.received().len(), 3, "nothing is behind it");
    }
}

/// A type that no table of ours has.
const WIDGET: &str = "type.googleapis.com/acme.v1.Widget";

/// A client that knows three widgets by name, or all of them.
fn widgets(
    client: PlainClient,
    widget: Option<&ResourceType>,
    all: bool,
) -> (Bed, Pair<PlainClient>) {
    let bed = Bed::new();
    put(&bed, ["a", "b", "c"], "1");
    let types = ResourceTypes::well_known();
    let types = match widget {
        Some(widget) => types.with(widget.clone()),
        None => types,
    };
    let setup = Setup::default().with_config(Setup::default_config().with_types(types));
    let mut pair = bed.pair_set_up(client, setup);
    let named = ["a", "b", "c"];
    let url = TypeUrl::from(WIDGET);
    pair.client
        .want(&url, if all { &["*"][..] } else { &named }.iter().copied());
    pair.drive();
    (bed, pair)
}

fn put<const N: usize>(bed: &Bed, names: [&'static str; N], body: &'static str) {
    let mut edit = bed.snapshot().edit();
    for name in names {
        let put = edit.upsert(Resource::builder(WIDGET, name, body));
        put.expect("it has a name");
    }
    bed.set(edit.build());
}

/// The names in the responses since the first.
fn told(pair: &Pair<PlainClient>) -> Vec<Vec<String>> {
    let names = |response: &portolan_engine::Response| {
        let names = response.resources.iter().map(|r| r.name().to_string());
        names.collect()
    };
    pair.client.received()[1..].iter().map(names).collect()
}

/// Elsewhere the caches knew a list of types, and those who needed another kept a copy of the cache.
#[test]
fn b89_a_type_of_ones_own_needs_no_code_of_ours() {
    let url = TypeUrl::from(WIDGET);
    for all in [false, true] {
        for client in both() {
            let (bed, mut pair) = widgets(client, None, all);
            assert_eq!(pair.client.held(&url).len(), 3);
            put(&bed, ["b"], "2");
            pair.drive();
            assert_eq!(told(&pair), [["b"]], "it is told what changed");
            assert_eq!(pair.client.held(&url)["b"].body(), "2");
        }
    }
}

/// Elsewhere which types are told of in full was a list, too.
#[test]
fn b89_a_type_of_ones_own_may_be_told_of_in_full() {
    let full = ResourceType::new(WIDGET, "WDS").with_sotw_mode(SotwMode::FullState);
    let url = TypeUrl::from(WIDGET);
    for all in [false, true] {
        let (bed, mut pair) = widgets(PlainClient::sotw(), Some(&full), all);
        put(&bed, ["b"], "2");
        pair.drive();
        bed.remove(&url, ["a"]);
        pair.drive();
        bed.remove(&url, ["b", "c"]);
        pair.drive();
        assert_eq!(told(&pair), [&["a", "b", "c"][..], &["b", "c"], &[]]);

        let (bed, mut pair) = widgets(PlainClient::delta(), Some(&full), all);
        put(&bed, ["b"], "2");
        pair.drive();
        bed.remove(&url, ["a"]);
        pair.drive();
        assert_eq!(told(&pair), [&["b"][..], &[]]);
        assert_eq!(pair.client.held_names(&url), ["b".into(), "c".into()]);
    }
}
