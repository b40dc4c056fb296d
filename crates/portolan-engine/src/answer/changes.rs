use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use portolan_core::{Diff, MissingName, Name, Resource, ResourceSet, Selection};

use crate::subscription::Subscription;
use crate::touched::Touched;
use crate::type_state::TypeState;

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
    pub(super) fn between(state: &TypeState, set: &ResourceSet) -> Self {
        let (known, subscription) = (&state.known, &state.subscription);
        let mut own = Own::new(state, set);
        let names = subscription.names();
        if known.is_at(set) {
            return own.finish();
        }
        // A glob stands for more than one name, and all its members are looked at only where there is no difference to
        // look at.
        let by_name =
            !subscription.is_wildcard() && (!subscription.has_globs() || !known.has_base());
        if by_name && names.len() <= FEW {
            return own.named();
        }
        let diff = known.diff_to(set);
        if known.is_unpatched() && covers_all(subscription, &diff) {
            return Self::Shared(diff);
        }
        let differing = diff.upserts().len() + diff.removals().len();
        if by_name && names.len() < differing {
            return own.named();
        }
        let candidates: BTreeSet<_> = diff.names().chain(known.patched_names()).collect();
        candidates.into_iter().for_each(|name| own.compare(name));
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
    if diff.touches_others() {
        // Whether one that ends is told depends on what was told.
        return false;
    }
    if subscription.is_wildcard() && !diff.touches_on_demand() {
        return true;
    }
    let (mut upserts, mut removals) = (diff.upserts().iter(), diff.removals().iter());
    upserts.all(|resource| subscription.names_resource(resource))
        && removals.all(|name| subscription.names_name(name))
}

struct Own<'a> {
    state: &'a TypeState,
    set: &'a ResourceSet,
    upserts: Vec<Resource>,
    removals: Vec<Name>,
}

impl<'a> Own<'a> {
    fn new(state: &'a TypeState, set: &'a ResourceSet) -> Self {
        Self {
            state,
            set,
            upserts: Vec::new(),
            removals: Vec::new(),
        }
    }

    /// Compares what is named, whatever else has changed.
    fn named(mut self) -> Changes {
        let (known, subscription) = (&self.state.known, &self.state.subscription);
        let names = subscription.names().iter();
        let is_linked = subscription.is_linked([self.set])
            || known.is_linked(subscription)
            || known.claims_anything();
        if !is_linked {
            names.for_each(|name| self.compare(name));
            return self.finish();
        }
        let mut candidates: BTreeSet<_> = known.patched_names().collect();
        for name in names {
            candidates.insert(name);
            for set in known.base().into_iter().chain([self.set]) {
                candidates.extend(subscription.resolve(set, name).map(Resource::name));
            }
        }
        candidates.into_iter().for_each(|name| self.compare(name));
        self.finish()
    }

    fn compare(&mut self, name: &Name) {
        let (known, subscription) = (&self.state.known, &self.state.subscription);
        match self.set.entry(name).filter(|r| subscription.covers(r)) {
            Some(resource) => {
                if !known.holds(resource, subscription) {
                    self.upserts.push(resource.clone());
                }
            }
            // What the client has it keeps until it is known what becomes of it.
            None if self.set.is_pending(name) => {}
            // A client tells what it has from an earlier stream by name, whatever the constraints.
            None if known.claims(name) && self.has_alternative(name) => {}
            None => {
                if known.holds_name(name, subscription) || self.is_vanished_claim(name) {
                    self.removals.push(name.clone());
                }
            }
        }
    }

    fn has_alternative(&self, name: &Name) -> bool {
        let mut named = self.set.named(name);
        named.any(|resource| self.state.subscription.covers(resource))
    }

    /// Whether a client brought the name of something that is gone and that it may have had by an alias. It is told where
    /// aliases are used at all.
    fn is_vanished_claim(&self, name: &Name) -> bool {
        let bodyless = self.state.resource_type.missing_name() == MissingName::Bodyless;
        (bodyless || self.set.has_aliases())
            && !self.set.contains(name)
            && self
                .state
                .known
                .claims_unnamed(name, &self.state.subscription)
    }

    fn finish(self) -> Changes {
        Changes::Own {
            upserts: self.upserts,
            removals: self.removals,
        }
    }
}
