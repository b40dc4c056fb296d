//! What a stream is permitted to see while it goes from one publication to the next.
//!
//! Everything that depends on the two publications alone is remembered in their values and shared by all streams: their
//! differences, the references that these bring, and the sets in between, such as the clusters of both. What is here is a
//! stream's own: how far it has come.

mod brought;
mod ready;
mod removals;
mod times;
mod type_plan;

use alloc::collections::BTreeMap;
use core::time::Duration;

use portolan_core::{Name, ResourceSet, Snapshot, TypeUrl, ValueId};

use crate::Nonce;

pub(crate) use self::brought::{Brought, ClustersFirst};
pub(crate) use self::ready::{Readiness, readiness};
pub(crate) use self::removals::{Removals, Review};
pub use self::times::{SafeTimes, Transitions};
pub(crate) use self::type_plan::{Hold, TypePlan};

/// How far a stream has come from one publication to the next.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// What was last permitted; nothing before the stream has a plan.
    pub(crate) shown: Option<Snapshot>,
    /// The snapshot that is shown as it is.
    pub(crate) rest: Option<ValueId>,
    /// What is withheld of types that the client did not ask for yet.
    pub(crate) unasked: BTreeMap<TypeUrl, BTreeMap<Name, Hold>>,
    /// Clusters that are gone and stay.
    pub(crate) removals: Removals,
    /// Clusters to which a listener led by itself that was replaced, and when. Its connections go on with it.
    pub(crate) drains: BTreeMap<Name, Duration>,
    /// Clusters that something waits for, and the response up to which all was sent that it takes: endpoints that change
    /// again and again do not keep them from being ready.
    pub(crate) proofs: BTreeMap<Name, Nonce>,
    /// A type was asked for first, and what the client has of it was not looked at yet.
    pub(crate) arrived: bool,
    /// The client has clusters from an earlier stream.
    pub(crate) resumed: bool,
    /// Until when such a client may not have asked for all that it has.
    pub(crate) arriving: Option<Duration>,
    /// The clusters that it came with, until then.
    pub(crate) came_with: Option<ResourceSet>,
    /// When something was replaced, with listeners perhaps, of which it is not known where it led. Its connections go on
    /// with it.
    pub(crate) unread_drain: Option<Duration>,
    /// Whether what leads to clusters waits for those to be asked for.
    pub(crate) clusters_first: ClustersFirst,
    /// When something may go on that waits.
    pub(crate) deadline: Option<Duration>,
}

impl Plan {
    /// The stream sees all of a snapshot.
    pub(crate) fn rest_on(&mut self, target: &Snapshot) {
        self.rest = Some(target.id());
        self.shown = Some(target.clone());
    }

    /// Whether time is up for something that waits.
    pub(crate) fn ring(&mut self, now: Duration) -> bool {
        let is_due = self.deadline.is_some_and(|at| at <= now);
        if is_due {
            self.deadline = None;
        }
        self.arriving = self.arriving.filter(|until| now < *until);
        self.came_with = self.came_with.take().filter(|_| self.arriving.is_some());
        let waited = self.clusters_first.deadline();
        let is_over = waited.is_some_and(|at| at <= now);
        if is_over {
            self.clusters_first = ClustersFirst::No;
        }
        is_due || is_over
    }

    /// Whether a client that connected again may not have asked for all that it has.
    pub(crate) fn is_arriving(&self, now: Duration) -> bool {
        self.arriving.is_some_and(|until| now < until)
    }

    /// When [`ring`](Self::ring) has something to say.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let deadlines = [self.deadline, self.clusters_first.deadline()];
        deadlines.into_iter().flatten().min()
    }
}
