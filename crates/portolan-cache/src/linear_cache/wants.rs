use std::collections::BTreeSet;
use std::mem;

use portolan_core::{Interest, Name};

/// Most names of a stream that are watched one by one. A stream that subscribes more is concerned by most changes
/// anyway; it is woken by all of them, and costs no memory for each.
pub(super) const MAX_WATCHED: usize = 1_024;

/// What a stream wants of the type.
#[derive(Debug, Default)]
pub(super) struct Wants {
    wildcard: bool,
    names: Names,
}

#[derive(Debug)]
enum Names {
    Few(BTreeSet<Name>),
    /// Too many to keep; how many.
    Many(usize),
}

/// How a stream has to be told of changes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Watch {
    /// As before, but for these names.
    Names {
        added: Vec<Name>,
        removed: Vec<Name>,
    },
    /// Of every change, no longer of these names alone.
    Everything { instead_of: Vec<Name> },
    /// Of these names alone, no longer of every change.
    Only { names: Vec<Name> },
    /// As before.
    Same,
}

impl Wants {
    /// Notes what changed.
    pub(super) fn apply(&mut self, interest: &Interest<'_>) -> Watch {
        let was_broad = self.is_broad();
        // A copy of them is made only where they may be given up.
        let before = match interest.wildcard || self.names.may_exceed(interest.added.len()) {
            true => self.watched(),
            false => Vec::new(),
        };
        self.wildcard = interest.wildcard;
        let (added, removed) = self.names.apply(interest);
        match (was_broad, self.is_broad()) {
            (false, false) => Watch::Names { added, removed },
            (false, true) => Watch::Everything { instead_of: before },
            (true, false) => Watch::Only {
                names: self.watched(),
            },
            (true, true) => Watch::Same,
        }
    }

    /// The names that are watched one by one.
    pub(super) fn watched(&self) -> Vec<Name> {
        match &self.names {
            Names::Few(names) if !self.wildcard => names.iter().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether every change concerns the stream.
    fn is_broad(&self) -> bool {
        self.wildcard || matches!(self.names, Names::Many(_))
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::Few(BTreeSet::new())
    }
}

impl Names {
    fn may_exceed(&self, more: usize) -> bool {
        matches!(self, Self::Few(names) if names.len() + more > MAX_WATCHED)
    }

    /// The names that are new, and those that are gone, as far as names are kept.
    fn apply(&mut self, interest: &Interest<'_>) -> (Vec<Name>, Vec<Name>) {
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        for name in interest.removed {
            match self {
                Self::Few(names) => removed.extend(names.take(name)),
                Self::Many(count) => *count = count.saturating_sub(1),
            }
        }
        for name in interest.added {
            match self {
                Self::Few(names) => {
                    if names.insert(name.clone()) {
                        added.push(name.clone());
                    }
                }
                Self::Many(count) => *count += 1,
            }
        }
        match self {
            Self::Few(names) if names.len() > MAX_WATCHED => *self = Self::Many(names.len()),
            // From here on it is known again which names they are.
            Self::Many(0) => drop(mem::take(self)),
            _ => {}
        }
        (added, removed)
    }
}

#[cfg(test)]
mod tests {
    use portolan_core::well_known::ENDPOINT;

    use super::*;

    fn apply(wants: &mut Wants, added: &[&str], removed: &[&str], wildcard: bool) -> Watch {
        let [added, removed] = [added, removed].map(names);
        wants.apply(&Interest::new(&ENDPOINT, &added, &removed, wildcard))
    }

    fn names(names: &[&str]) -> Vec<Name> {
        names.iter().copied().map(Name::from).collect()
    }

    #[test]
    fn names_are_watched_while_there_is_no_wildcard() {
        let mut wants = Wants::default();
        let watch = apply(&mut wants, &["a", "b"], &[], false);
        let (added, removed) = (names(&["a", "b"]), names(&[]));
        assert_eq!(watch, Watch::Names { added, removed });
        let watch = apply(&mut wants, &["c"], &["a"], true);
        let instead_of = names(&["a", "b"]);
        assert_eq!(watch, Watch::Everything { instead_of });
        assert_eq!(wants.watched(), []);
        assert_eq!(apply(&mut wants, &["d"], &[], true), Watch::Same);
        let watch = apply(&mut wants, &[], &["b"], false);
        let only = names(&["c", "d"]);
        assert_eq!(watch, Watch::Only { names: only });
    }

    #[test]
    fn what_is_said_twice_counts_once() {
        let mut wants = Wants::default();
        apply(&mut wants, &["a"], &[], false);
        let watch = apply(&mut wants, &["a"], &["b"], false);
        let (added, removed) = (names(&[]), names(&[]));
        assert_eq!(watch, Watch::Names { added, removed });
    }

    #[test]
    fn more_names_than_are_watched_are_everything_until_all_are_given_up() {
        let many: Vec<_> = (0..=MAX_WATCHED).map(|n| n.to_string()).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let mut wants = Wants::default();
        let watch = apply(&mut wants, &many, &[], false);
        let instead_of = Vec::new();
        assert_eq!(watch, Watch::Everything { instead_of });
        assert_eq!(apply(&mut wants, &[], &many[1..], false), Watch::Same);
        let only = Watch::Only { names: Vec::new() };
        assert_eq!(apply(&mut wants, &[], &many[..1], false), only);
        let watch = apply(&mut wants, &["a"], &[], false);
        let (added, removed) = (names(&["a"]), names(&[]));
        assert_eq!(watch, Watch::Names { added, removed });
    }
}
