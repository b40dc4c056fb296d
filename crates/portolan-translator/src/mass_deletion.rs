use std::fmt;

use portolan_core::TypeUrl;
use portolan_core::well_known::{CLUSTER, LISTENER};

use crate::difference::Difference;
use crate::{Gate, GateRefusal, Names, Proposal};

/// Refuses snapshots that would delete most of what a group has: far more often a model that was read in part than
/// what somebody wants.
///
/// By default it refuses to
/// - delete the last listener or the last cluster, however few there were;
/// - delete more than half of the resources of a type, by name, where there were ten or more. Smaller sets lose half
///   in everyday changes.
///
/// A first publication deletes nothing, and neither does a snapshot that does not speak for a type. It looks at names
/// alone: endpoints that vanish within an assignment are none of its business.
///
/// It is on by default. [`Change::allow_mass_deletion`](crate::Change::allow_mass_deletion) lets one change through,
/// [`PublishConfig::with_mass_deletion_guard`](crate::PublishConfig::with_mass_deletion_guard) changes or removes it.
#[derive(Clone, Debug)]
pub struct MassDeletionGuard {
    max_percent: u8,
    floor: usize,
    never_empty: Vec<TypeUrl>,
}

impl MassDeletionGuard {
    /// How much of a type may be deleted at once, in per cent of what the group has. Default: 50. From 100 on, only
    /// [`with_never_empty`](Self::with_never_empty) refuses.
    #[must_use]
    pub fn with_max_percent(mut self, percent: u8) -> Self {
        self.max_percent = percent;
        self
    }

    /// From how many resources of a type on [`with_max_percent`](Self::with_max_percent) applies. Default: 10.
    #[must_use]
    pub fn with_floor(mut self, resources: usize) -> Self {
        self.floor = resources;
        self
    }

    /// The types whose last resource may not be deleted. Default: listeners and clusters, without which a proxy
    /// serves nothing.
    #[must_use]
    pub fn with_never_empty(mut self, types: impl IntoIterator<Item = TypeUrl>) -> Self {
        self.never_empty = types.into_iter().collect();
        self
    }

    fn loss(&self, difference: &Difference) -> Option<Loss> {
        let (before, _) = difference.before.as_ref()?;
        let (held, gone) = (before.len(), difference.lost());
        let lost = gone.len();
        let is_emptied = lost > 0 && difference.after.is_empty();
        let emptied = is_emptied && self.never_empty.contains(&difference.type_url);
        let most = held >= self.floor
            && lost.saturating_mul(100) > held.saturating_mul(usize::from(self.max_percent));
        (emptied || most).then(|| Loss {
            type_url: difference.type_url.clone(),
            held,
            lost: Names::of(lost, gone.into_iter().take(NAMES_SHOWN)),
        })
    }
}

impl Default for MassDeletionGuard {
    fn default() -> Self {
        Self {
            max_percent: 50,
            floor: 10,
            never_empty: vec![LISTENER, CLUSTER],
        }
    }
}

impl<G> Gate<G> for MassDeletionGuard {
    fn check(&self, proposal: &Proposal<'_, G>) -> Result<(), GateRefusal> {
        let differences = proposal.differences().iter();
        let losses: Vec<_> = differences.filter_map(|d| self.loss(d)).collect();
        match losses.is_empty() {
            true => Ok(()),
            false => Err(GateRefusal::new(MassDeletion { losses })),
        }
    }
}

/// What a [`MassDeletionGuard`] refused to delete: the [reason](GateRefusal::reason) of its refusals.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "a mass deletion was refused: it would delete {}; if that is wanted, hand the model in again and allow it",
    losses.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
)]
pub struct MassDeletion {
    losses: Vec<Loss>,
}

impl MassDeletion {
    /// What each type would have lost, ordered by type URL.
    #[must_use]
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }
}

/// What one type would have lost.
#[derive(Clone, Debug)]
pub struct Loss {
    type_url: TypeUrl,
    held: usize,
    lost: Names,
}

impl Loss {
    /// The type.
    #[must_use]
    pub fn type_url(&self) -> &TypeUrl {
        &self.type_url
    }

    /// How many resources of the type the group has.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held
    }

    /// Those of them that would have been deleted, the first few by name.
    #[must_use]
    pub fn lost(&self) -> &Names {
        &self.lost
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lost, held) = (self.lost.total(), self.held);
        let name = self.type_url.message_name();
        write!(f, "{lost} of {held} {name} ({})", self.lost.list())
    }
}

