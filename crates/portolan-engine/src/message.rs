//! What goes in and out of a session: the fields of the wire messages that the protocol is about, without protobuf.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use bytes::Bytes;
use portolan_core::{
    EntryForm, Generation, Name, Resource, Selection, TypeUrl, Version, bodyless_entry, coalesce,
    heartbeat_entry,
};

use crate::rendering::Rendering;
use crate::{Locator, Variant};

/// A request in either variant.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Request {
    /// State of the world.
    Sotw(SotwRequest),
    /// Incremental.
    Delta(DeltaRequest),
}

/// The fields of a `DiscoveryRequest`. Names stay raw bytes: a client repeats all of them with every
/// acknowledgement, and they are not looked at one by one unless they changed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SotwRequest {
    /// `type_url`
    pub type_url: String,
    /// `resource_names`
    pub names: Vec<Bytes>,
    /// `resource_locators`: names as well, with dynamic parameters (C-308)
    pub locators: Vec<Locator>,
    /// `version_info`
    pub version: String,
    /// `response_nonce`
    pub nonce: String,
    /// `error_detail`
    pub error: Option<ErrorDetail>,
}

/// The fields of a `DeltaDiscoveryRequest`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DeltaRequest {
    /// `type_url`
    pub type_url: String,
    /// `resource_names_subscribe`
    pub subscribe: Vec<Bytes>,
    /// `resource_names_unsubscribe`
    pub unsubscribe: Vec<Bytes>,
    /// `resource_locators_subscribe`
    pub locators_subscribe: Vec<Locator>,
    /// `resource_locators_unsubscribe`
    pub locators_unsubscribe: Vec<Locator>,
    /// `initial_resource_versions`: name and version
    pub initial_versions: Vec<(Bytes, Bytes)>,
    /// `response_nonce`
    pub nonce: String,
    /// `error_detail`
    pub error: Option<ErrorDetail>,
}

/// The `error_detail` of a request. Its presence is what makes a request a NACK, code 0 included (C-099, C-100).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorDetail {
    /// The gRPC status code that the client chose.
    pub code: i32,
    /// What the client did not like.
    pub message: String,
}

impl ErrorDetail {
    /// An error of this code and text.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl From<SotwRequest> for Request {
    fn from(request: SotwRequest) -> Self {
        Self::Sotw(request)
    }
}

impl From<DeltaRequest> for Request {
    fn from(request: DeltaRequest) -> Self {
        Self::Delta(request)
    }
}

/// The number of a response on its stream. Unique over all types, strictly growing, never empty as text (C-090).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce(u64);

impl Nonce {
    pub(crate) const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number that a client's text stands for; `None` for what this server never writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let canonical = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
        if canonical {
            text.parse().ok().map(Self)
        } else {
            None
        }
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A response in either variant.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Response {
    /// The variant, which is the session's.
    pub variant: Variant,
    /// `type_url`
    pub type_url: TypeUrl,
    /// `version_info`, or `system_version_info` in delta
    pub version: Version,
    /// `nonce`
    pub nonce: Nonce,
    /// What is sent, in a form that shares its encoding with other streams.
    pub resources: Selection,
    /// `resource_errors`: what stands in the place of resources, each with its [failure](Resource::failure) (C-357).
    pub errors: Vec<Resource>,
    /// What lives on, without its body (C-292).
    pub heartbeats: Vec<Heartbeat>,
    /// Whether resources are sent with their times to live; in state of the world, those that have one are wrapped.
    pub timed: bool,
    /// In state of the world, whether resources that have constraints are wrapped, so that these can be told.
    pub wrapped: bool,
    /// Names for which a resource without a body is sent (delta only; C-221).
    pub bodyless: Vec<Name>,
    /// `removed_resources`, and with their constraints `removed_resource_names` (delta only; C-323)
    pub removed: Vec<Name>,
    /// The publication that this response was made from.
    pub generation: Generation,
    /// Why it is sent.
    pub reason: Reason,
}

/// A resource without its body: it lives on for another while.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Heartbeat {
    /// `name`
    pub name: Name,
    /// `version`: that under which the client was sent the resource last; in state of the world, that of the response.
    pub version: Version,
    /// `ttl`
    pub ttl: Duration,
}

