use std::time::Duration;

use portolan_core::{Name, Resource, ResourceFailure, TypeUrl};

/// A name that somebody wants and that the base of its group does not have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Wanted<K> {
    /// The group of the nodes that want it; what a name means may depend on it.
    pub group: K,
    /// The type.
    pub type_url: TypeUrl,
    /// The name. Of virtual hosts `<route configuration>/<host>`; either part may hold what it likes, and the host is what
    /// is behind the last slash (C-219).
    pub name: Name,
}

impl<K> Wanted<K> {
    /// A name as a client of the group would want it.
    pub fn new(group: K, type_url: TypeUrl, name: Name) -> Self {
        Self {
            group,
            type_url,
            name,
        }
    }
}

/// What came of resolving a name.
#[derive(Clone, Debug)]
#[must_use]
pub struct Resolution {
    pub(super) found: Found,
    pub(super) keep: Keep,
}

#[derive(Clone, Debug)]
pub(super) enum Found {
    Resource(Resource),
    Absent,
    Failed(ResourceFailure),
}

/// How long an answer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// Until the last who named it has gone.
    #[default]
    WhileWanted,
    /// For this time, whether somebody names it or not. Then it is resolved anew if somebody does, and until that is done
    /// the old answer stands. Of what nobody names no more is kept than
    /// [the limit](super::OnDemandLimits::with_kept).
    For(Duration),
}

impl Resolution {
    /// It exists: this. Its name is the one that was asked for, or else that is one of its aliases.
    pub fn found(resource: Resource) -> Self {
        Self::of(Found::Resource(resource))
    }

    /// It does not exist. Clients are told as the type has it: as of a name that was removed, or by a resource without a
    /// body. Of a cluster Envoy asks once: the request that it asked for fails, and later ones wait until its own time is
    /// up, or the cluster is there.
    pub fn absent() -> Self {
        Self::of(Found::Absent)
    }

    /// It cannot be had. Of clusters, Envoy waits until its own time is up unless the code is `NOT_FOUND`.
    pub fn failed(failure: ResourceFailure) -> Self {
        Self::of(Found::Failed(failure))
    }

    /// How long the answer holds. Default: [`Keep::WhileWanted`].
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    fn of(found: Found) -> Self {
        Self {
            found,
            keep: Keep::default(),
        }
    }
}
