use std::sync::Arc;
use std::time::Duration;

use portolan_core::{DynamicParameters, Node};
use portolan_engine::{Scope, SessionConfig};

use crate::fixture::FixtureReferences;

/// How a [`Pair`](super::Pair) is set up.
///
/// ```
/// use std::time::Duration;
/// use portolan_testkit::{PlainClient, Pair, Setup, Shelf};
///
/// let setup = Setup::default().with_latency(Duration::from_millis(10));
/// let pair = Pair::open(PlainClient::sotw(), &Shelf::new(), setup);
/// assert_eq!(pair.now(), Duration::ZERO);
/// ```
#[derive(Clone, Debug)]
pub struct Setup {
    pub(super) config: Arc<SessionConfig>,
    pub(super) scope: Scope,
    pub(super) latency: Duration,
    pub(super) window: usize,
    pub(super) node: Arc<Node>,
    pub(super) parameters: DynamicParameters,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            config: Arc::new(Self::default_config()),
            scope: Scope::Aggregated,
            latency: Duration::ZERO,
            window: usize::MAX,
            node: Arc::new(Node::new("testkit")),
            parameters: DynamicParameters::default(),
        }
    }
}

impl Setup {
    /// The session's defaults, with references read from [fixtures](crate::fixture).
    #[must_use]
    pub fn default_config() -> SessionConfig {
        SessionConfig::default().with_references(Arc::new(FixtureReferences))
    }

    /// The session's configuration. Default: [`default_config`](Self::default_config).
    #[must_use]
    pub fn with_config(mut self, config: SessionConfig) -> Self {
        self.config = Arc::new(config);
        self
    }

    /// Which types the stream carries. Default: any.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// How long each message travels, in both directions. Default: no time, so that nothing crosses.
    #[must_use]
    pub fn with_latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// How many responses fit into the connection before the client takes them. Default: any number.
    #[must_use]
    pub fn with_window(mut self, responses: usize) -> Self {
        self.window = responses;
        self
    }

    /// What names stand for that the client asks for without parameters. Default: none.
    #[must_use]
    pub fn with_parameters(mut self, parameters: DynamicParameters) -> Self {
        self.parameters = parameters;
        self
    }

    /// Who the client says it is.
    #[must_use]
    pub fn with_node(mut self, node: Node) -> Self {
        self.node = Arc::new(node);
        self
    }
}
