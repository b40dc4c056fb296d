use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::digest::Digest;
use crate::well_known::VIRTUAL_HOST;
use crate::wire::{field_len, put_field, put_head};
use crate::{Facts, Name, References, ResourceError, ResourceFailure, TypeUrl, Version, xdstp};

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

/// One named, versioned, encoded resource. Immutable; cloning is cheap.
///
/// It is encoded once, when it is made. One buffer holds the entry of a delta response; its tail is the entry of a
/// state-of-the-world response, and the tail of that is the body:
///
/// ```text
/// delta entry  [ key len | version  name  aliases  | key len | type URL  key len | body ]
/// SotW entry                                        [ key len | type URL  key len | body ]
/// ```
///
/// The version is a hash of body, aliases and constraints (not of the TTL), unless the caller chose one.
///
/// In a set, something else may stand in the place of a resource: that there is an error, see
/// [`failed`](Self::failed), or that nobody has said yet, see [`pending`](Self::pending). Such an entry has a name and no
/// body, and no wildcard covers it.
///
/// ```
/// use portolan_core::{Resource, well_known};
///
/// let a = Resource::builder(well_known::CLUSTER, "a", &b"\x0a\x01a"[..]).build()?;
/// let same = Resource::builder(well_known::CLUSTER, "a", &b"\x0a\x01a"[..]).build()?;
/// assert_eq!(a.version(), same.version());
/// # Ok::<(), portolan_core::ResourceError>(())
/// ```
#[derive(Clone)]
pub struct Resource(Arc<Inner>);

struct Inner {
    type_url: TypeUrl,
    name: Name,
    version: Version,
    identity: u128,
    element: u128,
    attributes: Attributes,
    /// The glob collection that it is a member of.
    glob: Option<Name>,
    standing: Standing,
    /// Of an error the two entries have different keys: that of delta, and behind it that of state of the world.
    entry: Bytes,
    sotw_at: usize,
    body_at: usize,
    facts: OnceLock<Facts>,
}

/// What an entry of a set is.
#[derive(Clone, Debug)]
enum Standing {
    Resource,
    Failed(Box<ResourceFailure>),
    Pending,
}

/// What a resource has besides its body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Attributes {
    caller_version: Option<Version>,
    ttl: Option<Duration>,
    aliases: Vec<Name>,
    constraints: Option<Bytes>,
    on_demand: bool,
}

impl Resource {
    /// Starts a resource: its type, its name, and its body, an encoded message of that type.
    pub fn builder(
        type_url: impl Into<TypeUrl>,
        name: impl Into<Name>,
        body: impl Into<Bytes>,
    ) -> ResourceBuilder {
        let type_url = type_url.into();
        let attributes = Attributes {
            on_demand: type_url == VIRTUAL_HOST,
            ..Attributes::default()
        };
        ResourceBuilder {
            type_url,
            name: name.into(),
            body: body.into(),
            attributes,
        }
    }

    /// In place of a resource: that it cannot be had, and why. Clients that name it are told (C-357); those that have
    /// it through a wildcard, or would, are told that it is not there (C-369).
    ///
    /// # Errors
    /// [`ResourceError::Unnamed`] and [`ResourceError::Untyped`]: clients reject an error that names nothing (C-358).
    pub fn failed(
        type_url: impl Into<TypeUrl>,
        name: impl Into<Name>,
        failure: ResourceFailure,
    ) -> Result<Self, ResourceError> {
        let builder = Self::builder(type_url, name, Bytes::new()).on_demand(true);
        builder.check()?;
        builder.check_names()?;
        let content = Digest::new("failure")
            .field(&[failure.code().number()])
            .field(failure.message().as_bytes())
            .finish();
        let encoded = failure.encode_entries(&builder.name);
        let version = Version::from(format!("{content:032x}"));
        let standing = Standing::Failed(Box::new(failure));
        Ok(builder.finish(version, content, encoded, standing))
    }

