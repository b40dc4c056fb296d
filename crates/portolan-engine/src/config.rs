use alloc::sync::Arc;
use core::time::Duration;

use portolan_core::{EntryForm, NoReferences, References, ResourceType, ResourceTypes};

use crate::{Transitions, TtlPolicy};

/// The two variants of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Variant {
    /// State of the world: `DiscoveryRequest` and `DiscoveryResponse`.
    Sotw,
    /// Incremental: `DeltaDiscoveryRequest` and `DeltaDiscoveryResponse`.
    Delta,
}

impl Variant {
    /// The form in which its responses hold resources.
    pub(crate) const fn entry_form(self) -> EntryForm {
        match self {
            Self::Sotw => EntryForm::Sotw,
            Self::Delta => EntryForm::Delta,
        }
    }
}

/// Which types a stream may carry.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Scope {
    /// Any, each named in its requests (ADS).
    Aggregated,
    /// One, which requests need not name (C-037).
    Single(ResourceType),
}

/// What all sessions of a server have in common.
///
/// ```
/// use portolan_core::ResourceTypes;
/// use portolan_engine::{Limits, SessionConfig};
///
/// let config = SessionConfig::default()
///     .with_types(ResourceTypes::well_known())
///     .with_limits(Limits::default().with_names(50_000));
/// assert_eq!(config.limits().names(), 50_000);
/// ```
#[derive(Clone, Debug)]
pub struct SessionConfig {
    types: Arc<ResourceTypes>,
    references: Arc<dyn References>,
    limits: Limits,
    unread_after: Duration,
    legacy_wildcard: bool,
    reanswer: bool,
    max_response: usize,
    ttl: TtlPolicy,
    transitions: Transitions,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            types: Arc::new(ResourceTypes::well_known()),
            references: Arc::new(NoReferences::default()),
            limits: Limits::default(),
            unread_after: Duration::from_secs(5),
            legacy_wildcard: true,
            reanswer: true,
            max_response: 4 * 1024 * 1024,
            ttl: TtlPolicy::default(),
            transitions: Transitions::default(),
        }
    }
}

impl SessionConfig {
    /// The types that are known. Default: [`ResourceTypes::well_known`]. Types that are not among them are served
    /// as [`ResourceType::unregistered`].
    #[must_use]
    pub fn with_types(mut self, types: ResourceTypes) -> Self {
        self.types = Arc::new(types);
        self
    }

    /// What reads references out of resources. Default: nothing does, and then clients that warm a changed cluster
    /// wait for endpoints that do not come; give the reader of `portolan-resources` wherever clusters are served.
    #[must_use]
    pub fn with_references(mut self, references: Arc<dyn References>) -> Self {
        self.references = references;
        self
    }

    /// Bounds on what a client can make a stream hold.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How long a response with changes waits for the previous one of its type to be read. Default 5 s: an
    /// acknowledgement of anything sent later proves that it was read, so only a client that says nothing at all
    /// makes anybody wait this long.
    #[must_use]
    pub fn with_unread_after(mut self, wait: Duration) -> Self {
        self.unread_after = wait;
        self
    }

    /// Whether a first request without names means "everything", for the types that have that rule. Default: on.
    /// Off, only an explicit `*` does; gRPC clients never send one.
    #[must_use]
    pub fn with_legacy_wildcard(mut self, on: bool) -> Self {
        self.legacy_wildcard = on;
        self
    }

    /// Whether endpoints are sent again after their cluster changed (C-260). Default: on; without it Envoy keeps a
    /// changed cluster warming for 15 s.
    #[must_use]
    pub fn with_reanswer(mut self, on: bool) -> Self {
        self.reanswer = on;
        self
    }

    /// Length in bytes above which a response is cut into several, where its type allows that. Default 4 MiB, the limit
    /// of gRPC clients. What cannot be cut is sent as it is, with [`Event::Oversized`](crate::Event::Oversized).
    #[must_use]
    pub fn with_max_response(mut self, bytes: usize) -> Self {
        self.max_response = bytes;
        self
    }

    /// Which clients are told of times to live. Default: those that are known to understand them.
    #[must_use]
    pub fn with_ttl(mut self, policy: TtlPolicy) -> Self {
        self.ttl = policy;
        self
    }

    /// How clients are brought from one publication to the next. Default: [`Transitions::Safe`].
    #[must_use]
    pub fn with_transitions(mut self, transitions: Transitions) -> Self {
        self.transitions = transitions;
        self
    }

    /// The known types.
    #[must_use]
    pub fn types(&self) -> &ResourceTypes {
        &self.types
    }

