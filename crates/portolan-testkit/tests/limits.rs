//! What a client can make a stream hold is bounded; what it cannot mean ends its stream, and no other.

use std::time::Duration;

use bytes::Bytes;
use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER, ROUTE};
use portolan_core::{ResourceTypes, TypeUrl};
use portolan_engine::{DeltaRequest, Event, Limits, Locator, ProtocolError, Scope, Variant};
use portolan_testkit::{Pair, PlainClient, Setup, Shelf, fixture};

fn limited(client: PlainClient, limits: Limits) -> Pair<PlainClient> {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::endpoints("e", "1")]);
    let config = Setup::default_config().with_limits(limits);
    Pair::open(client, &shelf, Setup::default().with_config(config))
}

fn type_number(n: usize) -> TypeUrl {
    TypeUrl::from(format!("type.googleapis.com/acme.v1.T{n}"))
}

#[test]
fn sixty_four_types_fit_on_a_stream() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let mut pair = limited(client, Limits::default());
        for n in 0..64 {
            pair.client.want(&type_number(n), ["x"]);
        }
        pair.drive();
        assert!(pair.error().is_none());
        pair.client.want(&type_number(0), ["y"]);
        pair.client.want(&type_number(64), ["x"]);
        pair.drive();
        assert_eq!(pair.error(), Some(&ProtocolError::TooManyTypes { max: 64 }));
    }
}

#[test]
fn names_are_counted_over_all_types() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let mut pair = limited(client, Limits::default().with_names(4));
        pair.client.want(&ENDPOINT, ["a", "b"]);
        pair.client.want(&ROUTE, ["c", "d"]);
        pair.drive();
        assert_eq!(pair.session().unwrap().subscribed_names(), 4);
        pair.client.want(&CLUSTER, ["e"]);
        pair.drive();
        assert!(
            matches!(
                pair.error(),
                Some(ProtocolError::TooManyNames { max: 4, .. })
            ),
            "{:?}",
            pair.error()
        );
    }
}

fn too_long(pair: &Pair<PlainClient>) -> bool {
    matches!(pair.error(), Some(ProtocolError::NamesTooLong { .. }))
}

#[test]
fn bytes_of_names_are_counted_over_all_types() {
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let mut pair = limited(client, Limits::default().with_name_bytes(8));
        pair.client.want(&ENDPOINT, ["aaaa"]);
        pair.drive();
        pair.client.want(&ROUTE, ["bbbb"]);
        pair.drive();
        assert_eq!(pair.error(), None);
        pair.client.want(&CLUSTER, ["c"]);
        pair.drive();
        assert!(too_long(&pair), "{:?}", pair.error());
    }
}

#[test]
fn bytes_of_replaced_names_are_free_again() {
    let mut pair = limited(PlainClient::sotw(), Limits::default().with_name_bytes(8));
    for names in [["aaaa", "bbbb"], ["cccc", "dddd"], ["e", "f"]] {
        pair.client.ask(&ENDPOINT, names);
        pair.drive();
    }
    assert_eq!(pair.error(), None);
}

#[test]
fn bytes_of_versions_count_until_they_are_compared() {
    let claims = |url: &TypeUrl| {
        let mut request = PlainClient::delta_request(url, [""; 0], [""; 0]);
        request.initial_versions = vec![("a".into(), "1234".into())];
        request
    };
    // Nothing is published, so nothing can be compared.
    let config = Setup::default_config().with_limits(Limits::default().with_name_bytes(9));
    let setup = Setup::default().with_config(config);
    let mut pair = Pair::open(PlainClient::delta(), &Shelf::new(), setup);
    pair.client.send(claims(&CLUSTER));
    pair.drive();
    assert_eq!(pair.error(), None);
    pair.client.send(claims(&LISTENER));
    pair.drive();
    assert!(too_long(&pair), "{:?}", pair.error());
}

#[test]
fn a_type_url_that_is_none_is_refused_by_its_length() {
    let mut pair = limited(PlainClient::sotw(), Limits::default());
    pair.client.ask(&TypeUrl::from("x".repeat(1024)), ["a"]);
    pair.drive();
    assert_eq!(pair.error(), None);
    pair.client.ask(&TypeUrl::from("x".repeat(1025)), ["a"]);
    pair.drive();
    let error = ProtocolError::TypeUrlTooLong {
        len: 1025,
        max: 1024,
    };
    assert_eq!(pair.error(), Some(&error));
}

#[test]
fn in_state_of_the_world_names_are_replaced_and_not_added_up() {
    let mut pair = limited(PlainClient::sotw(), Limits::default().with_names(2));
    for names in [["a", "b"], ["c", "d"], ["e", "f"]] {
        pair.client.ask(&ENDPOINT, names);
        pair.drive();
    }
    assert!(pair.error().is_none());
}

