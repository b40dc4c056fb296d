//! One test for each kind of reference. Messages are written as text and encoded by the schema alone: what is read has
//! nothing in common with the table that it is read by.

mod cluster;
mod filters;
mod limits;
mod listener;
mod route;
mod secrets;

use std::sync::LazyLock;

use bytes::Bytes;
use portolan_core::well_known::{
    CLUSTER, ENDPOINT, EXTENSION_CONFIG, LISTENER, LOCALITY_ENDPOINT, ROUTE, SCOPED_ROUTE, SECRET,
    VIRTUAL_HOST,
};
use portolan_core::{Facts, ReadyWhen, Reference, References as _, Strength, TypeUrl};
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};

use super::EnvoyReferences;

/// Shorthands for what messages are full of.
const SHORT: &[(&str, &str)] = &[
    ("@ADS", "{ ads {} }"),
    ("@SELF", "{ self {} }"),
    ("@API", "{ api_config_source { api_type: GRPC } }"),
    ("@FILE", "{ path_config_source { path: \"/etc/it\" } }"),
    (
        "@GRPC",
        "grpc_service { envoy_grpc { cluster_name: \"c\" } }",
    ),
    ("@HTTP", "{ http_uri { uri: \"http://c\" cluster: \"c\" } }"),
    (
        "@HCM",
        "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    ),
    (
        "@network",
        "type.googleapis.com/envoy.extensions.filters.network",
    ),
    ("@http", "type.googleapis.com/envoy.extensions.filters.http"),
    (
        "@tls",
        "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3",
    ),
    (
        "@socket",
        "type.googleapis.com/envoy.extensions.transport_sockets",
    ),
    (
        "@log",
        "type.googleapis.com/envoy.extensions.access_loggers",
    ),
    ("@trace", "type.googleapis.com/envoy.config.trace.v3"),
];

/// The body of a resource of this type.
fn body(type_url: &TypeUrl, text: &str) -> Bytes {
    static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
        let pool = DescriptorPool::decode(portolan_types::FILE_DESCRIPTOR_SET);
        pool.expect("the committed set decodes")
    });
    let described = POOL.get_message_by_name(type_url.message_name());
    let text = SHORT.iter().fold(text.to_owned(), |text, (short, long)| {
        text.replace(short, long)
    });
    let message = DynamicMessage::parse_text_format(described.expect("it is in the schema"), &text);
    message
        .unwrap_or_else(|error| panic!("{error}: {text}"))
        .encode_to_vec()
        .into()
}

fn facts(type_url: &TypeUrl, text: &str) -> Facts {
    EnvoyReferences.facts(type_url, &body(type_url, text))
}

fn hard(target: TypeUrl, name: &str, path: &str) -> Reference {
    Reference::new(target, name, path.to_owned())
}

fn soft(target: TypeUrl, name: &str, path: &str) -> Reference {
    hard(target, name, path).with_strength(Strength::Soft)
}

/// A test that a message refers to this, there, and to nothing else.
macro_rules! edges {
    ($($test:ident: $type_url:ident $text:literal => [$($strength:ident $target:ident $name:literal $path:literal),* $(,)?];)*) => {$(
        #[test]
        fn $test() {
            let expected: Vec<portolan_core::Reference> =
                vec![$(super::$strength(super::$target, $name, $path)),*];
            assert_eq!(super::facts(&super::$type_url, $text).references(), expected);
        }
    )*};
}
use edges;
