//! A client may only be the node that its certificate names: mutual TLS, an identity read from the certificate, and an
//! admission that compares it with what the client says.
//!
//! ```text
//! cargo run -p portolan-examples --bin mtls_identity
//! ```
//!
//! An authority is made at the start, and certificates for the server and two clients. One client says who it is and
//! is served. The other says that it is the first, and is refused before it is sent anything.

mod authority;

use std::error::Error;
use std::future::pending;
use std::sync::Arc;

use portolan::core::well_known::CLUSTER;
use portolan::prelude::*;
use portolan::server::transport::Incoming;
use portolan::server::{AdmissionRequest, BoxFuture};
use portolan_examples::{DemoClient, node};
use rcgen::SanType;
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint, ServerTlsConfig};
use webpki::EndEntityCert;

use crate::authority::Authority;

/// Where the names of proxies begin.
const PROXIES: &str = "spiffe://example.org/proxy/";

/// Who a client is: the one URI in its certificate, which tonic has verified by then.
fn peer(extensions: &http::Extensions) -> Peer {
    let Some(connection) = extensions.get::<TlsConnectInfo<TcpConnectInfo>>() else {
        return Peer::unknown();
    };
    let address = connection.get_ref().remote_addr();
    let peer = address.map_or_else(Peer::unknown, |address| {
        Peer::unknown().with_address(address)
    });
    let chain = connection.peer_certs();
    let certificate = chain.as_ref().and_then(|chain| chain.first());
    let Some(Ok(certificate)) = certificate.map(EndEntityCert::try_from) else {
        return peer;
    };
    let mut names = certificate.valid_uri_names();
    match (names.next(), names.next()) {
        (Some(name), None) => peer.with_identity(name),
        _ => peer,
    }
}

#[derive(Debug)]
struct OwnNodeOnly;

impl Admission for OwnNodeOnly {
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
        let identity = request.peer().identity().unwrap_or("nobody");
        let decision = match identity.strip_prefix(PROXIES) == Some(request.node().id()) {
            true => Ok(()),
            false => Err(Refusal::denied(format!(
                "the certificate is of {identity}; set node.id to what follows {PROXIES} there"
            ))),
        };
        Box::pin(async { decision })
    }
}

#[derive(Debug)]
struct OneCluster;

impl Translator<(), String> for OneCluster {
    type Error = ResourceError;

    fn translate(
        &self,
        (): &(),
        id: &String,
        out: &mut SnapshotBuilder,
    ) -> Result<(), ResourceError> {
        let name = format!("only for {id}");
        out.add(&build::strict_dns_cluster(name, "example.org", 443))?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let authority = Authority::new()?;
    let plane = ControlPlane::start_with(
        SnapshotCache::new(NodeId::default()),
        OneCluster,
        |publish| publish,
        |server| server.with_peer(peer).with_admission(Arc::new(OwnNodeOnly)),
    );
    plane.publisher().update(())?;

    let tls = ServerTlsConfig::new()
        .identity(authority.issue(SanType::DnsName("localhost".try_into()?))?)
        .client_ca_root(authority.certificate());
    let transport = plane.xds().transport().tls_config(tls)?;
    let incoming = Incoming::bind("127.0.0.1:0".parse()?)?;
    let server = format!("https://{}", incoming.local_addr()?);
    let serve = plane.xds().serve(incoming).with_transport(transport);
    tokio::spawn(serve.until(pending()));

    for (is, says) in [("edge-1", "edge-1"), ("edge-2", "edge-1")] {
        let name = SanType::URI(format!("{PROXIES}{is}").try_into()?);
        let tls = ClientTlsConfig::new()
            .domain_name("localhost")
            .ca_certificate(authority.certificate())
            .identity(authority.issue(name)?);
        let channel = Endpoint::from_shared(server.clone())?
            .tls_config(tls)?
            .connect_lazy();
        match first_cluster(channel, says).await {
            Ok(cluster) => println!("{is} says it is {says}, and is served: {cluster}"),
            Err(status) => println!("{is} says it is {says}, but: {}", status.message()),
        }
    }
    Ok(())
}

async fn first_cluster(channel: Channel, id: &str) -> Result<String, tonic::Status> {
    let mut client = DemoClient::open(channel, node(id)).await?;
    client.subscribe(&CLUSTER, &["*"]).await;
    let response = client.next().await?;
    let resource = response.and_then(|response| response.resources.into_iter().next());
    Ok(resource.map(|cluster| cluster.name).unwrap_or_default())
}