#[test]
fn in_delta_what_was_given_up_makes_room() {
    let mut pair = limited(PlainClient::delta(), Limits::default().with_names(2));
    for (sub, unsub) in [("a", "x"), ("b", "a"), ("c", "b"), ("d", "c")] {
        let request = PlainClient::delta_request(&ENDPOINT, [sub], [unsub]);
        pair.client.send(request);
        pair.drive();
    }
    assert!(pair.error().is_none());
    assert_eq!(pair.session().unwrap().subscribed_names(), 1);
}

#[test]
fn names_that_were_given_up_and_await_their_answer_count() {
    let mut pair = limited(PlainClient::delta(), Limits::default().with_names(8));
    pair.set_window(0);
    pair.client.subscribe(&CLUSTER, []);
    for n in 0..100 {
        let name = format!("n{n}");
        pair.client.subscribe(&CLUSTER, [name.as_str()]);
        pair.client.unsubscribe(&CLUSTER, [name.as_str()]);
    }
    pair.drive();
    assert!(matches!(
        pair.error(),
        Some(ProtocolError::TooManyNames { .. })
    ));
}

#[test]
fn the_defaults_are_those_that_are_documented() {
    let limits = Limits::default();
    assert_eq!(limits.types(), 64);
    assert_eq!(limits.names(), 200_000);
    assert_eq!(limits.name_bytes(), 64 << 20);
    assert_eq!(limits.unacked(), 64);
    assert_eq!(limits.nack_text(), 4096);
}

#[test]
fn a_client_that_rejects_again_and_again_is_not_remembered_for_ever() {
    // Each rejection concerns a name that is given up at once. The session tells all that it holds.
    let held_after = |rejections| {
        let mut pair = limited(PlainClient::delta(), Limits::default());
        pair.client.set_acks(false);
        let mut previous = String::from("n00000");
        for n in 1..=rejections {
            let name = format!("n{n:05}");
            let subscribe = [name.as_str()];
            let request = PlainClient::delta_request(&ROUTE, subscribe, [previous.as_str()]);
            pair.client.send(request);
            pair.drive();
            pair.client.nack(&ROUTE);
            pair.drive();
            previous = name;
        }
        format!("{:?}", pair.session().unwrap()).len()
    };
    let (few, many) = (held_after(100), held_after(500));
    assert!(
        many < few + few / 10,
        "{few} characters after 100, {many} after 500"
    );
}

#[test]
fn c040_a_type_that_nobody_registered_is_an_ordinary_type_without_resources() {
    // Decision: delta says that the name does not exist, state of the world nothing.
    let url = type_number(0);
    for client in [PlainClient::sotw(), PlainClient::delta()] {
        let mut pair = limited(client, Limits::default());
        pair.client.want(&url, []);
        pair.client.want(&url, ["x"]);
        pair.client.want(&CLUSTER, []);
        pair.drive();
        assert!(pair.error().is_none());
        assert_eq!(pair.client.held(&CLUSTER).len(), 1);
        let removed: Vec<_> = pair
            .client
            .received()
            .iter()
            .flat_map(|r| r.removed.clone())
            .collect();
        match pair.client.received().len() {
            1 => assert!(removed.is_empty()),
            _ => assert_eq!(removed, ["x".into()]),
        }
        let told = pair.take_events();
        let unregistered = |e: &&Event| matches!(e, Event::UnregisteredType { .. });
        assert_eq!(told.iter().filter(unregistered).count(), 1);
    }
}

#[test]
fn resources_of_an_unregistered_type_are_served() {
    let shelf = Shelf::new();
    shelf.put([fixture::Fixture::new(type_number(0), "x")]);
    let mut pair = Pair::new(PlainClient::sotw(), &shelf);
    pair.client.ask(&type_number(0), ["x"]);
    pair.drive();
    pair.expect([
        "> acme.v1.T0 [x] v= n=",
        "< acme.v1.T0 v1 n1 [x]",
        "> ACK acme.v1.T0 n1",
    ]);
}

#[test]
fn c039_an_aggregated_stream_needs_a_type_in_each_request() {
    let mut pair = limited(PlainClient::sotw(), Limits::default());
    pair.client.ask(&TypeUrl::from(""), [""; 0]);
    pair.drive();
    assert_eq!(pair.error(), Some(&ProtocolError::EmptyTypeUrl));
}

#[test]
fn c037_c038_a_stream_of_one_type_needs_none_and_takes_no_other() {
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a")]);
    let scope = Scope::Single(ResourceTypes::well_known().get(&CLUSTER));
    let setup = Setup::default().with_scope(scope);
    let mut pair = Pair::open(PlainClient::sotw(), &shelf, setup);
    pair.client.ask(&TypeUrl::from(""), [""; 0]);
    pair.drive();
    assert_eq!(pair.client.held(&CLUSTER).len(), 1);
    pair.client.ask(&LISTENER, [""; 0]);
    pair.drive();
    assert!(matches!(
        pair.error(),
        Some(ProtocolError::WrongType { expected, .. }) if *expected == CLUSTER
    ));
}

#[test]
fn a_request_of_the_other_variant_ends_the_stream() {
    let mut pair = limited(PlainClient::sotw(), Limits::default());
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    assert_eq!(
        pair.error(),
        Some(&ProtocolError::WrongVariant {
            expected: Variant::Sotw,
            found: Variant::Delta,
        })
    );
}

