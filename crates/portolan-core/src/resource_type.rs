use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::TypeUrl;

/// How the state-of-the-world variant answers for a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SotwMode {
    /// Each response holds everything the client subscribes to; what is missing is deleted (C-124, C-125, C-139).
    FullState,
    /// A response holds what changed; absence means nothing (C-131, C-132).
    Partial,
    /// The type has no state-of-the-world form (C-048).
    Unsupported,
}

/// What the delta variant answers for a subscribed name that does not exist. State of the world is silent for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingName {
    /// The name goes into `removed_resources` (C-147).
    Report,
    /// As [`Report`](Self::Report), but nothing is said while another resource of the node's snapshot refers to the
    /// name: for endpoints `removed` would make a warming cluster live and empty.
    ReportUnlessReferenced,
    /// Nothing is said. Removing secrets or extension configurations makes clients reject or drop requests.
    Silent,
    /// A resource with the name as its alias and no body, which is how virtual hosts say "no such host" (C-221).
    Bodyless,
}

/// How a response that is too large for one message is cut, where it may be. In state of the world a full-state type is
/// never cut, whatever stands here (C-141).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseSplit {
    /// It is not: resources take each other's places, and clients reject two that hold the same one (C-211).
    Never,
    /// What is gone is told with the first part: what comes may need its place, as a listener needs a port.
    RemovalsFirst,
    /// What is gone is told with the last part, when what replaces it has come.
    RemovalsLast,
}

/// What the protocol needs to know of a type of resources.
///
/// The set of types is open: a type of your own is described like the well-known ones and served by every cache. A
/// type URL that nobody registered gets [`ResourceType::unregistered`].
///
/// ```
/// use portolan_core::{ResourceType, SotwMode};
///
/// let widget = ResourceType::new("type.googleapis.com/acme.v1.Widget", "WDS")
///     .with_rank(700)
///     .with_sotw_mode(SotwMode::FullState)
///     .with_legacy_wildcard(true);
/// assert_eq!(widget.short_name(), "WDS");
/// ```
#[derive(Clone, Debug)]
pub struct ResourceType {
    url: TypeUrl,
    short_name: Cow<'static, str>,
    rank: u16,
    sotw_mode: SotwMode,
    legacy_wildcard: bool,
    missing_name: MissingName,
    reanswers: Option<TypeUrl>,
    independent: bool,
    split: ResponseSplit,
}

impl ResourceType {
    /// Rank of a type that nobody ranked: after all well-known ones.
    pub const DEFAULT_RANK: u16 = 1000;

    /// A type of your own: rank [`DEFAULT_RANK`](Self::DEFAULT_RANK), partial in state of the world, no legacy
    /// wildcard, missing names reported.
    #[must_use]
    pub fn new(url: impl Into<TypeUrl>, short_name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            url: url.into(),
            short_name: short_name.into(),
            ..Self::base(TypeUrl::from_static(""), "")
        }
    }

    /// The descriptor of a type URL that nobody registered. It is an ordinary type without resources (C-040).
    #[must_use]
    pub fn unregistered(url: impl Into<TypeUrl>) -> Self {
        let url = url.into();
        let short_name = Cow::Owned(url.message_name().to_owned());
        Self::new(url, short_name)
    }

    const fn base(url: TypeUrl, short_name: &'static str) -> Self {
        Self {
            url,
            short_name: Cow::Borrowed(short_name),
            rank: Self::DEFAULT_RANK,
            sotw_mode: SotwMode::Partial,
            legacy_wildcard: false,
            missing_name: MissingName::Report,
            reanswers: None,
            independent: false,
            split: ResponseSplit::RemovalsLast,
        }
    }

    /// Place in the order in which types are sent when several changed: lower first. Clusters 100, endpoints 200,
    /// listeners 300, scoped routes 400, routes 500, virtual hosts 600; runtime 10 and secrets 20 go before what
    /// uses them (C-238).
    #[must_use]
    pub const fn with_rank(mut self, rank: u16) -> Self {
        self.rank = rank;
        self
    }

    /// How state of the world answers. Default: [`SotwMode::Partial`].
    #[must_use]
    pub const fn with_sotw_mode(mut self, mode: SotwMode) -> Self {
        self.sotw_mode = mode;
        self
    }

    /// Whether a first request without names means "everything" (C-054, C-157). Default: no; an explicit `*` works
    /// for every type.
    #[must_use]
    pub const fn with_legacy_wildcard(mut self, on: bool) -> Self {
        self.legacy_wildcard = on;
        self
    }

    /// What delta answers for a missing name. Default: [`MissingName::Report`].
    #[must_use]
    pub const fn with_missing_name(mut self, rule: MissingName) -> Self {
        self.missing_name = rule;
        self
    }

    /// The child type whose resources are answered again, unchanged or not, when a resource of this type that refers
    /// to them was sent: clients warm a changed cluster until its endpoints come again (C-260). Default: none.
    #[must_use]
    pub fn with_reanswers(mut self, child: impl Into<TypeUrl>) -> Self {
        self.reanswers = Some(child.into());
        self
    }

    /// Whether changes of this type go out while changes of a lower rank still wait: its resources refer to nothing
    /// that a client could miss, as endpoints, secrets and runtime layers do. Default: no.
    #[must_use]
    pub const fn with_independent(mut self, on: bool) -> Self {
        self.independent = on;
        self
    }

    /// How a response that is too large is cut. Default: [`ResponseSplit::RemovalsLast`].
    #[must_use]
    pub const fn with_split(mut self, split: ResponseSplit) -> Self {
        self.split = split;
        self
    }

    /// The type URL.
    #[must_use]
    pub const fn url(&self) -> &TypeUrl {
        &self.url
    }

    /// A short name for logs and metrics, such as `CDS`.
    #[must_use]
    pub fn short_name(&self) -> &str {
        &self.short_name
    }

    /// See [`with_rank`](Self::with_rank).
    #[must_use]
    pub const fn rank(&self) -> u16 {
        self.rank
    }

    /// See [`with_sotw_mode`](Self::with_sotw_mode).
    #[must_use]
    pub const fn sotw_mode(&self) -> SotwMode {
        self.sotw_mode
    }

    /// See [`with_legacy_wildcard`](Self::with_legacy_wildcard).
    #[must_use]
    pub const fn legacy_wildcard(&self) -> bool {
        self.legacy_wildcard
    }

    /// See [`with_missing_name`](Self::with_missing_name).
    #[must_use]
    pub const fn missing_name(&self) -> MissingName {
        self.missing_name
    }

    /// See [`with_reanswers`](Self::with_reanswers).
    #[must_use]
    pub const fn reanswers(&self) -> Option<&TypeUrl> {
        self.reanswers.as_ref()
    }

    /// See [`with_independent`](Self::with_independent).
    #[must_use]
    pub const fn independent(&self) -> bool {
        self.independent
    }

    /// See [`with_split`](Self::with_split).
    #[must_use]
    pub const fn split(&self) -> ResponseSplit {
        self.split
    }
}

