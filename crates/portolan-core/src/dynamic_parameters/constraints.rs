use std::collections::BTreeSet;
use std::fmt;
use std::ops::Not;

use bytes::{Bytes, BytesMut};

use super::{DynamicParameters, text};
use crate::wire::put_field;

/// Deepest nesting of what can be published, and most terms of it.
const MAX_DEPTH: usize = 16;
const MAX_TERMS: usize = 256;

/// Field numbers of `envoy.service.discovery.v3.DynamicParameterConstraints` and of what is in it.
mod field {
    pub(super) const CONSTRAINT: u8 = 1;
    pub(super) const OR: u8 = 2;
    pub(super) const AND: u8 = 3;
    pub(super) const NOT: u8 = 4;
    pub(super) const KEY: u8 = 1;
    pub(super) const VALUE: u8 = 2;
    pub(super) const EXISTS: u8 = 3;
    pub(super) const LIST: u8 = 1;
}

/// Whom a resource is meant for, in terms of the [dynamic parameters](DynamicParameters) that clients subscribe with.
///
/// A name may have several resources, its alternatives, each with other constraints. Of each client at most one must be
/// meant: sets of alternatives that do not all mention the same keys, or of which two match the same parameters, are
/// refused (C-321). Keys that are not mentioned make no difference (C-315).
///
/// ```
/// use portolan_core::{Constraints, DynamicParameters};
///
/// let of_prod = Constraints::value("env", "prod");
/// let not_upgraded = Constraints::all_of([of_prod, !Constraints::exists("version")]);
/// assert!(not_upgraded.matches(&DynamicParameters::from([("env", "prod")])));
/// assert!(!not_upgraded.matches(&DynamicParameters::from([("env", "prod"), ("version", "v1")])));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraints(Term);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Term {
    Value(Box<str>, Box<str>),
    Exists(Box<str>),
    All(Box<[Self]>),
    Any(Box<[Self]>),
    Not(Box<Self>),
}

/// What a key is assigned: a value, or one that no constraint mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assigned<'a> {
    Value(&'a str),
    Other,
}

impl Constraints {
    /// The key has this value (C-317).
    pub fn value(key: impl Into<Box<str>>, value: impl Into<Box<str>>) -> Self {
        Self(Term::Value(key.into(), value.into()))
    }

    /// The key has any value (C-318).
    pub fn exists(key: impl Into<Box<str>>) -> Self {
        Self(Term::Exists(key.into()))
    }

    /// All of these hold; of none, that is so (C-319).
    pub fn all_of(constraints: impl IntoIterator<Item = Self>) -> Self {
        Self(Term::All(terms(constraints)))
    }

    /// One of these holds; of none, that is not so (C-319).
    pub fn any_of(constraints: impl IntoIterator<Item = Self>) -> Self {
        Self(Term::Any(terms(constraints)))
    }

    /// Whether a subscription with these parameters is meant.
    #[must_use]
    pub fn matches(&self, parameters: &DynamicParameters) -> bool {
        self.holds(&|key| parameters.get(key).map(Assigned::Value))
    }

    pub(super) fn of(term: Term) -> Self {
        Self(term)
    }

    pub(super) fn holds<'a>(&self, assigned: &dyn Fn(&str) -> Option<Assigned<'a>>) -> bool {
        self.0.holds(assigned)
    }

    /// Puts in what is mentioned: keys, and values with their keys.
    pub(super) fn mention<'a>(
        &'a self,
        keys: &mut BTreeSet<&'a str>,
        values: &mut BTreeSet<(&'a str, &'a str)>,
    ) {
        self.0.mention(keys, values);
    }

    /// Why they cannot be published; `None` where they can.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let mut left = MAX_TERMS;
        match self.0.fits(MAX_DEPTH, &mut left) {
            true => None,
            false => Some("they are nested too deep, or there are too many"),
        }
    }

    /// Encoded as `DynamicParameterConstraints`.
    #[must_use]
    pub fn encoded(&self) -> Bytes {
        self.0.encoded().freeze()
    }
}

fn terms(constraints: impl IntoIterator<Item = Constraints>) -> Box<[Term]> {
    constraints.into_iter().map(|c| c.0).collect()
}

impl Not for Constraints {
    type Output = Self;

    fn not(self) -> Self {
        Self(Term::Not(Box::new(self.0)))
    }
}

/// As in `&(env=prod,!version?)`: all of, the value, not, exists; `|` is any of.
impl fmt::Display for Constraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_term(&self.0, f)
    }
}

