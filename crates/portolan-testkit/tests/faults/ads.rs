//! Several types on one stream: completeness, order, warming.

use std::time::Duration;

use portolan_core::well_known::{
    CLUSTER, ENDPOINT, EXTENSION_CONFIG, LISTENER, ROUTE, RUNTIME, SCOPED_ROUTE, SECRET,
    VIRTUAL_HOST,
};
use portolan_core::{ResourceError, TypeUrl};
use portolan_engine::Variant;
use portolan_testkit::{Client, EnvoyClient, EnvoyMux, GrpcClient, Pair, PlainClient, fixture};

use crate::bed::{Bed, both, snapshot};

/// Elsewhere one resource too many in the snapshot, that the client had not named, kept the whole type silent.
#[test]
fn b21_what_was_named_is_answered_whatever_else_there_is() {
    for client in both() {
        let bed = Bed::with(["a", "b"].map(|name| fixture::endpoints(name, "1")));
        bed.put(["s1", "s2"].map(fixture::secret));
        let mut pair = bed.pair(client);
        pair.client.want(&ENDPOINT, ["a"]);
        pair.client.want(&SECRET, ["s1"]);
        pair.drive();
        assert_eq!(pair.client.held_names(&ENDPOINT), ["a".into()]);
        assert_eq!(pair.client.held_names(&SECRET), ["s1".into()]);
        pair.client.want(&SECRET, ["s1", "old"]);
        pair.client.want(&ENDPOINT, ["a", "b"]);
        pair.drive();
        assert_eq!(pair.client.held_names(&SECRET), ["s1".into()]);
        assert_eq!(pair.client.held(&ENDPOINT).len(), 2);
        pair.client.want(&SECRET, ["s1", "old", "s2"]);
        pair.drive();
        assert_eq!(pair.client.held(&SECRET).len(), 2);
    }
}

/// Elsewhere a cluster that no route used yet kept the whole type silent for clients that name what they want.
#[test]
fn b22_clusters_that_nobody_names_keep_nobody_waiting() {
    let bed = Bed::with(["blue", "green"].map(fixture::cluster));
    bed.put(["blue", "green"].map(|name| fixture::endpoints(name, "1")));
    bed.put([fixture::listener("svc", "r"), fixture::route("r", ["blue"])]);
    let mut pair = bed.pair(GrpcClient::new(["svc"]));
    pair.drive();
    assert_eq!(pair.client.endpoints()["blue"], "host=1");
    assert_eq!(pair.client.clusters().len(), 1);
    bed.put([fixture::route("r", ["blue", "green"])]);
    pair.drive();
    assert_eq!(pair.client.endpoints().len(), 2);
}

/// Elsewhere a watch that could not be answered was dropped with the publication that did not answer it.
#[test]
fn b23_a_publication_that_answers_nothing_ends_no_subscription() {
    for client in both() {
        let bed = Bed::with([fixture::endpoints("y", "0")]);
        let mut pair = bed.pair(client);
        pair.client.want(&ENDPOINT, ["x", "y"]);
        pair.client.set_acks(false);
        pair.drive();
        for revision in 1..6 {
            bed.put([fixture::static_cluster("c").revision(revision)]);
            bed.put([fixture::endpoints("z", revision)]);
            pair.drive();
        }
        assert_eq!(pair.client.received().len(), 1);
        assert_eq!(bed.writer.streams(&bed.group), 1);
        pair.client.set_acks(true);
        pair.client.ack(&ENDPOINT);
        bed.put([fixture::endpoints("x", "1")]);
        pair.drive();
        assert_eq!(pair.client.held(&ENDPOINT).len(), 2);
    }
}

/// Elsewhere a proxy that came to a control plane which does not know a cluster of its waited for the cluster's
/// endpoints, and heard of nothing else meanwhile.
///
/// We do not make assignments up: state of the world is silent about names that do not exist (C-275), and a proxy that
/// lost its cluster gives up on its own.
#[test]
fn b24_endpoints_of_a_forgotten_cluster_hold_nobody_up() {
    for kind in EnvoyMux::ALL {
        let bed = Bed::with(["gone", "a"].map(fixture::cluster));
        bed.put([fixture::endpoints("a", "1")]);
        let mut pair = bed.pair(EnvoyClient::new(kind));
        pair.drive();
        assert_eq!(pair.client.warming_clusters(), ["gone".into()], "{kind:?}");
        let other = Bed::with([fixture::cluster("a"), fixture::endpoints("a", "2")]);
        pair.connect_to(&other.reader);
        pair.drive();
        assert_eq!(pair.client.endpoints("a"), Some("host=2"), "{kind:?}");
        pair.advance(Duration::from_secs(25));
        let clusters: Vec<_> = pair.client.clusters().into_keys().collect();
        assert_eq!(clusters, ["a".into()], "{kind:?}\n{}", pair.transcript());
        other.put([fixture::cluster("gone"), fixture::endpoints("gone", "3")]);
        pair.drive();
        assert_eq!(pair.client.endpoints("gone"), Some("host=3"), "{kind:?}");
    }
}

