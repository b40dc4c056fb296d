use std::cell::Cell;

use portolan_core::{Delivery, Generation, Interest, Publication, Settlement, View};
use tokio::time::Instant;

use crate::{TurnInfo, TurnOutcome};

/// A stream's view, and what the stream's session does with it: when it loads a publication, it begins a turn.
#[derive(Debug)]
pub(super) struct WatchedView {
    view: Box<dyn View>,
    /// When the source said that there may be something new, if the session has not looked since.
    noticed: Option<Instant>,
    /// What was loaded since the last question; `Some(None)` if the source had nothing.
    loaded: Cell<Option<Option<Generation>>>,
    previous: Option<Generation>,
}

impl WatchedView {
    pub(super) fn new(view: Box<dyn View>) -> Self {
        Self {
            view,
            noticed: None,
            loaded: Cell::default(),
            previous: None,
        }
    }

    /// The source said that there may be something new.
    pub(super) fn notice(&mut self, moment: Instant) {
        self.noticed.get_or_insert(moment);
    }

    /// The turn that was begun since the last question, of which this came.
    pub(super) fn take_turn(&mut self, outcome: TurnOutcome) -> Option<TurnInfo> {
        let loaded = self.loaded.take()?;
        let noticed = self.noticed.take();
        let generation = loaded?;
        Some(TurnInfo {
            generation,
            previous: self.previous.replace(generation),
            noticed,
            outcome,
        })
    }
}

impl View for WatchedView {
    fn load(&self) -> Option<Publication> {
        let publication = self.view.load();
        let generation = publication.as_ref().map(Publication::generation);
        self.loaded.set(Some(generation));
        publication
    }

    fn interest(&mut self, interest: &Interest<'_>) {
        self.view.interest(interest);
    }

    fn delivered(&mut self, delivery: &Delivery<'_>) {
        self.view.delivered(delivery);
    }

    fn settled(&mut self, settlement: Settlement) {
        self.view.settled(settlement);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use portolan_core::Snapshot;

    use super::*;

    #[derive(Debug, Default)]
    struct Shelf(Option<Publication>);

    impl View for Shelf {
        fn load(&self) -> Option<Publication> {
            self.0.clone()
        }
    }

    #[test]
    fn each_load_is_a_turn_and_answers_the_first_notice_since_the_last() {
        let first = Publication::first(Snapshot::empty());
        let mut view = WatchedView::new(Box::new(Shelf(Some(first.clone()))));
        let quiet = TurnOutcome::Quiet;
        assert!(view.take_turn(quiet).is_none());

        let moment = Instant::now();
        view.notice(moment);
        view.notice(moment + Duration::from_secs(1));
        assert!(view.take_turn(quiet).is_none(), "it has not looked yet");
        view.load();
        let turn = view.take_turn(quiet).unwrap();
        assert_eq!(turn.generation(), first.generation());
        assert_eq!(turn.noticed(), Some(moment.into_std()));
        assert!(turn.is_first_look());

        view.load();
        let turn = view.take_turn(quiet).unwrap();
        assert_eq!(turn.noticed(), None);
        assert!(!turn.is_first_look());
    }

    #[test]
    fn a_look_at_nothing_is_no_turn_and_answers_what_was_noticed() {
        let mut view = WatchedView::new(Box::new(Shelf::default()));
        view.notice(Instant::now());
        view.load();
        assert!(view.take_turn(TurnOutcome::Quiet).is_none());
        assert!(view.noticed.is_none());
    }
}
