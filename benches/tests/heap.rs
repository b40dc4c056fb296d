//! What a stream keeps must not depend on how much is served. It is counted as what the end of the stream gives back:
//! all that nobody else holds, old values that the stream alone still points to included.

use portolan_benches::{Client, Collection, Stream, Wants};
use portolan_core::TypeUrl;
use portolan_core::well_known::{CLUSTER, ENDPOINT, LOCALITY_ENDPOINT};
use portolan_engine::Variant;

const SIZES: [usize; 2] = [1_000, 10_000];

const KIB: usize = 1024;

/// What a kind of stream subscribes, in this order.
type Shape = &'static [(TypeUrl, Wants)];

const WILDCARD: Shape = &[(CLUSTER, Wants::Wildcard)];

/// As Envoy does: all clusters, and the endpoints of each.
const ENVOY: Shape = &[(CLUSTER, Wants::Wildcard), (ENDPOINT, Wants::Named)];

/// All endpoints of a locality.
const GLOB: Shape = &[(LOCALITY_ENDPOINT, Wants::Glob)];

fn open(collection: &Collection, variant: Variant, shape: Shape) -> (Stream, Client) {
    let mut stream = Stream::open(collection, variant);
    let mut client = Client::new(variant);
    for (url, wants) in shape {
        let answered = client.subscribe(&mut stream, url, wants.names(collection));
        assert_eq!(answered, collection.size());
    }
    (stream, client)
}

/// Bytes, those of the value itself included.
fn freed_by_end_of(stream: Stream) -> usize {
    let info = allocation_counter::measure(|| drop(stream));
    let heap = usize::try_from(-info.bytes_current).expect("an end gives back");
    heap + size_of::<Stream>()
}

/// What a stream keeps that has just settled, and one that has then followed so many changes of everything.
fn kept(variant: Variant, shape: Shape, size: usize) -> [usize; 2] {
    let mut collection = Collection::new(size);
    let settled = open(&collection, variant, shape).0;
    let (mut follower, mut client) = open(&collection, variant, shape);
    let settled = freed_by_end_of(settled);
    for at in 0..4 {
        for (url, _) in shape {
            collection.change(url, (0..size).filter(|index| index % 4 == at));
            assert!(client.follow(&mut follower) > 0);
        }
    }
    [settled, freed_by_end_of(follower)]
}

fn assert_flat(variant: Variant, shape: Shape, max: usize) {
    let kept = SIZES.map(|size| kept(variant, shape, size));
    let all = kept.as_flattened();
    let (least, most) = (all.iter().min(), all.iter().max());
    let (least, most) = (*least.expect("sizes"), *most.expect("sizes"));
    let table = format!("{variant:?} {shape:?} at {SIZES:?}: {kept:?} bytes");
    println!("{table}");
    assert!(most <= max, "{table}");
    assert!(most - least <= KIB, "{table}");
}

#[test]
fn a_delta_wildcard_keeps_the_same_for_any_number_of_resources() {
    assert_flat(Variant::Delta, WILDCARD, 5 * KIB);
}

#[test]
fn a_delta_stream_like_envoys_keeps_the_same_for_any_number_of_resources() {
    assert_flat(Variant::Delta, ENVOY, 8 * KIB);
}

#[test]
fn a_delta_glob_keeps_the_same_for_any_number_of_members() {
    assert_flat(Variant::Delta, GLOB, 8 * KIB);
}

#[test]
fn a_sotw_wildcard_keeps_the_same_for_any_number_of_resources() {
    assert_flat(Variant::Sotw, WILDCARD, 5 * KIB);
}

#[test]
fn a_sotw_stream_like_envoys_keeps_the_same_for_any_number_of_resources() {
    assert_flat(Variant::Sotw, ENVOY, 8 * KIB);
}
