use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use portolan_core::Name;

use crate::touched::Touched;

/// Rejected responses whose names the client may or may not have: it applies the good half of a response and says no
/// to all of it.
///
/// A suspect is no reason to send while it is what that response held (C-103, C-196). When a member changes, its
/// whole batch goes with it, so that the good half is not lost (C-197, C-198). Unrelated answers carry no suspects:
/// one bad resource would have its neighbours rejected.
///
/// A client that rejects without end, of names that it gives up, makes the oldest batch be forgotten.
#[derive(Debug)]
pub(crate) struct Suspects {
    batches: VecDeque<Batch>,
    max: usize,
}

#[derive(Debug)]
struct Batch {
    touched: Touched,
    /// Members that were sent again since.
    cleared: BTreeSet<Name>,
    /// The rest of a response of which something was replaced while its rejection was under way.
    is_rest: bool,
}

impl Batch {
    fn contains(&self, name: &Name) -> bool {
        !self.cleared.contains(name) && self.touched.contains(name)
    }

    fn members(&self) -> impl Iterator<Item = &Name> {
        let touched = self.touched.names().into_iter();
        touched.filter(|name| !self.cleared.contains(*name))
    }
}

impl Suspects {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            batches: VecDeque::new(),
            max,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    pub(crate) fn add(&mut self, touched: Touched) {
        self.add_batch(touched, false);
    }

    /// Adds what is left of a rejected response, [left behind](Self::left_behind) by what was replaced meanwhile.
    pub(crate) fn add_rest(&mut self, touched: Touched) {
        self.add_batch(touched, true);
    }

    fn add_batch(&mut self, touched: Touched, is_rest: bool) {
        let touched = self.without_suspects(touched);
        if touched.len() > 0 {
            let cleared = BTreeSet::new();
            self.batches.push_back(Batch {
                touched,
                cleared,
                is_rest,
            });
            let excess = self.batches.len().saturating_sub(self.max);
            self.batches.drain(..excess);
        }
    }

    /// What is suspect already was sent after this, or sending this would have cleared it: it is that response's affair.
    fn without_suspects(&self, touched: Touched) -> Touched {
        let mut names = touched.names();
        let all = names.len();
        names.retain(|name| !self.contains(name));
        match names.len() == all {
            true => touched,
            false => Touched::Names(names.into_iter().cloned().collect()),
        }
    }

    pub(crate) fn contains(&self, name: &Name) -> bool {
        self.batches.iter().any(|batch| batch.contains(name))
    }

    /// What the rejected responses spoke of, a little more than what is still in doubt.
    pub(crate) fn touched(&self) -> impl Iterator<Item = &Touched> {
        self.batches.iter().map(|batch| &batch.touched)
    }

    /// The members of all batches.
    pub(crate) fn names(&self) -> BTreeSet<Name> {
        let members = |batch: &Batch| batch.members().cloned().collect::<Vec<_>>();
        self.batches.iter().flat_map(members).collect()
    }

    /// The members of all batches that one of `changed` belongs to.
    pub(crate) fn mates<'a>(&self, changed: impl Iterator<Item = &'a Name>) -> BTreeSet<Name> {
        if self.is_empty() {
            return BTreeSet::new();
        }
        let changed: Vec<_> = changed.collect();
        let hit = |batch: &&Batch| changed.iter().any(|name| batch.contains(name));
        let mut mates = BTreeSet::new();
        for batch in self.batches.iter().filter(hit) {
            mates.extend(batch.members().cloned());
        }
        mates
    }

    /// The members of all batches of which another member is not there any more, or was replaced without them: what was
    /// bad may be gone with that.
    pub(crate) fn left_behind(&self, is_there: impl Fn(&Name) -> bool) -> Vec<Name> {
        let mut left = Vec::new();
        for batch in &self.batches {
            let (there, gone): (Vec<_>, Vec<_>) = batch.members().partition(|name| is_there(name));
            if batch.is_rest || !gone.is_empty() {
                left.extend(there.into_iter().cloned());
            }
        }
        left
    }

    /// These names were sent again: what became of them is the new response's affair.
    pub(crate) fn sent_again(&mut self, touched: &Touched) {
        if self.is_empty() {
            return;
        }
        for name in touched.names() {
            for batch in self.batches.iter_mut().filter(|b| b.touched.contains(name)) {
                batch.cleared.insert(name.clone());
            }
        }
        self.batches
            .retain(|batch| batch.cleared.len() < batch.touched.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Touched {
        Touched::Names(names.iter().map(|n| Name::from(*n)).collect())
    }

    fn mates(suspects: &Suspects, changed: &str) -> Vec<Name> {
        suspects
            .mates([&Name::from(changed)].into_iter())
            .into_iter()
            .collect()
    }

    #[test]
    fn a_changed_member_brings_its_batch_and_no_other() {
        let mut suspects = Suspects::new(64);
        suspects.add(names(&["a", "b"]));
        suspects.add(names(&["c", "d"]));
        assert_eq!(mates(&suspects, "a"), [Name::from("a"), Name::from("b")]);
        assert_eq!(mates(&suspects, "x"), []);
    }

    #[test]
    fn a_suspect_is_of_the_batch_that_was_sent_last() {
        let mut suspects = Suspects::new(64);
        suspects.add(names(&["b"]));
        suspects.add(names(&["a", "b"]));
        assert_eq!(mates(&suspects, "a"), [Name::from("a")]);
        suspects.add(names(&["a"]));
        suspects.sent_again(&names(&["a", "b"]));
        assert!(suspects.is_empty());
    }

    #[test]
    fn the_oldest_batch_gives_way() {
        let mut suspects = Suspects::new(1);
        suspects.add(names(&["a", "b"]));
        suspects.add(names(&["c", "d"]));
        assert_eq!(mates(&suspects, "a"), []);
        assert_eq!(mates(&suspects, "c").len(), 2);
    }

    #[test]
    fn what_was_sent_again_is_no_suspect() {
        let mut suspects = Suspects::new(64);
        suspects.add(names(&["a", "b"]));
        suspects.sent_again(&names(&["a"]));
        assert_eq!(mates(&suspects, "a"), []);
        assert_eq!(mates(&suspects, "b"), [Name::from("b")]);
        suspects.sent_again(&names(&["b", "c"]));
        assert!(suspects.is_empty());
    }

    #[test]
    fn who_lost_a_mate_is_left_behind() {
        let mut suspects = Suspects::new(64);
        suspects.add(names(&["a", "b"]));
        suspects.add(names(&["c", "d"]));
        assert_eq!(
            suspects.left_behind(|name| name.as_str() != "b"),
            [Name::from("a")]
        );
        suspects.sent_again(&names(&["a"]));
        assert_eq!(suspects.left_behind(|name| name.as_str() != "b"), []);
        suspects.add_rest(names(&["e"]));
        assert_eq!(suspects.left_behind(|_| true), [Name::from("e")]);
    }

    #[test]
    fn a_response_that_spoke_of_nothing_leaves_nothing_in_doubt() {
        let mut suspects = Suspects::new(64);
        suspects.add(names(&[]));
        suspects.add(names(&["a"]));
        suspects.add(names(&["a"]));
        assert_eq!(suspects.touched().count(), 1);
    }
}
