//! What a resource keeps of what it refers to, once it was read. A server may hold a hundred thousand of them.

use bytes::Bytes;
use portolan_core::{Facts, References, TypeUrl, well_known};
use portolan_resources::{EnvoyReferences, TypedResource, build};

/// Bytes on the heap of the facts of this body, beside the value itself.
fn kept(type_url: &TypeUrl, body: &Bytes) -> usize {
    // Tables are made when they are first looked at.
    let _ = EnvoyReferences::default().facts(type_url, body);
    let mut facts = Facts::default();
    let info = allocation_counter::measure(|| {
        facts = EnvoyReferences::default().facts(type_url, body);
    });
    println!("{type_url}: {} bytes for {facts:?}", info.bytes_current);
    usize::try_from(info.bytes_current).expect("it keeps something")
}

fn body<R: TypedResource>(message: &R) -> Bytes {
    message.to_resource().build().expect("it has a name").body()
}

#[test]
fn a_cluster_keeps_the_name_of_its_endpoints() {
    let body = body(&build::eds_cluster(
        "outbound|8080||service-000001.default.svc.cluster.local",
    ));
    assert!(kept(&well_known::CLUSTER, &body) <= 160);
}

#[test]
fn a_listener_keeps_its_route_table_and_where_it_stands() {
    let address = "0.0.0.0:8080".parse().expect("an address");
    let body = body(&build::http_listener("ingress", address, "routes"));
    assert!(kept(&well_known::LISTENER, &body) <= 240);
}

#[test]
fn a_route_table_keeps_each_cluster_once() {
    let routes = (0..1000).map(|n| build::prefix_route(format!("/{n}"), "web"));
    let table = build::route_configuration("r", [build::virtual_host("all", ["*"], routes)]);
    assert!(kept(&well_known::ROUTE, &body(&table)) <= 240);
}
