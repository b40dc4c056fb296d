use std::time::Instant;

use portolan_core::Generation;

/// A look of a stream at what its source holds.
#[derive(Clone, Copy, Debug)]
pub struct TurnInfo {
    pub(crate) generation: Generation,
    pub(crate) previous: Option<Generation>,
    pub(crate) noticed: Option<tokio::time::Instant>,
    pub(crate) outcome: TurnOutcome,
}

impl TurnInfo {
    /// The publication that is looked at.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Whether the stream looks at the publication for the first time. It looks again with each request.
    #[must_use]
    pub fn is_first_look(&self) -> bool {
        self.previous
            .is_none_or(|previous| previous < self.generation)
    }

    /// Number of publications since the stream's last look that it will never look at, because a newer one has taken
    /// their place.
    #[must_use]
    pub fn superseded(&self) -> u64 {
        let since = |previous: Generation| self.generation.get().saturating_sub(previous.get());
        self.previous
            .map_or(0, |previous| since(previous).saturating_sub(1))
    }

    /// When the source said that it may have something new, if that is what the turn is for: the first time since the
    /// stream's last look. This is as close to the moment of publishing as a server can tell. `None` where the
    /// publication was there before the stream, or was looked at before.
    #[must_use]
    pub fn noticed(&self) -> Option<Instant> {
        self.noticed.map(tokio::time::Instant::into_std)
    }

    /// What came of it.
    #[must_use]
    pub fn outcome(&self) -> TurnOutcome {
        self.outcome
    }
}

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnOutcome {
    /// There is something to say; its first response follows.
    Answered,
    /// There is nothing to say but changes that have to wait until an earlier response was read.
    Held,
    /// There is nothing to say.
    Quiet,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(previous: Option<u64>, generation: u64) -> TurnInfo {
        let number = |n| (0..n).fold(Generation::default(), |generation, _| generation.next());
        TurnInfo {
            generation: number(generation),
            previous: previous.map(number),
            noticed: None,
            outcome: TurnOutcome::Quiet,
        }
    }

    #[test]
    fn what_came_before_a_stream_s_first_look_is_not_superseded() {
        assert_eq!(turn(None, 7).superseded(), 0);
        assert!(turn(None, 7).is_first_look());
    }

    #[test]
    fn what_lies_between_two_looks_is_superseded() {
        assert_eq!(turn(Some(3), 4).superseded(), 0);
        assert_eq!(turn(Some(3), 7).superseded(), 3);
        assert_eq!(turn(Some(3), 3).superseded(), 0);
        assert!(!turn(Some(3), 3).is_first_look());
    }
}