impl Term {
    fn holds<'a>(&self, assigned: &dyn Fn(&str) -> Option<Assigned<'a>>) -> bool {
        match self {
            Self::Value(key, value) => assigned(key) == Some(Assigned::Value(value)),
            Self::Exists(key) => assigned(key).is_some(),
            Self::All(terms) => terms.iter().all(|term| term.holds(assigned)),
            Self::Any(terms) => terms.iter().any(|term| term.holds(assigned)),
            Self::Not(term) => !term.holds(assigned),
        }
    }

    fn mention<'a>(
        &'a self,
        keys: &mut BTreeSet<&'a str>,
        values: &mut BTreeSet<(&'a str, &'a str)>,
    ) {
        match self {
            Self::Value(key, value) => {
                keys.insert(key);
                values.insert((key, value));
            }
            Self::Exists(key) => drop(keys.insert(key)),
            Self::All(terms) | Self::Any(terms) => {
                terms.iter().for_each(|term| term.mention(keys, values));
            }
            Self::Not(term) => term.mention(keys, values),
        }
    }

    /// Whether it has at most so many levels, and no more terms than are left.
    fn fits(&self, depth: usize, left: &mut usize) -> bool {
        if depth == 0 || *left == 0 {
            return false;
        }
        *left -= 1;
        match self {
            Self::Value(..) | Self::Exists(_) => true,
            Self::All(terms) | Self::Any(terms) => {
                terms.iter().all(|term| term.fits(depth - 1, left))
            }
            Self::Not(term) => term.fits(depth - 1, left),
        }
    }

    fn encoded(&self) -> BytesMut {
        let mut out = BytesMut::new();
        let (field, inner) = match self {
            Self::Value(key, value) => {
                let mut inner = BytesMut::new();
                put_field(field::KEY, key.as_bytes(), &mut inner);
                put_field(field::VALUE, value.as_bytes(), &mut inner);
                (field::CONSTRAINT, inner)
            }
            Self::Exists(key) => {
                let mut inner = BytesMut::new();
                put_field(field::KEY, key.as_bytes(), &mut inner);
                put_field(field::EXISTS, b"", &mut inner);
                (field::CONSTRAINT, inner)
            }
            Self::All(terms) => (field::AND, list(terms)),
            Self::Any(terms) => (field::OR, list(terms)),
            Self::Not(term) => (field::NOT, term.encoded()),
        };
        put_field(field, &inner, &mut out);
        out
    }
}

fn list(terms: &[Term]) -> BytesMut {
    let mut out = BytesMut::new();
    for term in terms {
        put_field(field::LIST, &term.encoded(), &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(constraints: &Constraints, parameters: &[(&str, &str)]) -> bool {
        constraints.matches(&parameters.iter().copied().collect())
    }

    #[test]
    fn c317_a_value_is_equal_or_it_is_not() {
        let prod = Constraints::value("env", "prod");
        assert!(matches(&prod, &[("env", "prod")]));
        for other in [&[][..], &[("env", "test")], &[("version", "prod")]] {
            assert!(!matches(&prod, other));
        }
    }

    #[test]
    fn c318_a_key_exists_whatever_its_value() {
        let versioned = Constraints::exists("version");
        assert!(matches(&versioned, &[("version", "v1")]));
        assert!(matches(&versioned, &[("version", "")]));
        assert!(!matches(&versioned, &[("env", "prod")]));
    }

    #[test]
    fn c315_what_is_not_mentioned_prevents_nothing() {
        let prod = Constraints::value("env", "prod");
        assert!(matches(&prod, &[("env", "prod"), ("version", "v9")]));
    }

    #[test]
    fn c319_they_compose_as_in_logic() {
        let of = |holds: bool| match holds {
            true => Constraints::value("k", "v"),
            false => Constraints::exists("absent"),
        };
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            let holds = |constraints: Constraints| matches(&constraints, &[("k", "v")]);
            assert_eq!(holds(Constraints::all_of([of(a), of(b)])), a && b);
            assert_eq!(holds(Constraints::any_of([of(a), of(b)])), a || b);
            let nested = !Constraints::any_of([Constraints::all_of([of(a), !of(b)]), of(b)]);
            assert_eq!(holds(nested), !a && !b);
            assert_eq!(holds(!of(a)), !a);
        }
        assert!(matches(&Constraints::all_of([]), &[]));
        assert!(!matches(&Constraints::any_of([]), &[]));
        assert!(matches(&!Constraints::exists("version"), &[]));
    }

    #[test]
    fn what_is_published_has_bounds() {
        let nested = |depth: usize| (1..depth).fold(Constraints::exists("k"), |inner, _| !inner);
        assert_eq!(nested(MAX_DEPTH).fault(), None);
        assert!(nested(MAX_DEPTH + 1).fault().is_some());
        let wide = |count| Constraints::all_of((0..count).map(|_| Constraints::exists("k")));
        assert_eq!(wide(MAX_TERMS - 1).fault(), None);
        assert!(wide(MAX_TERMS).fault().is_some());
    }
}
