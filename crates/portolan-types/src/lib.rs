//! The messages and gRPC stubs of the xDS APIs: Envoy v3, `xds`, `udpa` and `google.rpc`.
//!
//! Everything below the top-level modules is generated and committed, so a build needs neither `protoc` nor a build
//! script. Modules follow the protobuf packages: `envoy.config.cluster.v3.Cluster` is
//! [`envoy::config::cluster::v3::Cluster`].
//!
//! ```
//! use portolan_types::Any;
//! use portolan_types::envoy::config::cluster::v3::Cluster;
//! use portolan_types::envoy::service::discovery::v3::DiscoveryResponse;
//!
//! let cluster = Cluster {
//!     name: "backend".into(),
//!     connect_timeout: Some(prost_types::Duration { seconds: 1, nanos: 0 }),
//!     ..Cluster::default()
//! };
//! let response = DiscoveryResponse {
//!     version_info: "1".into(),
//!     resources: vec![Any::pack(&cluster)],
//!     type_url: <Cluster as prost::Name>::type_url(),
//!     ..DiscoveryResponse::default()
//! };
//! assert_eq!(response.resources[0].type_url, response.type_url);
//! ```
//!
//! # How the schema maps to Rust
//!
//! - A `bytes` field is a [`bytes::Bytes`], shared by clones, and so is the value of an [`Any`].
//! - A `map` field is a [`BTreeMap`](std::collections::BTreeMap): equal messages encode to equal bytes.
//! - Every message implements [`prost::Name`], with type URLs below `type.googleapis.com/`.
//! - `google.protobuf.Duration`, `Timestamp` and `Struct` are those of [`prost_types`], which is exported from here; a wrapper such as
//!   `UInt32Value` is an `Option<u32>` (`BytesValue`: `Option<Vec<u8>>`); `Any` is [`Any`].
//! - Each service has a client and a server module, such as
//!   [`aggregated_discovery_service_client`](envoy::service::discovery::v3::aggregated_discovery_service_client), both
//!   over a transport of the caller's choice: tonic's own is not pulled in.
//!
//! # Features
//!
//! The discovery, status and load reporting services are always there, with what their resources are made of:
//! bootstrap, listeners, routes, clusters, endpoints, secrets, runtime layers, the HTTP connection manager, the router,
//! the TCP proxy, TLS, aggregate clusters and upstream HTTP options. A feature adds one family of the rest; none is on
//! by default, since all together triple the compile time.
//!
//! | feature | adds |
//! |---|---|
//! | `clusters` | cluster types, health checkers, retry and outlier plug-ins, upstream protocols |
//! | `extensions` | what is in no other family: matchers, resource monitors, gRPC credentials, Wasm, `TypedStruct`, … |
//! | `http-filters` | HTTP filters and what plugs into them: compression, path rewriting, header formatting |
//! | `load-balancing` | load balancing policies |
//! | `network-filters` | network, listener and UDP filters |
//! | `services` | the other gRPC services of Envoy (access logs, authorization, rate limits, …) and their data |
//! | `telemetry` | access loggers, formatters, tracers, stat sinks |
//! | `transport-sockets` | transport sockets besides TLS, and QUIC |
//! | `descriptors` | `FILE_DESCRIPTOR_SET`, the schema itself |
//! | `full` | all of these |
//!
//! # What it does not do
//!
//! No validation, no defaults beyond protobuf's, no JSON, and no comments: the meaning of a field is in the
//! documentation of the API it belongs to. It follows one version of the schema at a time, which its changelog names;
//! messages are plain structs, so a schema update that adds a field breaks literals without `..Default::default()`.
//!
//! # Regenerating
//!
//! `cargo xtask codegen` in the repository; `proto/README.md` there says from what.

/// The runtime that the messages are made for, in the version that they need.
pub use {prost, prost_types};

pub use crate::any::{Any, UnpackError};
pub use crate::generated::*;