    /// In place of a resource: that nobody has said yet whether there is one. Who names it is neither told that there is
    /// none nor anything else of it, and is answered when it is known (C-235).
    ///
    /// # Errors
    /// [`ResourceError::Unnamed`], [`ResourceError::Untyped`] and [`ResourceError::InvalidName`].
    pub fn pending(
        type_url: impl Into<TypeUrl>,
        name: impl Into<Name>,
    ) -> Result<Self, ResourceError> {
        let builder = Self::builder(type_url, name, Bytes::new()).on_demand(true);
        builder.check()?;
        builder.check_names()?;
        let content = Digest::new("pending").finish();
        let version = Version::from(format!("{content:032x}"));
        Ok(builder.finish(version, content, (Bytes::new(), 0, 0), Standing::Pending))
    }

    /// Whether this is a resource, and not what stands in the place of one.
    #[must_use]
    pub fn is_resource(&self) -> bool {
        matches!(self.0.standing, Standing::Resource)
    }

    /// Whether nobody has said yet whether there is a resource of this name.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        matches!(self.0.standing, Standing::Pending)
    }

    /// Why there is no resource of this name; `None` where this is one.
    #[must_use]
    pub fn failure(&self) -> Option<&ResourceFailure> {
        match &self.0.standing {
            Standing::Failed(failure) => Some(failure),
            Standing::Resource | Standing::Pending => None,
        }
    }

    /// The type.
    #[must_use]
    pub fn type_url(&self) -> &TypeUrl {
        &self.0.type_url
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.0.name
    }

    /// The version as sent in delta responses: the caller's, or a hash of the content.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.0.version
    }

    /// How long a client may keep the resource without hearing of it again. Default: for ever. Clients that are told of
    /// it hear of the resource at half of that time; a resource that is taken out, or whose server is gone, ends by
    /// itself.
    #[must_use]
    pub fn ttl(&self) -> Option<Duration> {
        self.0.attributes.ttl
    }

    /// Other names under which delta clients may ask for it (C-214). An alias may be that of several resources, or the
    /// name of another: whoever asks for it gets all of them.
    #[must_use]
    pub fn aliases(&self) -> &[Name] {
        &self.0.attributes.aliases
    }

    /// What it is found by besides its name: whoever subscribes one of these in delta subscribes this resource.
    pub fn other_identifiers(&self) -> impl Iterator<Item = &Name> {
        self.aliases().iter().chain(&self.0.glob)
    }

    /// The [glob collection](Name::glob) that it is a member of.
    #[must_use]
    pub fn glob(&self) -> Option<&Name> {
        self.0.glob.as_ref()
    }

    /// The same resource for somebody who writes its name or aliases otherwise (C-332); `None` where `written` knows of no
    /// other spelling.
    #[must_use]
    pub fn respelled(&self, written: impl Fn(&Name) -> Option<Name>) -> Option<Self> {
        let respell = |name: &Name| written(name).unwrap_or_else(|| name.clone());
        let mut attributes = self.0.attributes.clone();
        attributes
            .aliases
            .iter_mut()
            .for_each(|alias| *alias = respell(alias));
        let name = respell(self.name());
        if name == *self.name() && attributes == self.0.attributes {
            return None;
        }
        let inner = &self.0;
        let builder = ResourceBuilder {
            type_url: inner.type_url.clone(),
            name,
            body: self.body(),
            attributes,
        };
        let (entry, sotw_at, body_at) = match self.failure() {
            Some(failure) => failure.encode_entries(&builder.name),
            None => builder.encode_entry(self.version()),
        };
        Some(Self(Arc::new(Inner {
            type_url: builder.type_url,
            name: builder.name,
            version: inner.version.clone(),
            identity: inner.identity,
            element: inner.element,
            attributes: builder.attributes,
            glob: inner.glob.clone(),
            standing: inner.standing.clone(),
            entry,
            sotw_at,
            body_at,
            facts: inner.facts.clone(),
        })))
    }

    /// The same resource, left out of wildcards.
    #[must_use]
    pub fn without_wildcard(&self) -> Self {
        if self.on_demand() {
            return self.clone();
        }
        let builder = ResourceBuilder {
            type_url: self.0.type_url.clone(),
            name: self.0.name.clone(),
            body: self.body(),
            attributes: self.0.attributes.clone(),
        };
        builder.on_demand(true).encode()
    }

    /// Encoded `DynamicParameterConstraints` that select the clients for which this variant is meant.
    #[must_use]
    pub fn constraints(&self) -> Option<&Bytes> {
        self.0.attributes.constraints.as_ref()
    }

    /// Whether a wildcard leaves it out, so that only clients that name it get it.
    #[must_use]
    pub fn on_demand(&self) -> bool {
        self.0.attributes.on_demand
    }

    /// The encoded message.
    #[must_use]
    pub fn body(&self) -> Bytes {
        self.0.entry.slice(self.0.body_at..)
    }

    /// The entry of a response's `resources`, field key and length included; of an error, that of `resource_errors`. A
    /// slice of the one buffer.
    #[must_use]
    pub fn entry(&self, form: EntryForm) -> Bytes {
        match form {
            EntryForm::Delta if !self.is_resource() => self.0.entry.slice(..self.0.sotw_at),
            EntryForm::Delta => self.0.entry.clone(),
            EntryForm::Sotw => self.0.entry.slice(self.0.sotw_at..),
        }
    }

    /// Length of [`entry`](Self::entry) in bytes.
    #[must_use]
    pub fn entry_len(&self, form: EntryForm) -> usize {
        match form {
            EntryForm::Delta if !self.is_resource() => self.0.sotw_at,
            EntryForm::Delta => self.0.entry.len(),
            EntryForm::Sotw => self.0.entry.len() - self.0.sotw_at,
        }
    }

    /// Whether a client that holds `other` may be left alone: same version and same content.
    #[must_use]
    pub fn same_content(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.identity == other.0.identity
    }

    /// What the resource refers to and when it is ready. Read from the body once, whoever asks first.
    pub fn facts(&self, references: &dyn References) -> &Facts {
        self.0.facts.get_or_init(|| match self.is_resource() {
            true => references.facts(&self.0.type_url, &self.body()),
            false => Facts::default(),
        })
    }

    /// The facts, if anybody has asked for them.
    pub(crate) fn known_facts(&self) -> Option<&Facts> {
        self.0.facts.get()
    }

    /// Hash of version, content and wildcard membership: equal exactly where [`same_content`](Self::same_content).
    #[must_use]
    pub fn identity(&self) -> Identity {
        Identity(self.0.identity)
    }

    pub(crate) fn is_same_value(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What this resource adds to its set's version.
    pub(crate) fn element(&self) -> u128 {
        self.0.element
    }
}

