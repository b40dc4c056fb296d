use std::fmt;
use std::sync::Arc;

use portolan_core::{Generation, TypeUrl};

/// What became of a publication at one node.
///
/// A node may have several streams, and then all of them count: it has accepted what all have accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeOutcome {
    /// It has been told all of it that it subscribes, and accepted that. So has a node whom the publication does not
    /// concern.
    ///
    /// To accept is to find valid. Whether a client has put it into effect, it does not say. And one that has just
    /// started asks for one type after the other: it has accepted what it had asked for by then.
    Acked,
    /// It has been told all of it, and rejected some.
    #[non_exhaustive]
    Nacked {
        /// What it rejected and why, as far as that is known: after a reconnect it need not say it again.
        rejections: Vec<Rejection>,
    },
    /// It came to rest on a newer publication of its group, without resting on this one.
    #[non_exhaustive]
    Superseded {
        /// The newer publication.
        by: Generation,
        /// What it rejected of that one.
        rejections: Vec<Rejection>,
    },
    /// Something was still to be told, or to be acknowledged, when the time was up.
    Pending,
    /// All its streams had ended, and it was not back when the time was up.
    Gone,
}

impl NodeOutcome {
    /// Whether the node accepted the publication, or the newer one that took its place.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        match self {
            Self::Acked => true,
            Self::Superseded { rejections, .. } => rejections.is_empty(),
            _ => false,
        }
    }

    /// What two streams of one node amount to.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nacked { rejections: a }, Self::Nacked { rejections: b }) => Self::Nacked {
                rejections: union(a, b),
            },
            (nacked @ Self::Nacked { .. }, _) | (_, nacked @ Self::Nacked { .. }) => nacked,
            (
                Self::Superseded { by: a, rejections },
                Self::Superseded {
                    by: b,
                    rejections: more,
                },
            ) => Self::Superseded {
                by: a.max(b),
                rejections: union(rejections, more),
            },
            (Self::Acked, other) => other,
            (one, _) => one,
        }
    }
}

fn union(mut rejections: Vec<Rejection>, more: Vec<Rejection>) -> Vec<Rejection> {
    for rejection in more {
        if !rejections.contains(&rejection) {
            rejections.push(rejection);
        }
    }
    rejections
}

impl fmt::Display for NodeOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rejections = match self {
            Self::Acked => return f.write_str("accepted"),
            Self::Pending => return f.write_str("pending"),
            Self::Gone => return f.write_str("gone"),
            Self::Nacked { rejections } => {
                f.write_str("rejected")?;
                rejections
            }
            Self::Superseded { by, rejections } => {
                write!(f, "superseded by {}", by.get())?;
                if rejections.is_empty() {
                    return Ok(());
                }
                f.write_str(", rejected")?;
                rejections
            }
        };
        for (at, rejection) in rejections.iter().enumerate() {
            f.write_str(if at == 0 { ": " } else { "; " })?;
            fmt::Display::fmt(rejection, f)?;
        }
        Ok(())
    }
}

/// A client's rejection of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    type_url: TypeUrl,
    message: Arc<str>,
}

impl Rejection {
    pub(super) fn new(type_url: TypeUrl, message: &str) -> Self {
        let message = message.into();
        Self { type_url, message }
    }

    /// The type of the response.
    #[must_use]
    pub fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }

    /// The client's reason.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.type_url.message_name(), self.message)
    }
}