/// The order of dependence.
const ORDER: [TypeUrl; 9] = [
    RUNTIME,
    SECRET,
    CLUSTER,
    ENDPOINT,
    EXTENSION_CONFIG,
    LISTENER,
    SCOPED_ROUTE,
    ROUTE,
    VIRTUAL_HOST,
];

fn everything(revision: u32) -> impl IntoIterator<Item = fixture::Fixture> {
    [
        fixture::cluster("a"),
        fixture::endpoints("a", "1"),
        fixture::listener("l", "r"),
        fixture::route("r", ["a"]),
        fixture::scoped_route("s", "r"),
        fixture::virtual_host("v"),
        fixture::secret("x"),
        fixture::runtime("t"),
        fixture::extension_config("e"),
    ]
    .map(|fixture| fixture.revision(revision))
}

/// Publishes 500 times a change of everything to a client that takes few responses at a time and goes on asking, and
/// checks that each publication arrives in order.
fn check_order(client: PlainClient) {
    let bed = Bed::with(everything(0));
    for name in 0..500 {
        bed.put([fixture::secret(format!("busy{name}"))]);
    }
    let mut pair = bed.pair(client);
    let named = [
        (ENDPOINT, "a"),
        (ROUTE, "r"),
        (EXTENSION_CONFIG, "e"),
        (RUNTIME, "t"),
    ];
    for (url, name) in named {
        pair.client.want(&url, [name]);
    }
    for url in [LISTENER, CLUSTER, SCOPED_ROUTE] {
        pair.client.want(&url, []);
    }
    let virtual_hosts = pair.client.variant() == Variant::Delta;
    if virtual_hosts {
        pair.client.want(&VIRTUAL_HOST, ["v"]);
    }
    pair.drive();
    let mut heard = pair.client.received().len();
    for round in 1..=500 {
        pair.set_window(round % 3 + 1);
        // Requests of another type cross the publication.
        let busy = format!("busy{round}");
        pair.client.want(&SECRET, ["x", busy.as_str()]);
        bed.put(everything(u32::try_from(round).expect("it is small")));
        pair.drive();
        let news = &pair.client.received()[heard..];
        heard += news.len();
        let changes = news.iter().filter(|r| r.type_url != SECRET);
        let order: Vec<_> = changes.map(|r| r.type_url.clone()).collect();
        let mut expected = ORDER.to_vec();
        expected.retain(|url| *url != SECRET && (*url != VIRTUAL_HOST || virtual_hosts));
        assert_eq!(order, expected, "round {round}");
    }
}

/// Elsewhere the types of one publication left in random order, and requests went to clusters that had not come.
#[test]
fn b25_types_leave_in_the_order_of_dependence() {
    check_order(PlainClient::sotw());
}

/// Elsewhere order was kept in state of the world and forgotten in delta.
#[test]
fn b26_so_they_do_in_delta() {
    check_order(PlainClient::delta());
}

/// Elsewhere a route table overtook the listener that first named it, and the listener waited for what the server took
/// for delivered.
///
/// Clients keep a table that they subscribe, so that a listener which changes later finds it: it is not sent twice.
#[test]
fn b27_a_table_that_comes_before_its_listener_serves_it() {
    let bed = Bed::with([fixture::listener("l", "r"), fixture::route("r", ["a"])]);
    let changed = [fixture::listener("l", "r"), fixture::route("r", ["b"])];
    let mut pair = bed.pair(PlainClient::sotw().without_acks());
    pair.client.ask(&LISTENER, [""; 0]);
    pair.drive();
    bed.put(changed.map(|fixture| fixture.revision(2)));
    pair.client.ask(&ROUTE, ["r"]);
    pair.drive();
    pair.client.ack(&LISTENER);
    pair.client.ack(&ROUTE);
    pair.drive();
    pair.expect([
        "> LDS [] v= n=",
        "< LDS v1 n1 [l]",
        "< LDS v2 n2 [l@2]",
        "> RDS [r] v= n=",
        "< RDS v1 n3 [r]",
        "> ACK LDS n2",
        "> ACK RDS n3",
    ]);
    for kind in EnvoyMux::ALL {
        let bed = Bed::with([fixture::listener("l", "r"), fixture::route("r", ["a"])]);
        bed.put([fixture::static_cluster("a")]);
        let mut pair = bed.pair(EnvoyClient::new(kind));
        pair.set_reading(false);
        pair.drive();
        // The listener is under way when it and its table change.
        bed.put([fixture::listener("l", "r"), fixture::route("r", ["a"])].map(|f| f.revision(2)));
        pair.drive();
        pair.set_reading(true);
        pair.drive();
        assert_eq!(pair.client.listeners()["l"], "rds=r rev=2", "{kind:?}");
        assert_eq!(pair.client.routes()["r"], "to=a rev=2", "{kind:?}");
        pair.advance(Duration::from_secs(60));
        assert_eq!(pair.client.fetch_timeouts(), 0, "{kind:?}");
    }
}

