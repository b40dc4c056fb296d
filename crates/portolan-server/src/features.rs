use std::fmt;
use std::sync::Arc;

use portolan_core::Node;
use portolan_engine::ClientFeatures;

/// How it is known what a client can do.
#[derive(Clone)]
pub(crate) struct FeaturesOf(Arc<dyn Fn(&Node) -> ClientFeatures + Send + Sync>);

impl FeaturesOf {
    pub(crate) fn new(of: impl Fn(&Node) -> ClientFeatures + Send + Sync + 'static) -> Self {
        Self(Arc::new(of))
    }

    pub(crate) fn node(&self, node: &Node) -> ClientFeatures {
        (self.0)(node)
    }
}

impl Default for FeaturesOf {
    fn default() -> Self {
        Self::new(ClientFeatures::of)
    }
}

impl fmt::Debug for FeaturesOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FeaturesOf")
    }
}
