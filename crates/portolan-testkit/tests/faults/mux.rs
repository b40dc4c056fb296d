//! Several sources as one: what is true of each is true of them together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use portolan_cache::{
    LinearCache, LinearCacheWriter, MuxCache, OnDemandCache, Resolution, SnapshotCache, Step,
};
use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_core::{
    Announced, Node, NodeId, Peer, Publication, ResourceError, ResourceTypes, Snapshot, Source,
    TypeUrl, View,
};
use portolan_engine::{Fetch, Response, Scope, SessionConfig, SotwRequest};
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

/// Elsewhere a combination of caches could be streamed from and not fetched from.
#[test]
fn b68_what_several_caches_have_can_be_fetched() {
    let (clusters, by_group) = SnapshotCache::new(NodeId::default()).split();
    let (endpoints, by_name) = LinearCache::new(ENDPOINT).split();
    let resolved = OnDemandCache::new(SnapshotCache::new(NodeId::default()), [ROUTE]);
    let (_routes, on_demand, resolutions) = resolved.with_base(Snapshot::empty()).split();
    let mut mux = MuxCache::builder();
    let part = mux.part("clusters", Arc::new(by_group));
    mux.route(CLUSTER, [part]);
    let part = mux.part("endpoints", Arc::new(by_name));
    mux.route(ENDPOINT, [part]);
    let part = mux.part("routes", Arc::new(on_demand));
    mux.route(ROUTE, [part]);
    let mux = mux.build();

    let mut snapshot = Snapshot::builder();
    let _ = snapshot.insert(fixture::static_cluster("a").into());
    let _ = clusters.set(&"n".to_owned(), snapshot.build());
    assert_eq!(Call::new(&mux, &CLUSTER, &[], "").names(), ["a"]);

    upsert(&endpoints, fixture::endpoints("a", "1"));
    let first = Call::new(&mux, &ENDPOINT, &["a"], "").answer();
    let held = Call::new(&mux, &ENDPOINT, &["a"], first.version.as_str());
    assert!(held.fetch.has(&held.answer()) && !held.is_woken(&mux));
    upsert(&endpoints, fixture::endpoints("a", "2"));
    assert!(held.is_woken(&mux) && !held.fetch.has(&held.answer()));

    let early = Call::new(&mux, &ROUTE, &["r"], "");
    assert!(early.fetch.waits(&early.load()));
    let Some(Step::Resolve(ticket, _)) = resolutions.next(Duration::ZERO) else {
        panic!("nobody is asked what it is");
    };
    let found = Resolution::found(fixture::route("r", ["a"]).build());
    resolutions.answer(ticket, found, Duration::ZERO);
    assert!(early.is_woken(&mux) && !early.fetch.waits(&early.load()));
    assert_eq!(early.names(), ["r"]);
}

/// A call of a `Fetch` method, as a server makes it.
struct Call {
    fetch: Fetch,
    view: Box<dyn View>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Call {
    fn new(mux: &MuxCache, url: &TypeUrl, names: &[&'static str], version: &str) -> Self {
        let mut request = SotwRequest::default();
        request.names = names
            .iter()
            .map(|n| Bytes::from_static(n.as_bytes()))
            .collect();
        request.version = version.to_owned();
        let scope = Scope::Single(ResourceTypes::well_known().get(url));
        let fetch = Fetch::new(&request, &scope, &SessionConfig::default());
        let fetch = fetch.expect("the request is a good one");
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(Arc::clone(&woken));
        let node = Arc::new(Node::new("n"));
        let view = mux.open(&node, &Peer::unknown(), waker);
        let mut view = view.expect("every node is served");
        view.interest(&fetch.interest());
        Self { fetch, view, woken }
    }

    fn load(&self) -> Publication {
        self.view.load().expect("a part has published something")
    }

    fn answer(&self) -> Response {
        let answer = self.fetch.answer(&self.load());
        answer.expect("the type is spoken for")
    }

    fn names(&self) -> Vec<String> {
        let answer = self.answer();
        let names = answer.resources.iter().map(|r| r.name().to_string());
        names.collect()
    }

    fn is_woken(&self, mux: &MuxCache) -> bool {
        while mux.announce(usize::MAX) == Announced::More {}
        self.woken.0.swap(false, Ordering::Relaxed)
    }
}
