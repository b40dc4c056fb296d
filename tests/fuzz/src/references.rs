use bytes::Bytes;
use portolan_core::{Facts, Name, References, ResourceError, TypeUrl, well_known};
use portolan_resources::{EnvoyReferences, TypedResource};
use portolan_types::envoy::config::cluster::v3::Cluster;
use portolan_types::envoy::config::core::v3::TypedExtensionConfig;
use portolan_types::envoy::config::endpoint::v3::ClusterLoadAssignment;
use portolan_types::envoy::config::listener::v3::Listener;
use portolan_types::envoy::config::route::v3::{RouteConfiguration, ScopedRouteConfiguration};
use portolan_types::envoy::extensions::transport_sockets::tls::v3::Secret;
use portolan_types::envoy::service::runtime::v3::Runtime;

use crate::input::Input;

/// A body of any type, read for what it refers to: whatever is told stands in it, and what is a message can be put into
/// a snapshot and says the same there.
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
        _ => {
            stands_in(&body, &well_known::VIRTUAL_HOST);
        }
    }
}

fn check<R: TypedResource + Default>(body: &Bytes) {
    stands_in(body, &R::TYPE_URL);
    let Ok(message) = R::decode(body.clone()) else {
        return;
    };
    match message.to_resource().build() {
        Ok(resource) => {
            assert_eq!(*resource.name(), Name::from(message.resource_name()));
            let facts = stands_in(&resource.body(), &R::TYPE_URL);
            assert_eq!(*resource.facts(&EnvoyReferences::default()), facts);
            let again = R::decode(resource.body()).map(|message| message.encode_to_vec());
            assert_eq!(again, Ok(resource.body().to_vec()));
        }
        Err(ResourceError::InvalidName { name, .. }) => assert!(name.is_url(), "{name}"),
        Err(ResourceError::InvalidConstraints { name, .. }) => assert!(!name.is_stem(), "{name}"),
        Err(error) => {
            let name = Name::from(message.resource_name());
            assert!(name.stem().is_empty(), "{error}");
        }
    }
}

fn stands_in(body: &Bytes, type_url: &TypeUrl) -> Facts {
    let facts = EnvoyReferences::default().facts(type_url, body);
    for reference in facts.references() {
        let name = reference.name().as_bytes();
        assert!(!name.is_empty() && !reference.path().is_empty());
        if reference.name().is_url() {
            continue;
        }
        let written = name.strip_suffix(b"/").unwrap_or(name);
        let mut places = body.windows(written.len().max(1));
        assert!(name == b"*" || written.is_empty() || places.any(|place| place == written));
    }
    facts
}
