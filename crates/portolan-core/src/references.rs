use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

use crate::{Name, TypeUrl};

/// Reads out of a resource's body what it refers to.
///
/// Core and engine know no messages; whoever knows them implements this. It is asked once per resource
/// ([`Resource::facts`](crate::Resource::facts)) and must depend on nothing but its arguments. A body that cannot be
/// decoded has no facts: judging it is not this trait's task.
pub trait References: fmt::Debug + Send + Sync {
    /// The facts of one resource.
    fn facts(&self, type_url: &TypeUrl, body: &Bytes) -> Facts;
}

/// Nothing refers to anything. For servers whose types have no references.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct NoReferences;

impl References for NoReferences {
    fn facts(&self, _: &TypeUrl, _: &Bytes) -> Facts {
        Facts::default()
    }
}

/// What a resource refers to and when it is ready for use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    references: Box<[Reference]>,
    ready_when: ReadyWhen,
    empty: bool,
}

impl Facts {
    /// Facts of a resource that is ready as `ready_when` says and refers to `references`.
    #[must_use]
    pub fn new(references: impl Into<Box<[Reference]>>, ready_when: ReadyWhen) -> Self {
        Self {
            references: references.into(),
            ready_when,
            empty: false,
        }
    }

    /// Sets [`is_empty`](Self::is_empty). Default: no.
    #[must_use]
    pub fn with_empty(mut self, empty: bool) -> Self {
        self.empty = empty;
        self
    }

    /// Whether there is nothing in the resource of what it is for, as in an assignment without endpoints. Whatever is sent
    /// where it is used fails, which may be meant.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// Everything the resource refers to.
    #[must_use]
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The names of one type that the resource refers to.
    pub fn references_to<'a>(&'a self, target: &TypeUrl) -> impl Iterator<Item = &'a Name> {
        self.references
            .iter()
            .filter(move |r| r.target == *target)
            .map(|r| &r.name)
    }

    /// What proves that a client can use the resource.
    #[must_use]
    pub fn ready_when(&self) -> ReadyWhen {
        self.ready_when
    }
}

/// One reference from a resource to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    target: TypeUrl,
    name: Name,
    path: Cow<'static, str>,
    strength: Strength,
    own_stream: bool,
}

impl Reference {
    /// A [hard](Strength::Hard) reference to resource `name` of type `target`, found at `path` in the referring message,
    /// for instance `eds_cluster_config.service_name`.
    pub fn new(
        target: impl Into<TypeUrl>,
        name: impl Into<Name>,
        path: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            target: target.into(),
            name: name.into(),
            path: path.into(),
            strength: Strength::Hard,
            own_stream: false,
        }
    }

    /// Sets [`strength`](Self::strength). Default: [`Strength::Hard`].
    #[must_use]
    pub fn with_strength(mut self, strength: Strength) -> Self {
        self.strength = strength;
        self
    }

    /// Sets [`is_on_own_stream`](Self::is_on_own_stream). Default: no.
    #[must_use]
    pub fn with_own_stream(mut self, on: bool) -> Self {
        self.own_stream = on;
        self
    }

    /// Type of the resource referred to.
    #[must_use]
    pub fn target(&self) -> &TypeUrl {
        &self.target
    }

    /// Name of the resource referred to.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Where in the message the reference stands.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What becomes of the referring resource while the other is missing.
    #[must_use]
    pub fn strength(&self) -> Strength {
        self.strength
    }

    /// Whether the message says that the resource is asked for on a stream of its own, of a management server that it
    /// names. That may be the server that sent the message, or any other.
    #[must_use]
    pub fn is_on_own_stream(&self) -> bool {
        self.own_stream
    }
}

/// How much a resource needs another that it refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Strength {
    /// It does its work without it, as a listener does whose access log goes to a cluster that does not exist.
    Soft,
    /// Without it the resource waits, is rejected, or fails what it is sent.
    Hard,
}

/// What proves that a client can use a resource that it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadyWhen {
    /// An ACK of a response that carried it, or of a later one.
    #[default]
    Acked,
    /// An ACK of a response sent after it that carried the child it refers to. Envoy withholds the ACK of clusters
    /// while any of them warms, but acknowledges endpoints as they come.
    ChildAcked,
    /// Both: the child alone does not prove it, because the client still checks health, resolves names or fetches
    /// secrets when the child has come.
    BothAcked,
}
