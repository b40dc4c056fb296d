//! `ControlPlane` is wired so that its publisher hears of its nodes.

use std::net::Ipv4Addr;
use std::time::Duration;

use portolan::prelude::*;
use portolan::types::envoy::service::discovery::v3::DiscoveryRequest;
use portolan_tests::{Sotw, TestError};
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};

#[derive(Debug)]
struct Clusters;

impl Translator<Vec<String>, String> for Clusters {
    type Error = ResourceError;

    fn translate(
        &self,
        names: &Vec<String>,
        _: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        for name in names {
            out.add(&build::eds_cluster(name))?;
        }
        Ok(())
    }
}

/// Asks for all clusters, accepts the first response, and rejects what follows.
async fn run_client(address: String) -> Result<(), TestError> {
    let channel = Endpoint::try_from(address)?.connect().await?;
    let mut stream = Sotw::open(channel, "edge-1", &[well_known::CLUSTER]).await?;
    let first = stream.next().await?;
    stream.ack(&first);
    loop {
        let response = stream.next().await?;
        stream.requests.send(DiscoveryRequest {
            type_url: response.type_url,
            version_info: first.version_info.clone(),
            response_nonce: response.nonce,
            error_detail: Some(portolan::types::google::rpc::Status {
                message: "enough is enough".to_owned(),
                ..Default::default()
            }),
            ..DiscoveryRequest::default()
        })?;
    }
}

#[tokio::test]
async fn a_control_planes_publisher_can_wait_for_its_nodes() -> Result<(), TestError> {
    let plane = ControlPlane::start(NodeId::default(), Clusters);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = format!("http://{}", listener.local_addr()?);
    let router = Server::builder().add_routes(plane.xds().routes());
    let server = tokio::spawn(router.serve_with_incoming(TcpIncoming::from(listener)));
    let client = tokio::spawn(async move { run_client(address).await.map_err(|e| e.to_string()) });

    // Nobody is waited for before the node has come.
    while plane.snapshots().streams(&"edge-1".to_owned()) == 0 {
        tokio::task::yield_now().await;
    }
    let roll_out = async |names: &[&str]| -> Result<String, TestError> {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        plane.publisher().update(names)?;
        let deadline = Duration::from_secs(30);
        let rollout = plane.publisher().wait(WaitScope::all(), deadline).await?;
        let outcomes = rollout
            .nodes()
            .map(|(_, node, outcome)| format!("{node} {outcome}"));
        Ok(outcomes.collect())
    };
    assert_eq!(roll_out(&["a"]).await?, "edge-1 accepted");
    assert_eq!(
        roll_out(&["a", "b"]).await?,
        "edge-1 rejected: envoy.config.cluster.v3.Cluster: enough is enough"
    );
    client.abort();
    server.abort();
    Ok(())
}
