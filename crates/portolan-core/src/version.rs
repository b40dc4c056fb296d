use std::fmt;
use std::sync::Arc;

/// The version of a resource or of a set of resources, as it goes on the wire.
///
/// Opaque and compared for equality only (C-095). Unless the caller chose another, it is made from content: the same
/// content has the same version on every replica and after every restart (C-094, C-121, C-177), so a client that
/// moves or reconnects is not sent again what it has. Cloning is cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(Arc<str>);

impl Version {
    /// The version as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Version {
    fn from(version: &str) -> Self {
        Self(Arc::from(version))
    }
}

impl From<String> for Version {
    fn from(version: String) -> Self {
        Self(Arc::from(version))
    }
}

impl From<&Self> for Version {
    fn from(version: &Self) -> Self {
        version.clone()
    }
}

impl AsRef<str> for Version {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Version {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Version {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
