use std::time::Duration;

use super::Lane;

/// How long changes are gathered before they are translated.
///
/// A change waits until nothing changed for the quiet time, but never longer than the maximum, counted from the first
/// change that still waits. A first change after a quiet time does not wait at all. A change of endpoints alone has
/// shorter times of its own, because traffic may be failing until it arrives.
#[derive(Clone, Debug)]
pub struct DebounceConfig {
    config: Timing,
    endpoints: Timing,
    leading_edge: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) quiet: Duration,
    pub(super) max: Duration,
}

impl DebounceConfig {
    /// How long nothing may change before what changed is translated. Default: 100 ms, which covers the burst of
    /// events that one rollout or one applied file makes.
    #[must_use]
    pub fn with_quiet(mut self, quiet: Duration) -> Self {
        self.config.quiet = quiet;
        self
    }

    /// The longest that a change waits, however many follow it. Default: 1 s. Below [`with_quiet`](Self::with_quiet) it stands
    /// in for it.
    #[must_use]
    pub fn with_max(mut self, max: Duration) -> Self {
        self.config.max = max;
        self
    }

    /// As [`with_quiet`](Self::with_quiet), for changes of endpoints alone. Default: 10 ms.
    #[must_use]
    pub fn with_endpoint_quiet(mut self, quiet: Duration) -> Self {
        self.endpoints.quiet = quiet;
        self
    }

    /// As [`with_max`](Self::with_max), for changes of endpoints alone. Default: 100 ms.
    #[must_use]
    pub fn with_endpoint_max(mut self, max: Duration) -> Self {
        self.endpoints.max = max;
        self
    }

    /// Whether the first change after a quiet time is translated at once. Default: yes. Without it each change waits
    /// for its quiet time, which saves a translation per burst.
    #[must_use]
    pub fn with_leading_edge(mut self, on: bool) -> Self {
        self.leading_edge = on;
        self
    }

    pub(super) fn timing(&self, lane: Lane) -> Timing {
        match lane {
            Lane::Config => self.config,
            Lane::Endpoints => self.endpoints,
        }
    }

    pub(super) fn has_leading_edge(&self) -> bool {
        self.leading_edge
    }
}

impl Default for DebounceConfig {
    fn default() -> Self {
        let timing = |quiet, max| Timing {
            quiet: Duration::from_millis(quiet),
            max: Duration::from_millis(max),
        };
        Self {
            config: timing(100, 1000),
            endpoints: timing(10, 100),
            leading_edge: true,
        }
    }
}
