//! Each example shows what it says it shows.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::program::Program;

/// Runs an example that ends by itself; it must print lines with these texts, in this order.
fn shows(path: &str, texts: &[&str]) {
    in_order(&Program::start(path, [""; 0]).finish(), texts);
}

fn in_order(lines: &[String], texts: &[&str]) {
    let mut rest = lines.iter();
    for text in texts {
        let found = rest.any(|line| line.contains(text));
        assert!(
            found,
            "no {text:?}, or not there, in:\n{}",
            lines.join("\n")
        );
    }
}

#[test]
fn custom_node_hash() {
    shows(
        env!("CARGO_BIN_EXE_custom_node_hash"),
        &[
            "n1 is served ingress-cart.eu.example.org, ingress-search.eu.example.org",
            "n2 is served ingress-cart.eu",
            "n3 is served egress-cart.us",
            "n4 is refused: node.metadata[\"role\"] is not set; set it",
            "groups: [Fleet { role: \"egress\", region: \"us\" }, Fleet {",
        ],
    );
}

#[test]
fn custom_resource_type() {
    shows(
        env!("CARGO_BIN_EXE_custom_resource_type"),
        &[
            "checkout: for 10 % of users",
            "dark-mode: for 50 % of users",
            "reviews: for 100 % of users",
            "checkout: for 20 % of users",
            "reviews: gone",
        ],
    );
}

#[test]
fn callbacks_and_admission() {
    let program = Program::start(env!("CARGO_BIN_EXE_callbacks_and_admission"), [""; 0]);
    let lines = program.finish();
    // Two streams, and on each what the server sends and what its client answers, are apart from each other.
    for order in [
        &["edge-2: closed: not admitted: no node \"edge-2\"; register it first"][..],
        &[
            "the stranger is told: no node \"edge-2\"; register it first",
            "edge-1: admitted to envoy.service.discovery.v3.AggregatedDiscoveryService",
            "edge-1: accepted 1",
            "edge-1: rejected 2: search is down",
            "the client is told: no node \"edge-1\"; register it first",
            "rejections: 1",
        ],
        &[
            "edge-1: admitted",
            "edge-1: sent +1 -0",
            "edge-1: sent +1 -0",
            "edge-1: sent +0 -1",
            "edge-1: closed: not admitted: ",
        ],
    ] {
        in_order(&lines, order);
    }
}

#[test]
fn incremental_translator() {
    shows(
        env!("CARGO_BIN_EXE_incremental_translator"),
        &[
            "translating all of 1000 services",
            "the client was sent 1000 clusters, and that 0 are gone",
            "translating 1 of 1000 services",
            "the client was sent 1 clusters, and that 0 are gone",
            "translating 1 of 999 services",
            "the client was sent 0 clusters, and that 1 are gone",
            "translating all of 999 services",
            "proxy-1: unchanged",
        ],
    );
}

#[test]
fn linear_endpoints() {
    let program = Program::start(env!("CARGO_BIN_EXE_linear_endpoints"), [""; 0]);
    // Whatever else is pushed comes in between.
    assert_eq!(
        program.finish(),
        [
            "100000 clusters have endpoints",
            "  cart is sent [blue-7 green-7], gone []",
            "  search is sent [blue-42], gone []",
            "blue-1: publication 2",
            "blue-7: publication 3",
            "  cart is sent [blue-7], gone []",
            "blue-42: publication 4",
            "  search is sent [blue-42], gone []",
            "a batch: publication 5",
            "  cart is sent [blue-7 green-7], gone []",
            "blue-42, gone,: publication 6",
            "  search is sent [], gone [blue-42]",
            "green-7 again: no news",
        ]
    );
}

#[test]
fn mux() {
    let program = Program::start(env!("CARGO_BIN_EXE_mux"), [""; 0]);
    assert_eq!(
        program.finish(),
        [
            "  sent: 10000 of Cluster",
            "  sent: 1 of ClusterLoadAssignment",
            "  sent: 1 of Secret",
            "cluster-7 moves",
            "  sent: 1 of ClusterLoadAssignment",
            "the certificate is renewed",
            "  sent: 1 of Secret",
            "cluster-7 is overridden",
            "  cluster-7 of overrides hides that of endpoints",
            "  sent: 1 of ClusterLoadAssignment",
            "the override is lifted",
            "  cluster-7 is not hidden any more",
            "  sent: 1 of ClusterLoadAssignment",
        ]
    );
}

