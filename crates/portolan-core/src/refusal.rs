/// Why a stream is not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    kind: RefusalKind,
    reason: String,
}

/// Whose fault a [`Refusal`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The client's request makes no sense as it is; trying again does not help.
    Invalid,
    /// The client did not prove who it is.
    Unauthenticated,
    /// The client may not have what it asks for.
    Denied,
    /// A limit is reached.
    Exhausted,
    /// Not now; trying again helps.
    Unavailable,
}

impl Refusal {
    /// A refusal of some kind. The reason is sent to the client.
    pub fn new(kind: RefusalKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
        }
    }

    /// [`RefusalKind::Invalid`].
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Invalid, reason)
    }

    /// [`RefusalKind::Denied`].
    pub fn denied(reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Denied, reason)
    }

    /// [`RefusalKind::Unavailable`].
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Unavailable, reason)
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}
