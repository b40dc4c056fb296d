//! What is withheld, what is not, and for how long.

use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE, SECRET};
use portolan_core::{Constraints, TypeUrl};
use portolan_engine::{Event, Release, SafeTimes, Transitions};
use portolan_testkit::{Pair, PlainClient, Setup, Shelf, fixture};

use crate::bed::*;

/// A client that asks for everything, and acknowledges what it is told to.
fn plain(client: PlainClient, shelf: &Shelf) -> Pair<PlainClient> {
    let mut pair = Pair::open(client, shelf, setup());
    pair.client.want(&CLUSTER, []);
    pair.client.want(&ENDPOINT, ["a", "b"]);
    pair.client.want(&LISTENER, []);
    pair.client.want(&ROUTE, ["r"]);
    pair.drive();
    pair.skip();
    pair.take_events();
    pair
}

fn shelf(cluster: &str) -> Shelf {
    let shelf = Shelf::new();
    publish(&shelf, leading_to(cluster));
    shelf
}

fn table(pair: &Pair<PlainClient>) -> String {
    let body = pair.client.held(&ROUTE)["r"].body();
    String::from_utf8(body.to_vec()).expect("bodies of fixtures are texts")
}

#[test]
fn a_cluster_that_checks_health_is_ready_when_it_is_acknowledged_itself() {
    for client in both() {
        let shelf = shelf("a");
        let mut pair = plain(client, &shelf);
        pair.client.set_acks(false);
        let mut next = leading_to("b");
        next[0] = fixture::cluster("b").health_checked();
        publish(&shelf, next);
        pair.drive();
        pair.client.ack(&ENDPOINT);
        pair.advance(secs(1));
        assert_eq!(table(&pair), "to=a");
        pair.client.ack(&CLUSTER);
        pair.drive();
        assert_eq!(table(&pair), "to=b", "{}", pair.transcript());
    }
}

#[test]
fn a_plain_cluster_is_ready_when_its_endpoints_are_acknowledged() {
    for client in both() {
        let shelf = shelf("a");
        let mut pair = plain(client, &shelf);
        pair.client.set_acks(false);
        publish(&shelf, leading_to("b"));
        pair.drive();
        assert_eq!(table(&pair), "to=a");
        pair.client.ack(&ENDPOINT);
        pair.drive();
        assert_eq!(table(&pair), "to=b", "{}", pair.transcript());
    }
}

/// The final state is reached within the bounds, and endpoints flow all the time.
#[test]
fn c246_c251_a_client_that_never_acknowledges_is_brought_to_the_end() {
    for client in both() {
        let shelf = shelf("a");
        let mut pair = plain(client, &shelf);
        pair.client.set_acks(false);
        publish(&shelf, leading_to("b"));
        for second in 1..=100 {
            pair.advance(secs(1));
            shelf.put([fixture::endpoints("b", second)]);
            let clusters = pair.client.held_names(&CLUSTER);
            assert_eq!(table(&pair) == "to=b", second >= 20, "{second}");
            assert_eq!(clusters == ["b".into()], second >= 80, "{second}");
        }
        let endpoints = pair
            .client
            .received()
            .iter()
            .filter(|r| r.type_url == ENDPOINT);
        assert!(endpoints.count() >= 20);
        let events = pair.take_events();
        assert_eq!(expired(&events), 1);
        let is_silence = |event: &&Event| {
            matches!(
                event,
                Event::Released {
                    because: Release::Silence,
                    ..
                }
            )
        };
        assert_eq!(events.iter().filter(is_silence).count(), 1);
    }
}

#[test]
fn c126_c150_what_nothing_changes_with_is_removed_at_once() {
    for client in both() {
        let shelf = shelf("a");
        shelf.put([fixture::static_cluster("x")]);
        let mut pair = plain(client, &shelf);
        shelf.remove(&CLUSTER, ["x"]);
        pair.drive();
        assert_eq!(pair.client.held_names(&CLUSTER), ["a".into()]);
    }
}