/// The well-known types.
///
/// Each constant is a type URL; [`ResourceTypes::well_known`] holds their descriptors.
pub mod well_known {
    use super::{MissingName, ResourceType, ResponseSplit, SotwMode};
    use crate::TypeUrl;

    /// `envoy.config.cluster.v3.Cluster` (CDS).
    pub const CLUSTER: TypeUrl =
        TypeUrl::from_static("type.googleapis.com/envoy.config.cluster.v3.Cluster");
    /// `envoy.config.endpoint.v3.ClusterLoadAssignment` (EDS).
    pub const ENDPOINT: TypeUrl =
        TypeUrl::from_static("type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment");
    /// `envoy.config.endpoint.v3.LbEndpoint` (LEDS).
    pub const LOCALITY_ENDPOINT: TypeUrl =
        TypeUrl::from_static("type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint");
    /// `envoy.config.listener.v3.Listener` (LDS).
    pub const LISTENER: TypeUrl =
        TypeUrl::from_static("type.googleapis.com/envoy.config.listener.v3.Listener");
    /// `envoy.config.route.v3.RouteConfiguration` (RDS).
    pub const ROUTE: TypeUrl =
        TypeUrl::from_static("type.googleapis.com/envoy.config.route.v3.RouteConfiguration");
    /// `envoy.config.route.v3.ScopedRouteConfiguration` (SRDS).
    pub const SCOPED_ROUTE: TypeUrl =
        TypeUrl::from_static("type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration");
    /// `envoy.config.route.v3.VirtualHost` (VHDS).
    pub const VIRTUAL_HOST: TypeUrl =
        TypeUrl::from_static("type.googleapis.com/envoy.config.route.v3.VirtualHost");
    /// `envoy.extensions.transport_sockets.tls.v3.Secret` (SDS).
    pub const SECRET: TypeUrl = TypeUrl::from_static(
        "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
    );
    /// `envoy.service.runtime.v3.Runtime` (RTDS).
    pub const RUNTIME: TypeUrl =
        TypeUrl::from_static("type.googleapis.com/envoy.service.runtime.v3.Runtime");
    /// `envoy.config.core.v3.TypedExtensionConfig` (ECDS).
    pub const EXTENSION_CONFIG: TypeUrl =
        TypeUrl::from_static("type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig");
    /// `ratelimit.config.ratelimit.v3.RateLimitConfig`, which the rate limit service asks for instead of a proxy (RLS).
    pub const RATE_LIMIT_CONFIG: TypeUrl =
        TypeUrl::from_static("type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig");

    const fn of(url: TypeUrl, short_name: &'static str, rank: u16) -> ResourceType {
        ResourceType::base(url, short_name).with_rank(rank)
    }

