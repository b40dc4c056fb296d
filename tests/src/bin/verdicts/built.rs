//! Configurations that the builders make: each kind of cluster behind each kind of listener.

use portolan::core::Snapshot;
use portolan::resources::{AddTyped, build};
use portolan::types::envoy::config::cluster::v3::Cluster;
use portolan::types::envoy::config::listener::v3::Listener;

use crate::case::{Case, Envoys, Ours};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (listener_name, listener) in listeners() {
        for (cluster_name, cluster) in clusters() {
            cases.push(Case {
                name: format!("built: {listener_name}, {cluster_name}"),
                envoys: Envoys::Accepts,
                ours: Ours::FindsNothing,
                snapshot: snapshot(&listener, &cluster),
            });
        }
    }
    cases
}

fn snapshot(listener: &Listener, cluster: &Cluster) -> Snapshot {
    let mut snapshot = Snapshot::builder();
    let mut add = || {
        snapshot.add(listener)?.add(cluster)?;
        snapshot.add(&build::static_cluster(
            "other",
            ["127.0.0.1:81".parse().expect("it is one")],
        ))?;
        let routes = [
            build::weighted_route("/both", [("web", 1), ("other", 2)]),
            build::prefix_route("/", "web"),
        ];
        let all = build::virtual_host("all", ["*"], routes);
        if listener.name == "discovering" {
            snapshot.add(&build::route_configuration("routes", [all]))?;
        }
        if cluster.eds_cluster_config.is_some() {
            let endpoints = ["127.0.0.1:80".parse().expect("it is one")];
            snapshot.add(&build::assignment("web", endpoints))?;
        }
        Ok::<_, portolan::core::ResourceError>(())
    };
    add().expect("each is there once");
    snapshot.build()
}

fn listeners() -> [(&'static str, Listener); 4] {
    let address = ([0, 0, 0, 0], 8080).into();
    let routes = || {
        let all = build::virtual_host("all", ["*"], [build::prefix_route("/", "web")]);
        build::route_configuration("inline", [all])
    };
    [
        (
            "HTTP",
            build::http_listener("discovering", address, "routes"),
        ),
        (
            "HTTP by a service",
            build::discovered_http_listener(
                "discovering",
                address,
                "routes",
                build::delta_service("other"),
            ),
        ),
        (
            "HTTP inline",
            build::inline_http_listener("inline", address, routes()),
        ),
        ("TCP", build::tcp_listener("tcp", address, "web")),
    ]
}

fn clusters() -> [(&'static str, Cluster); 6] {
    [
        ("EDS", build::eds_cluster("web")),
        ("EDS with HTTP/2", build::http2(build::eds_cluster("web"))),
        (
            "static",
            build::static_cluster("web", ["127.0.0.1:80".parse().expect("it is one")]),
        ),
        ("static without endpoints", build::static_cluster("web", [])),
        ("DNS", build::strict_dns_cluster("web", "web.example", 80)),
        ("aggregate", build::aggregate_cluster("web", ["other"])),
    ]
}
