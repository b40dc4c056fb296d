//! Holds back what leads to clusters that are not ready.

use alloc::collections::BTreeMap;
use core::time::Duration;

use portolan_core::{Name, Resource, ResourceSet};

use super::{Step, is_wanted};
use crate::session::Session;
use crate::transition::{Hold, Readiness, readiness};
use crate::{Event, Nonce};

impl Step<'_> {
    /// Holds what newly leads to a cluster that is not ready, as long as it may. How long it waits does not begin anew when
    /// it changes meanwhile.
    pub(super) fn hold(
        &self,
        session: &mut Session,
        at: usize,
        from: &ResourceSet,
        to: &ResourceSet,
    ) {
        let mut before = core::mem::take(&mut session.types[at].plan.held);
        let mut held = BTreeMap::new();
        for (name, awaits) in self.waiting(session, from, to) {
            let known = before.remove(&name).and_then(|hold| hold.since);
            let covered = is_wanted(&session.types[at], to, &name);
            let since = known.or_else(|| covered.then_some(self.now));
            let rejected = session.types[self.gate].suspects.contains(&awaits);
            if let Some(since) = since.filter(|since| !rejected && self.is_up(*since)) {
                let waited = self.now.saturating_sub(since);
                tell_permitted(session, at, name, waited, false);
                continue;
            }
            if known.is_none() && since.is_some() {
                session.events.push_back(Event::Withheld {
                    type_url: session.types[at].url().clone(),
                    name: name.clone(),
                    awaits,
                });
            }
            held.insert(name, Hold { since, rejected });
        }
        session.types[at].plan.held = held;
        for (name, hold) in before {
            if let Some(since) = hold.since {
                let waited = self.now.saturating_sub(since);
                tell_permitted(session, at, name, waited, true);
            }
        }
    }

    fn is_up(&self, since: Duration) -> bool {
        since.saturating_add(self.times.hold()) <= self.now
    }

    /// The resources that lead to a cluster which is not ready and to which they did not lead before, and that cluster.
    pub(super) fn waiting(
        &self,
        session: &mut Session,
        from: &ResourceSet,
        to: &ResourceSet,
    ) -> BTreeMap<Name, Name> {
        let gate = &session.types[self.gate];
        let child = gate.resource_type.reanswers();
        let child = session
            .types
            .iter()
            .find(|state| state.begun && Some(state.url()) == child);
        // What a client that connected again has of endpoints it says with a request of its own.
        let unheard = session.types[self.gate].resource_type.reanswers();
        let unheard = unheard.filter(|_| child.is_none() && session.plan.is_arriving(self.now));
        let needs = |cluster: &Resource, url| {
            let facts = cluster.facts(self.references());
            facts.references_to(url).next().is_some()
        };
        let mut known = BTreeMap::new();
        let mut waiting = BTreeMap::new();
        to.for_each_new_reference(from, self.references(), |reference| {
            if *reference.target() != self.gate_url || waiting.contains_key(reference.referrer()) {
                return;
            }
            // A cluster that does not exist is not waited for.
            let Some(cluster) = self.to.get(reference.name()) else {
                return;
            };
            let proof = session.plan.proofs.get(reference.name()).copied();
            let how = || match unheard.is_some_and(|url| needs(cluster, url)) {
                true => Readiness::Unsent,
                false => readiness(gate, child, cluster, self.references(), proof),
            };
            let how = *known.entry(reference.name().clone()).or_insert_with(how);
            if how != Readiness::Ready {
                waiting.insert(reference.referrer().clone(), reference.name().clone());
            }
        });
        let sent = Nonce::new(session.sent);
        for (name, how) in known {
            match how {
                Readiness::Sent => {
                    session.plan.proofs.entry(name).or_insert(sent);
                }
                _ => {
                    session.plan.proofs.remove(&name);
                }
            }
        }
        waiting
    }
}

pub(super) fn tell_permitted(
    session: &mut Session,
    at: usize,
    name: Name,
    waited: Duration,
    ready: bool,
) {
    session.events.push_back(Event::Permitted {
        type_url: session.types[at].url().clone(),
        name,
        waited,
        ready,
    });
}
