use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

/// How much of what a stream handed to the transport was written.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    handed: AtomicU64,
    written: AtomicU64,
}

impl Meter {
    /// Marks a response of `len` bytes, whose last piece is `last`: when the transport lets go of that piece, the
    /// response was written, or will never be. The bytes themselves stay where they are.
    pub(super) fn mark(self: &Arc<Self>, last: Bytes, len: usize) -> Bytes {
        let len = len as u64;
        self.handed.fetch_add(len, Ordering::Relaxed);
        Bytes::from_owner(Mark {
            bytes: last,
            len,
            meter: Arc::clone(self),
        })
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
