use std::fmt;
use std::sync::Arc;

use portolan_core::Resource;
use portolan_engine::ErrorDetail;

use crate::fixture::{Body, word};

/// Which resources a client rejects.
#[derive(Clone)]
pub(super) struct Taste(Arc<dyn Fn(&Resource) -> bool + Send + Sync>);

impl Default for Taste {
    /// Rejects fixtures that are marked as bad.
    fn default() -> Self {
        Self::rejecting(|resource| Body::parse(&resource.body()).has(word::BAD))
    }
}

impl Taste {
    pub(super) fn rejecting(rejects: impl Fn(&Resource) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(rejects))
    }

    pub(super) fn rejects(&self, resource: &Resource) -> bool {
        (self.0)(resource) || is_garbled(resource)
    }

    /// The error that rejects a response with these resources; `None` where all are good.
    pub(super) fn judge<'a>(
        &self,
        code: i32,
        resources: impl Iterator<Item = &'a Resource>,
    ) -> Option<ErrorDetail> {
        let bad: Vec<_> = resources
            .filter(|r| self.rejects(r))
            .map(|r| r.name().as_str())
            .collect();
        let message = || format!("cannot use {}", bad.join(", "));
        (!bad.is_empty()).then(|| ErrorDetail::new(code, message()))
    }
}

/// Whether a client that decodes all before it applies any can apply nothing of a response.
pub(super) fn is_garbled(resource: &Resource) -> bool {
    Body::parse(&resource.body()).has(word::GARBLED)
}

impl fmt::Debug for Taste {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Taste")
    }
}
