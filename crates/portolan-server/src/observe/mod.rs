//! What a server itself observes of its streams.
//!
//! | module | what it is |
//! |---|---|
//! | `turn` | what observers are told of a turn |
//! | `registry` | what each node was sent, accepted and rejected |

mod registry;
mod turn;

use portolan_engine::SessionConfig;

use self::registry::Entry;
pub use self::registry::{
    NodeStatus, RejectionStatus, ResponseStatus, StatusRegistry, StreamStatus, TypeStatus,
};
pub use self::turn::{TurnInfo, TurnOutcome};
use crate::Callbacks;

/// A server's own observers.
#[derive(Debug)]
pub(crate) struct Observatory {
    status: StatusRegistry,
}

impl Observatory {
    pub(crate) fn new(session: &SessionConfig) -> Self {
        Self {
            status: StatusRegistry::new(session.types().clone()),
        }
    }

    pub(crate) fn status(&self) -> &StatusRegistry {
        &self.status
    }

    /// What observes a stream that was just opened.
    pub(crate) fn record(&self) -> StreamRecord {
        StreamRecord {
            status: self.status.entry(),
        }
    }
}

/// What a server's own observers hold of one stream. It goes with the stream.
#[derive(Debug)]
pub(crate) struct StreamRecord {
    status: Entry,
}

impl StreamRecord {
    pub(crate) fn tell(&self, call: impl Fn(&dyn Callbacks)) {
        call(&self.status);
    }

    /// The source said that it may have something new for the stream, which has not looked yet.
    pub(crate) fn noticed(&self) {
        self.status.noticed();
    }
}
