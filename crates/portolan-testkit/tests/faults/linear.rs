//! The linear cache: what changes alone is pushed alone, and is no less than all that it must be.

use std::time::Duration;

use portolan_cache::{LinearCache, LinearCacheReader, LinearCacheWriter};
use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_core::{Name, ResourceError, TypeUrl};
use portolan_engine::Variant;
use portolan_testkit::fixture::Fixture;
use portolan_testkit::{Pair, PlainClient, fixture};

use crate::bed::both;

/// A cache of one type, on which nothing is published.
fn cache(url: &TypeUrl) -> (LinearCacheWriter, LinearCacheReader) {
    LinearCache::new(url.clone()).split()
}

/// A cache that holds these.
fn with(
    url: &TypeUrl,
    resources: impl IntoIterator<Item = Fixture>,
) -> (LinearCacheWriter, LinearCacheReader) {
    let (writer, reader) = cache(url);
    let resources = resources.into_iter().map(Into::into);
    let published = writer.replace_all(resources);
    let _ = published.expect("names of a test differ");
    (writer, reader)
}

fn upsert(writer: &LinearCacheWriter, resource: Fixture) {
    let published = writer.upsert(resource.into());
    let _ = published.expect("a fixture has a name and a type");
}

fn received(pair: &Pair<PlainClient>) -> usize {
    pair.client.received().len()
}

