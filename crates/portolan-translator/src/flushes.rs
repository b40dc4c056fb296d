//! Which calls of `flush` may return.

use std::collections::BTreeMap;

use portolan_core::GroupKey;

use crate::Revision;

/// The calls of `flush` that wait. They are numbered in order, and never more than two are told apart: those that
/// the loop is about to settle, and all that came after.
#[derive(Debug)]
pub(crate) struct Flushes<G> {
    next: Option<Flush<G>>,
    later: Option<Flush<G>>,
}

#[derive(Debug)]
struct Flush<G> {
    /// Number of the newest call that this settles.
    number: u64,
    /// The groups that had not been given what was handed in before the call, and the model that they waited for.
    /// What comes later is not waited for.
    behind: BTreeMap<G, Revision>,
}

impl<G: GroupKey> Flushes<G> {
    pub(crate) fn new() -> Self {
        Self {
            next: None,
            later: None,
        }
    }

    /// `flush` was called, for the `number`th time, when these groups were behind.
    pub(crate) fn called(&mut self, number: u64, behind: BTreeMap<G, Revision>) {
        let slot = match self.next {
            None => &mut self.next,
            Some(_) => &mut self.later,
        };
        *slot = Some(Flush { number, behind });
    }

    /// The number up to which calls may return now, if that is news. `attempted` gives the newest model that a group's
    /// turns came to an end with; `None` where it is not translated any more.
    pub(crate) fn settle(&mut self, attempted: impl Fn(&G) -> Option<Revision>) -> Option<u64> {
        let mut settled = None;
        while let Some(flush) = &mut self.next {
            if !flush.is_settled(&attempted) {
                break;
            }
            settled = Some(flush.number);
            self.next = self.later.take();
        }
        settled
    }
}

impl<G: GroupKey> Flush<G> {
    fn is_settled(&mut self, attempted: impl Fn(&G) -> Option<Revision>) -> bool {
        // A group that has caught up stays so, and is not looked at again.
        while let Some(first) = self.behind.first_entry() {
            if attempted(first.key()).is_some_and(|attempted| attempted < *first.get()) {
                return false;
            }
            first.remove();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Attempted = BTreeMap<&'static str, Revision>;

    fn revision(number: u64) -> Revision {
        (0..number).fold(Revision::NONE, |revision, _| revision.next())
    }

    fn of(groups: &[(&'static str, u64)]) -> Attempted {
        let groups = groups.iter();
        groups
            .map(|(name, number)| (*name, revision(*number)))
            .collect()
    }

    fn settle(
        flushes: &mut Flushes<&'static str>,
        attempted: &[(&'static str, u64)],
    ) -> Option<u64> {
        let attempted = of(attempted);
        flushes.settle(|name| attempted.get(name).copied())
    }

    #[test]
    fn a_flush_with_nobody_behind_returns_at_once() {
        let mut flushes = Flushes::new();
        flushes.called(1, Attempted::new());
        assert_eq!(settle(&mut flushes, &[]), Some(1));
    }

    #[test]
    fn a_flush_waits_until_every_group_had_its_turn() {
        let mut flushes = Flushes::new();
        flushes.called(1, of(&[("a", 3), ("b", 2)]));
        assert_eq!(settle(&mut flushes, &[("a", 0), ("b", 2)]), None);
        assert_eq!(settle(&mut flushes, &[("a", 3), ("b", 2)]), Some(1));
        assert_eq!(settle(&mut flushes, &[("a", 3), ("b", 2)]), None);
    }

    #[test]
    fn a_group_that_is_forgotten_is_not_waited_for() {
        let mut flushes = Flushes::new();
        flushes.called(1, of(&[("a", 1)]));
        assert_eq!(settle(&mut flushes, &[]), Some(1));
    }

    #[test]
    fn many_waiting_calls_take_no_more_room_than_two() {
        let mut flushes = Flushes::new();
        for number in 1..100 {
            flushes.called(number, of(&[("a", 1)]));
        }
        assert_eq!(settle(&mut flushes, &[("a", 0)]), None);
        assert_eq!(settle(&mut flushes, &[("a", 1)]), Some(99));
    }
}
