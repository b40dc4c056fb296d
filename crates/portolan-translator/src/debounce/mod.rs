//! When to translate: a state machine without a clock. `now` is the time since some fixed moment.
//!
//! ```text
//!          change, quiet before                    change, not quiet before
//!  idle ────────────────────────▶ due now    idle ───────────────────────────▶ waiting ─┐ change: waits anew,
//!   ▲                               │          ▲                                │   ▲    │ up to the maximum
//!   └────────── run ────────────────┘          └───── quiet or maximum: run ────┘   └────┘
//! ```
//!
//! There is one such state per lane, and a run serves them all: a model is one value, so what is translated holds
//! every change. It knows nothing of how long a translation takes, so a slow one never stretches the maximum.

mod config;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::config::DebounceConfig;

/// How urgent a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Config,
    Endpoints,
}

impl Lane {
    pub(crate) const ALL: [Self; 2] = [Self::Config, Self::Endpoints];
}

/// Gathers changes into runs.
///
/// Two runs are at least the quiet time of the lane that caused the second apart, or its maximum if that is shorter.
#[derive(Debug)]
pub(crate) struct Debounce {
    config: DebounceConfig,
    waiting: [Option<Waiting>; Lane::ALL.len()],
    last_run: Option<Duration>,
}

/// The changes of one lane that no run has served.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    first: Duration,
    due: Duration,
    leading: bool,
}

impl Debounce {
    pub(crate) fn new(config: DebounceConfig) -> Self {
        Self {
            config,
            waiting: [None; Lane::ALL.len()],
            last_run: None,
        }
    }

    /// Something changed. Call [`poll_run`](Self::poll_run) afterwards.
    pub(crate) fn change(&mut self, now: Duration, lane: Lane) {
        let timing = self.config.timing(lane);
        let quiet_since = |run: Duration| now.saturating_sub(run) >= timing.quiet;
        let leading = self.config.has_leading_edge() && self.last_run.is_none_or(quiet_since);
        let waiting = self.waiting[lane as usize].get_or_insert(Waiting {
            first: now,
            due: now,
            leading,
        });
        if !waiting.leading {
            let latest = waiting.first.saturating_add(timing.max);
            waiting.due = now.saturating_add(timing.quiet).min(latest);
        }
    }

    /// When [`poll_run`](Self::poll_run) has something to give. May change with each call of the others.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        self.waiting.iter().flatten().map(|w| w.due).min()
    }

    /// Begins a run that serves all changes so far, if one is due, and says when the first of them came.
    pub(crate) fn poll_run(&mut self, now: Duration) -> Option<Duration> {
        self.poll_timeout().filter(|due| *due <= now)?;
        self.run_now(now)
    }

    /// As [`poll_run`](Self::poll_run), but does not wait until a run is due.
    pub(crate) fn run_now(&mut self, now: Duration) -> Option<Duration> {
        let first = self.waiting.iter().flatten().map(|w| w.first).min()?;
        self.waiting = [None; Lane::ALL.len()];
        self.last_run = Some(now);
        Some(first)
    }
}