#[test]
fn on_demand_virtual_hosts() {
    let program = Program::start(env!("CARGO_BIN_EXE_on_demand_virtual_hosts"), [""; 0]);
    assert_eq!(
        program.finish(),
        [
            "the proxy asks for shop/cart.example",
            "looking up cart.example for eu",
            "  shop/cart.example: to cart-eu",
            "the proxy asks for shop/nowhere.example",
            "looking up nowhere.example for eu",
            "  shop/nowhere.example: no such host",
            "cart.example moves",
            "  shop/cart.example: to cart-new",
            "the proxy gives up shop/cart.example",
            "nobody wants cart.example any more",
        ]
    );
}

#[test]
fn publish_gate() {
    const ASTRAY: &str =
        "    route /cart goes to service cart, which is not among the services (search)";
    let program = Program::start(env!("CARGO_BIN_EXE_publish_gate"), [""; 0]);
    assert_eq!(
        program.finish(),
        [
            "  eu: published as 1",
            "  us: published as 1",
            "  the proxy in eu is sent [cart search], gone []",
            "  the proxy in us is sent [cart search], gone []",
            "a dry run: eu loses cart, and in us it moves",
            "  eu: would be refused",
            ASTRAY,
            "  us: would be published",
            "it is published all the same",
            "  eu: refused, its proxies keep what they have",
            ASTRAY,
            "  us: published as 2",
            "  the proxy in us is sent [cart], gone []",
            "the route goes too",
            "  eu: published as 2",
            "  us: unchanged",
            "  the proxy in eu is sent [], gone [cart]",
        ]
    );
}

#[test]
fn ttl_runtime() {
    shows(
        env!("CARGO_BIN_EXE_ttl_runtime"),
        &[
            "base: 50000 connections, for ever",
            "incident: 1000 connections, for 1s",
            "incident lives on, for 1s",
            "incident: 500 connections, for 1s",
            "incident lives on, for 1s",
            "the control plane goes away",
            "base stays",
            "incident is over",
        ],
    );
}

#[test]
fn wait_for_acks() {
    shows(
        env!("CARGO_BIN_EXE_wait_for_acks"),
        &[
            "accepted by all: false",
            "  accepting: accepted",
            "  rejecting: rejected: envoy.config.cluster.v3.Cluster: no room for search",
            "accepted by all: false",
            "  accepting: accepted",
            "  rejecting: rejected",
            "  silent: pending",
        ],
    );
}

#[test]
fn mtls_identity() {
    shows(
        env!("CARGO_BIN_EXE_mtls_identity"),
        &[
            "edge-1 says it is edge-1, and is served: only for edge-1",
            "edge-2 says it is edge-1, but: the certificate is of spiffe://example.org/proxy/edge-2;",
        ],
    );
}

#[test]
fn embed_in_axum() {
    let mut program = Program::start(env!("CARGO_BIN_EXE_embed_in_axum"), ["127.0.0.1:0"]);
    let serving = program.expect("serving on ");
    let address = serving.rsplit_once(' ').unwrap().1;

    let answer = http(address, "POST /backends/127.0.0.1:9001");
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    program.expect("the client was sent cluster 127.0.0.1:9001");
    let answer = http(address, "GET /nodes");
    assert!(answer.ends_with("\r\n\r\nproxy-1"), "{answer}");
    let answer = http(address, "GET /elsewhere");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");

    program.interrupt();
}

#[test]
fn metrics_prometheus() {
    let mut program = Program::start(env!("CARGO_BIN_EXE_metrics_prometheus"), ["127.0.0.1:0"]);
    let serving = program.expect("serving on ");
    program.expect("proxy-1: rejected: ");
    let page = http(serving.rsplit_once(' ').unwrap().1, "GET /metrics");
    for sample in [
        "portolan_streams{service=\"envoy.service.discovery.v3.AggregatedDiscoveryService\",method=\"delta\"} 1",
        "portolan_acks_total{type=\"CDS\",method=\"delta\"} 1",
        "portolan_nacks_total{type=\"CDS\",method=\"delta\"} 1",
        "portolan_rejecting_streams{method=\"delta\"} 1",
    ] {
        assert!(
            page.lines().any(|line| line == sample),
            "no {sample} in:\n{page}"
        );
    }
    program.interrupt();
}

/// The answer of an HTTP server to a request line.
fn http(address: &str, request: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    let head = format!("{request} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    connection.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}
