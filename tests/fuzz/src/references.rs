use bytes::Bytes;
use portolan_core::{Facts, References, TypeUrl, well_known};
use portolan_resources::{EnvoyReferences, TypedResource};
use portolan_types::envoy::config::cluster::v3::Cluster;
use portolan_types::envoy::config::core::v3::TypedExtensionConfig;
use portolan_types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan_types::envoy::config::listener::v3::Listener;
use portolan_types::envoy::config::route::v3::{RouteConfiguration, ScopedRouteConfiguration};
use portolan_types::envoy::extensions::transport_sockets::tls::v3::Secret;
use portolan_types::envoy::service::runtime::v3::Runtime;

use crate::input::Input;

/// A body of any type, read for what it refers to: what is no message refers to nothing, and what is one says the same
/// when it was decoded and encoded again.
pub fn references(data: &[u8]) {
    let mut input = Input::new(data);
    let kind = input.below(9);
    let body = Bytes::copy_from_slice(input.rest());
    match kind {
        0 => check::<Cluster>(&body),
        1 => check::<RouteConfiguration>(&body),
        2 => check::<ClusterLoadAssignment>(&body),
        3 => check::<Listener>(&body),
        4 => check::<ScopedRouteConfiguration>(&body),
        5 => check::<Secret>(&body),
        6 => check::<Runtime>(&body),
        7 => check::<TypedExtensionConfig>(&body),
        _ => nothing(&well_known::VIRTUAL_HOST, &body),
    }
}

fn check<R: TypedResource + Default>(body: &Bytes) {
    let Ok(message) = R::decode(body.clone()) else {
        return nothing(&R::TYPE_URL, body);
    };
    let reader = EnvoyReferences::default();
    let facts = reader.facts(&R::TYPE_URL, body);
    match message.to_resource().build() {
        Ok(resource) => {
            assert_eq!(resource.name().as_str(), message.resource_name());
            assert_eq!(*resource.facts(&reader), facts);
            let again = R::decode(resource.body()).map(|message| message.encode_to_vec());
            assert_eq!(again, Ok(resource.body().to_vec()));
        }
        Err(error) => assert!(message.resource_name().is_empty(), "{error}"),
    }
}

fn nothing(type_url: &TypeUrl, body: &Bytes) {
    let facts = EnvoyReferences::default().facts(type_url, body);
    assert_eq!(facts, Facts::default());
}
