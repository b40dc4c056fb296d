use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::xdstp;

/// The name of a resource, unique within its type. Cloning is cheap.
///
/// Names match by exact, case-sensitive equality (C-075), and are opaque (C-330), but for those in URL form:
/// `xdstp://authority/type/id?key=value`. Of these the components count, and a `Name` is made with their canonical text:
/// context parameters sorted by key, of several with one key the last, and no byte percent-encoded that need not be. One
/// that is malformed stays as it is, and names nothing.
///
/// ```
/// use portolan_core::Name;
///
/// assert_eq!(Name::from("xdstp://a/T/x?b=2&a=%31"), Name::from("xdstp://a/T/x?a=1&b=2"));
/// assert_ne!(Name::from("x?b=2&a=1"), Name::from("x?a=1&b=2"));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name is in URL form, well-formed or not.
    #[must_use]
    pub fn is_url(&self) -> bool {
        xdstp::is_url(self)
    }

    /// The text of the name that somebody writes like this.
    #[must_use]
    pub fn canonical(text: &str) -> Cow<'_, str> {
        xdstp::canonical(text)
    }

    /// A name as somebody writes it, canonical or not: to be shown to them, and to nobody else. It matches nothing.
    #[must_use]
    pub fn verbatim(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// The glob collection that a resource of this name is a member of: `xdstp://authority/type/directory/*?params` with
    /// all but the last segment of its id, and exactly its context parameters (C-345, C-346). `None` of a name that is not
    /// in URL form.
    ///
    /// ```
    /// use portolan_core::Name;
    ///
    /// let member = Name::from("xdstp://a/T/foo/x?k=v");
    /// assert_eq!(member.glob(), Some(Name::from("xdstp://a/T/foo/*?k=v")));
    /// assert_eq!(Name::from("foo/x").glob(), None);
    /// ```
    #[must_use]
    pub fn glob(&self) -> Option<Self> {
        let glob = xdstp::glob_of(self)?;
        Some(Self(Arc::from(glob)))
    }

    /// Whether this is a glob collection. A plain name that ends in `/*` is none (B70).
    #[must_use]
    pub fn is_glob(&self) -> bool {
        xdstp::is_glob(self)
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self(Arc::from(&*xdstp::canonical(name)))
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<&String> for Name {
    fn from(name: &String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<&Self> for Name {
    fn from(name: &Self) -> Self {
        name.clone()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