    /// The descriptors, in rank order.
    pub(super) fn descriptors() -> [ResourceType; 11] {
        use MissingName::{Bodyless, ReportUnlessReferenced, Silent};
        use SotwMode::{FullState, Unsupported};
        [
            of(RUNTIME, "RTDS", 10).with_independent(true),
            of(SECRET, "SDS", 20)
                .with_independent(true)
                .with_missing_name(Silent),
            // The rate limit service replaces all that it has by what a response holds.
            of(RATE_LIMIT_CONFIG, "RLS", 30)
                .with_independent(true)
                .with_sotw_mode(FullState)
                .with_legacy_wildcard(true),
            of(CLUSTER, "CDS", 100)
                .with_sotw_mode(FullState)
                .with_legacy_wildcard(true)
                .with_reanswers(ENDPOINT),
            of(ENDPOINT, "EDS", 200)
                .with_independent(true)
                .with_missing_name(ReportUnlessReferenced),
            of(LOCALITY_ENDPOINT, "LEDS", 210)
                .with_independent(true)
                .with_sotw_mode(Unsupported)
                .with_missing_name(ReportUnlessReferenced),
            of(EXTENSION_CONFIG, "ECDS", 250).with_missing_name(Silent),
            of(LISTENER, "LDS", 300)
                .with_sotw_mode(FullState)
                .with_legacy_wildcard(true)
                .with_split(ResponseSplit::RemovalsFirst),
            of(SCOPED_ROUTE, "SRDS", 400)
                .with_sotw_mode(FullState)
                .with_legacy_wildcard(true)
                .with_split(ResponseSplit::Never),
            of(ROUTE, "RDS", 500),
            of(VIRTUAL_HOST, "VHDS", 600)
                .with_sotw_mode(Unsupported)
                .with_legacy_wildcard(true)
                .with_missing_name(Bodyless),
        ]
    }
}

/// The types a server knows, by URL.
///
/// ```
/// use portolan_core::{ResourceType, ResourceTypes, well_known};
///
/// let types = ResourceTypes::well_known()
///     .with(ResourceType::new("type.googleapis.com/acme.v1.Widget", "WDS"));
/// assert_eq!(types.get(&well_known::CLUSTER).short_name(), "CDS");
/// assert_eq!(types.get("type.googleapis.com/x.Unknown").short_name(), "x.Unknown");
/// ```
#[derive(Clone, Debug)]
pub struct ResourceTypes(BTreeMap<TypeUrl, ResourceType>);

impl ResourceTypes {
    /// The types of the xDS v3 API that Envoy and gRPC use.
    #[must_use]
    pub fn well_known() -> Self {
        let types = well_known::descriptors();
        Self(types.into_iter().map(|t| (t.url.clone(), t)).collect())
    }

    /// Adds a type, or replaces the descriptor of one.
    #[must_use]
    pub fn with(mut self, resource_type: ResourceType) -> Self {
        self.0.insert(resource_type.url.clone(), resource_type);
        self
    }

    /// The descriptor for a URL; [`ResourceType::unregistered`] where nobody registered one.
    #[must_use]
    pub fn get(&self, url: impl AsRef<str>) -> ResourceType {
        let url = url.as_ref();
        match self.0.get(url) {
            Some(known) => known.clone(),
            None => ResourceType::unregistered(url),
        }
    }

    /// Whether the URL was registered.
    #[must_use]
    pub fn contains(&self, url: impl AsRef<str>) -> bool {
        self.0.contains_key(url.as_ref())
    }

    /// The registered types, ordered by URL.
    pub fn iter(&self) -> impl Iterator<Item = &ResourceType> {
        self.0.values()
    }
}

impl Default for ResourceTypes {
    fn default() -> Self {
        Self::well_known()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_state_in_sotw_are_the_types_whose_clients_take_absence_for_deletion() {
        let types = ResourceTypes::well_known();
        let full: Vec<_> = types
            .iter()
            .filter(|t| t.sotw_mode() == SotwMode::FullState)
            .map(ResourceType::short_name)
            .collect();
        assert_eq!(full, ["CDS", "LDS", "SRDS", "RLS"]);
    }

    #[test]
    fn ranks_put_what_is_referred_to_before_what_refers() {
        let types = ResourceTypes::well_known();
        let rank = |url: &TypeUrl| types.get(url).rank();
        let order = [
            &well_known::SECRET,
            &well_known::CLUSTER,
            &well_known::ENDPOINT,
            &well_known::LISTENER,
            &well_known::SCOPED_ROUTE,
            &well_known::ROUTE,
            &well_known::VIRTUAL_HOST,
        ];
        assert!(order.windows(2).all(|pair| rank(pair[0]) < rank(pair[1])));
    }

    #[test]
    fn a_url_without_the_prefix_is_another_type() {
        let types = ResourceTypes::well_known();
        assert!(!types.contains("envoy.config.cluster.v3.Cluster"));
        assert!(
            !types
                .get("envoy.config.cluster.v3.Cluster")
                .legacy_wildcard()
        );
    }
}
