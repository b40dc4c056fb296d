//! Tells of clusters that have no endpoints. Nothing waits for them: who publishes that means it.

use alloc::collections::BTreeSet;

use portolan_core::{Name, ResourceSet, Snapshot};

use super::{Step, gate, is_wanted};
use crate::answer::Answer;
use crate::session::Session;
use crate::{Emptiness, Event};

/// An answer is about to be sent: which clusters of the client it leaves without endpoints that it did not leave so before.
pub(in crate::session) fn tell_assigned(
    session: &mut Session,
    at: usize,
    answer: &Answer,
    snapshot: &Snapshot,
) {
    // Assignments lead nowhere.
    let leads_nowhere = session.types[at].resource_type.independent();
    if !leads_nowhere || session.config.transitions().safe().is_none() {
        return;
    }
    let Some(gate) = gate(session).map(|gate| &session.types[gate]) else {
        return;
    };
    let url = session.types[at].url();
    if gate.resource_type.reanswers() != Some(url) {
        return;
    }
    let references = session.config.references();
    let fresh = answer.fresh.iter();
    let empty = fresh.filter(|assignment| assignment.facts(references).is_empty());
    let clusters = empty.flat_map(|assignment| {
        let users = snapshot.referrers(references, url, assignment.name());
        users.filter(|user| user.type_url() == gate.url())
    });
    let clusters = clusters.map(|cluster| cluster.name());
    let has = |name: &&Name| gate.known.holds_name(name, &gate.subscription);
    let names = clusters.filter(has).cloned().collect();
    tell(session, names, Emptiness::Assigned);
}

impl Step<'_> {
    /// Tells to which such clusters something leads that is shown now and did not before.
    pub(super) fn tell_led(
        &self,
        session: &mut Session,
        at: usize,
        (from, to): (&ResourceSet, &ResourceSet),
        before: &[Name],
    ) {
        let mut names = BTreeSet::new();
        to.for_each_new_reference(from, self.references(), |reference| {
            let is_new = *reference.target() == self.gate_url
                && before.binary_search(reference.referrer()).is_err();
            let state = &session.types[at];
            if is_new
                && is_wanted(state, to, reference.referrer())
                && self.has_no_endpoints(session, reference.name())
            {
                names.insert(reference.name().clone());
            }
        });
        tell(session, names, Emptiness::Referenced);
    }

    fn has_no_endpoints(&self, session: &Session, cluster: &Name) -> bool {
        let gate = &session.types[self.gate].resource_type;
        let (Some(cluster), Some(url)) = (self.to.get(cluster), gate.reanswers()) else {
            return false;
        };
        let Some(assignments) = self.target.set(url) else {
            return false;
        };
        let mut named = cluster.facts(self.references()).references_to(url);
        named.any(|name| {
            let assignment = assignments.get(name);
            assignment.is_some_and(|it| it.facts(self.references()).is_empty())
        })
    }
}

fn tell(session: &mut Session, names: BTreeSet<Name>, because: Emptiness) {
    if let Some(gate) = gate(session).filter(|_| !names.is_empty()) {
        session.events.push_back(Event::Empty {
            type_url: session.types[gate].url().clone(),
            names: names.into_iter().collect(),
            because,
        });
    }
}
