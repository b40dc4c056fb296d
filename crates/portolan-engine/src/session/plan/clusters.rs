//! Keeps clusters that are gone, with their endpoints, while something that the client may hold leads to them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use portolan_core::{Name, Resource, ResourceSet};

use super::tables::{tell_released, tell_retained};
use super::{Step, awaits, ends};
use crate::session::Session;
use crate::transition::Review;
use crate::{Release, Retention};

impl Step<'_> {
    /// Decides over clusters that are gone. Those that are new, and those that change, go with the first response.
    pub(super) fn clusters(&mut self, session: &mut Session) {
        let (from, to) = (self.from.clone(), self.to.clone());
        let diff = to.diff_from(&from);
        let review = Review {
            times: self.times,
            now: self.now,
            moves: self.moves,
            pinned: self.pinned,
            holds: session.types.iter().any(|state| state.plan.is_holding()),
            unread: self.unread,
            unread_drain: session.plan.unread_drain.is_some(),
            named: &self.named,
            drains: &session.plan.drains,
        };
        let mut removals = core::mem::take(&mut session.plan.removals);
        let awaits = |sent| awaits(session, self.gate, sent);
        let reviewed = removals.review(diff.removals(), &review, awaits);
        let kept = removals.names();
        session.plan.removals = removals;

        let because = match (self.pinned, self.moves) {
            (true, _) => Retention::Rejected,
            (_, true) => Retention::Changing,
            _ => Retention::Subscribed,
        };
        tell_retained(session, self.gate, reviewed.retained, because);
        for why in [Release::Accepted, Release::Silence, Release::Wanted] {
            let of = reviewed
                .released
                .iter()
                .filter(|(_, release)| *release == why);
            let names = of.map(|(name, _)| name.clone()).collect();
            tell_released(session, self.gate, names, why);
        }
        let shown = to.keeping(&from, &kept);
        self.endpoints(session, &shown, &kept);
        self.show(self.gate_url.clone(), shown);
    }

    /// An assignment that is gone stays while a cluster that the client may hold refers to it: where it warms, it would go
    /// live without endpoints.
    fn endpoints(&mut self, session: &mut Session, shown: &ResourceSet, kept: &[Name]) {
        let Some(url) = session.types[self.gate].resource_type.reanswers().cloned() else {
            return;
        };
        let Some(at) = session.types.iter().position(|state| *state.url() == url) else {
            return;
        };
        let Some((from, to)) = ends(session, at, self.target) else {
            return;
        };
        let references = self.references();
        let gone = to.diff_from(&from);
        let before = core::mem::take(&mut session.types[at].plan.used);
        if gone.removals().is_empty() {
            return;
        }
        // What was permitted before may wait to be sent.
        let sent = session.types[self.gate].known.base().unwrap_or(&self.from);
        let changed = [self.to.diff_from(&self.from), self.to.diff_from(sent)];
        let changed = changed.iter().flat_map(|diff| diff.upserts());
        // Those that a client which connected again was sent may warm, whenever it asks for endpoints.
        let arriving = session.plan.is_arriving(self.now);
        let resent = self.to.iter().filter(|_| arriving);
        let unread = kept.iter().find(|name| self.from.is_pending(name));
        let kept = kept.iter().filter_map(|name| self.from.get(name));
        let mut used: BTreeMap<Name, Name> = BTreeMap::new();
        for cluster in kept.chain(changed).chain(resent) {
            for name in cluster.facts(references).references_to(&url) {
                used.insert(name.clone(), cluster.name().clone());
            }
        }
        let refers = |cluster: &Resource, name: &Name| {
            let mut names = cluster.facts(references).references_to(&url);
            names.any(|named| named == name)
        };
        // It may refer to any of them.
        if let Some(unread) = unread {
            used.extend(
                gone.removals()
                    .iter()
                    .map(|name| (name.clone(), unread.clone())),
            );
        }
        for (name, cluster) in before {
            if shown.get(&cluster).is_some_and(|held| refers(held, &name)) {
                used.entry(name).or_insert(cluster);
            }
        }
        used.retain(|name, _| gone.removals().binary_search(name).is_ok());
        let names: Vec<_> = used.keys().cloned().collect();
        session.types[at].plan.used = used;
        self.show(url, to.keeping(&from, &names));
    }
}
