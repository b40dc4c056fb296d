//! Reads out of a resource's body what it refers to. One file per type that refers to something.

mod cluster;
mod route;

use bytes::Bytes;
use portolan_core::{Facts, References, TypeUrl, well_known};
use portolan_types::envoy::config::core::v3::ConfigSource;
use portolan_types::envoy::config::core::v3::config_source::ConfigSourceSpecifier;
use prost::Message;

/// The references of Envoy's resources: from clusters to their endpoints, and from route tables to the virtual hosts
/// that they discover.
///
/// Only what comes from a management server is a reference; a configuration that is read from a file is not.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct EnvoyReferences;

impl References for EnvoyReferences {
    fn facts(&self, type_url: &TypeUrl, body: &Bytes) -> Facts {
        if *type_url == well_known::CLUSTER {
            read(body, cluster::facts)
        } else if *type_url == well_known::ROUTE {
            read(body, route::facts)
        } else {
            Facts::default()
        }
    }
}

/// A body that is no such message refers to nothing; clients say what they think of it.
fn read<M: Message + Default>(body: &Bytes, facts: impl FnOnce(&M) -> Facts) -> Facts {
    M::decode(body.clone()).map_or_else(|_| Facts::default(), |message| facts(&message))
}

/// Whether a resource with this source is asked of a management server. Without a source it is not: that is an error
/// in the message that clients report.
fn is_discovered(source: Option<&ConfigSource>) -> bool {
    use ConfigSourceSpecifier::{Ads, ApiConfigSource, Self_};
    let specifier = source.and_then(|source| source.config_source_specifier.as_ref());
    matches!(specifier, Some(Ads(_) | Self_(_) | ApiConfigSource(_)))
}
