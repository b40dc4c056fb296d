use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::dynamic_parameters::{read_constraints, read_parameters};
use crate::{Constraints, DynamicParameters, xdstp};

/// The name of a resource, unique within its type. Cloning is cheap.
///
/// Names match by exact, case-sensitive equality (C-075), and are opaque (C-330), but for those in URL form:
/// `xdstp://authority/type/id?key=value`. Of these the components count, and a `Name` is made with their canonical text:
/// context parameters sorted by key, of several with one key the last, and no byte percent-encoded that need not be. One
/// that is malformed stays as it is, and names nothing.
///
/// The name of an [alternative](Constraints) has its constraints behind it, for they are part of what it is (C-324), and so
/// has that of a subscription its parameters. Without them it is its [stem](Self::stem). No other name holds a NUL.
///
/// ```
/// use portolan_core::Name;
///
/// assert_eq!(Name::from("xdstp://a/T/x?b=2&a=%31"), Name::from("xdstp://a/T/x?a=1&b=2"));
/// assert_ne!(Name::from("x?b=2&a=1"), Name::from("x?a=1&b=2"));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// What a name has between its stem and its constraints; twice, before parameters. Neither text begins with it.
const SEPARATOR: char = '\0';

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
        if !self.is_url() {
            return None;
        }
        let glob = xdstp::glob_of(self.stem())?;
        Some(Self(Arc::from(glob)))
    }

    /// Whether this is a glob collection. A plain name that ends in `/*` is none (B70).
    #[must_use]
    pub fn is_glob(&self) -> bool {
        self.is_url() && xdstp::is_glob(self.stem())
    }

    /// The name of the alternative with these constraints, in place of what this one has.
    ///
    /// ```
    /// use portolan_core::{Constraints, Name};
    ///
    /// let name = Name::from("a").with_constraints(&Constraints::value("env", "prod"));
    /// assert_eq!(name.stem(), "a");
    /// assert_eq!(name.to_string(), "a{env=prod}");
    /// ```
    #[must_use]
    pub fn with_constraints(&self, constraints: &Constraints) -> Self {
        Self(Arc::from(format!(
            "{}{SEPARATOR}{constraints}",
            self.stem()
        )))
    }

    /// The name of a subscription with these parameters. Without any it is the stem (C-311).
    #[must_use]
    pub fn with_parameters(&self, parameters: &DynamicParameters) -> Self {
        if parameters.is_empty() {
            return self.to_stem();
        }
        let text = format!("{}{SEPARATOR}{SEPARATOR}{parameters}", self.stem());
        Self(Arc::from(text))
    }

    /// The name without constraints or parameters.
    #[must_use]
    pub fn stem(&self) -> &str {
        self.split().0
    }

    /// As [`stem`](Self::stem), as a name.
    #[must_use]
    pub fn to_stem(&self) -> Self {
        match self.is_stem() {
            true => self.clone(),
            false => Self(Arc::from(self.stem())),
        }
    }

    /// Whether it has neither constraints nor parameters.
    #[must_use]
    pub fn is_stem(&self) -> bool {
        !self.0.contains(SEPARATOR)
    }

    /// The constraints; `None` of a name that has none.
    #[must_use]
    pub fn constraints(&self) -> Option<Constraints> {
        read_constraints(self.split().1?)
    }

    /// The parameters; `None` of a name that has none.
    #[must_use]
    pub fn parameters(&self) -> Option<DynamicParameters> {
        read_parameters(self.split().1?.strip_prefix(SEPARATOR)?)
    }

    /// The stem, and what is behind it.
    fn split(&self) -> (&str, Option<&str>) {
        match self.0.split_once(SEPARATOR) {
            Some((stem, rest)) => (stem, Some(rest)),
            None => (&self.0, None),
        }
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
        match self.is_stem() {
            true => fmt::Debug::fmt(&*self.0, f),
            false => fmt::Debug::fmt(&self.to_string(), f),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.split() {
            (stem, Some(rest)) => write!(f, "{stem}{{{}}}", rest.trim_start_matches(SEPARATOR)),
            (stem, None) => f.write_str(stem),
        }
    }
}
