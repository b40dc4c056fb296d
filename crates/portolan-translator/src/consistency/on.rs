use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portolan_consistency::{Checker, Checks, Report};
use portolan_core::GroupKey;

use crate::{GateRefusal, Proposal};

/// What was found in what is to be published, if it was checked.
pub(crate) type Findings = Option<Arc<Report>>;

/// Checks what is to be published for each group, at the cost of how it differs from what was checked before.
#[derive(Debug)]
pub(crate) struct Consistency<G> {
    checks: Option<Arc<Checks>>,
    checkers: Mutex<BTreeMap<G, Checker>>,
}

impl<G> Default for Consistency<G> {
    fn default() -> Self {
        Self {
            checks: None,
            checkers: Mutex::default(),
        }
    }
}

impl<G> Consistency<G> {
    pub(crate) fn of(checks: Checks) -> Self {
        Self {
            checks: Some(Arc::new(checks)),
            checkers: Mutex::default(),
        }
    }

    fn checkers(&self) -> MutexGuard<'_, BTreeMap<G, Checker>> {
        self.checkers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<G: GroupKey> Consistency<G> {
    /// Checks with the group's own checker, which is taken out meanwhile: no other group waits for it.
    pub(crate) fn check(
        &self,
        proposal: &Proposal<'_, G>,
        findings: &mut Findings,
    ) -> Result<(), GateRefusal> {
        let Some(checks) = &self.checks else {
            return Ok(());
        };
        let held = self.checkers().remove(proposal.group());
        let mut checker = held.unwrap_or_else(|| Checker::new(Arc::clone(checks)));
        let report = findings.insert(Arc::new(checker.check(proposal.next())));
        self.checkers().insert(proposal.group().clone(), checker);
        match report.is_refused() {
            true => Err(GateRefusal::new(Inconsistent(Arc::clone(report)))),
            false => Ok(()),
        }
    }

    pub(crate) fn forget(&self, group: &G) {
        let forgotten = self.checkers().remove(group);
        drop(forgotten);
    }
}

/// What was found where a policy [refuses](portolan_consistency::Policy::Refuse): the [reason](GateRefusal::reason) of
/// the refusal.
#[derive(Clone, Debug, thiserror::Error)]
#[error("resources do not fit together: {0}")]
pub struct Inconsistent(Arc<Report>);

impl Inconsistent {
    /// All that was found, of kinds that are not refused too.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use portolan_core::{NoReferences, Snapshot};

    use super::*;

    #[test]
    fn nothing_is_kept_of_a_group_that_is_forgotten() {
        let consistency = Consistency::of(Checks::new(NoReferences::default()));
        let nothing = Snapshot::empty();
        let proposal = Proposal::new(&1_u8, None, &nothing);
        assert!(consistency.check(&proposal, &mut None).is_ok());
        assert_eq!(consistency.checkers().len(), 1);
        consistency.forget(&1);
        assert!(consistency.checkers().is_empty());
    }
}
