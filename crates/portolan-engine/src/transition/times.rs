use core::time::Duration;

/// How a client is brought from one publication to the next.
///
/// ```
/// use core::time::Duration;
/// use portolan_engine::{SafeTimes, SessionConfig, Transitions};
///
/// let times = SafeTimes::default().with_grace(Duration::from_secs(15));
/// let config = SessionConfig::default().with_transitions(Transitions::Safe(times));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transitions {
    /// Each type goes as soon as it can, and waits for no other.
    Immediate,
    /// Types go in the order of their ranks: clusters, endpoints, listeners, routes. What refers to something waits until
    /// that was sent, not until it is usable; and what is removed is removed with the clusters, before the routes that
    /// ceased to use it.
    Ordered,
    /// A route that newly leads to a cluster waits until the client can use the cluster, and a cluster is removed when
    /// nothing that the client may hold leads to it. So it is on aggregated streams whose client asks for all clusters and
    /// was sent some before; on others it is as [`Ordered`](Self::Ordered).
    Safe(SafeTimes),
}

impl Default for Transitions {
    fn default() -> Self {
        Self::Safe(SafeTimes::default())
    }
}

impl Transitions {
    /// Whether what refers to something waits until that was sent.
    pub(crate) fn keep_order(&self) -> bool {
        !matches!(self, Self::Immediate)
    }

    pub(crate) fn safe(&self) -> Option<&SafeTimes> {
        match self {
            Self::Safe(times) => Some(times),
            _ => None,
        }
    }
}

/// How long things wait for each other in [`Transitions::Safe`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SafeTimes {
    hold: Duration,
    grace: Duration,
    removal_budget: Duration,
    drain: Duration,
}

impl Default for SafeTimes {
    fn default() -> Self {
        Self {
            hold: Duration::from_secs(20),
            grace: Duration::from_secs(5),
            removal_budget: Duration::from_secs(60),
            drain: Duration::from_secs(600),
        }
    }
}

impl SafeTimes {
    /// Longest time for which a resource that leads to a cluster waits until that is ready. It goes then, and
    /// [`Event::Permitted`](crate::Event::Permitted) says so. Default 20 s: Envoy ends its own waiting for endpoints after
    /// 15 s, which looks like success. With `Duration::MAX` it never goes before.
    #[must_use]
    pub fn with_hold(mut self, time: Duration) -> Self {
        self.hold = time;
        self
    }

    /// How long a cluster stays after the client accepted that nothing leads to it any more. Requests that have chosen a
    /// route, and are held in a filter or about to be retried, still look for it. Default 5 s; for long retries take the
    /// timeout of the route.
    #[must_use]
    pub fn with_grace(mut self, time: Duration) -> Self {
        self.grace = time;
        self
    }

    /// Longest time for which a removal waits for a client that says nothing. Default 60 s. A client that says no is not
    /// silent, and what it refused to give up stays.
    #[must_use]
    pub fn with_removal_budget(mut self, time: Duration) -> Self {
        self.removal_budget = time;
        self
    }

    /// How long the client lets connections of a listener that was replaced go on, with the old configuration. Default
    /// 600 s, as Envoy's `--drain-time-s`. Clusters that stand in such a listener stay so long; so do route tables that the
    /// client still asks for and no listener names, with their clusters, and at most for the [hold](Self::with_hold) and
    /// the [grace](Self::with_grace) besides.
    #[must_use]
    pub fn with_drain(mut self, time: Duration) -> Self {
        self.drain = time;
        self
    }

    /// See [`with_hold`](Self::with_hold).
    #[must_use]
    pub fn hold(&self) -> Duration {
        self.hold
    }

    /// See [`with_grace`](Self::with_grace).
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// See [`with_removal_budget`](Self::with_removal_budget).
    #[must_use]
    pub fn removal_budget(&self) -> Duration {
        self.removal_budget
    }

    /// See [`with_drain`](Self::with_drain).
    #[must_use]
    pub fn drain(&self) -> Duration {
        self.drain
    }

    /// How long a table stays that no listener names any more. The new listener takes the place of the old one when it
    /// has its own table: for that it waits no longer than a route does here.
    pub(crate) fn linger(&self) -> Duration {
        let replaced = self.hold.saturating_add(self.drain);
        replaced.saturating_add(self.grace)
    }
}
