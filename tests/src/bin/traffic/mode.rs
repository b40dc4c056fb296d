//! How the control plane brings its clients from one publication to the next.

use std::sync::Arc;
use std::time::Duration;

use portolan::resources::EnvoyReferences;
use portolan::server::{SafeTimes, SessionConfig, Transitions};

/// How long the Envoy lets connections of a listener that was replaced go on, in seconds.
pub(crate) const DRAIN_SECONDS: u8 = 3;

/// How long a cluster stays that nothing leads to: longer than any request is held or waits to be tried again.
const GRACE: Duration = Duration::from_secs(1);

/// The modes that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    Ordered,
    Safe,
}

impl Mode {
    pub(crate) const ALL: [Self; 2] = [Self::Ordered, Self::Safe];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ordered => "Ordered",
            Self::Safe => "Safe",
        }
    }

    pub(crate) fn session(self) -> SessionConfig {
        let transitions = match self {
            Self::Ordered => Transitions::Ordered,
            Self::Safe => Transitions::Safe(
                SafeTimes::default()
                    .with_grace(GRACE)
                    .with_drain(Duration::from_secs(DRAIN_SECONDS.into())),
            ),
        };
        SessionConfig::default()
            .with_references(Arc::new(EnvoyReferences::default()))
            .with_transitions(transitions)
    }
}
