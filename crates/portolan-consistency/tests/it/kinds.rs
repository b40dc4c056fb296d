use portolan_core::Resource;
use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER};

use crate::world::{checks, keyed, resource, shown, snapshot, whole};

fn aggregate(name: &str, members: &str) -> Resource {
    let text = format!(
        "cluster_type {{ name: \"aggregate\" typed_config {{ [@ext.clusters.aggregate.v3.ClusterConfig] {{ clusters: [{members}] }} }} }}"
    );
    resource(&CLUSTER, name, &text)
}

#[test]
fn an_aggregate_cluster_that_is_a_member_of_itself_is_found_once() {
    let alone = snapshot([aggregate("a", "\"a\"")]);
    let expected = "Cluster \"a\" › cluster_type › cluster_config › clusters[0] \"a\": it is a member of itself";
    assert_eq!(shown(&checks().check(&alone)), [expected]);

    let round = snapshot([
        aggregate("b", "\"c\""),
        aggregate("a", "\"x\", \"b\""),
        aggregate("c", "\"a\""),
        aggregate("outside", "\"b\""),
        resource(&CLUSTER, "x", ""),
    ]);
    let expected = "Cluster \"a\" › cluster_type › cluster_config › clusters[1] \"b\": it is a member of its own, by way of b, c";
    assert_eq!(shown(&checks().check(&round)), [expected]);
}

#[test]
fn a_cluster_that_mirrors_to_itself_is_no_cycle() {
    let mirror = resource(
        &CLUSTER,
        "m",
        r#"typed_extension_protocol_options { key: "http" value {
        [@ext.upstreams.http.v3.HttpProtocolOptions] { request_mirror_policies { cluster: "m" } }
    } }"#,
    );
    assert!(checks().check(&snapshot([mirror])).is_clean());
}

#[test]
fn c379_a_resource_of_another_name_than_its_body_is_found() {
    let cluster = keyed(&CLUSTER, "key", r#"name: "inner""#);
    let expected =
        "Cluster \"key\" \"inner\": the name in its body is another, and some clients see no other";
    assert_eq!(shown(&checks().check(&snapshot([cluster]))), [expected]);
}

#[test]
fn two_listeners_on_one_address_clash() {
    let listener = |name: &str, address: &str| {
        resource(
            &LISTENER,
            name,
            &format!("address {{ socket_address {{ address: {address:?} port_value: 80 }} }}"),
        )
    };
    let clash = snapshot([
        listener("a", "10.0.0.1"),
        listener("b", "10.0.0.2"),
        listener("c", "10.0.0.1"),
    ]);
    let expected = "Listener \"c\" › address \"tcp 10.0.0.1:80\": Listener \"a\" has it too";
    assert_eq!(shown(&checks().check(&clash)), [expected]);
}

#[test]
fn an_alias_that_is_another_resources_name_is_found() {
    let cluster = |name: &str, alias: &str| {
        Resource::builder(CLUSTER, name, resource(&CLUSTER, name, "").body())
            .alias(alias)
            .build()
            .unwrap()
    };
    let names = snapshot([
        cluster("a", "c"),
        cluster("b", "c"),
        resource(&CLUSTER, "c", ""),
    ]);
    let expected = [
        "Cluster \"a\" › aliases \"c\": Cluster \"c\" has it too",
        "Cluster \"b\" › aliases \"c\": Cluster \"c\" has it too",
    ];
    assert_eq!(shown(&checks().check(&names)), expected);
    let one = snapshot([cluster("a", "c")]);
    assert!(checks().check(&one).is_clean());
}

#[test]
fn what_is_referred_to_by_an_alias_is_there_and_used() {
    let mut edit = whole().edit();
    edit.remove(&ENDPOINT, "web");
    let body = resource(&ENDPOINT, "other", "").body();
    edit.upsert(Resource::builder(ENDPOINT, "other", body).alias("web"))
        .unwrap();
    assert!(checks().check(&edit.build()).is_clean());
}

#[test]
fn c354_an_xdstp_cluster_without_a_service_name_is_found() {
    const NAME: &str = "xdstp://a/envoy.config.cluster.v3.Cluster/c";
    let eds = "type: EDS eds_cluster_config { eds_config @ADS";
    let endpoints = |name: &str| resource(&ENDPOINT, name, "");
    let without = snapshot([resource(&CLUSTER, NAME, &format!("{eds} }}"))]);
    let expected = format!(
        "Cluster {NAME:?} › eds_cluster_config: clients look its endpoints up by a service_name, which it does not have"
    );
    assert_eq!(shown(&checks().check(&without)), [expected]);
    let with = snapshot([
        resource(&CLUSTER, NAME, &format!("{eds} service_name: \"e\" }}")),
        endpoints("e"),
    ]);
    assert!(checks().check(&with).is_clean());
}

#[test]
fn a_report_shows_so_many_the_most_severe_first() {
    let mut edit = whole().edit();
    edit.remove(&CLUSTER, "als").remove(&CLUSTER, "web");
    let report = checks().with_most_shown(2).check(&edit.build());
    let shown = shown(&report);
    assert_eq!((shown.len(), report.total()), (2, 3));
    assert!(
        shown[0].contains("\"web\"") && shown[1].contains("\"als\""),
        "{shown:?}"
    );
    assert_eq!(report.to_string(), format!("{}; and 2 more", shown[0]));
}
