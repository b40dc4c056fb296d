//! Several types on one stream: completeness, order, warming.

use std::time::Duration;

use portolan_core::well_known::{CLUSTER, LISTENER};
use portolan_testkit::{PlainClient, fixture};

use crate::bed::{Bed, both, snapshot};

/// Elsewhere a cluster that no route used yet kept the whole type silent for clients that name what they want.
#[test]
fn b22_clusters_that_nobody_names_keep_nobody_waiting() {
    let bed = Bed::with(["blue", "green"].map(fixture::static_cluster));
    let mut pair = bed.pair(PlainClient::sotw());
    pair.client.ask(&CLUSTER, ["blue"]);
    pair.drive();
    pair.client.ask(&CLUSTER, ["blue", "green"]);
    pair.drive();
    pair.expect([
        "> CDS [blue] v= n=",
        "< CDS v1 n1 [blue]",
        "> ACK CDS n1",
        "> CDS [blue green] v=v1 n=n1",
        "< CDS v1 n2 [blue green]",
        "> ACK CDS n2",
    ]);
}

/// Elsewhere a client that came before the first publication was told that there is nothing, and dropped what it had.
#[test]
fn b31_nothing_published_is_not_empty() {
    for client in both() {
        let bed = Bed::new();
        let mut pair = bed.pair(client);
        pair.client.want(&CLUSTER, []);
        pair.client.want(&LISTENER, []);
        pair.advance(Duration::from_secs(60));
        assert!(pair.client.received().is_empty());
        bed.set(snapshot([fixture::static_cluster("c")]));
        pair.drive();
        let told = pair.client.received().iter();
        let told: Vec<_> = told.map(|r| (&r.type_url, r.resources.len())).collect();
        assert_eq!(told, [(&CLUSTER, 1), (&LISTENER, 0)]);
    }
}
