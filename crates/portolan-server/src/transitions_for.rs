use std::fmt;
use std::sync::Arc;

use portolan_core::{Node, Peer};
use portolan_engine::{SessionConfig, Transitions};

type Choose = dyn Fn(&Node, &Peer) -> Option<Transitions> + Send + Sync;

/// How it is known which clients are brought otherwise than the rest from one publication to the next.
#[derive(Clone)]
pub(crate) struct TransitionsFor(Arc<Choose>);

impl TransitionsFor {
    pub(crate) fn new(
        choose: impl Fn(&Node, &Peer) -> Option<Transitions> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(choose))
    }

    /// The configuration of a session with this node: the server's own, where nothing else is said.
    pub(crate) fn session(
        &self,
        config: &Arc<SessionConfig>,
        node: &Node,
        peer: &Peer,
    ) -> Arc<SessionConfig> {
        match (self.0)(node, peer) {
            Some(chosen) if chosen != *config.transitions() => {
                let config = SessionConfig::clone(config);
                Arc::new(config.with_transitions(chosen))
            }
            _ => Arc::clone(config),
        }
    }
}

impl Default for TransitionsFor {
    fn default() -> Self {
        Self::new(|_, _| None)
    }
}

impl fmt::Debug for TransitionsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TransitionsFor")
    }
}
