use crate::{Resource, ResourceFailure};

/// What a snapshot says of one name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Lookup<'a> {
    /// It exists.
    Present(&'a Resource),
    /// It does not exist.
    Absent,
    /// Nobody has said yet: the name is pending, or the snapshot does not speak for the type.
    Pending,
    /// It cannot be had.
    Error(&'a ResourceFailure),
}

impl<'a> Lookup<'a> {
    /// What an entry of a set says of its name.
    pub(crate) fn of(entry: &'a Resource) -> Self {
        match entry.failure() {
            Some(failure) => Self::Error(failure),
            None if entry.is_pending() => Self::Pending,
            None => Self::Present(entry),
        }
    }

    /// The resource, where it exists.
    #[must_use]
    pub fn present(self) -> Option<&'a Resource> {
        match self {
            Self::Present(resource) => Some(resource),
            Self::Absent | Self::Pending | Self::Error(_) => None,
        }
    }
}
