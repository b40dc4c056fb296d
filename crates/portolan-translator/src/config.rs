use std::time::Duration;

use crate::{DebounceConfig, MassDeletionGuard};

/// How a [`PublishLoop`](crate::PublishLoop) works.
///
/// ```
/// use std::time::Duration;
/// use portolan_translator::{DebounceConfig, PublishConfig};
///
/// let config = PublishConfig::default()
///     .with_debounce(DebounceConfig::default().with_max(Duration::from_millis(500)))
///     .with_deadline(Duration::from_secs(30));
/// ```
#[derive(Clone, Debug)]
pub struct PublishConfig {
    pub(crate) debounce: DebounceConfig,
    pub(crate) deadline: Duration,
    pub(crate) concurrency: usize,
    pub(crate) linger: Duration,
    pub(crate) mass_deletion_guard: Option<MassDeletionGuard>,
}

impl PublishConfig {
    /// How long changes are gathered. Default: see [`DebounceConfig`].
    #[must_use]
    pub fn with_debounce(mut self, debounce: DebounceConfig) -> Self {
        self.debounce = debounce;
        self
    }

    /// How long the translation of one group, gates included, may take. Default: 10 s: translations take
    /// milliseconds to a few seconds, and a group that hangs should be noticed before somebody waits for it.
    ///
    /// A translation that passes its deadline cannot be stopped. It is reported, and others do not wait for it any
    /// more; see [`Outcome::TimedOut`](crate::Outcome::TimedOut).
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// How many groups are translated at once; at least 1. Default: 4, so that a change of everything leaves
    /// processors to the streams.
    ///
    /// The loop never has more than twice as many threads: translations that passed their deadline and have not
    /// returned count, and once they hold all threads no group is tried until one of them returns.
    #[must_use]
    pub fn with_concurrency(mut self, groups: usize) -> Self {
        self.concurrency = groups.max(1);
        self
    }

    /// How long a group without nodes is still translated. Default: 60 s, so that nodes that reconnect find what is
    /// current.
    ///
    /// After that the loop forgets the group and clears what it published for it: clients choose their groups, and
    /// what they can make grow must shrink again. A group whose newest translation failed is not cleared, for its
    /// last good snapshot could not be made again.
    #[must_use]
    pub fn with_linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// The guard against mass deletions; `None` for no guard. Default: [`MassDeletionGuard::default`].
    #[must_use]
    pub fn with_mass_deletion_guard(mut self, guard: impl Into<Option<MassDeletionGuard>>) -> Self {
        self.mass_deletion_guard = guard.into();
        self
    }

    /// The most threads that translations may hold, those past their deadline included.
    pub(crate) fn threads(&self) -> usize {
        self.concurrency.saturating_mul(2)
    }
}

impl Default for PublishConfig {
    fn default() -> Self {
        Self {
            debounce: DebounceConfig::default(),
            deadline: Duration::from_secs(10),
            concurrency: 4,
            linger: Duration::from_secs(60),
            mass_deletion_guard: Some(MassDeletionGuard::default()),
        }
    }
}
