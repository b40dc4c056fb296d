use std::collections::VecDeque;

use portolan_core::Generation;

/// How many publications a stream remembers of which responses were made and that have not settled.
const SENT: usize = 256;

/// How many it remembers of which none was made yet.
const UNSENT: usize = 8;

/// Which publications of the parts a stream's own publications were made of, as far as it may hear of them again.
#[derive(Debug, Default)]
pub(super) struct Trail(VecDeque<Mark>);

#[derive(Debug)]
struct Mark {
    generation: Generation,
    parts: Box<[Option<Generation>]>,
    sent: bool,
}

impl Trail {
    /// `generation` was made of these.
    pub(super) fn push(&mut self, generation: Generation, parts: Box<[Option<Generation>]>) {
        self.0.push_back(Mark {
            generation,
            parts,
            sent: false,
        });
        let unsent = self.0.iter().filter(|mark| !mark.sent).count();
        if unsent > UNSENT {
            let first = self.0.iter().position(|mark| !mark.sent);
            first.map(|at| self.0.remove(at));
        } else if self.0.len() > SENT + UNSENT {
            self.0.pop_front();
        }
    }

    /// What `generation` was made of; `None` when that is forgotten.
    pub(super) fn at(&self, generation: Generation) -> Option<&[Option<Generation>]> {
        let at = self.find(generation)?;
        Some(&self.0[at].parts)
    }

    /// A response was made of `generation`, so that more will be heard of it.
    pub(super) fn note_sent(&mut self, generation: Generation) {
        if let Some(at) = self.find(generation) {
            self.0[at].sent = true;
        }
    }

    /// The stream came to rest on `generation`: nothing is left to hear of what was before.
    pub(super) fn settle(&mut self, generation: Generation) {
        let before = self.0.partition_point(|mark| mark.generation < generation);
        self.0.drain(..before);
    }

    fn find(&self, generation: Generation) -> Option<usize> {
        self.0
            .binary_search_by_key(&generation, |mark| mark.generation)
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(number: u64) -> Generation {
        (0..number).fold(Generation::default(), |last, _| last.next())
    }

    fn walk(trail: &mut Trail, numbers: std::ops::RangeInclusive<u64>, sent: bool) {
        for number in numbers {
            let number = generation(number);
            trail.push(number, [Some(number)].into());
            if sent {
                trail.note_sent(number);
            }
        }
    }

    #[test]
    fn what_was_sent_is_remembered_longer_and_nothing_for_ever() {
        let mut trail = Trail::default();
        walk(&mut trail, 1..=1, true);
        walk(&mut trail, 2..=1_000, false);
        assert!(trail.at(generation(1)).is_some());
        assert_eq!(trail.0.len(), 1 + UNSENT);
        walk(&mut trail, 1_001..=2_000, true);
        assert!(trail.at(generation(1)).is_none());
        assert!(trail.at(generation(2_000)).is_some());
        assert!(trail.0.len() <= SENT + UNSENT);
        trail.settle(generation(1_999));
        assert_eq!(trail.0.len(), 2);
    }
}
