//! What was handed in besides the model: whom it concerns, and what was said of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use portolan_core::GroupKey;

use crate::debounce::Lane;
use crate::{Change, Revision};

/// The newest changes of each kind that concern somebody.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// Newest change of any kind.
    pub(crate) newest: Revision,
    /// Newest change of which nothing is known but its lane.
    pub(crate) vague: [Revision; Lane::ALL.len()],
    /// Newest change that may delete most of what there is.
    pub(crate) mass_deletion: Revision,
}

impl Marks {
    fn note<G, D>(&mut self, change: &Change<G, D>, revision: Revision) {
        self.newest = revision;
        if change.detail.is_none() {
            self.note_vague(change.lane, revision);
        }
        if change.mass_deletion {
            self.mass_deletion = revision;
        }
    }

    pub(crate) fn note_vague(&mut self, lane: Lane, revision: Revision) {
        self.newest = self.newest.max(revision);
        let vague = &mut self.vague[lane as usize];
        *vague = (*vague).max(revision);
    }

    /// What concerns somebody to whom both apply.
    pub(crate) fn and(self, other: Self) -> Self {
        let [config, endpoints] = Lane::ALL.map(|lane| lane as usize);
        Self {
            newest: self.newest.max(other.newest),
            vague: [
                self.vague[config].max(other.vague[config]),
                self.vague[endpoints].max(other.vague[endpoints]),
            ],
            mass_deletion: self.mass_deletion.max(other.mass_deletion),
        }
    }
}

/// What was said of one change.
#[derive(Debug)]
pub(crate) struct Detail<D> {
    pub(crate) revision: Revision,
    pub(crate) lane: Lane,
    pub(crate) said: Arc<D>,
}

impl<D> Clone for Detail<D> {
    fn clone(&self) -> Self {
        Self {
            revision: self.revision,
            lane: self.lane,
            said: Arc::clone(&self.said),
        }
    }
}

/// The changes that were handed in and that the loop has not taken notice of.
///
/// It does not grow with their number: changes without details leave marks, and of details there are so many and no
/// more.
#[derive(Debug)]
pub(crate) struct Notices<G, D> {
    /// The newest change of each lane.
    pub(crate) lanes: [Revision; Lane::ALL.len()],
    pub(crate) everyone: Marks,
    pub(crate) named: BTreeMap<G, Marks>,
    /// In the order in which they were handed in, with the groups that they concern; `None` for all.
    pub(crate) details: Vec<(Option<BTreeSet<G>>, Detail<D>)>,
}

impl<G: GroupKey, D> Notices<G, D> {
    pub(crate) const fn new() -> Self {
        Self {
            lanes: [Revision::NONE; Lane::ALL.len()],
            everyone: Marks {
                newest: Revision::NONE,
                vague: [Revision::NONE; Lane::ALL.len()],
                mass_deletion: Revision::NONE,
            },
            named: BTreeMap::new(),
            details: Vec::new(),
        }
    }

    /// Adds a change. Beyond `most` details none is kept: those whom they concern are translated in full.
    pub(crate) fn add(&mut self, change: Change<G, D>, revision: Revision, most: usize) {
        self.lanes[change.lane as usize] = revision;
        match &change.groups {
            None => self.everyone.note(&change, revision),
            Some(groups) => {
                for group in groups {
                    let marks = self.named.entry(group.clone()).or_default();
                    marks.note(&change, revision);
                }
            }
        }
        if let Some(said) = change.detail {
            let lane = change.lane;
            let said = Arc::new(said);
            let detail = Detail {
                revision,
                lane,
                said,
            };
            self.details.push((change.groups, detail));
        }
        if self.details.len() > most {
            self.drop_details();
        }
    }

    fn drop_details(&mut self) {
        for (groups, detail) in self.details.drain(..) {
            let (lane, revision) = (detail.lane, detail.revision);
            match groups {
                None => self.everyone.note_vague(lane, revision),
                Some(groups) => {
                    for group in groups {
                        let marks = self.named.entry(group).or_default();
                        marks.note_vague(lane, revision);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(number: u64) -> Revision {
        (0..number).fold(Revision::NONE, |revision, _| revision.next())
    }

    #[test]
    fn changes_without_details_leave_one_mark_for_each_whom_they_concern() {
        let mut notices = Notices::<_, ()>::new();
        for number in 1..100 {
            let group = if number % 2 == 0 { "a" } else { "b" };
            notices.add(Change::config().in_groups([group]), revision(number), 10);
        }
        assert_eq!(notices.named.len(), 2);
        assert_eq!(notices.named["a"].newest, revision(98));
        assert_eq!(notices.everyone.newest, Revision::NONE);
    }

    #[test]
    fn a_detail_is_no_vague_change() {
        let mut notices = Notices::new();
        notices.add(Change::<&str, _>::config().with_detail(7), revision(1), 10);
        assert_eq!(notices.everyone.newest, revision(1));
        assert_eq!(notices.everyone.vague, [Revision::NONE; 2]);
        assert_eq!(*notices.details[0].1.said, 7);
    }

    #[test]
    fn too_many_details_are_as_good_as_none() {
        let mut notices = Notices::new();
        let endpoints = |number| Change::endpoints().with_detail(number);
        notices.add(endpoints(1), revision(1), 2);
        for number in 2..=3 {
            let change = endpoints(number).in_groups(["a"]);
            notices.add(change, revision(number), 2);
        }
        assert!(notices.details.is_empty());
        for (marks, newest) in [(notices.everyone, 1), (notices.named["a"], 3)] {
            assert_eq!(marks.vague[Lane::Endpoints as usize], revision(newest));
            assert_eq!(marks.vague[Lane::Config as usize], Revision::NONE);
        }
    }

    #[test]
    fn an_allowance_is_for_those_whom_the_change_concerns() {
        let mut notices = Notices::<_, ()>::new();
        let change = Change::config().in_groups(["a"]).allow_mass_deletion();
        notices.add(change, revision(1), 10);
        notices.add(Change::config(), revision(2), 10);
        assert_eq!(notices.named["a"].mass_deletion, revision(1));
        assert_eq!(notices.everyone.mass_deletion, Revision::NONE);
    }
}
