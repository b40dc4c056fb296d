//! What a client says of itself with a name, and which of several resources of that name it is to have.

mod alternatives;
mod constraints;
mod text;

use std::collections::BTreeMap;
use std::fmt;

pub(crate) use self::alternatives::check as check_alternatives;
pub use self::constraints::Constraints;
pub(crate) use self::text::{read_constraints, read_parameters};

/// The dynamic parameters of a subscription: keys with a value each. They select among the
/// [alternatives](Constraints) of a resource.
///
/// ```
/// use portolan_core::{Constraints, DynamicParameters};
///
/// let parameters = DynamicParameters::from([("env", "prod"), ("zone", "a")]);
/// assert!(Constraints::value("env", "prod").matches(&parameters));
/// assert!(!Constraints::exists("version").matches(&parameters));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DynamicParameters(BTreeMap<String, String>);

impl DynamicParameters {
    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Of several values of one key the last counts.
impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for DynamicParameters {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(parameters: I) -> Self {
        let parameters = parameters.into_iter();
        Self(parameters.map(|(k, v)| (k.into(), v.into())).collect())
    }
}

impl<K: Into<String>, V: Into<String>, const N: usize> From<[(K, V); N]> for DynamicParameters {
    fn from(parameters: [(K, V); N]) -> Self {
        parameters.into_iter().collect()
    }
}

/// As in `env=prod,zone=a`.
impl fmt::Display for DynamicParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_parameters(self, f)
    }
}