mod any;
#[rustfmt::skip]
#[allow(
    missing_docs,
    unused_qualifications,
    clippy::all,
    clippy::exhaustive_enums,
    clippy::exhaustive_structs,
    clippy::too_many_lines,
    clippy::use_self,
    reason = "generated as is; a protobuf message is open by nature, and comments are off"
)]
mod generated;

/// The schema of every message in this crate, whichever features are on, as an encoded
/// `google.protobuf.FileDescriptorSet`.
///
/// Each file comes behind its imports. Options are kept, among them the `validate.rules` of Envoy's API; comments
/// are not.
#[cfg(feature = "descriptors")]
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/descriptors.bin");

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use prost::{Message, Name};
    use prost_types::Struct;

    use crate::envoy::config::core::v3::Metadata;
    use crate::envoy::service::discovery::v3::aggregated_discovery_service_server as ads;
    use crate::{envoy, google, xds};

    #[test]
    fn type_urls_are_those_on_the_wire() {
        let urls = [
            envoy::config::listener::v3::Listener::type_url(),
            envoy::config::route::v3::RouteConfiguration::type_url(),
            envoy::config::cluster::v3::Cluster::type_url(),
            envoy::config::endpoint::v3::ClusterLoadAssignment::type_url(),
            envoy::extensions::transport_sockets::tls::v3::Secret::type_url(),
            envoy::service::runtime::v3::Runtime::type_url(),
            google::rpc::Status::type_url(),
            xds::core::v3::CollectionEntry::type_url(),
        ];
        let expected = [
            "envoy.config.listener.v3.Listener",
            "envoy.config.route.v3.RouteConfiguration",
            "envoy.config.cluster.v3.Cluster",
            "envoy.config.endpoint.v3.ClusterLoadAssignment",
            "envoy.extensions.transport_sockets.tls.v3.Secret",
            "envoy.service.runtime.v3.Runtime",
            "google.rpc.Status",
            "xds.core.v3.CollectionEntry",
        ];
        assert_eq!(
            urls,
            expected.map(|name| format!("type.googleapis.com/{name}"))
        );
    }

    #[test]
    fn services_are_named_as_on_the_wire() {
        assert_eq!(
            ads::SERVICE_NAME,
            "envoy.service.discovery.v3.AggregatedDiscoveryService"
        );
    }

    #[test]
    fn maps_encode_in_key_order_whatever_the_insertion_order() {
        let metadata = |keys: &[&str]| Metadata {
            filter_metadata: keys
                .iter()
                .map(|&key| (key.to_owned(), Struct::default()))
                .collect(),
            ..Metadata::default()
        };
        let keys: Vec<String> = (0..100).map(|n| format!("key-{n:02}")).collect();
        let ascending: Vec<&str> = keys.iter().map(String::as_str).collect();
        let descending: Vec<&str> = ascending.iter().rev().copied().collect();

        let encoded = metadata(&descending).encode_to_vec();
        assert_eq!(encoded, metadata(&ascending).encode_to_vec());
        let positions: Vec<_> = keys
            .iter()
            .map(|key| {
                encoded
                    .windows(key.len())
                    .position(|window| window == key.as_bytes())
            })
            .collect();
        assert!(positions.is_sorted() && positions[0].is_some());
    }

    #[test]
    fn maps_of_messages_are_ordered() {
        let _: BTreeMap<String, Struct> = Metadata::default().filter_metadata;
    }

    #[cfg(feature = "descriptors")]
    #[test]
    fn descriptor_set_is_linked_and_without_comments() {
        let set = prost_types::FileDescriptorSet::decode(crate::FILE_DESCRIPTOR_SET)
            .expect("the committed set decodes");
        let mut seen = std::collections::BTreeSet::new();
        for file in &set.file {
            assert!(
                file.dependency.iter().all(|import| seen.contains(import)),
                "{}",
                file.name()
            );
            assert!(file.source_code_info.is_none(), "{}", file.name());
            seen.insert(file.name().to_owned());
        }
        assert!(seen.contains("envoy/config/cluster/v3/cluster.proto"));
    }
}
