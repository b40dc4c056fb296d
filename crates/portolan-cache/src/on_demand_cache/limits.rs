use std::time::Duration;

/// What an [`OnDemandCache`](super::OnDemandCache) takes upon itself for clients that may name anything.
///
/// Nothing waits for ever: a name that is not resolved in time, or that is one too many, is answered as one that does not
/// exist, and tried again later as long as somebody names it.
#[derive(Clone, Copy, Debug)]
pub struct OnDemandLimits {
    at_once: usize,
    waiting: usize,
    kept: usize,
    deadline: Duration,
    retry_after: Duration,
}

impl OnDemandLimits {
    /// Most resolutions that run at a time. Default: 64.
    #[must_use]
    pub fn with_at_once(mut self, resolutions: usize) -> Self {
        self.at_once = resolutions.max(1);
        self
    }

    /// Most names that wait for their resolution, those that run included; one more is answered at once as one that does
    /// not exist. Default: 10,000.
    #[must_use]
    pub fn with_waiting(mut self, names: usize) -> Self {
        self.waiting = names;
        self
    }

    /// Most answers that are kept for the time that was said while nobody names them; of more the oldest goes. Default:
    /// 10,000.
    #[must_use]
    pub fn with_kept(mut self, answers: usize) -> Self {
        self.kept = answers;
        self
    }

    /// How long after it was named a name is answered as one that does not exist, if it is not resolved by then. Default:
    /// 4 s, less than the 5 s after which Envoy fails a request that waits for a cluster on demand.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// When a name that could not be resolved, or not in time, is tried again while somebody names it. Default: 10 s.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = wait;
        self
    }

    pub(super) fn at_once(&self) -> usize {
        self.at_once
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    pub(super) fn retry_after(&self) -> Duration {
        self.retry_after
    }
}

impl Default for OnDemandLimits {
    fn default() -> Self {
        Self {
            at_once: 64,
            waiting: 10_000,
            kept: 10_000,
            deadline: Duration::from_secs(4),
            retry_after: Duration::from_secs(10),
        }
    }
}
