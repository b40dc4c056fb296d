//! A harness: it drives the adapter, and is a client on a stream of one of the discovery services.

use std::net::SocketAddr;
use std::time::Duration;

use portolan_testkit::testbed::Testbed;
use portolan_types::Any;
use portolan_types::envoy::config::cluster::v3::Cluster;
use portolan_types::envoy::config::core::v3::Node;
use portolan_types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan_types::envoy::config::listener::v3::Listener;
use portolan_types::envoy::config::route::v3::RouteConfiguration;
use portolan_types::envoy::extensions::transport_sockets::tls::v3::Secret;
use portolan_types::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use portolan_types::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use portolan_types::prost::Name;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

use crate::generated::ResourceRequest;
use crate::generated::SetStateRequest;
use crate::generated::adapter_client::AdapterClient;

pub(crate) const NODE: &str = "test-id";

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A type that the testbed serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type {
    pub(crate) service: &'static str,
    message: fn(&str) -> Any,
    name: fn(&Any) -> String,
}

impl Type {
    pub(crate) fn url(self) -> String {
        (self.message)("").type_url
    }

    /// As harnesses set it: with nothing but a name.
    pub(crate) fn named(self, name: &str) -> Any {
        (self.message)(name)
    }

    pub(crate) fn name_of(self, resource: &Any) -> String {
        (self.name)(resource)
    }
}

macro_rules! of_type {
    ($service:literal, $message:ident, $field:ident) => {
        Type {
            service: $service,
            message: |name| {
                let $field = name.to_owned();
                Any::pack(&$message {
                    $field,
                    ..$message::default()
                })
            },
            name: |any| {
                assert_eq!(any.type_url, $message::type_url());
                any.unpack::<$message>().unwrap().$field
            },
        }
    };
}

pub(crate) const LDS: Type = of_type!("LDS", Listener, name);
pub(crate) const CDS: Type = of_type!("CDS", Cluster, name);
pub(crate) const RDS: Type = of_type!("RDS", RouteConfiguration, name);
pub(crate) const EDS: Type = of_type!("EDS", ClusterLoadAssignment, cluster_name);
/// Of which the testbed makes no resources.
pub(crate) const SDS: Type = of_type!("SDS", Secret, name);
pub(crate) const TYPES: [Type; 4] = [LDS, CDS, RDS, EDS];

pub(crate) type Adapter = AdapterClient<Channel>;

pub(crate) async fn start() -> (Testbed, Adapter) {
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let testbed = Testbed::start(any_port, any_port).unwrap();
    let adapter = Adapter::new(connect(testbed.adapter_address()).await);
    (testbed, adapter)
}

pub(crate) async fn connect(address: SocketAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    endpoint.connect().await.unwrap()
}

pub(crate) fn state<const N: usize>(version: &str, resources: [Any; N]) -> SetStateRequest {
    SetStateRequest {
        node: NODE.to_owned(),
        version: version.to_owned(),
        resources: resources.into(),
    }
}

pub(crate) fn request(of: Type, name: &str, version: &str) -> ResourceRequest {
    ResourceRequest {
        node: NODE.to_owned(),
        type_url: of.url(),
        resource_name: name.to_owned(),
        version: version.to_owned(),
    }
}

fn node() -> Option<Node> {
    Some(Node {
        id: NODE.to_owned(),
        ..Node::default()
    })
}

/// A stream of the state of the world, aggregated.
pub(crate) struct Sotw {
    requests: mpsc::UnboundedSender<DiscoveryRequest>,
    responses: Streaming<DiscoveryResponse>,
}