#[test]
fn c249_what_did_not_change_is_answered_while_something_is_held() {
    for client in both() {
        let shelf = shelf("a");
        shelf.put([fixture::route("q", ["a"])]);
        let mut pair = plain(client, &shelf);
        pair.client.set_acks(false);
        let mut next = leading_to("b");
        next.extend([
            fixture::cluster("a"),
            fixture::endpoints("a", "1"),
            fixture::route("q", ["a"]),
            fixture::route("new", ["b"]),
        ]);
        publish(&shelf, next);
        pair.drive();
        pair.client.want(&ROUTE, ["r", "q", "new"]);
        pair.drive();
        assert!(pair.client.held(&ROUTE).contains_key("q"));
        assert_eq!(table(&pair), "to=a");
        // What is withheld exists, so it is not said to be missing.
        let last = pair.client.received().last().unwrap();
        assert!(last.removed.is_empty(), "{}", pair.transcript());
        pair.client.ack(&ENDPOINT);
        pair.drive();
        assert_eq!(table(&pair), "to=b");
        assert!(pair.client.held(&ROUTE).contains_key("new"));
    }
}

#[test]
fn c248_only_what_leads_to_the_cluster_is_held() {
    for client in both() {
        let shelf = shelf("a");
        shelf.put([fixture::route("q", ["a"])]);
        let mut pair = plain(client, &shelf);
        pair.client.want(&ROUTE, ["r", "q"]);
        pair.drive();
        pair.client.set_acks(false);
        let mut next = leading_to("b");
        next[2] = fixture::listener("l", "r").revision(2);
        next.push(fixture::route("q", ["a"]).revision(2));
        next.extend([fixture::cluster("a"), fixture::endpoints("a", "1")]);
        publish(&shelf, next);
        pair.drive();
        let text = |url: &TypeUrl, name: &str| {
            let held = pair.client.held(url);
            String::from_utf8(held[name].body().to_vec()).unwrap()
        };
        assert_eq!(text(&ROUTE, "q"), "to=a rev=2");
        assert_eq!(text(&LISTENER, "l"), "rds=r rev=2");
        assert_eq!(text(&ROUTE, "r"), "to=a");
    }
}

#[test]
fn the_union_shows_the_label_and_that_it_is_none_of_the_callers() {
    let shelf = shelf("a");
    shelf.edit(|snapshot| {
        snapshot.label(CLUSTER, "v7");
    });
    let mut pair = plain(PlainClient::sotw(), &shelf);
    pair.client.set_acks(false);
    shelf.edit(|snapshot| {
        snapshot.remove(&CLUSTER, "a").label(CLUSTER, "v8");
        snapshot.upsert(fixture::cluster("b").into()).unwrap();
        snapshot.upsert(fixture::route("r", ["b"]).into()).unwrap();
    });
    pair.drive();
    let versions = |pair: &Pair<PlainClient>| {
        let clusters = pair
            .client
            .received()
            .iter()
            .filter(|r| r.type_url == CLUSTER);
        clusters.map(|r| r.version.to_string()).collect::<Vec<_>>()
    };
    let shown = versions(&pair);
    assert_eq!(shown[0], "v7");
    let hash = shown[1].strip_prefix("v8+").expect(&shown[1]);
    assert_eq!(hash.len(), 8);
}

/// A cluster that warms would go live without endpoints when it is told that they are gone.
#[test]
fn the_assignment_of_a_cluster_that_changed_is_not_taken_away() {
    let shelf = shelf("a");
    let mut pair = plain(PlainClient::delta(), &shelf);
    publish(
        &shelf,
        [
            fixture::cluster("a").revision(2),
            fixture::listener("l", "r"),
            fixture::route("r", ["a"]),
        ],
    );
    pair.advance(secs(30));
    assert_eq!(pair.client.held(&CLUSTER)["a"].body(), &b"eds=a rev=2"[..]);
    assert!(pair.client.held(&ENDPOINT).contains_key("a"));
    // It goes when the cluster takes its endpoints elsewhere.
    publish(
        &shelf,
        [
            fixture::static_cluster("a"),
            fixture::listener("l", "r"),
            fixture::route("r", ["a"]),
        ],
    );
    pair.advance(secs(30));
    assert!(
        pair.client.held(&ENDPOINT).is_empty(),
        "{}",
        pair.transcript()
    );
}

