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
    pub(crate) checks_bodies: bool,
    pub(crate) most_details: usize,
    pub(crate) reported_names: usize,
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

    /// How long a group is still translated after its last node left. Default: 60 s, so that nodes that reconnect find
    /// what is current.
    ///
    /// After that the loop forgets the group and clears what it published for it, and the cache frees it: clients
    /// choose their groups, and what they can make grow must shrink again. A group whose newest translation failed is
    /// not cleared before one succeeds, for its last good snapshot could not be made again. A group that is
    /// [registered](crate::Publisher::serve_group) stays.
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

    /// Does not look whether the bodies of new and changed resources are protobuf messages. By default a snapshot with
    /// one that is none is refused, see [`MalformedResource`](crate::MalformedResource).
    #[must_use]
    pub fn with_unchecked_bodies(mut self) -> Self {
        self.checks_bodies = false;
        self
    }

    /// How many [details](crate::Change::with_detail) of changes are kept for a group that has not been given them.
    /// Default: 1000. With more, the group is translated in full, which costs less from some number on and bounds what
    /// a slow group holds.
    #[must_use]
    pub fn with_max_details(mut self, details: usize) -> Self {
        self.most_details = details;
        self
    }

    /// How many names a [report](crate::PublishReport::diff) lists of what was added, changed and removed of each type;
    /// all are counted. Default: 16, enough to recognise a change by, few enough to keep for each group.
    #[must_use]
    pub fn with_reported_names(mut self, names: usize) -> Self {
        self.reported_names = names;
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
            checks_bodies: true,
            most_details: 1000,
            reported_names: 16,
        }
    }
}
