use std::error::Error;
use std::fmt;
use std::fmt::Debug;

use portolan_core::Snapshot;

use crate::BoxError;

/// Judges a snapshot before it is published.
///
/// It runs on the blocking pool, within the deadline of the translation. What it refuses is not published, and the
/// group keeps what it has.
///
/// ```
/// use portolan_core::{Snapshot, well_known::LISTENER};
/// use portolan_translator::{Gate, GateRefusal};
///
/// #[derive(Debug)]
/// struct AtMostOneListener;
///
/// impl Gate for AtMostOneListener {
///     fn check(&self, _previous: Option<&Snapshot>, next: &Snapshot) -> Result<(), GateRefusal> {
///         match next.set(&LISTENER).map_or(0, |set| set.len()) {
///             0 | 1 => Ok(()),
///             many => Err(GateRefusal::new(format!("{many} listeners; these proxies may have one"))),
///         }
///     }
/// }
/// ```
pub trait Gate: Debug + Send + Sync {
    /// Judges `next`, which would replace `previous`; `None` where the group has no publication. Not asked where both
    /// have the same content.
    ///
    /// # Errors
    /// The refusal says what is wrong, and how it can be mended.
    fn check(&self, previous: Option<&Snapshot>, next: &Snapshot) -> Result<(), GateRefusal>;
}

/// Why a snapshot may not be published. The fault is in the data, or in the model that it was made from.
#[derive(Debug)]
pub struct GateRefusal(BoxError);

impl GateRefusal {
    /// A refusal for a reason: a text, or an error value that observers can find out again with
    /// [`reason`](Self::reason).
    pub fn new(reason: impl Into<BoxError>) -> Self {
        Self(reason.into())
    }

    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl fmt::Display for GateRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for GateRefusal {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
