use std::cell::Cell;
use std::sync::Arc;

use portolan_core::{
    Delivery, Generation, Interest, Publication, ResourceSet, Settlement, TypeUrl, View,
};
use tokio::time::Instant;

use crate::notice::Notices;
use crate::{TurnInfo, TurnOutcome};

/// A stream's view, and what the stream's session does with it: when it loads a publication, it begins a turn.
#[derive(Debug)]
pub(super) struct WatchedView {
    view: Box<dyn View>,
    notices: Arc<Notices>,
    /// When the source said that there may be something new, if the session has not looked since.
    noticed: Option<Instant>,
    /// What was loaded since the last question; `Some(None)` if the source had nothing.
    loaded: Cell<Option<Option<Generation>>>,
    looked: bool,
    previous: Option<Generation>,
}

impl WatchedView {
    pub(super) fn new(view: Box<dyn View>, notices: &Arc<Notices>) -> Self {
        Self {
            view,
            notices: Arc::clone(notices),
            noticed: None,
            loaded: Cell::default(),
            looked: false,
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
        let looked = std::mem::replace(&mut self.looked, true);
        let generation = loaded?;
        let mut turn = TurnInfo {
            generation,
            previous: self.previous.replace(generation),
            noticed,
            outcome,
        };
        if looked && turn.is_first_look() {
            // A request made the stream look before it was told.
            turn.noticed.get_or_insert_with(|| self.notices.ahead());
        }
        Some(turn)
    }
}

impl View for WatchedView {
    fn load(&self) -> Option<Publication> {
        let publication = self.view.load();
        let generation = publication.as_ref().map(Publication::generation);
        self.loaded.set(Some(generation));
        publication
    }

    fn history(&self, type_url: &TypeUrl) -> Vec<ResourceSet> {
        self.view.history(type_url)
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
    use std::sync::Mutex;
    use std::time::Duration;

    use portolan_core::Snapshot;

    use super::*;

    #[derive(Clone, Debug, Default)]
    struct Shelf(Arc<Mutex<Option<Publication>>>);

    impl Shelf {
        fn put(&self, publication: &Publication) {
            *self.0.lock().unwrap() = Some(publication.clone());
        }

        fn view(&self) -> WatchedView {
            WatchedView::new(Box::new(self.clone()), &Arc::default())
        }
    }

    impl View for Shelf {
        fn load(&self) -> Option<Publication> {
            self.0.lock().unwrap().clone()
        }
    }

    fn take_turn(view: &mut WatchedView) -> Option<TurnInfo> {
        view.take_turn(TurnOutcome::Quiet)
    }

    #[test]
    fn each_load_is_a_turn_and_answers_the_first_notice_since_the_last() {
        let shelf = Shelf::default();
        let first = Publication::first(Snapshot::empty());
        shelf.put(&first);
        let mut view = shelf.view();
        assert!(take_turn(&mut view).is_none());

        let moment = Instant::now();
        view.notice(moment);
        view.notice(moment + Duration::from_secs(1));
        assert!(take_turn(&mut view).is_none(), "it has not looked yet");
        view.load();
        let turn = take_turn(&mut view).unwrap();
        assert_eq!(turn.generation(), first.generation());
        assert_eq!(turn.noticed(), Some(moment.into_std()));
        assert!(turn.is_first_look());

        view.load();
        let turn = take_turn(&mut view).unwrap();
        assert_eq!(turn.noticed(), None);
        assert!(!turn.is_first_look());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_found_before_it_was_told_counts_as_noticed() {
        let shelf = Shelf::default();
        let mut view = shelf.view();
        let first = Publication::first(Snapshot::empty());
        shelf.put(&first);
        view.load();
        assert_eq!(
            take_turn(&mut view).unwrap().noticed(),
            None,
            "it was there before the stream"
        );
        shelf.put(&first.next(Snapshot::empty()));
        view.load();
        let now = Instant::now().into_std();
        assert_eq!(take_turn(&mut view).unwrap().noticed(), Some(now));
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_at_nothing_is_no_turn_and_answers_what_was_noticed() {
        let shelf = Shelf::default();
        let mut view = shelf.view();
        view.notice(Instant::now());
        view.load();
        assert!(take_turn(&mut view).is_none());
        assert!(view.noticed.is_none());

        shelf.put(&Publication::first(Snapshot::empty()));
        view.load();
        let turn = take_turn(&mut view).unwrap();
        assert!(turn.noticed().is_some(), "it was not there before");
    }
}
