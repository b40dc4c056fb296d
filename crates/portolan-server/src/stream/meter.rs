use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

/// How much of what a stream handed to the transport was written, and when that last got on.
#[derive(Debug)]
pub(crate) struct Meter {
    handed: AtomicU64,
    written: AtomicU64,
    epoch: Instant,
    /// Milliseconds since the epoch.
    progress: AtomicU64,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            handed: AtomicU64::new(0),
            written: AtomicU64::new(0),
            epoch: Instant::now(),
            progress: AtomicU64::new(0),
        }
    }
}

impl Meter {
    /// Marks a response of `len` bytes, whose last piece is `last`: when the transport lets go of that piece, the
    /// response was written, or will never be. The bytes themselves stay where they are.
    pub(super) fn mark(self: &Arc<Self>, last: Bytes, len: usize) -> Bytes {
        self.note_progress();
        let len = len as u64;
        self.handed.fetch_add(len, Ordering::Relaxed);
        Bytes::from_owner(Mark {
            bytes: last,
            len,
            meter: Arc::clone(self),
        })
    }

    /// Notes that the transport took or wrote something. It takes a piece when it has written the one before.
    pub(super) fn note_progress(&self) {
        let elapsed = self.epoch.elapsed().as_millis();
        let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
        self.progress.fetch_max(elapsed, Ordering::Relaxed);
    }

    pub(super) fn last_progress(&self) -> Instant {
        self.epoch + Duration::from_millis(self.progress.load(Ordering::Relaxed))
    }

    pub(crate) fn in_flight(&self) -> u64 {
        // Read in this order so that the difference is never negative.
        let written = self.written.load(Ordering::Acquire);
        self.handed.load(Ordering::Relaxed) - written
    }
}

/// The last piece of a response. Dropping it says that the response was written.
struct Mark {
    bytes: Bytes,
    len: u64,
    meter: Arc<Meter>,
}

impl AsRef<[u8]> for Mark {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.meter.note_progress();
        self.meter.written.fetch_add(self.len, Ordering::Release);
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mark")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