    /// The bounds.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn references(&self) -> &dyn References {
        &*self.references
    }

    pub(crate) fn unread_after(&self) -> Duration {
        self.unread_after
    }

    pub(crate) fn max_response(&self) -> usize {
        self.max_response
    }

    pub(crate) fn ttl(&self) -> TtlPolicy {
        self.ttl
    }

    /// See [`with_transitions`](Self::with_transitions).
    #[must_use]
    pub fn transitions(&self) -> &Transitions {
        &self.transitions
    }

    pub(crate) fn reanswers(&self) -> bool {
        self.reanswer
    }

    pub(crate) fn has_legacy_wildcard(&self, resource_type: &ResourceType) -> bool {
        self.legacy_wildcard && resource_type.legacy_wildcard()
    }
}

/// Bounds on what a client can make a stream hold. A stream that exceeds one ends with
/// [`ProtocolError`](crate::ProtocolError) unless said otherwise; no other stream is affected.
#[derive(Clone, Debug)]
pub struct Limits {
    types: usize,
    names: usize,
    name_bytes: usize,
    unacked: usize,
    nack_text: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            types: 64,
            names: 200_000,
            name_bytes: 64 * 1024 * 1024,
            unacked: 64,
            nack_text: 4096,
        }
    }
}

impl Limits {
    /// Most types on one stream. Default 64.
    #[must_use]
    pub fn with_types(mut self, max: usize) -> Self {
        self.types = max;
        self
    }

    /// Most names on one stream, over all types; also the most entries of `initial_resource_versions` in a request.
    /// Default 200,000.
    #[must_use]
    pub fn with_names(mut self, max: usize) -> Self {
        self.names = max;
        self
    }

    /// Most bytes of names on one stream, over all types, those that await an answer counted twice. Default 64 MiB,
    /// which is room for twice the default number of names at 150 bytes each.
    #[must_use]
    pub fn with_name_bytes(mut self, max: usize) -> Self {
        self.name_bytes = max;
        self
    }

    /// Most responses of one type that wait for their acknowledgement, at least 1. The oldest is then counted as
    /// accepted, with an event; the stream goes on. As many rejected responses are remembered for what must be sent
    /// with their correction. Default 64.
    #[must_use]
    pub fn with_unacked(mut self, max: usize) -> Self {
        self.unacked = max.max(1);
        self
    }

    /// Most bytes kept of the text of a rejection. Default 4096: Envoy cuts its own at 4114.
    #[must_use]
    pub fn with_nack_text(mut self, max: usize) -> Self {
        self.nack_text = max;
        self
    }

    /// See [`with_types`](Self::with_types).
    #[must_use]
    pub fn types(&self) -> usize {
        self.types
    }

    /// See [`with_names`](Self::with_names).
    #[must_use]
    pub fn names(&self) -> usize {
        self.names
    }

    /// See [`with_name_bytes`](Self::with_name_bytes).
    #[must_use]
    pub fn name_bytes(&self) -> usize {
        self.name_bytes
    }

    /// See [`with_unacked`](Self::with_unacked).
    #[must_use]
    pub fn unacked(&self) -> usize {
        self.unacked
    }

    /// See [`with_nack_text`](Self::with_nack_text).
    #[must_use]
    pub fn nack_text(&self) -> usize {
        self.nack_text
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    /// That the order of settings does not matter, as where one takes another back.
    fn check<T: Clone + Default + core::fmt::Debug>(settings: &[fn(T) -> T]) {
        let apply = |value: T, set: &fn(T) -> T| set(value);
        let forth = settings.iter().fold(T::default(), apply);
        let back = settings.iter().rev().fold(T::default(), apply);
        assert_eq!(format!("{forth:?}"), format!("{back:?}"));
        for set in settings {
            assert_ne!(
                format!("{:?}", set(T::default())),
                format!("{:?}", T::default())
            );
        }
    }

    #[test]
    fn no_setting_takes_another_back() {
        check::<SessionConfig>(&[
            |c| c.with_limits(Limits::default().with_names(7)),
            |c| c.with_unread_after(Duration::from_secs(7)),
            |c| c.with_legacy_wildcard(false),
            |c| c.with_reanswer(false),
            |c| c.with_max_response(7),
            |c| c.with_ttl(TtlPolicy::Always),
            |c| c.with_transitions(Transitions::Immediate),
        ]);
        check::<Limits>(&[
            |l| l.with_types(7),
            |l| l.with_names(7),
            |l| l.with_name_bytes(7),
            |l| l.with_unacked(7),
            |l| l.with_nack_text(7),
        ]);
    }
}