/// Fingerprint of one version of one resource; what a stream remembers of what it sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity(u128);

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.failure() {
            Some(failure) => write!(f, "Resource({}: {failure})", self.0.name),
            None if self.is_pending() => write!(f, "Resource({}: pending)", self.0.name),
            None => write!(f, "Resource({}@{})", self.0.name, self.0.version),
        }
    }
}

/// A [`Resource`] under construction.
#[derive(Clone, Debug)]
#[must_use]
pub struct ResourceBuilder {
    type_url: TypeUrl,
    name: Name,
    body: Bytes,
    attributes: Attributes,
}

impl ResourceBuilder {
    /// A version of the caller's own instead of the content hash. It becomes part of the resource's identity: when
    /// either it or the content differs, the resource has changed. Never reuse one for other content: a client that
    /// reconnects with it is believed.
    pub fn version(mut self, version: impl Into<Version>) -> Self {
        self.attributes.caller_version = Some(version.into());
        self
    }

    /// Lets clients forget the resource when they do not hear of it again for this long, see [`Resource::ttl`]. More
    /// than nothing, and seconds rather than less. It is no part of the version: a time that differs is told to
    /// clients, and is no other content (C-299).
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.attributes.ttl = Some(ttl);
        self
    }

    /// Adds one of [`Resource::aliases`].
    pub fn alias(mut self, alias: impl Into<Name>) -> Self {
        self.attributes.aliases.push(alias.into());
        self
    }

    /// See [`Resource::constraints`].
    pub fn constraints(mut self, constraints: impl Into<Bytes>) -> Self {
        self.attributes.constraints = Some(constraints.into());
        self
    }

    /// See [`Resource::on_demand`]. Default: virtual hosts are, and nothing else.
    pub fn on_demand(mut self, on: bool) -> Self {
        self.attributes.on_demand = on;
        self
    }

    /// The type.
    #[must_use]
    pub fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Hashes and encodes.
    ///
    /// # Errors
    /// [`ResourceError::Unnamed`], [`ResourceError::Untyped`], [`ResourceError::InvalidTtl`] and
    /// [`ResourceError::InvalidName`].
    pub fn build(self) -> Result<Resource, ResourceError> {
        self.build_onto(None)
    }

    /// As [`build`](Self::build), but gives `previous` back where nothing changed. Comparing bytes is cheaper than
    /// hashing them, and sets that share values are compared by pointer.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_onto(self, previous: Option<&Resource>) -> Result<Resource, ResourceError> {
        self.check()?;
        if let Some(ttl) = self.attributes.ttl.filter(|ttl| !is_told(*ttl)) {
            return Err(ResourceError::InvalidTtl {
                type_url: self.type_url,
                name: self.name,
                ttl,
            });
        }
        if let Some(previous) = previous.filter(|previous| self.equals(previous)) {
            return Ok(previous.clone());
        }
        self.check_names()?;
        Ok(self.encode())
    }

    /// Whether clients can ask for what is in URL form.
    fn check_names(&self) -> Result<(), ResourceError> {
        for name in [&self.name].into_iter().chain(&self.attributes.aliases) {
            xdstp::check(name, self.type_url.as_str()).map_err(|malformed| {
                ResourceError::InvalidName {
                    type_url: self.type_url.clone(),
                    name: name.clone(),
                    reason: malformed.reason(),
                }
            })?;
        }
        Ok(())
    }

    /// Whether clients can ask for it.
    fn check(&self) -> Result<(), ResourceError> {
        if self.name.is_empty() {
            let type_url = self.type_url.clone();
            return Err(ResourceError::Unnamed { type_url });
        }
        if self.type_url.as_str().is_empty() {
            let name = self.name.clone();
            return Err(ResourceError::Untyped { name });
        }
        Ok(())
    }

    fn equals(&self, resource: &Resource) -> bool {
        resource.is_resource()
            && self.attributes == resource.0.attributes
            && self.name == resource.0.name
            && self.type_url == resource.0.type_url
            && self.body[..] == resource.0.entry[resource.0.body_at..]
    }

    fn encode(self) -> Resource {
        let content = self.content_hash();
        let version = match &self.attributes.caller_version {
            Some(version) => version.clone(),
            None => Version::from(format!("{content:032x}")),
        };
        let encoded = self.encode_entry(&version);
        self.finish(version, content, encoded, Standing::Resource)
    }

    fn finish(
        self,
        version: Version,
        content: u128,
        (entry, sotw_at, body_at): (Bytes, usize, usize),
        standing: Standing,
    ) -> Resource {
        let identity = Digest::new("identity")
            .field(version.as_str().as_bytes())
            .field(&content.to_be_bytes())
            .field(&[u8::from(self.attributes.on_demand)])
            .finish();
        let element = Digest::new("element")
            .field(self.name.as_bytes())
            .field(&identity.to_be_bytes())
            .finish();
        let glob = self.name.glob();
        Resource(Arc::new(Inner {
            type_url: self.type_url,
            name: self.name,
            version,
            identity,
            element,
            attributes: self.attributes,
            glob,
            standing,
            entry,
            sotw_at,
            body_at,
            facts: OnceLock::new(),
        }))
    }

    fn content_hash(&self) -> u128 {
        let mut digest = Digest::new("content").field(&self.body);
        for alias in &self.attributes.aliases {
            digest = digest.field(alias.as_bytes());
        }
        if let Some(constraints) = &self.attributes.constraints {
            digest = Digest::new("constrained")
                .field(&digest.finish().to_be_bytes())
                .field(constraints);
        }
        digest.finish()
    }

    /// The delta entry, and where in it the SotW entry and the body start.
    fn encode_entry(&self, version: &Version) -> (Bytes, usize, usize) {
        let head = self.encode_head(version);
        let url = self.type_url.as_str().as_bytes();
        let any_len = field_len(url.len()) + field_len(self.body.len());
        let delta_len = head.len() + field_len(any_len);
        let mut entry = BytesMut::with_capacity(field_len(delta_len));
        put_head(field::RESOURCES, delta_len, &mut entry);
        entry.extend_from_slice(&head);
        let sotw_at = entry.len();
        put_head(field::RESOURCES, any_len, &mut entry);
        put_field(field::ANY_TYPE_URL, url, &mut entry);
        put_head(field::ANY_VALUE, self.body.len(), &mut entry);
        let body_at = entry.len();
        entry.extend_from_slice(&self.body);
        (entry.freeze(), sotw_at, body_at)
    }

    /// What a delta entry has before its `Any`.
    fn encode_head(&self, version: &Version) -> BytesMut {
        let mut head = BytesMut::new();
        put_field(field::VERSION, version.as_str().as_bytes(), &mut head);
        match &self.attributes.constraints {
            None => put_field(field::NAME, self.name.as_bytes(), &mut head),
            Some(constraints) => {
                let len = field_len(self.name.len()) + field_len(constraints.len());
                put_head(field::RESOURCE_NAME, len, &mut head);
                put_field(field::RESOURCE_NAME_NAME, self.name.as_bytes(), &mut head);
                put_field(field::RESOURCE_NAME_CONSTRAINTS, constraints, &mut head);
            }
        }
        for alias in &self.attributes.aliases {
            put_field(field::ALIASES, alias.as_bytes(), &mut head);
        }
        head
    }
}