impl Sotw {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let (requests, receiver) = mpsc::unbounded_channel();
        let mut client = AggregatedDiscoveryServiceClient::new(connect(address).await);
        let outbound = UnboundedReceiverStream::new(receiver);
        let call = client.stream_aggregated_resources(outbound);
        let responses = timeout(PATIENCE, call).await.unwrap().unwrap().into_inner();
        Self {
            requests,
            responses,
        }
    }

    pub(crate) fn subscribe(&self, of: Type, names: &[&str]) {
        let request = DiscoveryRequest {
            node: node(),
            type_url: of.url(),
            resource_names: names.iter().map(|&name| name.to_owned()).collect(),
            ..DiscoveryRequest::default()
        };
        self.requests.send(request).unwrap();
    }

    /// Answers a response: with an ACK, or, if there is an error, with a NACK.
    pub(crate) fn answer(&self, to: &DiscoveryResponse, names: &[&str], error: Option<&str>) {
        let version = match error {
            None => to.version_info.clone(),
            Some(_) => String::new(),
        };
        let request = DiscoveryRequest {
            type_url: to.type_url.clone(),
            version_info: version,
            response_nonce: to.nonce.clone(),
            resource_names: names.iter().map(|&name| name.to_owned()).collect(),
            error_detail: error.map(|message| portolan_types::google::rpc::Status {
                code: 3,
                message: message.to_owned(),
                ..Default::default()
            }),
            ..DiscoveryRequest::default()
        };
        self.requests.send(request).unwrap();
    }

    pub(crate) async fn receive(&mut self) -> DiscoveryResponse {
        let response = timeout(PATIENCE, self.responses.message()).await;
        response.expect("a response in time").unwrap().unwrap()
    }

    /// The next response, which is acknowledged: its version, and the names in it.
    pub(crate) async fn accept(&mut self, of: Type, names: &[&str]) -> (String, Vec<String>) {
        let response = self.receive().await;
        assert_eq!(response.type_url, of.url());
        self.answer(&response, names, None);
        let mut found: Vec<_> = response.resources.iter().map(|r| of.name_of(r)).collect();
        found.sort_unstable();
        (response.version_info, found)
    }
}

/// A delta stream, aggregated.
pub(crate) struct Delta {
    requests: mpsc::UnboundedSender<DeltaDiscoveryRequest>,
    responses: Streaming<DeltaDiscoveryResponse>,
}

/// What a delta response says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) version: String,
    pub(crate) resources: Vec<String>,
    pub(crate) removed: Vec<String>,
}

impl Change {
    pub(crate) fn new(version: &str, resources: &[&str], removed: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Self {
            version: version.to_owned(),
            resources: owned(resources),
            removed: owned(removed),
        }
    }
}

impl Delta {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let (requests, receiver) = mpsc::unbounded_channel();
        let mut client = AggregatedDiscoveryServiceClient::new(connect(address).await);
        let outbound = UnboundedReceiverStream::new(receiver);
        let call = client.delta_aggregated_resources(outbound);
        let responses = timeout(PATIENCE, call).await.unwrap().unwrap().into_inner();
        Self {
            requests,
            responses,
        }
    }

    pub(crate) fn subscribe(&self, of: Type, names: &[&str]) {
        let request = DeltaDiscoveryRequest {
            node: node(),
            type_url: of.url(),
            resource_names_subscribe: names.iter().map(|&name| name.to_owned()).collect(),
            ..DeltaDiscoveryRequest::default()
        };
        self.requests.send(request).unwrap();
    }

    /// The next response, which is acknowledged.
    pub(crate) async fn accept(&mut self, of: Type) -> Change {
        let response = timeout(PATIENCE, self.responses.message()).await;
        let response = response.expect("a response in time").unwrap().unwrap();
        assert_eq!(response.type_url, of.url());
        let ack = DeltaDiscoveryRequest {
            type_url: response.type_url,
            response_nonce: response.nonce,
            ..DeltaDiscoveryRequest::default()
        };
        self.requests.send(ack).unwrap();
        let mut resources = Vec::new();
        for resource in response.resources {
            assert_eq!(of.name_of(&resource.resource.unwrap()), resource.name);
            resources.push(resource.name);
        }
        resources.sort_unstable();
        Change {
            version: response.system_version_info,
            resources,
            removed: response.removed_resources,
        }
    }
}
