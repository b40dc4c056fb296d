//! One resource, how it is made, and how it is sent.

mod builder;
mod entry;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;

pub use self::builder::ResourceBuilder;
pub(crate) use self::entry::Entries;
pub(crate) use self::entry::put_name;
pub use self::entry::{EntryForm, bodyless_entry, encoded_resource_name};
use crate::digest::Digest;
use crate::well_known::VIRTUAL_HOST;
use crate::{
    Constraints, DynamicParameters, Facts, Name, References, ResourceError, ResourceFailure,
    TypeUrl, Version,
};

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
    entries: Entries,
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
    constraints: Option<Arc<Constraints>>,
    on_demand: bool,
}

impl Resource {
    /// Starts a resource: its type, its name, and its body, an encoded message of that type. What a name has of
    /// constraints the resource has too.
    pub fn builder(
        type_url: impl Into<TypeUrl>,
        name: impl Into<Name>,
        body: impl Into<Bytes>,
    ) -> ResourceBuilder {
        let (type_url, name) = (type_url.into(), name.into());
        let attributes = Attributes {
            on_demand: type_url == VIRTUAL_HOST,
            constraints: name.constraints().map(Arc::new),
            ..Attributes::default()
        };
        ResourceBuilder {
            type_url,
            name,
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
        let entries = failure.entries(&builder.name);
        let version = Version::from(format!("{content:032x}"));
        let standing = Standing::Failed(Box::new(failure));
        Ok(builder.finish(version, content, entries, standing))
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
        Ok(builder.finish(version, content, Entries::default(), Standing::Pending))
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

    /// The name, with the [constraints](Self::constraints) if there are any: no two resources of a set have one name.
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
        let entries = match self.failure() {
            Some(failure) => failure.entries(&builder.name),
            None => builder.entries(self.version()),
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
            entries,
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

    /// Which clients are meant; `None` where all are (C-316).
    #[must_use]
    pub fn constraints(&self) -> Option<&Constraints> {
        self.0.attributes.constraints.as_deref()
    }

    /// Whether it is meant for clients that ask for it with these parameters.
    #[must_use]
    pub fn is_for(&self, parameters: &DynamicParameters) -> bool {
        let constraints = self.constraints();
        constraints.is_none_or(|constraints| constraints.matches(parameters))
    }

    /// Whether a wildcard leaves it out, so that only clients that name it get it.
    #[must_use]
    pub fn on_demand(&self) -> bool {
        self.0.attributes.on_demand
    }

    /// Whether every wildcard covers it, whatever its parameters.
    pub(crate) fn is_for_all(&self) -> bool {
        !self.on_demand() && self.constraints().is_none()
    }

    /// The encoded message.
    #[must_use]
    pub fn body(&self) -> Bytes {
        self.0.entries.bytes.slice(self.0.entries.body_at..)
    }

    /// The entry of a response's `resources`, field key and length included; of an error, that of `resource_errors`. A
    /// slice of the one buffer.
    #[must_use]
    pub fn entry(&self, form: EntryForm) -> Bytes {
        let entries = &self.0.entries;
        match form {
            EntryForm::Delta if !self.is_resource() => entries.bytes.slice(..entries.sotw_at),
            EntryForm::Delta => entries.bytes.clone(),
            EntryForm::Sotw => entries.bytes.slice(entries.sotw_at..),
        }
    }

    /// Length of [`entry`](Self::entry) in bytes.
    #[must_use]
    pub fn entry_len(&self, form: EntryForm) -> usize {
        let entries = &self.0.entries;
        match form {
            EntryForm::Delta if !self.is_resource() => entries.sotw_at,
            EntryForm::Delta => entries.bytes.len(),
            EntryForm::Sotw => entries.bytes.len() - entries.sotw_at,
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