/// Whether a time to live can be told to clients: there is one, and `google.protobuf.Duration` holds it.
fn is_told(ttl: Duration) -> bool {
    !ttl.is_zero() && ttl.as_secs() < 315_576_000_000
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::well_known::CLUSTER;

    fn resource(body: &'static [u8]) -> Resource {
        Resource::builder(CLUSTER, "a", body).build().unwrap()
    }

    #[test]
    fn the_sotw_entry_is_the_tail_of_the_delta_entry_and_the_body_the_tail_of_that() {
        let r = resource(b"body");
        let delta = r.entry(EntryForm::Delta);
        let sotw = r.entry(EntryForm::Sotw);
        assert!(delta.ends_with(&sotw));
        assert!(sotw.ends_with(&r.body()));
        assert_eq!(r.body(), &b"body"[..]);
        assert_eq!(delta.as_ptr_range().end, r.body().as_ptr_range().end);
    }

    #[test]
    fn b51_virtual_hosts_are_on_demand_unless_they_say_otherwise() {
        let host = || Resource::builder(VIRTUAL_HOST, "r/a", &b"1"[..]);
        assert!(host().build().unwrap().on_demand());
        assert!(!host().on_demand(false).build().unwrap().on_demand());
        assert!(!resource(b"1").on_demand());
    }

    #[test]
    fn content_alone_decides_the_version() {
        assert_eq!(resource(b"1").version(), resource(b"1").version());
        assert_ne!(resource(b"1").version(), resource(b"2").version());
        let with_ttl = Resource::builder(CLUSTER, "a", &b"1"[..])
            .ttl(Duration::from_secs(1))
            .build()
            .unwrap();
        assert_eq!(with_ttl.version(), resource(b"1").version());
        let with_alias = Resource::builder(CLUSTER, "a", &b"1"[..])
            .alias("b")
            .build()
            .unwrap();
        assert_ne!(with_alias.version(), resource(b"1").version());
    }

    #[test]
    fn the_content_version_does_not_change_between_releases() {
        assert_eq!(
            resource(b"body").version().as_str(),
            "5c60a5b206132f05bd1f58d0e90030fc"
        );
    }

    #[test]
    fn a_callers_version_is_sent_and_is_part_of_the_identity() {
        let build = |version: &str, body: &'static [u8]| {
            Resource::builder(CLUSTER, "a", body)
                .version(version)
                .build()
                .unwrap()
        };
        let v1 = build("v1", b"x");
        assert_eq!(v1.version(), &"v1");
        assert!(v1.same_content(&build("v1", b"x")));
        assert!(!v1.same_content(&build("v1", b"y")));
        assert!(!v1.same_content(&build("v2", b"x")));
    }

    #[test]
    fn building_onto_an_equal_resource_gives_that_value_back() {
        let first = resource(b"1");
        let again = Resource::builder(CLUSTER, "a", &b"1"[..])
            .build_onto(Some(&first))
            .unwrap();
        assert!(first.is_same_value(&again));
        let ttl = Resource::builder(CLUSTER, "a", &b"1"[..])
            .ttl(Duration::from_secs(1))
            .build_onto(Some(&first))
            .unwrap();
        assert!(!first.is_same_value(&ttl));
    }

    #[test]
    fn c304_a_time_to_live_that_cannot_be_told_is_refused() {
        let build = |ttl| Resource::builder(CLUSTER, "a", &b""[..]).ttl(ttl).build();
        for ttl in [Duration::ZERO, Duration::MAX] {
            let error = build(ttl).unwrap_err();
            assert!(matches!(error, ResourceError::InvalidTtl { .. }), "{error}");
        }
        assert!(build(Duration::from_nanos(1)).is_ok());
    }

    #[test]
    fn names_and_types_are_required() {
        let unnamed = Resource::builder(CLUSTER, "", &b""[..]).build();
        assert!(matches!(unnamed, Err(ResourceError::Unnamed { .. })));
        let untyped = Resource::builder("", "a", &b""[..]).build();
        assert!(matches!(untyped, Err(ResourceError::Untyped { .. })));
    }

    #[test]
    fn c337_nobody_could_ask_for_a_name_of_another_type() {
        for name in [
            "xdstp://a/other.Type/x",
            "xdstp:///",
            "xdstp://a/envoy.config.cluster.v3.Cluster/x#f",
        ] {
            let named = Resource::builder(CLUSTER, name, &b""[..]).build();
            assert!(
                matches!(named, Err(ResourceError::InvalidName { .. })),
                "{name}"
            );
            let aliased = Resource::builder(CLUSTER, "a", &b""[..])
                .alias(name)
                .build();
            assert!(
                matches!(aliased, Err(ResourceError::InvalidName { .. })),
                "{name}"
            );
        }
    }

    #[test]
    fn c332_it_can_be_sent_under_another_spelling() {
        let build = |name: &str, alias: &str| {
            let builder = Resource::builder(CLUSTER, name, &b"body"[..]);
            builder.alias(alias).version("1").build().unwrap()
        };
        let resource = build("a", "b");
        assert!(resource.respelled(|_| None).is_none());
        let respell = |name: &Name| Some(Name::from(format!("long/{name}")));
        let respelled = resource.respelled(respell).unwrap();
        assert_eq!(respelled.name().as_str(), "long/a");
        let expected = build("long/a", "long/b");
        for form in [EntryForm::Delta, EntryForm::Sotw] {
            assert_eq!(respelled.entry(form), expected.entry(form));
        }
        assert_eq!(respelled.body(), resource.body());
        assert!(respelled.same_content(&resource));
    }

    #[test]
    fn constraints_travel_with_the_name() {
        let r = Resource::builder(CLUSTER, "a", &b""[..])
            .version("1")
            .constraints(&b"\x08\x01"[..])
            .build()
            .unwrap();
        let head = b"\x0a\x011\x2a\x07\x0a\x01a\x12\x02\x08\x01";
        assert_eq!(r.entry(EntryForm::Delta)[2..][..head.len()], head[..]);
    }
}
