//! What is deleted, how each variant says so, and what comes back.

use portolan_core::well_known::{CLUSTER, ENDPOINT, ROUTE, SECRET};
use portolan_core::{MissingName, Resource, ResourceType, ResourceTypes, Snapshot};
use portolan_testkit::fixture::{self, Fixture};
use portolan_testkit::{EnvoyClient, EnvoyMux, Pair, PlainClient, Setup, Shelf};

fn pair_with(
    client: PlainClient,
    resources: impl IntoIterator<Item = Fixture>,
) -> (Shelf, Pair<PlainClient>) {
    let shelf = Shelf::new();
    shelf.put(resources);
    (shelf.clone(), Pair::new(client, &shelf))
}

#[test]
fn c133_c206_an_assignment_without_endpoints_is_an_update() {
    for kind in EnvoyMux::ALL {
        let shelf = Shelf::new();
        shelf.put([fixture::cluster("a"), fixture::endpoints("a", "1")]);
        let mut pair = Pair::new(EnvoyClient::new(kind), &shelf);
        pair.drive();
        shelf.put([fixture::no_endpoints("a")]);
        pair.drive();
        assert_eq!(pair.client.endpoints("a"), Some(""), "{kind:?}");
    }
}

#[test]
fn missing_endpoints_are_not_reported_while_a_cluster_refers_to_them() {
    // `removed` would make the warming cluster live and empty.
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a")]);
    let mut pair = Pair::new(EnvoyClient::new(EnvoyMux::Delta), &shelf);
    pair.drive();
    pair.expect(["> CDS", "< CDS n1 [a]", "> EDS +[a]"]);
    assert_eq!(pair.client.warming_clusters(), ["a".into()]);
    shelf.put([fixture::endpoints("a", "1")]);
    pair.drive();
    assert_eq!(pair.client.endpoints("a"), Some("host=1"));
}

#[test]
fn c256_the_reference_of_a_cluster_counts_and_not_its_name() {
    let shelf = Shelf::new();
    shelf.put([fixture::cluster("a").service("s")]);
    let mut pair = Pair::new(PlainClient::delta(), &shelf);
    pair.client.subscribe(&ENDPOINT, ["a", "s"]);
    pair.drive();
    pair.expect(["> EDS +[a s]", "< EDS n1 [] -[a]", "> ACK EDS n1"]);
}

#[test]
fn c208_the_rule_for_missing_names_is_a_types_own() {
    let types = ResourceTypes::well_known();
    let secrets = types.get(&SECRET).with_missing_name(MissingName::Report);
    let config = Setup::default_config().with_types(types.with(secrets));
    let shelf = Shelf::new();
    shelf.publish(Snapshot::empty());
    let setup = Setup::default().with_config(config);
    let mut pair = Pair::open(PlainClient::delta(), &shelf, setup);
    pair.client.subscribe(&SECRET, ["s"]);
    pair.drive();
    pair.expect(["> SDS +[s]", "< SDS n1 [] -[s]", "> ACK SDS n1"]);
}

#[test]
fn c046_a_type_of_ones_own_follows_its_descriptor() {
    let url = "type.googleapis.com/acme.v1.Widget";
    let widget = ResourceType::new(url, "WDS")
        .with_sotw_mode(portolan_core::SotwMode::FullState)
        .with_legacy_wildcard(true);
    let types = ResourceTypes::well_known().with(widget.clone());
    let config = Setup::default_config().with_types(types);
    let shelf = Shelf::new();
    let put = |name| shelf.put([Resource::builder(url, name, "")]);
    put("a");
    let setup = Setup::default().with_config(config);
    let mut pair = Pair::open(PlainClient::sotw(), &shelf, setup);
    pair.client.ask(widget.url(), [""; 0]);
    pair.drive();
    put("b");
    pair.drive();
    pair.expect([
        "> WDS [] v= n=",
        "< WDS v1 n1 [a]",
        "> ACK WDS n1",
        "< WDS v2 n2 [a b]",
        "> ACK WDS n2",
    ]);
}

#[test]
fn caller_versions_are_part_of_a_resource() {
    // Either the version or the content differs: it changed.
    let (shelf, mut pair) = pair_with(
        PlainClient::delta(),
        [fixture::static_cluster("a").version("1")],
    );
    pair.client.subscribe(&CLUSTER, []);
    pair.drive();
    pair.skip();
    shelf.put([fixture::static_cluster("a").version("2")]);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(2).version("2")]);
    pair.drive();
    shelf.put([fixture::static_cluster("a").revision(2).version("2")]);
    pair.drive();
    pair.expect([
        "< CDS n2 [a@2]",
        "> ACK CDS n2",
        "< CDS n3 [a@2]",
        "> ACK CDS n3",
    ]);
}

#[test]
fn envoy_ignores_what_is_withdrawn_while_it_is_used() {
    for kind in EnvoyMux::ALL {
        let shelf = Shelf::new();
        shelf.put([
            fixture::cluster("a"),
            fixture::endpoints("a", "1"),
            fixture::listener("l", "r"),
            fixture::route("r", ["a"]),
        ]);
        let mut pair = Pair::new(EnvoyClient::new(kind), &shelf);
        pair.drive();
        shelf.remove(&ENDPOINT, ["a"]);
        shelf.remove(&ROUTE, ["r"]);
        pair.drive();
        assert_eq!(pair.client.endpoints("a"), Some("host=1"), "{kind:?}");
        assert!(pair.client.routes().contains_key("r"), "{kind:?}");
    }
}
