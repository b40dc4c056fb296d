//! Several sources as one: what is true of each is true of them together.

use std::sync::Arc;
use std::time::Duration;

use portolan_cache::{LinearCache, LinearCacheWriter, MuxCache};
use portolan_core::well_known::{CLUSTER, LISTENER};
use portolan_core::{ResourceError, TypeUrl};
use portolan_testkit::fixture::Fixture;
use portolan_testkit::{Pair, PlainClient, Setup, fixture};

use crate::bed::both;

/// Two linear caches of one type, on which nothing is published, as a union.
fn union(url: &TypeUrl) -> ([LinearCacheWriter; 2], MuxCache) {
    let [first, second] = [(); 2].map(|()| LinearCache::new(url.clone()).split());
    let mut mux = MuxCache::builder();
    let parts = [
        mux.part("first", Arc::new(first.1)),
        mux.part("second", Arc::new(second.1)),
    ];
    mux.route(url.clone(), parts);
    ([first.0, second.0], mux.build())
}

/// The same with these resources, which the two parts have in turn.
fn with(
    url: &TypeUrl,
    resources: impl IntoIterator<Item = Fixture>,
) -> ([LinearCacheWriter; 2], MuxCache) {
    let (parts, mux) = union(url);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (at, resource) in resources.into_iter().enumerate() {
        let part = if at % 2 == 0 { &mut first } else { &mut second };
        part.push(resource.into());
    }
    for (part, resources) in parts.iter().zip([first, second]) {
        let published = part.replace_all(resources);
        let _ = published.expect("names of a test differ");
    }
    (parts, mux)
}

fn upsert(part: &LinearCacheWriter, resource: Fixture) {
    let published = part.upsert(resource.into());
    let _ = published.expect("a fixture has a name and a type");
}

fn received(pair: &Pair<PlainClient>) -> usize {
    pair.client.received().len()
}

/// Elsewhere a change of one cluster was sent alone, and clients took all others for deleted.
#[test]
fn b10_clusters_and_listeners_of_a_union_come_all_together() {
    let make: [fn(&'static str) -> Fixture; 2] = [fixture::static_cluster, fixture::tcp_listener];
    for (url, make) in [CLUSTER, LISTENER].into_iter().zip(make) {
        let (parts, mux) = with(&url, ["a", "b", "c"].map(make));
        let mut pair = Pair::new(PlainClient::sotw(), &mux);
        pair.client.ask(&url, [""; 0]);
        let mut after = |expected: &[&str]| {
            pair.drive();
            let last = pair.client.received().last().expect("it was answered");
            let names: Vec<_> = last.resources.iter().map(|r| r.name().as_str()).collect();
            assert_eq!(names, expected, "{url}");
        };
        after(&["a", "b", "c"]);
        upsert(&parts[0], make("a").revision(2));
        after(&["a", "b", "c"]);
        let _ = parts[1].remove("b");
        after(&["a", "c"]);
        let _ = parts[0].remove("a");
        let _ = parts[0].remove("c");
        after(&[]);
    }
}

/// Elsewhere the one kind of cache kept silent about what was published empty, and the other told what was not.
#[test]
fn b31_b32_b33_a_union_is_silent_until_all_its_parts_have_spoken_and_tells_once_that_it_is_empty() {
    for url in [CLUSTER, LISTENER] {
        for client in both() {
            let (parts, mux) = union(&url);
            let mut pair = Pair::new(client, &mux);
            pair.client.want(&url, []);
            for (part, expected) in parts.iter().zip([0, 1]) {
                pair.advance(Duration::from_secs(60));
                assert_eq!(received(&pair), 0, "somebody has not spoken");
                let _ = part.replace_all([]).expect("there is nothing to refuse");
                pair.advance(Duration::from_secs(60));
                assert_eq!(received(&pair), expected, "{url}");
            }
            assert!(pair.client.received()[0].resources.is_empty());
        }
    }
}

/// Elsewhere each change of a batch was a push of its own.
#[test]
fn b69_a_batch_in_a_part_is_one_response_per_stream() {
    for client in both() {
        let (parts, mux) = with(&CLUSTER, ["a", "b", "c"].map(fixture::static_cluster));
        let mut pair = Pair::new(client, &mux);
        pair.client.want(&CLUSTER, ["*"]);
        pair.drive();
        let before = received(&pair);
        let edited = parts[0].batch(|edit| {
            for name in ["d", "e"] {
                edit.upsert(fixture::static_cluster(name).into())?;
                pair.drive();
            }
            edit.remove("a");
            Ok::<_, ResourceError>(())
        });
        let _ = edited.expect("fixtures have names and types");
        pair.advance(Duration::from_secs(60));
        assert_eq!(received(&pair), before + 1);
        let held = pair.client.held_names(&CLUSTER);
        assert_eq!(held, ["b", "c", "d", "e"].map(Into::into));
    }
}

/// Elsewhere the caches knew a list of types, and those who needed another kept a copy of the cache.
#[test]
fn b89_a_type_of_ones_own_needs_no_code_of_ours_in_a_union() {
    let url = TypeUrl::from("type.googleapis.com/acme.v1.Widget");
    for client in both() {
        let (parts, mux) = union(&url);
        let put = |part: usize, name: &str, body: &'static str| {
            let widget = portolan_core::Resource::builder(url.clone(), name, body);
            let _ = parts[part].upsert(widget).expect("it has a name");
        };
        put(0, "a", "1");
        put(1, "b", "1");
        let mut pair = Pair::new(client, &mux);
        pair.client.want(&url, ["*"]);
        pair.drive();
        assert_eq!(pair.client.held(&url).len(), 2);
        put(1, "b", "2");
        pair.drive();
        assert_eq!(pair.client.held(&url)["b"].body(), "2");
        assert_eq!(received(&pair), 2);
    }
}

/// Elsewhere asking for nothing was taken for asking for everything by some caches, whatever was configured.
#[test]
fn b92_asking_a_union_for_nothing_is_no_wildcard_where_that_is_switched_off() {
    for client in both() {
        let (_parts, mux) = with(&CLUSTER, ["a", "b"].map(fixture::static_cluster));
        let config = Setup::default_config().with_legacy_wildcard(false);
        let mut pair = Pair::open(client, &mux, Setup::default().with_config(config));
        pair.client.want(&CLUSTER, []);
        pair.advance(Duration::from_secs(60));
        assert_eq!(received(&pair), 0);
        pair.client.want(&CLUSTER, ["*"]);
        pair.drive();
        assert_eq!(pair.client.held(&CLUSTER).len(), 2);
    }
}
