use std::error::Error;
use std::fmt;
use std::fmt::Debug;

use portolan_core::{Name, Resource, Snapshot, TypeUrl};

use crate::BoxError;
use crate::difference::{Difference, differences};

/// Judges a snapshot before it is published.
///
/// It runs on the blocking pool, within the deadline of the translation. What it refuses is not published, and the
/// group keeps what it has.
///
/// ```
/// use portolan_core::{Snapshot, well_known::LISTENER};
/// use portolan_translator::{Gate, GateRefusal, Proposal};
///
/// #[derive(Debug)]
/// struct AtMostOneListener;
///
/// impl<G> Gate<G> for AtMostOneListener {
///     fn check(&self, proposal: &Proposal<'_, G>) -> Result<(), GateRefusal> {
///         match proposal.next().set(&LISTENER).map_or(0, |set| set.len()) {
///             0 | 1 => Ok(()),
///             many => Err(GateRefusal::new(format!("{many} listeners; these proxies may have one"))),
///         }
///     }
/// }
///
/// let nothing = Snapshot::empty();
/// assert!(AtMostOneListener.check(&Proposal::new(&"edge", None, &nothing)).is_ok());
/// ```
pub trait Gate<G>: Debug + Send + Sync {
    /// Judges what is to be published for a group. Not asked where that is what the group has.
    ///
    /// # Errors
    /// The refusal says what is wrong, and how it can be mended.
    fn check(&self, proposal: &Proposal<'_, G>) -> Result<(), GateRefusal>;
}

/// What a [`Gate`] judges: a snapshot that is to be published for a group, and how it differs from what the group has.
#[derive(Debug)]
pub struct Proposal<'a, G> {
    group: &'a G,
    previous: Option<&'a Snapshot>,
    next: &'a Snapshot,
    differences: Vec<Difference>,
}

impl<'a, G> Proposal<'a, G> {
    /// Proposes `next` for a group that has `previous`; `None` where it has no publication.
    #[must_use]
    pub fn new(group: &'a G, previous: Option<&'a Snapshot>, next: &'a Snapshot) -> Self {
        Self {
            group,
            previous,
            next,
            differences: differences(previous, next),
        }
    }

    /// The group.
    #[must_use]
    pub fn group(&self) -> &'a G {
        self.group
    }

    /// What the group has; `None` where nothing was published for it.
    #[must_use]
    pub fn previous(&self) -> Option<&'a Snapshot> {
        self.previous
    }

    /// What is to be published.
    #[must_use]
    pub fn next(&self) -> &'a Snapshot {
        self.next
    }

    /// The resources that are new or have other content than the group has, by type and name. A gate that looks at
    /// resources one by one need not look at others: they were judged before.
    pub fn upserts(&self) -> impl Iterator<Item = &Resource> {
        self.differences.iter().flat_map(Difference::upserts)
    }

    /// The resources that the group has and would lose, by type and name; those in whose place there would be an error
    /// among them.
    pub fn removals(&self) -> impl Iterator<Item = (&TypeUrl, &Name)> {
        self.differences.iter().flat_map(|difference| {
            let names = difference.lost().into_iter();
            names.map(|name| (&difference.type_url, name))
        })
    }

    pub(crate) fn differences(&self) -> &[Difference] {
        &self.differences
    }
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
