//! What a server itself observes of its streams.
//!
//! | module | what it is |
//! |---|---|
//! | `turn` | what observers are told of a turn |
//! | `registry` | what each node was sent, accepted and rejected |
//! | `metrics` | numbers, with feature `metrics` |

#[cfg(test)]
mod cost;
#[cfg(feature = "metrics")]
mod metrics;
mod registry;
mod turn;

use portolan_engine::SessionConfig;

#[cfg(feature = "metrics")]
use self::metrics::{Series, StreamMetrics};
use self::registry::Entry;
pub use self::registry::{
    NodeStatus, RejectionStatus, ResponseStatus, RetainedStatus, StatusRegistry, StreamStatus,
    TransitionStatus, TypeStatus, WithheldStatus,
};
pub use self::turn::{TurnInfo, TurnOutcome};
#[cfg(feature = "metrics")]
use crate::panics::contain;
use crate::{Callbacks, StreamInfo};

/// A server's own observers.
#[derive(Debug)]
pub(crate) struct Observatory {
    status: StatusRegistry,
    #[cfg(feature = "metrics")]
    series: Series,
}

impl Observatory {
    pub(crate) fn new(session: &SessionConfig) -> Self {
        Self {
            status: StatusRegistry::new(session.types().clone()),
            #[cfg(feature = "metrics")]
            series: Series::new(session.types()),
        }
    }

    pub(crate) fn status(&self) -> &StatusRegistry {
        &self.status
    }

    /// What observes this stream.
    pub(crate) fn record(&self, stream: &StreamInfo) -> StreamRecord {
        StreamRecord {
            status: self.status.entry(stream),
            #[cfg(feature = "metrics")]
            metrics: contain(RECORDER, || StreamMetrics::new(&self.series, stream)),
        }
    }
}

/// What a server's own observers hold of one stream. It goes with the stream.
#[derive(Debug)]
pub(crate) struct StreamRecord {
    status: Entry,
    #[cfg(feature = "metrics")]
    metrics: Option<StreamMetrics>,
}

#[cfg(feature = "metrics")]
const RECORDER: &str = "a metrics recorder";

impl StreamRecord {
    pub(crate) fn tell(&self, call: impl Fn(&dyn Callbacks)) {
        call(&self.status);
        #[cfg(feature = "metrics")]
        if let Some(metrics) = &self.metrics {
            contain(RECORDER, || call(metrics));
        }
    }

    /// The source said that it may have something new for the stream, which has not looked yet.
    pub(crate) fn noticed(&self) {
        self.status.noticed();
    }
}
