use std::fmt;
use std::sync::Arc;

use portolan_core::{DynamicParameters, Node};
use portolan_engine::ClientFeatures;

/// How something is known of a client by its node.
#[derive(Clone)]
pub(crate) struct OfNode<T>(Arc<dyn Fn(&Node) -> T + Send + Sync>);

impl<T> OfNode<T> {
    pub(crate) fn new(of: impl Fn(&Node) -> T + Send + Sync + 'static) -> Self {
        Self(Arc::new(of))
    }

    pub(crate) fn of(&self, node: &Node) -> T {
        (self.0)(node)
    }
}

impl Default for OfNode<ClientFeatures> {
    fn default() -> Self {
        Self::new(ClientFeatures::of)
    }
}

impl Default for OfNode<DynamicParameters> {
    fn default() -> Self {
        Self::new(|_| DynamicParameters::default())
    }
}

impl<T> fmt::Debug for OfNode<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OfNode")
    }
}
