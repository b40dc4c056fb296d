use bytes::{Bytes, BytesMut};

use super::Attributes;
use crate::wire::{field_len, put_field, put_head};
use crate::{Constraints, Name, TypeUrl, Version};

/// Field numbers of `envoy.service.discovery.v3.Resource` and of the two responses.
mod field {
    /// `resources` in both discovery responses, and `resource` in `Resource`: the coincidence that lets one buffer
    /// serve both variants.
    pub(super) const RESOURCES: u8 = 2;
    pub(super) const VERSION: u8 = 1;
    pub(super) const NAME: u8 = 3;
    pub(super) const ALIASES: u8 = 4;
    pub(super) const RESOURCE_NAME: u8 = 8;
    /// Of `ResourceName`.
    pub(super) const RESOURCE_NAME_NAME: u8 = 1;
    pub(super) const RESOURCE_NAME_CONSTRAINTS: u8 = 2;
    pub(super) const ANY_TYPE_URL: u8 = 1;
    pub(super) const ANY_VALUE: u8 = 2;
}

/// The two forms in which a resource goes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryForm {
    /// `resources` of `DiscoveryResponse`: the bare `Any`.
    Sotw,
    /// `resources` of `DeltaDiscoveryResponse`: the `Any` with its name, version and aliases.
    Delta,
}

/// What is sent of one resource, or of what stands in its place, in both forms.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    /// Of an error the two entries have different keys: that of delta, and behind it that of state of the world.
    pub(crate) bytes: Bytes,
    /// Where the state-of-the-world entry starts.
    pub(crate) sotw_at: usize,
    pub(crate) body_at: usize,
}

impl Entries {
    pub(super) fn of_resource(
        type_url: &TypeUrl,
        name: &Name,
        version: &Version,
        attributes: &Attributes,
        body: &[u8],
    ) -> Self {
        let head = head(name, version, attributes);
        let url = type_url.as_str().as_bytes();
        let any_len = field_len(url.len()) + field_len(body.len());
        let delta_len = head.len() + field_len(any_len);
        let mut entry = BytesMut::with_capacity(field_len(delta_len));
        put_head(field::RESOURCES, delta_len, &mut entry);
        entry.extend_from_slice(&head);
        let sotw_at = entry.len();
        put_head(field::RESOURCES, any_len, &mut entry);
        put_field(field::ANY_TYPE_URL, url, &mut entry);
        put_head(field::ANY_VALUE, body.len(), &mut entry);
        let body_at = entry.len();
        entry.extend_from_slice(body);
        Self {
            bytes: entry.freeze(),
            sotw_at,
            body_at,
        }
    }
}

/// What a delta entry has before its `Any`.
fn head(name: &Name, version: &Version, attributes: &Attributes) -> BytesMut {
    let mut head = BytesMut::new();
    put_field(field::VERSION, version.as_str().as_bytes(), &mut head);
    put_name(name, attributes.constraints.as_deref(), &mut head);
    for alias in &attributes.aliases {
        put_field(field::ALIASES, alias.as_bytes(), &mut head);
    }
    head
}

/// What names a resource in an `envoy.service.discovery.v3.Resource`: one of two fields (C-314).
pub(crate) fn put_name(name: &Name, constraints: Option<&Constraints>, out: &mut BytesMut) {
    match constraints {
        None => put_field(field::NAME, name.stem().as_bytes(), out),
        Some(constraints) => {
            let name = resource_name(name.stem(), Some(constraints));
            put_field(field::RESOURCE_NAME, &name, out);
        }
    }
}

/// A name as an encoded `envoy.service.discovery.v3.ResourceName`, with its constraints if it has any.
#[must_use]
pub fn encoded_resource_name(name: &Name) -> Bytes {
    resource_name(name.stem(), name.constraints().as_ref()).freeze()
}

fn resource_name(stem: &str, constraints: Option<&Constraints>) -> BytesMut {
    let mut out = BytesMut::new();
    put_field(field::RESOURCE_NAME_NAME, stem.as_bytes(), &mut out);
    if let Some(constraints) = constraints {
        put_field(
            field::RESOURCE_NAME_CONSTRAINTS,
            &constraints.encoded(),
            &mut out,
        );
    }
    out
}

/// The delta entry of a name for which there is no resource: name and alias without a body (C-221).
#[must_use]
pub fn bodyless_entry(name: &str) -> Bytes {
    let mut entry = BytesMut::new();
    put_head(field::RESOURCES, 2 * field_len(name.len()), &mut entry);
    put_field(field::NAME, name.as_bytes(), &mut entry);
    put_field(field::ALIASES, name.as_bytes(), &mut entry);
    entry.freeze()
}
