use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use portolan_core::well_known::CLUSTER;
use portolan_core::{Name, Reference, References, Snapshot};

/// The knots of clusters that are members of each other, by each of their members.
#[derive(Debug, Default)]
pub(crate) struct Knots(BTreeMap<Name, Arc<BTreeSet<Name>>>);

impl Knots {
    /// The knot that a cluster was in, which is forgotten.
    pub(crate) fn take(&mut self, name: &Name) -> Option<Arc<BTreeSet<Name>>> {
        let knot = self.0.remove(name)?;
        for member in &*knot {
            self.0.remove(member);
        }
        Some(knot)
    }

    /// Whether this very knot is known.
    pub(crate) fn contains(&self, knot: &BTreeSet<Name>) -> bool {
        let known = knot.first().and_then(|first| self.0.get(first));
        known.is_some_and(|known| **known == *knot)
    }

    /// Remembers a knot, none of whose members is in another.
    pub(crate) fn put(&mut self, knot: BTreeSet<Name>) {
        let knot = Arc::new(knot);
        for member in &*knot {
            self.0.insert(member.clone(), Arc::clone(&knot));
        }
    }
}

/// The clusters that this one has for members, at whatever remove, and that have it: with itself, if there are any.
pub(crate) fn knot(
    start: &Name,
    snapshot: &Snapshot,
    references: &dyn References,
) -> Option<BTreeSet<Name>> {
    let mut holders: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
    let mut ahead = vec![start.clone()];
    let mut reached = BTreeSet::from([start.clone()]);
    while let Some(from) = ahead.pop() {
        for member in members(&from, snapshot, references).map(Reference::name) {
            holders
                .entry(member.clone())
                .or_default()
                .push(from.clone());
            if reached.insert(member.clone()) {
                ahead.push(member.clone());
            }
        }
    }
    let mut knot = BTreeSet::new();
    let mut ahead = vec![start];
    while let Some(to) = ahead.pop() {
        let holders = holders.get(to).into_iter().flatten();
        ahead.extend(holders.filter(|holder| knot.insert((*holder).clone())));
    }
    (!knot.is_empty()).then_some(knot)
}

/// The shortest way from a cluster to itself, without its end.
pub(crate) fn way_round(
    start: &Name,
    snapshot: &Snapshot,
    references: &dyn References,
) -> Vec<Name> {
    let mut reached = BTreeMap::new();
    let mut ahead = VecDeque::from([start.clone()]);
    while let Some(from) = ahead.pop_front() {
        for member in members(&from, snapshot, references).map(Reference::name) {
            if member == start {
                return way(from, &reached);
            }
            if !reached.contains_key(member) {
                reached.insert(member.clone(), from.clone());
                ahead.push_back(member.clone());
            }
        }
    }
    Vec::new()
}

/// From the start to here.
fn way(here: Name, reached: &BTreeMap<Name, Name>) -> Vec<Name> {
    let mut way = vec![here];
    while let Some(before) = way.last().and_then(|name| reached.get(name)) {
        way.push(before.clone());
    }
    way.reverse();
    way
}

/// The members of an aggregate cluster. What it mirrors requests to is a cluster too, and may be itself.
pub(crate) fn members<'a>(
    name: &str,
    snapshot: &'a Snapshot,
    references: &dyn References,
) -> impl Iterator<Item = &'a Reference> + use<'a> {
    let cluster = snapshot.lookup(&CLUSTER, name).present();
    let facts = cluster.map(|cluster| cluster.facts(references).references());
    let all = facts.unwrap_or_default().iter();
    all.filter(|r| *r.target() == CLUSTER && r.path().starts_with("cluster_type."))
}
