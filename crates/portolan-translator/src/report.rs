use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::{Generation, GroupKey};

use crate::{BoxError, GateRefusal, Revision};

/// How the translation of one group ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// The model that it was made from.
    pub revision: Revision,
    /// What came of it.
    pub outcome: Outcome,
    /// How long translation and gates took, from the moment that a thread was asked for.
    pub took: Duration,
    /// How long the group had waited for the change, or since its first node came: with debounce, queue and
    /// translation.
    pub latency: Duration,
}

/// What came of a translation.
///
/// Only [`Published`](Self::Published) changes what the group is served; after everything else it keeps what it has.
/// Whatever failed is tried again with the next model.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The group is served it.
    #[non_exhaustive]
    Published {
        /// The number of the publication.
        generation: Generation,
    },
    /// The group has this content already.
    Unchanged,
    /// A gate refused it.
    Refused(GateRefusal),
    /// The translator gave an error.
    TranslateFailed(BoxError),
    /// The translator, a gate or the cache panicked, with this message.
    Panicked(String),
    /// Translator and gates did not return within this time. Should they return after all, and the group have had no
    /// other translation since, then what they made counts, and there is another report.
    TimedOut(Duration),
    /// No thread was free: all that the loop may use are held by translations that passed their deadline and have
    /// not returned, or the system gave none. It is tried again as soon as one of them returns.
    NotTried,
}

impl Report {
    /// Whether what the group is served shows the model.
    #[must_use]
    pub const fn is_current(&self) -> bool {
        matches!(self.outcome, Outcome::Published { .. } | Outcome::Unchanged)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published { generation } => write!(f, "published as {}", generation.get()),
            Self::Unchanged => f.write_str("unchanged"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
            Self::TranslateFailed(error) => write!(f, "the translator failed: {error}"),
            Self::Panicked(message) => write!(f, "panicked: {message}"),
            Self::TimedOut(deadline) => write!(f, "did not return within {deadline:?}"),
            Self::NotTried => f.write_str("no thread was free to translate it"),
        }
    }
}

/// The last report of each group that a loop translates, as of one moment.
#[derive(Clone, Debug)]
pub struct Reports<G>(BTreeMap<G, Arc<Report>>);

impl<G: GroupKey> Reports<G> {
    pub(crate) fn new(reports: BTreeMap<G, Arc<Report>>) -> Self {
        Self(reports)
    }

    /// The last report of a group; `None` where it has had none.
    #[must_use]
    pub fn get(&self, group: &G) -> Option<&Arc<Report>> {
        self.0.get(group)
    }

    /// All reports, sorted by group.
    pub fn iter(&self) -> impl Iterator<Item = (&G, &Arc<Report>)> {
        self.0.iter()
    }

    /// The reports of groups that are not served what the model shows, sorted by group.
    pub fn failed(&self) -> impl Iterator<Item = (&G, &Arc<Report>)> {
        self.iter().filter(|(_, report)| !report.is_current())
    }
}

/// Hears how each translation ended. Called from the loop's own task: it must not block. A panic in it is logged and
/// has no other effect.
pub trait PublishObserver<G>: fmt::Debug + Send + Sync {
    /// A group's translation ended.
    fn reported(&self, _group: &G, _report: &Report) {}
}

/// Hears and does nothing.
#[derive(Debug)]
pub(crate) struct NoObserver;

impl<G> PublishObserver<G> for NoObserver {}
