//! Mutual TLS: who the certificates say that the client is.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use portolan_core::{Peer, Refusal};
use portolan_server::transport::Incoming;
use portolan_server::{
    Admission, AdmissionRequest, BoxFuture, Callbacks, StreamInfo, XdsServer, XdsServerBuilder,
};
use portolan_types::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{
    Certificate, Channel, ClientTlsConfig, Endpoint, Error, Identity, ServerTlsConfig,
};
use tonic::{Code, Status};

use crate::client::{bodies, clusters};
use crate::loopback::{TOO_LONG, requests};
use crate::source::TestSource;

/// A certificate, and what its owner needs to prove that it is theirs.
struct Owned {
    der: Bytes,
    identity: Identity,
}

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self {
            issuer: Issuer::new(params, key),
            certificate: Certificate::from_pem(certificate.pem()),
        }
    }

    fn issue(&self, name: &str) -> Owned {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Owned {
            der: Bytes::copy_from_slice(certificate.der()),
            identity: Identity::from_pem(certificate.pem(), key.serialize_pem()),
        }
    }

    fn server_tls(&self) -> ServerTlsConfig {
        ServerTlsConfig::new()
            .identity(self.issue("localhost").identity)
            .client_ca_root(self.certificate.clone())
    }

    async fn connect(
        &self,
        address: SocketAddr,
        identity: Option<Identity>,
    ) -> Result<AggregatedDiscoveryServiceClient<Channel>, Error> {
        let mut tls = ClientTlsConfig::new()
            .ca_certificate(self.certificate.clone())
            .domain_name("localhost");
        if let Some(identity) = identity {
            tls = tls.identity(identity);
        }
        let endpoint = Endpoint::new(format!("https://{address}"))?.tls_config(tls)?;
        let channel = timeout(TOO_LONG, endpoint.connect()).await.unwrap()?;
        Ok(AggregatedDiscoveryServiceClient::new(channel))
    }
}

/// Whom the streams were opened by.
#[derive(Debug, Default)]
struct Peers(Mutex<Vec<Peer>>);

impl Callbacks for Peers {
    fn stream_opened(&self, stream: &StreamInfo) {
        self.0.lock().unwrap().push(stream.peer().clone());
    }
}

fn builder() -> XdsServerBuilder {
    XdsServer::builder(Arc::new(TestSource::with_clusters(&[("a", b"1")])))
}

fn serve(xds: &XdsServer, tls: ServerTlsConfig) -> (SocketAddr, JoinHandle<Result<(), Error>>) {
    let incoming = Incoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = incoming.local_addr().unwrap();
    let transport = xds.transport().tls_config(tls).unwrap();
    let serve = xds.serve(incoming).with_transport(transport);
    (address, tokio::spawn(serve.until(std::future::pending())))
}

/// Opens a stream as this node, and gives the bodies of the first response.
async fn first(
    client: &mut AggregatedDiscoveryServiceClient<Channel>,
    node: &str,
) -> Result<Vec<Vec<u8>>, Status> {
    let (requests, receiver) = requests();
    requests.send(clusters(node)).await.unwrap();
    let opened = client.stream_aggregated_resources(receiver).await?;
    let response = timeout(TOO_LONG, opened.into_inner().message()).await;
    let response = response.unwrap()?.unwrap();
    Ok(bodies(&response).into_iter().map(<[u8]>::to_vec).collect())
}

async fn assert_known(peers: &Peers, authority: &Authority, address: SocketAddr) {
    let web = authority.issue("web.example");
    let client = authority.connect(address, Some(web.identity)).await;
    assert_eq!(first(&mut client.unwrap(), "n").await.unwrap(), [b"1"]);
    let peer = peers.0.lock().unwrap().pop().unwrap();
    assert_eq!(peer.certificates(), [web.der]);
    assert!(peer.address().unwrap().ip().is_loopback());
}

#[tokio::test]
async fn a_peer_s_certificates_are_those_that_it_proved_to_own() {
    let authority = Authority::new();
    let peers = Arc::new(Peers::default());
    let xds = builder().with_callbacks(peers.clone()).build();
    let (address, server) = serve(&xds, authority.server_tls());
    assert_known(&peers, &authority, address).await;
    server.abort();

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let of_tonic = tonic::transport::Server::builder()
        .tls_config(authority.server_tls())
        .unwrap()
        .add_routes(xds.routes())
        .serve_with_incoming(TcpIncoming::from(listener));
    let server = tokio::spawn(of_tonic);
    assert_known(&peers, &authority, address).await;
    server.abort();
}

#[tokio::test]
async fn who_proves_nothing_opens_no_stream() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let peers = Arc::new(Peers::default());
    let xds = builder().with_callbacks(peers.clone()).build();
    let (address, server) = serve(&xds, authority.server_tls());
    let forged = stranger.issue("web.example").identity;
    for identity in [None, Some(forged)] {
        // In TLS 1.3 a client may take itself for connected before the server has looked at its certificate.
        let refused = match authority.connect(address, identity).await {
            Ok(mut client) => first(&mut client, "n").await.is_err(),
            Err(_) => true,
        };
        assert!(refused);
    }
    assert!(peers.0.lock().unwrap().is_empty());
    server.abort();
}

#[tokio::test]
async fn without_client_certificates_a_peer_has_none() {
    let authority = Authority::new();
    let peers = Arc::new(Peers::default());
    let xds = builder().with_callbacks(peers.clone()).build();
    let tls = ServerTlsConfig::new().identity(authority.issue("localhost").identity);
    let (address, server) = serve(&xds, tls);
    let mut client = authority.connect(address, None).await.unwrap();
    first(&mut client, "n").await.unwrap();
    let peer = peers.0.lock().unwrap().pop().unwrap();
    assert!(peer.certificates().is_empty());
    assert!(peer.address().unwrap().ip().is_loopback());
    server.abort();
}

/// A node must be the one that its certificate was issued to.
#[derive(Debug)]
struct Issued(Vec<(Bytes, &'static str)>);

impl Admission for Issued {
    fn admit<'a>(&'a self, request: AdmissionRequest<'a>) -> BoxFuture<'a, Result<(), Refusal>> {
        let own = request.peer().certificates().first();
        let mut issued = self.0.iter();
        let is_own = issued.any(|(der, node)| Some(der) == own && *node == request.node().id());
        Box::pin(async move {
            match is_own {
                true => Ok(()),
                false => Err(Refusal::denied("the certificate is another node's")),
            }
        })
    }
}

#[tokio::test]
async fn a_client_may_only_be_the_node_that_its_certificate_was_issued_to() {
    let authority = Authority::new();
    let (a, b) = (authority.issue("a.example"), authority.issue("b.example"));
    let issued = Issued(vec![(a.der, "a"), (b.der, "b")]);
    let xds = builder().with_admission(Arc::new(issued)).build();
    let (address, server) = serve(&xds, authority.server_tls());
    let mut client = authority.connect(address, Some(a.identity)).await.unwrap();
    assert_eq!(first(&mut client, "a").await.unwrap(), [b"1"]);
    let refused = first(&mut client, "b").await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_eq!(refused.message(), "the certificate is another node's");
    server.abort();
}
