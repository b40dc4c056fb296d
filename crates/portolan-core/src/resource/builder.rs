use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;

use super::entry::Entries;
use super::{Attributes, Inner, Resource, Standing};
use crate::digest::Digest;
use crate::{Constraints, Name, ResourceError, TypeUrl, Version, xdstp};

/// A [`Resource`] under construction.
#[derive(Clone, Debug)]
#[must_use]
pub struct ResourceBuilder {
    pub(super) type_url: TypeUrl,
    pub(super) name: Name,
    pub(super) body: Bytes,
    pub(super) attributes: Attributes,
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

    /// Makes it the alternative of its name that is meant for clients whose parameters match, see [`Constraints`]. They
    /// become part of its name.
    pub fn constraints(mut self, constraints: Constraints) -> Self {
        self.name = self.name.with_constraints(&constraints);
        self.attributes.constraints = Some(Arc::new(constraints));
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
    /// [`ResourceError::Unnamed`], [`ResourceError::Untyped`], [`ResourceError::InvalidTtl`],
    /// [`ResourceError::InvalidName`] and [`ResourceError::InvalidConstraints`].
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
    pub(super) fn check_names(&self) -> Result<(), ResourceError> {
        self.check_constraints()?;
        for name in [&self.name].into_iter().chain(&self.attributes.aliases) {
            xdstp::check(name.stem(), self.type_url.as_str()).map_err(|malformed| {
                ResourceError::InvalidName {
                    type_url: self.type_url.clone(),
                    name: name.clone(),
                    reason: malformed.reason(),
                }
            })?;
        }
        Ok(())
    }

    fn check_constraints(&self) -> Result<(), ResourceError> {
        let invalid = |name: &Name, reason| ResourceError::InvalidConstraints {
            type_url: self.type_url.clone(),
            name: name.clone(),
            reason,
        };
        let mut aliases = self.attributes.aliases.iter();
        if let Some(alias) = aliases.find(|alias| !alias.is_stem()) {
            return Err(invalid(alias, "an alias has constraints"));
        }
        match &self.attributes.constraints {
            Some(constraints) => match constraints.fault() {
                Some(reason) => Err(invalid(&self.name, reason)),
                None => Ok(()),
            },
            None if self.name.is_stem() => Ok(()),
            None => Err(invalid(&self.name, "a name holds a NUL")),
        }
    }

    /// Whether clients can ask for it.
    pub(super) fn check(&self) -> Result<(), ResourceError> {
        if self.name.stem().is_empty() {
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
            && self.body[..] == resource.0.entries.bytes[resource.0.entries.body_at..]
    }

    pub(super) fn encode(self) -> Resource {
        let content = self.content_hash();
        let version = match &self.attributes.caller_version {
            Some(version) => version.clone(),
            None => Version::from(format!("{content:032x}")),
        };
        let entries = self.entries(&version);
        self.finish(version, content, entries, Standing::Resource)
    }

    pub(super) fn finish(
        self,
        version: Version,
        content: u128,
        entries: Entries,
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
            entries,
            facts: OnceLock::new(),
        }))
    }

    pub(super) fn entries(&self, version: &Version) -> Entries {
        Entries::of_resource(
            &self.type_url,
            &self.name,
            version,
            &self.attributes,
            &self.body,
        )
    }

    fn content_hash(&self) -> u128 {
        let mut digest = Digest::new("content").field(&self.body);
        for alias in &self.attributes.aliases {
            digest = digest.field(alias.as_bytes());
        }
        if let Some(constraints) = &self.attributes.constraints {
            digest = Digest::new("constrained")
                .field(&digest.finish().to_be_bytes())
                .field(constraints.to_string().as_bytes());
        }
        digest.finish()
    }
}

/// Whether a time to live can be told to clients: there is one, and `google.protobuf.Duration` holds it.
fn is_told(ttl: Duration) -> bool {
    !ttl.is_zero() && ttl.as_secs() < 315_576_000_000
}
