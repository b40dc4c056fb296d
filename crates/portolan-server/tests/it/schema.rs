//! The discovery methods that the schema has: the table for what must hold for all of them.

use std::sync::LazyLock;

use portolan_core::{TypeUrl, well_known};
use portolan_server::{Method, Variant};
use portolan_types::FILE_DESCRIPTOR_SET;
use portolan_types::envoy::service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest};
use prost::Message;
use prost_types::{FileDescriptorSet, MethodDescriptorProto};

use crate::client::{Client, node};

/// A method, by its path, of a service of one type, or of ADS.
#[derive(Debug)]
pub(crate) struct MethodPath {
    pub(crate) path: String,
    pub(crate) method: Method,
    pub(crate) type_url: Option<TypeUrl>,
}

impl MethodPath {
    pub(crate) fn variant(&self) -> Variant {
        self.method.variant()
    }

    /// Sends the first request of a client that wants `name` of the type, which it does not name.
    pub(crate) fn send_first(&self, client: &Client, type_url: &str, name: &str) {
        match self.method {
            Method::Delta => client.send(&DeltaDiscoveryRequest {
                node: Some(node("n")),
                type_url: type_url.into(),
                resource_names_subscribe: vec![name.into()],
                ..DeltaDiscoveryRequest::default()
            }),
            _ => client.send(&DiscoveryRequest {
                node: Some(node("n")),
                type_url: type_url.into(),
                resource_names: vec![name.into()],
                ..DiscoveryRequest::default()
            }),
        }
    }
}

/// All discovery methods of the schema.
pub(crate) fn methods() -> &'static [MethodPath] {
    static METHODS: LazyLock<Vec<MethodPath>> = LazyLock::new(read);
    &METHODS
}

fn read() -> Vec<MethodPath> {
    let schema = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
    let mut methods = Vec::new();
    for file in &schema.file {
        for service in &file.service {
            let service_name = format!("{}.{}", file.package(), service.name());
            for method in &service.method {
                let Some(kind) = kind_of(method) else {
                    continue;
                };
                methods.push(MethodPath {
                    path: format!("/{service_name}/{}", method.name()),
                    method: kind,
                    type_url: type_of(&service_name),
                });
            }
        }
    }
    methods
}

fn kind_of(method: &MethodDescriptorProto) -> Option<Method> {
    match method.input_type() {
        ".envoy.service.discovery.v3.DeltaDiscoveryRequest" => Some(Method::Delta),
        ".envoy.service.discovery.v3.DiscoveryRequest" if method.client_streaming() => {
            Some(Method::Stream)
        }
        ".envoy.service.discovery.v3.DiscoveryRequest" => Some(Method::Fetch),
        _ => None,
    }
}

fn type_of(service: &str) -> Option<TypeUrl> {
    Some(match service.rsplit_once('.').unwrap().1 {
        "AggregatedDiscoveryService" => return None,
        "ListenerDiscoveryService" => well_known::LISTENER,
        "RouteDiscoveryService" => well_known::ROUTE,
        "ScopedRoutesDiscoveryService" => well_known::SCOPED_ROUTE,
        "VirtualHostDiscoveryService" => well_known::VIRTUAL_HOST,
        "ClusterDiscoveryService" => well_known::CLUSTER,
        "EndpointDiscoveryService" => well_known::ENDPOINT,
        "LocalityEndpointDiscoveryService" => well_known::LOCALITY_ENDPOINT,
        "SecretDiscoveryService" => well_known::SECRET,
        "RuntimeDiscoveryService" => well_known::RUNTIME,
        "ExtensionConfigDiscoveryService" => well_known::EXTENSION_CONFIG,
        "RateLimitConfigDiscoveryService" => well_known::RATE_LIMIT_CONFIG,
        other => panic!("{other} is not in the table"),
    })
}