#[test]
fn names_that_are_no_text_end_the_stream() {
    let bad = || vec![Bytes::from_static(b"\xff")];
    let mut sotw = limited(PlainClient::sotw(), Limits::default());
    let mut request = sotw.client.sotw_request(&ENDPOINT, [""; 0]);
    request.names = bad();
    sotw.client.send(request);
    sotw.drive();
    assert!(matches!(
        sotw.error(),
        Some(ProtocolError::InvalidText { .. })
    ));

    for field in 0..4 {
        let mut pair = limited(PlainClient::delta(), Limits::default());
        let mut request = PlainClient::delta_request(&ENDPOINT, ["a"], []);
        match field {
            0 => request.subscribe = bad(),
            1 => request.unsubscribe = bad(),
            2 => request.initial_versions = vec![(bad().remove(0), Bytes::new())],
            _ => request.initial_versions = vec![(Bytes::from("a"), bad().remove(0))],
        }
        pair.client.send(request);
        pair.drive();
        assert!(
            matches!(pair.error(), Some(ProtocolError::InvalidText { .. })),
            "{field}"
        );
    }
}

#[test]
fn a_stream_that_failed_says_nothing_more() {
    let mut pair = limited(PlainClient::sotw(), Limits::default());
    pair.client.ask(&CLUSTER, [""; 0]);
    pair.client.ask(&TypeUrl::from(""), [""; 0]);
    pair.client.ask(&ENDPOINT, ["e"]);
    pair.drive();
    pair.advance(Duration::from_secs(60));
    assert_eq!(pair.client.received().len(), 1);
}

#[test]
fn c001_c019_c020_c178_one_stream_that_fails_or_stalls_leaves_the_others_alone() {
    // Decision: fault isolation.
    let shelf = Shelf::new();
    shelf.put([fixture::static_cluster("a"), fixture::endpoints("a", "1")]);
    let mut stalled = Pair::new(PlainClient::sotw(), &shelf);
    let mut failed = Pair::new(PlainClient::delta(), &shelf);
    let mut other = Pair::new(PlainClient::delta(), &shelf);
    stalled.client.ask(&CLUSTER, [""; 0]);
    stalled.set_window(0);
    failed.client.ask(&CLUSTER, [""; 0]);
    other.client.subscribe(&ENDPOINT, ["a"]);
    for pair in [&mut stalled, &mut failed, &mut other] {
        pair.drive();
    }
    assert!(failed.error().is_some());
    for revision in 2..100 {
        shelf.put([fixture::endpoints("a", revision)]);
        other.drive();
    }
    assert_eq!(other.client.held(&ENDPOINT)["a"].body(), &b"host=99"[..]);
    assert_eq!(
        other.client.held(&CLUSTER).len(),
        0,
        "nothing is shared between streams"
    );
    assert_eq!(shelf.views(), 3);
    failed.disconnect();
    assert_eq!(shelf.views(), 2);
    stalled.set_window(1);
    stalled.drive();
    assert_eq!(stalled.client.received().len(), 1);
}

#[test]
fn subscribing_again_adds_nothing() {
    let mut pair = limited(PlainClient::delta(), Limits::default().with_names(2));
    for _ in 0..3 {
        pair.client.subscribe(&ENDPOINT, ["a", "b"]);
        pair.drive();
    }
    assert_eq!(pair.error(), None);
}

/// Subscribes these, each with a parameter of seven bytes.
fn with_parameters(url: &TypeUrl, names: &[&'static str]) -> DeltaRequest {
    let locator = |name: &&'static str| {
        let parameter = (Bytes::from("env"), Bytes::from("prod"));
        Locator::new(Bytes::from(*name), [parameter])
    };
    let mut request = PlainClient::delta_request(url, [], []);
    request.locators_subscribe = names.iter().map(locator).collect();
    request
}

#[test]
fn names_with_parameters_count_as_others_do() {
    // An acknowledgement would be counted with what the request before it has brought.
    let client = PlainClient::delta().without_acks();
    let mut pair = limited(client, Limits::default().with_names(2));
    for _ in 0..3 {
        pair.client.send(with_parameters(&ENDPOINT, &["a", "*"]));
        pair.drive();
    }
    assert_eq!(pair.error(), None);
    pair.client.send(with_parameters(&ENDPOINT, &["b"]));
    pair.drive();
    let error = pair.error();
    assert!(
        matches!(error, Some(ProtocolError::TooManyNames { .. })),
        "{error:?}"
    );
}

#[test]
fn parameters_are_counted_over_all_types() {
    let mut pair = limited(PlainClient::delta(), Limits::default().with_name_bytes(20));
    pair.client.send(with_parameters(&ENDPOINT, &["*"]));
    pair.drive();
    assert_eq!(pair.error(), None);
    pair.client.send(with_parameters(&CLUSTER, &["0123456789"]));
    pair.drive();
    assert!(too_long(&pair), "{:?}", pair.error());
}