/// Where a client names its clusters, nothing is known of what it has of others.
#[test]
fn a_client_that_names_its_clusters_is_served_in_order() {
    for client in both() {
        let shelf = shelf("a");
        let mut pair = Pair::open(client, &shelf, setup());
        pair.client.want(&CLUSTER, ["a", "b"]);
        pair.client.want(&ROUTE, ["r"]);
        pair.drive();
        pair.client.set_acks(false);
        publish(&shelf, leading_to("b"));
        pair.drive();
        assert_eq!(table(&pair), "to=b");
        assert_eq!(pair.client.held_names(&CLUSTER), ["b".into()]);
    }
}

/// In delta a table may be had by another name than its own.
#[test]
fn what_is_had_by_an_alias_is_held_and_keeps_its_cluster_too() {
    let all = |cluster: &str| {
        let mut resources = leading_to(cluster);
        resources[3] = fixture::route("r", [cluster]).alias("other");
        resources
    };
    let shelf = Shelf::new();
    publish(&shelf, all("a"));
    let mut pair = Pair::open(PlainClient::delta(), &shelf, setup());
    pair.client.want(&CLUSTER, ["*"]);
    pair.client.want(&ENDPOINT, ["a", "b"]);
    pair.client.want(&ROUTE, ["other"]);
    pair.drive();
    pair.client.set_acks(false);
    publish(&shelf, all("b"));
    pair.drive();
    assert_eq!(table(&pair), "to=a", "{}", pair.transcript());
    assert_eq!(pair.client.held(&CLUSTER).len(), 2);
    pair.advance(times().hold());
    assert_eq!(table(&pair), "to=b", "{}", pair.transcript());
    assert_eq!(pair.client.held(&CLUSTER).len(), 2);
    pair.advance(times().removal_budget());
    assert_eq!(pair.client.held_names(&CLUSTER), ["b".into()]);
}

#[test]
fn times_are_settings() {
    let shelf = shelf("a");
    let times = SafeTimes::default()
        .with_hold(secs(2))
        .with_grace(secs(1))
        .with_removal_budget(secs(3));
    let config = Setup::default_config().with_transitions(Transitions::Safe(times));
    let mut pair = Pair::open(
        PlainClient::sotw(),
        &shelf,
        Setup::default().with_config(config),
    );
    pair.client.want(&CLUSTER, []);
    pair.client.want(&ENDPOINT, ["a", "b"]);
    pair.client.want(&ROUTE, ["r"]);
    pair.drive();
    pair.client.set_acks(false);
    publish(&shelf, leading_to("b"));
    pair.advance(secs(2));
    assert_eq!(table(&pair), "to=b");
    pair.advance(secs(2));
    assert_eq!(pair.client.held(&CLUSTER).len(), 2);
    pair.advance(secs(1));
    assert_eq!(pair.client.held_names(&CLUSTER), ["b".into()]);
    pair.client.set_acks(true);
    for url in [&CLUSTER, &ENDPOINT, &ROUTE] {
        pair.client.ack(url);
    }
    publish(&shelf, leading_to("a"));
    pair.drive();
    assert_eq!(pair.client.held(&CLUSTER).len(), 2, "{}", pair.transcript());
    pair.advance(secs(1));
    assert_eq!(pair.client.held_names(&CLUSTER), ["a".into()]);
}

/// A name does not say then which resource something leads to, and what goes must go with what replaces it.
#[test]
fn c322_where_anything_has_alternatives_or_had_all_changes_at_once() {
    let constrained = |value: &str| {
        let constraints = Constraints::value("env", value);
        fixture::secret("s").constraints(constraints)
    };
    for (before, after) in [(true, false), (false, true)] {
        for client in both() {
            let with = |cluster: &str, alternatives: bool| {
                let secrets = ["p", "t"].map(constrained).into_iter();
                let secrets = secrets.filter(|_| alternatives);
                leading_to(cluster)
                    .into_iter()
                    .chain(secrets)
                    .collect::<Vec<_>>()
            };
            let shelf = Shelf::new();
            publish(&shelf, with("a", before));
            let mut pair = plain(client, &shelf);
            pair.client.want(&SECRET, ["s"]);
            pair.drive();
            pair.client.set_acks(false);
            publish(&shelf, with("b", after));
            pair.drive();
            assert_eq!(table(&pair), "to=b", "{}", pair.transcript());
            assert_eq!(pair.client.held_names(&CLUSTER), ["b".into()]);
        }
    }
}
