use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The URL that names a resource type on the wire, such as
/// `type.googleapis.com/envoy.config.cluster.v3.Cluster`.
///
/// Compared as an exact string, prefix included (C-042). Cloning is cheap.
///
/// ```
/// use portolan_core::TypeUrl;
///
/// let url = TypeUrl::from("type.googleapis.com/acme.v1.Widget");
/// assert_eq!(url, TypeUrl::from_static("type.googleapis.com/acme.v1.Widget"));
/// assert_eq!(url.message_name(), "acme.v1.Widget");
/// ```
#[derive(Clone)]
pub struct TypeUrl(Repr);

#[derive(Clone)]
enum Repr {
    Static(&'static str),
    Shared(Arc<str>),
}

impl TypeUrl {
    /// A type URL known at compile time; allocates nothing.
    #[must_use]
    pub const fn from_static(url: &'static str) -> Self {
        Self(Repr::Static(url))
    }

    /// The URL as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Static(url) => url,
            Repr::Shared(url) => url,
        }
    }

    /// The full name of the protobuf message: what follows the last slash.
    #[must_use]
    pub fn message_name(&self) -> &str {
        let url = self.as_str();
        url.rsplit_once('/').map_or(url, |(_, name)| name)
    }
}

impl From<&str> for TypeUrl {
    fn from(url: &str) -> Self {
        Self(Repr::Shared(Arc::from(url)))
    }
}

impl From<String> for TypeUrl {
    fn from(url: String) -> Self {
        Self(Repr::Shared(Arc::from(url)))
    }
}

impl From<&Self> for TypeUrl {
    fn from(url: &Self) -> Self {
        url.clone()
    }
}

impl AsRef<str> for TypeUrl {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for TypeUrl {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for TypeUrl {
    fn eq(&self, other: &Self) -> bool {
        let (own, other) = (self.as_str(), other.as_str());
        // Mostly both are the constant of the type.
        std::ptr::eq(own, other) || own == other
    }
}

impl Eq for TypeUrl {}

impl PartialOrd for TypeUrl {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TypeUrl {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for TypeUrl {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for TypeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for TypeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