/// Enough names to recognise what is going on, few enough for a log line.
const NAMES_SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use portolan_core::well_known::{ENDPOINT, ROUTE};
    use portolan_core::{Resource, ResourceFailure, Snapshot};

    use super::*;

    fn snapshot(type_url: &TypeUrl, names: std::ops::Range<usize>) -> Snapshot {
        let mut builder = Snapshot::builder();
        for name in names {
            let resource = Resource::builder(type_url, format!("r{name:03}"), &b"1"[..]);
            builder.insert(resource).unwrap();
        }
        builder.build()
    }

    fn refusal(previous: &Snapshot, next: &Snapshot) -> Option<MassDeletion> {
        let proposal = Proposal::new(&"edge", Some(previous), next);
        let reason = MassDeletionGuard::default().check(&proposal).err()?;
        reason.reason().downcast_ref::<MassDeletion>().cloned()
    }

    #[test]
    fn the_last_listener_and_the_last_cluster_stay() {
        for type_url in [&LISTENER, &CLUSTER] {
            let refused = refusal(&snapshot(type_url, 0..1), &Snapshot::empty()).unwrap();
            assert_eq!(refused.losses()[0].type_url(), type_url);
        }
        assert!(refusal(&snapshot(&ROUTE, 0..1), &Snapshot::empty()).is_none());
    }

    #[test]
    fn half_of_a_type_may_go_and_more_may_not() {
        let held = snapshot(&ENDPOINT, 0..20);
        assert!(refusal(&held, &snapshot(&ENDPOINT, 10..20)).is_none());
        let refused = refusal(&held, &snapshot(&ENDPOINT, 11..20)).unwrap();
        assert_eq!(
            (
                refused.losses()[0].held(),
                refused.losses()[0].lost().total()
            ),
            (20, 11)
        );
    }

    #[test]
    fn renaming_everything_is_deleting_everything() {
        assert!(refusal(&snapshot(&ROUTE, 0..10), &snapshot(&ROUTE, 10..20)).is_some());
    }

    #[test]
    fn small_sets_may_lose_half() {
        assert!(refusal(&snapshot(&CLUSTER, 0..9), &snapshot(&CLUSTER, 8..9)).is_none());
        assert!(refusal(&snapshot(&CLUSTER, 0..10), &snapshot(&CLUSTER, 8..9)).is_some());
    }

    #[test]
    fn an_error_in_the_place_of_a_resource_is_a_loss_and_no_resource() {
        let held = snapshot(&CLUSTER, 0..2);
        let fail = |names: &[&str]| {
            let mut builder = held.edit();
            for name in names {
                let failure = ResourceFailure::unavailable("no");
                builder.fail(CLUSTER, *name, failure).unwrap();
            }
            builder.build()
        };
        let (half, all) = (fail(&["r000", "new"]), fail(&["r000", "r001"]));
        assert!(refusal(&held, &half).is_none());
        let refused = refusal(&held, &all).unwrap();
        assert_eq!(refused.losses()[0].lost().total(), 2);
        assert!(refusal(&all, &Snapshot::empty()).is_none());
        assert!(refusal(&all, &held).is_none());
    }

    #[test]
    fn a_first_publication_and_an_unspoken_type_delete_nothing() {
        let (guard, nothing) = (MassDeletionGuard::default(), Snapshot::empty());
        assert!(guard.check(&Proposal::new(&"edge", None, &nothing)).is_ok());
        let mut partial = Snapshot::builder();
        partial.only([ENDPOINT]);
        assert!(refusal(&snapshot(&CLUSTER, 0..20), &partial.build()).is_none());
    }

    #[test]
    fn what_is_empty_may_stay_empty() {
        let mut labelled = Snapshot::builder();
        labelled.label(&LISTENER, "v1");
        assert!(refusal(&labelled.build(), &Snapshot::empty()).is_none());
    }

    #[test]
    fn the_error_counts_and_names_what_would_be_lost() {
        let refused = refusal(&snapshot(&CLUSTER, 0..12), &Snapshot::empty()).unwrap();
        let text = refused.to_string();
        let expected = "12 of 12 envoy.config.cluster.v3.Cluster (r000, r001, r002, r003, r004, …)";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn every_limit_can_be_moved() {
        let (held, few) = (snapshot(&CLUSTER, 0..10), snapshot(&CLUSTER, 0..1));
        let check = |guard: MassDeletionGuard, next: &Snapshot| {
            let proposal = Proposal::new(&"edge", Some(&held), next);
            guard.check(&proposal).is_ok()
        };
        let guard = MassDeletionGuard::default;
        assert!(check(guard().with_max_percent(90), &few));
        assert!(check(guard().with_floor(11), &few));
        assert!(!check(guard().with_max_percent(100), &Snapshot::empty()));
        assert!(check(
            guard().with_max_percent(100).with_never_empty([]),
            &Snapshot::empty()
        ));
    }
}