impl Heartbeat {
    pub(crate) const fn new(name: Name, version: Version, ttl: Duration) -> Self {
        Self { name, version, ttl }
    }
}

/// Why a response is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// What was sent on this stream differs from what there is.
    Changed,
    /// The client must be answered whatever changed: a first request, a newly named or re-subscribed name, a name
    /// given up under a wildcard, endpoints whose cluster was sent (C-259).
    Owed,
    /// Nothing changed and nobody asked: the client forgets what has a time to live unless it hears of it (C-292).
    Refresh,
}

impl Response {
    /// The encoded `resources` and `resource_errors`, in pieces that are shared between streams. Their concatenation is
    /// part of the response message as it stands.
    #[must_use]
    pub fn parts(&self) -> Vec<Bytes> {
        let form = self.variant.entry_form();
        let rendering = Rendering {
            form,
            timed: self.timed,
            wrapped: self.wrapped,
        };
        let mut parts = rendering.parts(&self.resources, &self.version);
        let heartbeats = self.heartbeats.iter();
        let heartbeats = heartbeats.map(|h| match form {
            EntryForm::Sotw if !self.wrapped => {
                heartbeat_entry(&h.name.to_stem(), &h.version, h.ttl, form)
            }
            _ => heartbeat_entry(&h.name, &h.version, h.ttl, form),
        });
        let bodyless = self.bodyless.iter().map(|name| bodyless_entry(name));
        let errors = self.errors.iter().map(|error| error.entry(form));
        parts.extend(coalesce(heartbeats.chain(bodyless).chain(errors)));
        parts
    }
}

#[cfg(test)]
mod tests {
    use portolan_core::Constraints;

    use super::*;

    const TTL: Duration = Duration::from_secs(1);

    fn heartbeats(variant: Variant, names: impl Iterator<Item = Name>) -> Response {
        let beat = |name| Heartbeat::new(name, Version::from("v"), TTL);
        Response {
            variant,
            type_url: TypeUrl::from("t"),
            version: Version::from("v"),
            nonce: Nonce(1),
            resources: Selection::none(),
            errors: Vec::new(),
            heartbeats: names.map(beat).collect(),
            timed: true,
            wrapped: false,
            bodyless: Vec::new(),
            removed: Vec::new(),
            generation: Generation::default(),
            reason: Reason::Refresh,
        }
    }

    #[test]
    fn c327_a_heartbeat_has_constraints_where_its_resource_came_with_them() {
        let prod = Constraints::value("env", "prod");
        let (stem, whole) = (Name::from("a"), Name::from("a").with_constraints(&prod));
        for (variant, wrapped, told) in [
            (Variant::Sotw, false, &stem),
            (Variant::Sotw, true, &whole),
            (Variant::Delta, false, &whole),
        ] {
            let mut response = heartbeats(variant, [whole.clone()].into_iter());
            response.wrapped = wrapped;
            let form = variant.entry_form();
            let expected = heartbeat_entry(told, &Version::from("v"), TTL, form);
            assert_eq!(response.parts().concat(), expected, "{variant:?} {wrapped}");
        }
    }

    #[test]
    fn what_is_small_goes_together() {
        let names = || (0..1_000).map(|i| Name::from(alloc::format!("{i}")));
        let mut response = heartbeats(Variant::Delta, names());
        response.bodyless = names().collect();
        let form = Variant::Delta.entry_form();
        let beats = names().map(|name| heartbeat_entry(&name, &Version::from("v"), TTL, form));
        let entries: Vec<_> = beats.chain(names().map(|n| bodyless_entry(&n))).collect();
        let parts = response.parts();
        assert_eq!(parts.concat(), entries.concat());
        assert!(parts.len() < 10, "{}", parts.len());
    }

    #[test]
    fn only_what_this_server_writes_is_a_nonce() {
        assert_eq!(Nonce::parse("17"), Some(Nonce(17)));
        for foreign in [
            "",
            "0",
            "017",
            "+17",
            "17 ",
            "abc",
            "99999999999999999999999",
        ] {
            assert_eq!(Nonce::parse(foreign), None, "{foreign:?}");
        }
    }
}
