use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use portolan_core::{Diff, Name, Resource, ResourceSet, Selection};

use crate::known::Known;
use crate::subscription::Subscription;
use crate::touched::Touched;

/// A subscription of at most this many names is compared name by name.
const FEW: usize = 16;

/// What a client that has `known` must be told to have all that it subscribes of a set.
///
/// This one comparison serves requests and publications, state of the world and delta.
#[derive(Debug)]
pub(super) enum Changes {
    /// All of a difference that other streams send too.
    Shared(Arc<Diff>),
    /// A difference of this stream's own; both sorted.
    Own {
        upserts: Vec<Resource>,
        removals: Vec<Name>,
    },
}

impl Changes {
    pub(super) fn between(known: &Known, subscription: &Subscription, set: &ResourceSet) -> Self {
        let mut own = Own::new(known, subscription, set);
        let names = subscription.names();
        if known.is_at(set) {
            return own.finish();
        }
        if !subscription.is_wildcard() && names.len() <= FEW {
            names.iter().for_each(|name| own.compare(name));
            return own.finish();
        }
        let diff = known.diff_to(set);
        if known.is_unpatched() && covers_all(subscription, &diff) {
            return Self::Shared(diff);
        }
        let differing = diff.upserts().len() + diff.removals().len();
        if !subscription.is_wildcard() && names.len() < differing {
            names.iter().for_each(|name| own.compare(name));
        } else {
            let candidates: BTreeSet<_> = diff.names().chain(known.patched_names()).collect();
            candidates.into_iter().for_each(|name| own.compare(name));
        }
        own.finish()
    }

    pub(super) fn upserts(&self) -> &[Resource] {
        match self {
            Self::Shared(diff) => diff.upserts(),
            Self::Own { upserts, .. } => upserts,
        }
    }

    pub(super) fn removals(&self) -> &[Name] {
        match self {
            Self::Shared(diff) => diff.removals(),
            Self::Own { removals, .. } => removals,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.upserts().is_empty() && self.removals().is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.upserts()
            .iter()
            .map(Resource::name)
            .chain(self.removals())
    }

    /// Whether the name was added or changed.
    pub(super) fn upserts_name(&self, name: &Name) -> bool {
        self.upserts()
            .binary_search_by(|r| r.name().cmp(name))
            .is_ok()
    }

    /// The names, as what a response with exactly these changes speaks of.
    pub(super) fn touched(&self) -> Touched {
        match self {
            Self::Shared(diff) => Touched::Diff(diff.clone()),
            Self::Own { .. } => {
                let mut names: Vec<_> = self.names().cloned().collect();
                names.sort_unstable();
                Touched::Names(names)
            }
        }
    }

    /// What was added or changed, as something to send.
    pub(super) fn selection(&self) -> Selection {
        match self {
            Self::Shared(diff) => Selection::upserts(diff),
            Self::Own { upserts, .. } => Selection::of(upserts.iter().cloned()),
        }
    }
}

fn covers_all(subscription: &Subscription, diff: &Diff) -> bool {
    if subscription.is_wildcard() && !diff.touches_on_demand() {
        return true;
    }
    diff.upserts()
        .iter()
        .all(|r| subscription.names().contains(r.name()))
        && diff
            .removals()
            .iter()
            .all(|n| subscription.names().contains(n))
}

struct Own<'a> {
    known: &'a Known,
    subscription: &'a Subscription,
    set: &'a ResourceSet,
    upserts: Vec<Resource>,
    removals: Vec<Name>,
}

impl<'a> Own<'a> {
    fn new(known: &'a Known, subscription: &'a Subscription, set: &'a ResourceSet) -> Self {
        Self {
            known,
            subscription,
            set,
            upserts: Vec::new(),
            removals: Vec::new(),
        }
    }

    fn compare(&mut self, name: &Name) {
        match self.set.get(name).filter(|r| self.subscription.covers(r)) {
            Some(resource) => {
                if !self.known.holds(resource, self.subscription) {
                    self.upserts.push(resource.clone());
                }
            }
            None => {
                let wanted = self.subscription.covers_name(name);
                if wanted && self.known.holds_name(name, self.subscription) {
                    self.removals.push(name.clone());
                }
            }
        }
    }

    fn finish(self) -> Changes {
        Changes::Own {
            upserts: self.upserts,
            removals: self.removals,
        }
    }
}
