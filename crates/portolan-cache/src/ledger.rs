use std::sync::Arc;

use portolan_core::{Generation, Publication, Published, Snapshot};

use crate::history::History;

/// What a group, or a whole cache, was given, and the number of its newest publication, which outlives the data.
///
/// A value. A writer takes a copy, prepares what comes next without a lock, and puts it in place if the copy is still
/// the newest; so no writer waits for another's preparations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    publication: Option<Arc<Publication>>,
    last: Generation,
    history: History,
}

impl Ledger {
    /// Nothing given yet; publications are numbered from after `last`.
    pub(crate) fn starting_after(last: Generation) -> Self {
        Self {
            last,
            ..Self::default()
        }
    }

    /// The same, of which so many former sets of each type are remembered.
    pub(crate) fn with_history(mut self, sets: usize) -> Self {
        self.history = History::bounded(sets);
        self
    }

    /// Nothing given, after all that was.
    pub(crate) fn cleared(&self) -> Self {
        Self {
            publication: None,
            last: self.last,
            history: self.history.cleared(),
        }
    }

    /// What was given before.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn publication(&self) -> Option<&Arc<Publication>> {
        self.publication.as_ref()
    }

    /// The number of the newest publication, also when its data was cleared.
    pub(crate) fn last(&self) -> Generation {
        self.last
    }

    /// The ledger after `snapshot` was given, `None` where it stays as it is, and what that amounts to.
    ///
    /// Content and times to live make a publication. A label that differs is stored under the same number, for whoever
    /// loads next. Costs O(types); O(resources) for equal content that is not the same value.
    pub(crate) fn enter(&self, snapshot: Snapshot) -> (Option<Self>, Published) {
        let mut history = self.history.clone();
        let publication = match self.publication() {
            Some(held) if is_no_news(held.snapshot(), &snapshot) => {
                let unchanged = Published::Unchanged(held.generation());
                let next = (!same_labels(held.snapshot(), &snapshot)).then(|| Self {
                    publication: Some(Arc::new(held.redecorated(snapshot))),
                    ..self.clone()
                });
                return (next, unchanged);
            }
            Some(held) => {
                history = history.after(held.snapshot(), &snapshot);
                held.next(snapshot)
            }
            None => Publication::first_after(self.last, snapshot),
        };
        let next = Self {
            last: publication.generation(),
            publication: Some(Arc::new(publication)),
            history,
        };
        let changed = Published::Changed(next.last);
        (Some(next), changed)
    }

    /// Whether nothing was given or cleared between the two.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let same_publication = match (self.publication(), other.publication()) {
            (Some(mine), Some(theirs)) => Arc::ptr_eq(mine, theirs),
            (None, None) => true,
            _ => false,
        };
        same_publication && self.last() == other.last()
    }
}

/// Whether streams need not hear of `b` when they have `a`.
fn is_no_news(a: &Snapshot, b: &Snapshot) -> bool {
    let same_ttls = |url| match (a.set(url), b.set(url)) {
        // An edited value remembers the difference, and whoever is to hear of it asks for the same.
        (Some(a), Some(b)) if a.is_timed() || b.is_timed() => b.diff_from(a).retimed().is_empty(),
        _ => true,
    };
    a.same_content(b) && a.sets().chain(b.sets()).all(|(url, _)| same_ttls(url))
}

/// Whether two snapshots of equal content also have the same labels.
fn same_labels(a: &Snapshot, b: &Snapshot) -> bool {
    a.id() == b.id()
        || a.sets()
            .chain(b.sets())
            .all(|(url, _)| a.version_info(url) == b.version_info(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_and_cleared_meanwhile_is_noticed() {
        let seen = Ledger::default();
        let (given, _) = seen.enter(Snapshot::empty());
        let cleared = Ledger::starting_after(given.unwrap().last());
        assert!(cleared.publication().is_none());
        assert!(!cleared.is(&seen), "a number would be given twice");
        assert!(cleared.is(&cleared.clone()));
    }
}
