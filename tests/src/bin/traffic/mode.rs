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
    /// Another control plane: snapshots in the order of their types.
    GoControlPlane,
}

impl Mode {
    pub(crate) const ALL: [Self; 3] = [Self::Ordered, Self::Safe, Self::GoControlPlane];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ordered => "Ordered",
            Self::Safe => "Safe",
            Self::GoControlPlane => "go-control-plane",
        }
    }

    /// How sessions of ours are to be; `None` in a mode that is not ours.
    pub(crate) fn session(self) -> Option<SessionConfig> {
        let transitions = match self {
            Self::Ordered => Transitions::Ordered,
            Self::Safe => Transitions::Safe(
                SafeTimes::default()
                    .with_grace(GRACE)
                    .with_drain(Duration::from_secs(DRAIN_SECONDS.into())),
            ),
            Self::GoControlPlane => return None,
        };
        let session =
            SessionConfig::default().with_references(Arc::new(EnvoyReferences::default()));
        Some(session.with_transitions(transitions))
    }
}
