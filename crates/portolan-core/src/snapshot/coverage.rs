use std::collections::BTreeSet;

use crate::TypeUrl;

/// The types that a snapshot speaks for: all, all but some, or some alone. Of the others it says nothing, which is not
/// the same as saying that there is nothing of them.
///
/// ```
/// use portolan_core::Coverage;
/// use portolan_core::well_known::{CLUSTER, ENDPOINT, LISTENER};
///
/// let mine = Coverage::only([CLUSTER, LISTENER]);
/// let theirs = Coverage::all().without(&LISTENER);
/// assert_eq!(mine.intersection(&theirs), Coverage::only([CLUSTER]));
/// assert!(theirs.contains(&ENDPOINT));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage(Types);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Types {
    AllBut(BTreeSet<TypeUrl>),
    Only(BTreeSet<TypeUrl>),
}

impl Coverage {
    /// All types, known to us or not.
    #[must_use]
    pub const fn all() -> Self {
        Self(Types::AllBut(BTreeSet::new()))
    }

    /// These types alone.
    #[must_use]
    pub fn only(types: impl IntoIterator<Item = TypeUrl>) -> Self {
        Self(Types::Only(types.into_iter().collect()))
    }

    /// The same and a type more.
    #[must_use]
    pub fn with(mut self, type_url: TypeUrl) -> Self {
        match &mut self.0 {
            Types::AllBut(types) => drop(types.take(&type_url)),
            Types::Only(types) => drop(types.insert(type_url)),
        }
        self
    }

    /// The same but for a type.
    #[must_use]
    pub fn without(mut self, type_url: &TypeUrl) -> Self {
        match &mut self.0 {
            Types::AllBut(types) => drop(types.insert(type_url.clone())),
            Types::Only(types) => drop(types.take(type_url)),
        }
        self
    }

    /// Adds these to what was declared by this; without such a declaration they are all that is left.
    pub(super) fn declare(&mut self, types: impl IntoIterator<Item = TypeUrl>) {
        match &mut self.0 {
            Types::AllBut(_) => *self = Self::only(types),
            Types::Only(declared) => declared.extend(types),
        }
    }

    /// Whether a type is among them.
    #[must_use]
    pub fn contains(&self, type_url: &TypeUrl) -> bool {
        match &self.0 {
            Types::AllBut(types) => !types.contains(type_url),
            Types::Only(types) => types.contains(type_url),
        }
    }

    /// The types that are in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Types::AllBut(a), Types::AllBut(b)) => Self(Types::AllBut(a | b)),
            (Types::Only(types), _) => {
                Self::only(types.iter().filter(|url| other.contains(url)).cloned())
            }
            (_, Types::Only(types)) => {
                Self::only(types.iter().filter(|url| self.contains(url)).cloned())
            }
        }
    }
}

impl Default for Coverage {
    fn default() -> Self {
        Self::all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::well_known::{CLUSTER, ENDPOINT, LISTENER};

    #[test]
    fn an_intersection_contains_what_both_do() {
        let some = [
            Coverage::all(),
            Coverage::all().without(&CLUSTER),
            Coverage::all()
                .without(&LISTENER)
                .without(&CLUSTER)
                .with(LISTENER),
            Coverage::only([]),
            Coverage::only([CLUSTER, ENDPOINT]),
            Coverage::only([CLUSTER]).with(LISTENER).without(&CLUSTER),
        ];
        for (a, b) in some.iter().flat_map(|a| some.iter().map(move |b| (a, b))) {
            let both = a.intersection(b);
            for url in [CLUSTER, ENDPOINT, LISTENER, "another".into()] {
                let expected = a.contains(&url) && b.contains(&url);
                assert_eq!(both.contains(&url), expected, "{url} in {a:?} and {b:?}");
            }
        }
    }
}
