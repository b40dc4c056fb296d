use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use tokio::time::Instant;

/// When a source said that it may have something new.
///
/// A source tells the announcer, which tells the streams when it gets to it, a slice at a time. What a stream is woken
/// for is counted from when the source said it, however long the announcer took.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<Rounds>);

#[derive(Debug, Default)]
struct Rounds {
    /// What the current round of announcing is for.
    current: Option<Instant>,
    /// The first that was said since that began.
    next: Option<Instant>,
}

impl Notices {
    /// Starts a round of announcing, or goes on with one that was not finished.
    pub(crate) fn begin_round(&self) {
        let mut rounds = self.rounds();
        let next = rounds.next.take();
        rounds.current = rounds.current.or(next);
    }

    /// All streams concerned were told.
    pub(crate) fn end_round(&self) {
        self.rounds().current = None;
    }

    /// When the source said that for which a stream is being woken; now, where the source wakes its streams itself.
    pub(crate) fn moment(&self) -> Instant {
        self.rounds().current.unwrap_or_else(Instant::now)
    }

    /// When the source said that for which a stream will be woken, where the stream has found it already.
    pub(crate) fn ahead(&self) -> Instant {
        let rounds = self.rounds();
        let said = rounds.current.or(rounds.next);
        said.unwrap_or_else(Instant::now)
    }

    /// Wakes the announcer, and notes when that was.
    pub(crate) fn waker(self: &Arc<Self>, announcer: &Waker) -> Waker {
        Waker::from(Arc::new(NotingWaker {
            notices: Arc::clone(self),
            announcer: announcer.clone(),
        }))
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct NotingWaker {
    notices: Arc<Notices>,
    announcer: Waker,
}

impl Wake for NotingWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let now = Instant::now();
        self.notices.rounds().next.get_or_insert(now);
        self.announcer.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn streams_are_woken_for_what_was_said_first() {
        let notices = Arc::new(Notices::default());
        let waker = notices.waker(Waker::noop());
        let first = Instant::now();
        waker.wake_by_ref();
        advance(Duration::from_secs(1)).await;
        waker.wake_by_ref();
        assert_eq!(notices.ahead(), first);
        notices.begin_round();
        assert_eq!(notices.moment(), first);

        advance(Duration::from_secs(1)).await;
        notices.begin_round();
        assert_eq!(notices.moment(), first, "the round is not finished");
        let second = Instant::now();
        waker.wake_by_ref();
        notices.end_round();

        advance(Duration::from_secs(1)).await;
        notices.begin_round();
        assert_eq!(notices.moment(), second, "it came too late for that round");
        notices.end_round();
        assert_eq!(notices.moment(), Instant::now());
    }
}
