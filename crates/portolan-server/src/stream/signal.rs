use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Wake;

use tokio::sync::Notify;

/// What others tell a stream's task. Raising a flag that is up already wakes nobody, so however often a source is
/// changed between two turns of a stream, the stream has one turn for it.
#[derive(Debug, Default)]
pub(super) struct Signal {
    raised: AtomicU8,
    notify: Notify,
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
        self.raise(Flag::Changed);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.raise(Flag::Changed);
    }
}
