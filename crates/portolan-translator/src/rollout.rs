use std::collections::BTreeMap;
use std::sync::Arc;

use portolan_core::{Generation, GroupKey};

use crate::{Closed, NodeOutcome, PublishReport};

/// How far what was handed in has got, group by group and node by node: what a [wait](crate::Publisher::wait) found out.
///
/// It holds the groups in which there were nodes to wait for, and no other.
#[derive(Clone, Debug)]
pub struct Rollout<G>(BTreeMap<G, GroupRollout>);

/// How far what was handed in has got in one group.
#[derive(Clone, Debug)]
pub struct GroupRollout {
    pub(crate) publishing: Publishing,
    pub(crate) report: Option<Arc<PublishReport>>,
    pub(crate) nodes: BTreeMap<Arc<str>, NodeOutcome>,
}

/// Whether what was handed in was published for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Publishing {
    /// It was, or the group had it already; this is the publication, and the nodes were waited for.
    Published(Generation),
    /// It was not, and the group's [report](GroupRollout::report) says why. The nodes were not waited for, and are not
    /// listed.
    NotPublished,
    /// It had still to be translated when the time was up.
    Pending,
}

/// Why there can be no waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The loop has ended, or ended meanwhile.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// Nobody knows what became of a publication.
    #[error(
        "the publish loop has no delivery tracker; give one to its builder, and to the cache as a delivery sink"
    )]
    Untracked,
}

impl<G: GroupKey> Rollout<G> {
    pub(crate) fn new(groups: BTreeMap<G, GroupRollout>) -> Self {
        Self(groups)
    }

    /// What became of it in a group; `None` where no nodes were waited for.
    #[must_use]
    pub fn get(&self, group: &G) -> Option<&GroupRollout> {
        self.0.get(group)
    }

    /// What became of it in each group, sorted.
    pub fn groups(&self) -> impl Iterator<Item = (&G, &GroupRollout)> {
        self.0.iter()
    }

    /// What became of it at each node, sorted by group and id.
    pub fn nodes(&self) -> impl Iterator<Item = (&G, &str, &NodeOutcome)> {
        let of_group = |(group, rollout)| {
            let nodes = GroupRollout::nodes(rollout);
            nodes.map(move |(node, outcome)| (group, node, outcome))
        };
        self.0.iter().flat_map(of_group)
    }

    /// The groups for which it was not published, or not in time.
    pub fn not_published(&self) -> impl Iterator<Item = (&G, &GroupRollout)> {
        let is_published =
            |rollout: &GroupRollout| matches!(rollout.publishing, Publishing::Published(_));
        self.groups()
            .filter(move |(_, rollout)| !is_published(rollout))
    }

    /// Whether it was published for every group, and every node accepted it, or a newer publication that took its place.
    /// So it is where there were no nodes.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.not_published().next().is_none()
            && self.nodes().all(|(_, _, outcome)| outcome.is_accepted())
    }
}

impl GroupRollout {
    /// Whether it was published.
    #[must_use]
    pub fn publishing(&self) -> Publishing {
        self.publishing
    }

    /// The group's last report when the wait ended; `None` where it has had none, because no model was handed in.
    #[must_use]
    pub fn report(&self) -> Option<&Arc<PublishReport>> {
        self.report.as_ref()
    }

    /// What became of it at each node, sorted by id.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, &NodeOutcome)> {
        self.nodes.iter().map(|(node, outcome)| (&**node, outcome))
    }
}
