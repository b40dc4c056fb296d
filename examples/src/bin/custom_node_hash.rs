//! Who is served what: nodes are grouped by role and region, and every group has a snapshot of its own.
//!
//! ```text
//! cargo run -p portolan-examples --bin custom_node_hash
//! ```
//!
//! Four clients connect. The role is read from the node's metadata, or else is the node's cluster; two clients of one
//! role and region are one group, which is translated once. The last client says neither, and is told what to set.

use std::error::Error;
use std::future::pending;
use std::net::SocketAddr;

use portolan::core::node_hash::{NodeCluster, NodeLocality, NodeMetadata};
use portolan::core::well_known::CLUSTER;
use portolan::prelude::*;
use portolan::server::transport::Incoming;
use portolan::types::envoy::config::core::v3 as wire;
use portolan::types::prost_types::{Struct, Value, value::Kind};
use portolan_examples::DemoClient;
use tonic::Status;

/// The name of a group: any type that can be the key of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Fleet {
    role: String,
    region: String,
}

/// Tells nodes apart.
fn by_fleet() -> impl NodeHash<Key = Fleet> {
    let role = NodeMetadata::new("role").or(NodeCluster::default());
    (role, NodeLocality::region()).map(|(role, place)| Fleet {
        role,
        region: place.region().to_owned(),
    })
}

/// The model: hosts that every fleet has one of in its region.
struct Hosts(Vec<&'static str>);

#[derive(Debug)]
struct PerFleet;

impl Translator<Hosts, Fleet> for PerFleet {
    type Error = ResourceError;

    fn translate(
        &self,
        model: &Hosts,
        fleet: &Fleet,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        let Fleet { role, region } = fleet;
        for host in &model.0 {
            let name = format!("{role}-{host}.{region}.example.org");
            out.add(&build::strict_dns_cluster(&name, &name, 443))?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start(by_fleet(), PerFleet);
    plane.publisher().update(Hosts(vec!["cart", "search"]))?;

    let incoming = Incoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    tokio::spawn(plane.xds().serve(incoming).until(pending()));

    for node in [
        node("n1", "", "eu", Some("ingress")),
        node("n2", "ignored", "eu", Some("ingress")),
        node("n3", "egress", "us", None),
        node("n4", "", "us", None),
    ] {
        let id = node.id.clone();
        match clusters_of(node, address).await {
            Ok(clusters) => println!("{id} is served {}", clusters.join(", ")),
            Err(refusal) => println!("{id} is refused: {}", refusal.message()),
        }
    }
    println!("groups: {:?}", plane.snapshots().groups());
    Ok(())
}

/// What a client writes into its bootstrap.
fn node(id: &str, cluster: &str, region: &str, role: Option<&str>) -> wire::Node {
    let role = role.map(|role| Value::from(Kind::StringValue(role.to_owned())));
    let fields = role.map(|role| ("role".to_owned(), role));
    wire::Node {
        id: id.to_owned(),
        cluster: cluster.to_owned(),
        locality: Some(wire::Locality {
            region: region.to_owned(),
            ..wire::Locality::default()
        }),
        metadata: Some(Struct {
            fields: fields.into_iter().collect(),
        }),
        ..wire::Node::default()
    }
}

/// The names of the clusters that a node is served.
async fn clusters_of(node: wire::Node, server: SocketAddr) -> Result<Vec<String>, Status> {
    let mut client = DemoClient::connect(server, node).await?;
    client.subscribe(&CLUSTER, &["*"]).await;
    let response = client
        .next()
        .await?
        .ok_or_else(|| Status::cancelled("nothing was served"))?;
    Ok(response
        .resources
        .into_iter()
        .map(|cluster| cluster.name)
        .collect())
}