/// Elsewhere a change of one cluster was sent alone, and clients took all others for deleted.
#[test]
fn b10_clusters_and_listeners_of_a_linear_cache_come_all_together() {
    let make: [fn(&'static str) -> Fixture; 2] = [fixture::static_cluster, fixture::tcp_listener];
    for (url, make) in [CLUSTER, LISTENER].into_iter().zip(make) {
        let (writer, reader) = with(&url, ["a", "b", "c"].map(make));
        let mut pairs = [&[][..], &["a", "b"]].map(|names: &[&str]| {
            let mut pair = Pair::new(PlainClient::sotw(), &reader);
            pair.client.ask(&url, names.iter().copied());
            pair
        });
        let mut after = |expected: [&[&str]; 2]| {
            for (pair, expected) in pairs.iter_mut().zip(expected) {
                pair.drive();
                let last = pair.client.received().last().expect("it was answered");
                let names: Vec<_> = last.resources.iter().map(|r| r.name().as_str()).collect();
                assert_eq!(names, expected, "{url}");
            }
        };
        after([&["a", "b", "c"], &["a", "b"]]);
        upsert(&writer, make("a").revision(2));
        after([&["a", "b", "c"], &["a", "b"]]);
        let _ = writer.remove("b");
        after([&["a", "c"], &["a"]]);
        for name in ["a", "c"] {
            let _ = writer.remove(name);
        }
        after([&[], &[]]);
    }
}

/// Elsewhere versions were counted, so that after a restart other content had the version of what clients held.
#[test]
fn b15_versions_of_a_linear_cache_are_those_of_its_content() {
    let serve = |revision| with(&LISTENER, [fixture::tcp_listener("l").revision(revision)]);
    for (revision, expected) in [(1, 0), (2, 1)] {
        for client in both() {
            let (_writer, reader) = serve(1);
            let mut pair = Pair::new(client, &reader);
            pair.client.want(&LISTENER, []);
            pair.drive();
            let told = pair.client.received()[0].clone();
            let (_restarted, reader) = serve(revision);
            pair.connect_to(&reader);
            match told.variant {
                Variant::Delta => {
                    let held = pair.client.held(&LISTENER)["l"].version().clone();
                    pair.client.resume(&LISTENER, [], [("l", held.as_str())]);
                }
                _ => {
                    let mut request = pair.client.sotw_request(&LISTENER, [""; 0]);
                    (request.version, request.nonce) = (told.version.to_string(), String::new());
                    pair.client.send(request);
                }
            }
            pair.drive();
            assert_eq!(received(&pair), 1 + expected, "revision {revision}");
        }
    }
}

/// Elsewhere a name that was asked for later was not sent, for it was as old as what the client had.
#[test]
fn b16_a_new_name_at_an_old_version_is_sent_from_a_linear_cache() {
    for client in both() {
        let endpoints = ["a", "b"].map(|name| fixture::endpoints(name, "1"));
        let (writer, reader) = with(&ENDPOINT, endpoints);
        let mut pair = Pair::new(client, &reader);
        pair.client.want(&ENDPOINT, ["a"]);
        pair.drive();
        pair.client.want(&ENDPOINT, ["a", "b"]);
        pair.drive();
        assert_eq!(
            pair.client.held_names(&ENDPOINT),
            ["a", "b"].map(Into::into)
        );
        upsert(&writer, fixture::endpoints("b", "2"));
        pair.drive();
        assert_eq!(received(&pair), 3, "and it is followed from then on");
    }
}

/// Elsewhere the one kind of cache kept silent about what was published empty, and the other told what was not.
#[test]
fn b31_b32_a_linear_cache_is_silent_until_it_is_published_and_then_tells_that_it_is_empty() {
    for url in [CLUSTER, LISTENER] {
        for client in both() {
            let (writer, reader) = cache(&url);
            let mut pair = Pair::new(client, &reader);
            pair.client.want(&url, []);
            let _ = writer.remove("a");
            pair.advance(Duration::from_secs(60));
            assert_eq!(received(&pair), 0);
            let _ = writer.replace_all([]).expect("there is nothing to refuse");
            pair.advance(Duration::from_secs(60));
            assert_eq!(received(&pair), 1, "{url}");
            assert!(pair.client.received()[0].resources.is_empty());
        }
    }
}

/// Elsewhere what an update did not mention was taken for deleted.
#[test]
fn b43_what_an_update_of_a_linear_cache_does_not_mention_stays() {
    for client in both() {
        let names = ["a", "b", "c"];
        let endpoints = names.map(|name| fixture::endpoints(name, "1"));
        let (writer, reader) = with(&ENDPOINT, endpoints);
        let mut pair = Pair::new(client, &reader);
        pair.client.want(&ENDPOINT, names);
        pair.drive();
        upsert(&writer, fixture::endpoints("a", "2"));
        pair.drive();
        let told = pair.client.received().last().expect("it was told");
        assert_eq!((told.resources.len(), told.removed.len()), (1, 0));
        assert_eq!(pair.client.held_names(&ENDPOINT), names.map(Into::into));
    }
}

/// Elsewhere each change of a batch was a push of its own.
#[test]
fn b69_a_batch_is_one_response_per_stream() {
    for names in [&["*"][..], &["old-0", "old-1", "new-0", "new-1"]] {
        for client in both() {
            let old = (0..15).map(|n| fixture::endpoints(format!("old-{n}"), "1"));
            let (writer, reader) = with(&ENDPOINT, old);
            let mut pair = Pair::new(client, &reader);
            pair.client.want(&ENDPOINT, names.iter().copied());
            pair.drive();
            let before = received(&pair);
            let edited = writer.batch(|edit| {
                for n in 0..10 {
                    edit.upsert(fixture::endpoints(format!("new-{n}"), "1").into())?;
                    // A stream that looks in the middle of it would see half.
                    pair.drive();
                }
                for n in 0..5 {
                    edit.remove(format!("old-{n}"));
                    pair.drive();
                }
                Ok::<_, ResourceError>(())
            });
            let _ = edited.expect("fixtures have names and types");
            assert_eq!(received(&pair), before);
            pair.advance(Duration::from_secs(60));
            assert_eq!(received(&pair), before + 1);
            let held = pair.client.held_names(&ENDPOINT);
            let new = held.iter().filter(|name| name.starts_with("new-")).count();
            assert_eq!(new, if names == ["*"] { 10 } else { 2 });
        }
    }
}

/// Elsewhere any name that ends in `/*` was taken for a glob, and a glob for whatever begins like it.
#[test]
fn b70_only_a_name_in_url_form_can_be_a_glob() {
    let name = |rest: &str| format!("xdstp://a/envoy.config.route.v3.RouteConfiguration/{rest}");
    let route = |name: String| fixture::route(name, [""; 0]);
    let all = ["foo/x", "foo/y?k=v", "foo/x/deep", "foobar/x"].map(|rest| route(name(rest)));
    let plain = ["rc/*", "rc/b"].map(|name| route(name.to_owned()));
    let (writer, reader) = with(&ROUTE, all.into_iter().chain(plain));
    let mut pair = Pair::new(PlainClient::delta(), &reader);
    pair.client.subscribe(&ROUTE, [name("foo/*").as_str()]);
    pair.drive();
    assert_eq!(pair.client.held_names(&ROUTE), [name("foo/x").into()]);
    upsert(&writer, route(name("foo/z")));
    upsert(&writer, route("rc/c".to_owned()));
    pair.drive();
    let globbed = ["foo/x", "foo/z"].map(|rest| name(rest).into());
    assert_eq!(pair.client.held_names(&ROUTE), globbed);
    pair.client.subscribe(&ROUTE, ["rc/*"]);
    pair.drive();
    let [x, z] = globbed;
    assert_eq!(pair.client.held_names(&ROUTE), ["rc/*".into(), x, z]);
    assert_eq!(Name::from(name("x?b=1&a=2")), Name::from(name("x?a=2&b=1")));
}
