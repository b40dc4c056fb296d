use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::notice::Notices;

/// What others tell a stream's task. Raising a flag that is up already wakes nobody, so however often a source is
/// changed between two turns of a stream, the stream has one turn for it.
#[derive(Debug, Default)]
pub(super) struct Signal {
    raised: AtomicU8,
    notify: Notify,
    notices: Arc<Notices>,
    /// When the source said what [`Flag::Changed`] is raised for.
    noticed: Mutex<Option<Instant>>,
}

/// One thing to be told.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(super) enum Flag {
    /// The source may have something new.
    Changed = 1,
    /// The transport asks for something to send.
    Wanted = 1 << 1,
    /// The status that ends the stream was handed to the transport.
    Finished = 1 << 2,
    /// The transport dropped the response.
    Gone = 1 << 3,
}

impl Signal {
    pub(super) fn new(notices: &Arc<Notices>) -> Self {
        Self {
            notices: Arc::clone(notices),
            ..Self::default()
        }
    }

    pub(super) fn raise(&self, flag: Flag) {
        let before = self.raised.fetch_or(flag as u8, Ordering::AcqRel);
        if before & flag as u8 == 0 {
            self.notify.notify_one();
        }
    }

    /// Lowers a flag, and says whether it was up. What was written before it was raised can be seen afterwards.
    pub(super) fn take(&self, flag: Flag) -> bool {
        self.raised.fetch_and(!(flag as u8), Ordering::AcqRel) & flag as u8 != 0
    }

    /// Lowers [`Flag::Changed`]. If it was up, says when the source first said that for which it was raised.
    pub(super) fn take_changed(&self) -> Option<Instant> {
        if !self.take(Flag::Changed) {
            return None;
        }
        let noticed = self.noticed().take();
        Some(noticed.unwrap_or_else(Instant::now))
    }

    fn noticed(&self) -> MutexGuard<'_, Option<Instant>> {
        self.noticed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_up(&self, flag: Flag) -> bool {
        self.raised.load(Ordering::Acquire) & flag as u8 != 0
    }

    /// Waits until a flag was raised since the last wait. For one task only.
    pub(super) async fn raised(&self) {
        self.notify.notified().await;
    }

    /// Waits until this flag is up. For one task only.
    pub(super) async fn until(&self, flag: Flag) {
        while !self.is_up(flag) {
            self.raised().await;
        }
    }
}

/// A source's waker. It may be woken when the stream is long gone.
impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_up(Flag::Changed) {
            let moment = self.notices.moment();
            // Before the flag, so that whoever takes that finds it.
            self.noticed().get_or_insert(moment);
        }
        self.raise(Flag::Changed);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_change_is_as_old_as_what_the_source_said_first() {
        let notices = Arc::default();
        let signal = Arc::new(Signal::new(&notices));
        assert_eq!(signal.take_changed(), None);
        let source = Waker::from(Arc::clone(&signal));

        let said = Instant::now();
        notices.waker(Waker::noop()).wake();
        advance(Duration::from_secs(1)).await;
        notices.begin_round();
        source.wake_by_ref();
        notices.end_round();
        advance(Duration::from_secs(1)).await;
        source.wake_by_ref();
        assert_eq!(signal.take_changed(), Some(said));
        assert_eq!(signal.take_changed(), None);

        source.wake();
        assert_eq!(signal.take_changed(), Some(Instant::now()));
    }
}
