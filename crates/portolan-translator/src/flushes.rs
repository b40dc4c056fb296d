//! Which calls of `flush` may return.

use portolan_core::GroupKey;

use crate::Revision;
use crate::schedule::Schedule;

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
    /// The newest model that was handed in before the call.
    revision: Revision,
    /// The loop's round in which it saw the call. Groups that came later are not waited for.
    round: u64,
    /// Every group before this one is settled; a group that is settled stays so.
    from: Option<G>,
}

impl<G: GroupKey> Flushes<G> {
    pub(crate) fn new() -> Self {
        Self {
            next: None,
            later: None,
        }
    }

    /// `flush` was called, for the `number`th time, when `revision` was the newest model.
    pub(crate) fn called(&mut self, number: u64, revision: Revision, round: u64) {
        let slot = match self.next {
            None => &mut self.next,
            Some(_) => &mut self.later,
        };
        *slot = Some(Flush {
            number,
            revision,
            round,
            from: None,
        });
    }

    /// The number up to which calls may return now, if that is news.
    pub(crate) fn settle(&mut self, schedule: &Schedule<G>) -> Option<u64> {
        let mut settled = None;
        while let Some(flush) = &mut self.next {
            if !flush.is_settled(schedule) {
                break;
            }
            settled = Some(flush.number);
            self.next = self.later.take();
        }
        settled
    }
}

impl<G: GroupKey> Flush<G> {
    fn is_settled(&mut self, schedule: &Schedule<G>) -> bool {
        match schedule.first_behind(self.from.as_ref(), self.revision, self.round) {
            Some(behind) => {
                self.from = Some(behind.clone());
                false
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::schedule::Ending;

    const NOW: Duration = Duration::ZERO;

    fn schedule(groups: &[&'static str]) -> Schedule<&'static str> {
        let mut schedule = Schedule::new(NOW);
        for group in groups {
            schedule.came(*group, 1, NOW);
        }
        schedule
    }

    fn hand_in(schedule: &mut Schedule<&'static str>, revision: Revision) {
        schedule.set_newest(revision);
        schedule.release(NOW);
    }

    fn run_one(schedule: &mut Schedule<&'static str>) {
        let turn = schedule.next(NOW).unwrap();
        assert_eq!(schedule.finish(&turn, Ending::Failed), None);
    }

    #[test]
    fn a_flush_before_anything_was_handed_in_returns_at_once() {
        let mut flushes = Flushes::new();
        flushes.called(1, Revision::default(), 1);
        assert_eq!(flushes.settle(&schedule(&["a"])), Some(1));
    }

    #[test]
    fn a_flush_waits_until_every_group_had_its_turn() {
        let (mut schedule, first) = (schedule(&["a", "b"]), Revision::default().next());
        let mut flushes = Flushes::new();
        flushes.called(1, first, 1);
        assert_eq!(flushes.settle(&schedule), None);
        hand_in(&mut schedule, first);
        run_one(&mut schedule);
        assert_eq!(flushes.settle(&schedule), None);
        run_one(&mut schedule);
        assert_eq!(flushes.settle(&schedule), Some(1));
        assert_eq!(flushes.settle(&schedule), None);
    }

    #[test]
    fn groups_and_models_that_come_later_are_not_waited_for() {
        let (mut schedule, first) = (schedule(&["a"]), Revision::default().next());
        let mut flushes = Flushes::new();
        hand_in(&mut schedule, first);
        flushes.called(1, first, 1);
        run_one(&mut schedule);
        schedule.came("b", 2, NOW);
        schedule.set_newest(first.next());
        assert_eq!(flushes.settle(&schedule), Some(1));
    }

    #[test]
    fn many_waiting_calls_take_no_more_room_than_two() {
        let (mut schedule, first) = (schedule(&["a"]), Revision::default().next());
        let mut flushes = Flushes::new();
        hand_in(&mut schedule, first);
        for number in 1..100 {
            flushes.called(number, first, number);
        }
        assert_eq!(flushes.settle(&schedule), None);
        run_one(&mut schedule);
        assert_eq!(flushes.settle(&schedule), Some(99));
    }
}
