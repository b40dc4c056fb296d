use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::{Generation, GroupKey};

use crate::consistency::Findings;
use crate::{BoxError, GateRefusal, Revision, TypeDiff};

/// How the translation of one group ended: what was published, or why nothing was.
#[derive(Debug)]
#[non_exhaustive]
pub struct PublishReport {
    /// The model that it was made from.
    pub revision: Revision,
    /// What came of it.
    pub outcome: Outcome,
    /// What was translated.
    pub extent: Extent,
    /// How what was translated differs from what the group had before, by type: what was published of it, or, where a
    /// gate refused, what would have been. Empty where nothing differs, or where there is nothing to compare.
    pub diff: Vec<TypeDiff>,
    /// What was found in what was to be published. `None` where it was not checked: there are no checks, nothing
    /// differs, or it ended before.
    #[cfg(feature = "consistency")]
    pub findings: Findings,
    #[cfg(not(feature = "consistency"))]
    #[expect(dead_code, reason = "there are none")]
    pub(crate) findings: Findings,
    /// How long it took.
    pub times: StageTimes,
}

/// What came of a translation.
///
/// Only [`Published`](Self::Published) changes what the group is served; after everything else it keeps what it has.
/// What failed is tried again, and in full, with the next change that concerns the group.
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
    #[non_exhaustive]
    Unchanged {
        /// The number of the publication that holds it.
        generation: Generation,
    },
    /// A gate refused it.
    Refused(GateRefusal),
    /// The translator gave an error.
    TranslateFailed(BoxError),
    /// The translator, a gate or the cache panicked.
    #[non_exhaustive]
    Panicked {
        /// Where.
        stage: Stage,
        /// The panic's message.
        message: String,
    },
    /// Translator and gates did not return in time. Should they return after all, and the group have had no other
    /// translation since, then what they made counts, and there is another report.
    #[non_exhaustive]
    TimedOut {
        /// Where it was then.
        stage: Stage,
        /// The time that they had.
        deadline: Duration,
    },
    /// No thread was free: all that the loop may use are held by translations that passed their deadline and have
    /// not returned, or the system gave none. It is tried again as soon as one of them returns.
    NotTried,
}

/// A part of the way from a model to a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The translator.
    Translate,
    /// The gates, the guard against mass deletions among them.
    Gates,
    /// The cache.
    Publish,
}

/// What was translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extent {
    /// Everything.
    #[default]
    Everything,
    /// The endpoints; all else is as it was published before.
    Endpoints,
    /// What the details of changes spoke of.
    Details,
}

/// How long a group's change took on its way, by stage.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct StageTimes {
    /// From the first change that had not been served, or the coming of the group's first node, to a thread: the
    /// debounce, and the queue.
    pub wait: Duration,
    /// In the translator.
    pub translate: Duration,
    /// In the gates.
    pub gates: Duration,
    /// In the cache.
    pub publish: Duration,
}

impl StageTimes {
    /// All stages together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.wait + self.translate + self.gates + self.publish
    }
}

impl PublishReport {
    /// Whether what the group is served shows the model.
    #[must_use]
    pub const fn is_current(&self) -> bool {
        self.outcome.generation().is_some()
    }
}

impl Outcome {
    /// The publication that shows the model; `None` where none does.
    #[must_use]
    pub const fn generation(&self) -> Option<Generation> {
        match self {
            Self::Published { generation } | Self::Unchanged { generation } => Some(*generation),
            _ => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published { generation } => write!(f, "published as {}", generation.get()),
            Self::Unchanged { .. } => f.write_str("unchanged"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
            Self::TranslateFailed(error) => write!(f, "the translator failed: {error}"),
            Self::Panicked { stage, message } => write!(f, "{stage} panicked: {message}"),
            Self::TimedOut { stage, deadline } => {
                write!(f, "{stage} had not returned after {deadline:?}")
            }
            Self::NotTried => f.write_str("no thread was free to translate it"),
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Translate => "the translator",
            Self::Gates => "a gate",
            Self::Publish => "the cache",
        })
    }
}

/// The last report of each group that a loop translates, as of one moment.
#[derive(Clone, Debug)]
pub struct Reports<G>(BTreeMap<G, Arc<PublishReport>>);

impl<G: GroupKey> Reports<G> {
    pub(crate) fn new(reports: BTreeMap<G, Arc<PublishReport>>) -> Self {
        Self(reports)
    }

    /// The last report of a group; `None` where it has had none.
    #[must_use]
    pub fn get(&self, group: &G) -> Option<&Arc<PublishReport>> {
        self.0.get(group)
    }

    /// All reports, sorted by group.
    pub fn iter(&self) -> impl Iterator<Item = (&G, &Arc<PublishReport>)> {
        self.0.iter()
    }

    /// The reports of groups that are not served what the model shows, sorted by group.
    pub fn failed(&self) -> impl Iterator<Item = (&G, &Arc<PublishReport>)> {
        self.iter().filter(|(_, report)| !report.is_current())
    }
}

/// Hears how each translation ended. Called from the loop's own task: it must not block. A panic in it is logged and
/// has no other effect.
pub trait PublishObserver<G>: fmt::Debug + Send + Sync {
    /// A group's translation ended.
    fn reported(&self, _group: &G, _report: &PublishReport) {}
}

/// Hears and does nothing.
#[derive(Debug)]
pub(crate) struct NoObserver;

impl<G> PublishObserver<G> for NoObserver {}