/// Elsewhere a changed cluster warmed for ever: its endpoints had not changed, so nobody sent them.
#[test]
fn b28_a_changed_cluster_brings_its_endpoints_and_no_others() {
    for client in both() {
        let bed = Bed::with(["c1", "c2"].map(fixture::cluster));
        bed.put(["c1", "c2"].map(|name| fixture::endpoints(name, "1")));
        bed.put([fixture::tcp_listener("l")]);
        let variant = client.variant();
        let mut pair = bed.pair(client);
        for url in [CLUSTER, LISTENER] {
            pair.client.want(&url, []);
        }
        pair.client.want(&ENDPOINT, ["c1", "c2"]);
        pair.drive();
        pair.skip();
        bed.put([fixture::cluster("c1").revision(2)]);
        pair.drive();
        let clusters = match variant {
            Variant::Sotw => "< CDS v2 n4 [c1@2 c2]",
            _ => "< CDS n4 [c1@2]",
        };
        let endpoints = match variant {
            Variant::Sotw => "< EDS v1 n5 [c1]",
            _ => "< EDS n5 [c1]",
        };
        pair.expect([clusters, endpoints, "> ACK CDS n4", "> ACK EDS n5"]);
        bed.put([fixture::tcp_listener("l").revision(2)]);
        pair.drive();
        let last = pair.client.received().last().expect("it was served");
        assert_eq!(
            (pair.client.received().len(), &last.type_url),
            (6, &LISTENER)
        );
    }
}

/// Elsewhere a client that came before the first publication was told that there is nothing, and dropped what it had.
#[test]
fn b31_c129_c161_c282_nothing_published_is_not_empty() {
    for client in both() {
        let bed = Bed::new();
        let mut pair = bed.pair(client);
        pair.client.want(&CLUSTER, []);
        pair.client.want(&LISTENER, []);
        pair.client.want(&ROUTE, ["r"]);
        pair.advance(Duration::from_secs(60));
        assert!(pair.client.received().is_empty());
        let route = fixture::route("r", ["c"]);
        bed.set(snapshot([fixture::static_cluster("c"), route]));
        pair.drive();
        let told = pair.client.received().iter();
        let told: Vec<_> = told.map(|r| (&r.type_url, r.resources.len())).collect();
        assert_eq!(told, [(&CLUSTER, 1), (&LISTENER, 0), (&ROUTE, 1)]);
    }
}

/// Elsewhere a type that was published empty was not answered, and proxies waited for it when they started.
#[test]
fn b32_c128_c160_what_is_published_empty_is_answered_once() {
    for url in [CLUSTER, LISTENER] {
        for client in both() {
            let bed = Bed::with([]);
            let mut pair = bed.pair(client);
            pair.client.want(&url, []);
            pair.drive();
            pair.client.ack(&url);
            bed.put([fixture::endpoints("e", "1")]);
            pair.advance(Duration::from_secs(60));
            let told = pair.client.received();
            assert_eq!(told.len(), 1, "{url}");
            assert!(told[0].resources.is_empty() && told[0].removed.is_empty());
        }
    }
}

/// Elsewhere an emptied type was taken for one that is not spoken of, or the reverse: nothing was deleted, or all was.
#[test]
fn b33_a_type_that_is_emptied_is_told_and_one_that_is_not_spoken_of_is_not() {
    for client in both() {
        let bed = Bed::with([fixture::static_cluster("a"), fixture::tcp_listener("l")]);
        let mut pair = bed.pair(client);
        for url in [CLUSTER, LISTENER] {
            pair.client.want(&url, []);
        }
        pair.drive();
        let emptied = bed.writer.update(&bed.group, |snapshot| {
            snapshot.remove(&CLUSTER, "a");
            Ok::<_, ResourceError>(())
        });
        assert!(emptied.is_ok_and(|published| published.is_some()));
        pair.drive();
        told_empty(&pair, &CLUSTER, 3);
        assert_eq!(pair.client.held(&LISTENER).len(), 1);
        // A snapshot that speaks of clusters only.
        let mut clusters = snapshot([fixture::static_cluster("b")]).edit();
        clusters.only([CLUSTER]);
        bed.set(clusters.build());
        pair.drive();
        assert_eq!(pair.client.held(&CLUSTER).len(), 1);
        assert_eq!(pair.client.held(&LISTENER).len(), 1);
        // One that speaks of all has no listeners.
        bed.set(snapshot([fixture::static_cluster("b")]));
        pair.drive();
        told_empty(&pair, &LISTENER, 5);
    }
}

/// Asserts that the last of so many responses emptied a type.
#[track_caller]
fn told_empty(pair: &Pair<PlainClient>, url: &TypeUrl, responses: usize) {
    let told = pair.client.received();
    assert_eq!(told.len(), responses, "{}", pair.transcript());
    assert_eq!(told[responses - 1].type_url, *url);
    assert!(told[responses - 1].resources.is_empty());
    assert!(pair.client.held(url).is_empty());
}
