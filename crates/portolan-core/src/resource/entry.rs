use bytes::{Bytes, BytesMut};

use super::Attributes;
use crate::wire::{field_len, put_field, put_head};
use crate::{Name, TypeUrl, Version};

/// Field numbers of `envoy.service.discovery.v3.Resource` and of the two responses.
mod field {
    /// `resources` in both discovery responses, and `resource` in `Resource`: the coincidence that lets one buffer
    /// serve both variants.
    pub(super) const RESOURCES: u8 = 2;
    pub(super) const VERSION: u8 = 1;
    pub(super) const NAME: u8 = 3;
    pub(super) const ALIASES: u8 = 4;
    pub(super) const RESOURCE_NAME: u8 = 5;
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
    match &attributes.constraints {
        None => put_field(field::NAME, name.as_bytes(), &mut head),
        Some(constraints) => {
            let len = field_len(name.len()) + field_len(constraints.len());
            put_head(field::RESOURCE_NAME, len, &mut head);
            put_field(field::RESOURCE_NAME_NAME, name.as_bytes(), &mut head);
            put_field(field::RESOURCE_NAME_CONSTRAINTS, constraints, &mut head);
        }
    }
    for alias in &attributes.aliases {
        put_field(field::ALIASES, alias.as_bytes(), &mut head);
    }
    head
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
