use std::future::Future;
use std::time::Duration;

use portolan_cache::Clock;
use tokio::time::{Instant, sleep};

/// The time of a tokio runtime, for whoever runs [`Resolutions`](portolan_cache::Resolutions) on one.
///
/// ```no_run
/// use portolan::TokioClock;
/// use portolan::cache::{Resolution, Resolutions, Resolver, Wanted};
///
/// struct NothingIsThere;
///
/// impl Resolver<String> for NothingIsThere {
///     async fn resolve(&self, _wanted: &Wanted<String>) -> Resolution {
///         Resolution::absent()
///     }
/// }
///
/// fn start(resolutions: Resolutions<String>) {
///     tokio::spawn(resolutions.run(NothingIsThere, TokioClock::new()));
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: Instant,
}

impl TokioClock {
    /// A clock that starts now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send {
        sleep(time)
    }
}
