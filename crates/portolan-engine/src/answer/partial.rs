use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use portolan_core::{MissingName, Name, Resource, ResourceSet, Selection};

use super::{Answer, Changes, Circumstances, Outcome};
use crate::owed::Why;
use crate::touched::Touched;
use crate::type_state::TypeState;
use crate::{Reason, Variant};

/// A partial type in state of the world, or any type in delta: an answer holds what is owed and what changed.
pub(super) fn compose(state: &TypeState, set: &ResourceSet, now: &Circumstances<'_>) -> Outcome {
    if owes_exactly(state, set) {
        return whole(set);
    }
    let changes = Changes::between(state, set);
    let mut draft = Draft::new(state, set, now);
    draft.owed();
    let first = state.owed.all_names;
    let untold = draft.leaves_untold(&changes);
    let send = untold && (!now.hold || first);
    let complete = send || !untold;
    let can_tell = |name: &Name| tells_removals(state, now) || changes.upserts_name(name);
    let told = changes
        .names()
        .filter(|name| (send && can_tell(name)) || draft.tells(name));
    let mates = state.suspects.mates(told);
    if state.owed.is_empty() && mates.is_empty() {
        return match send {
            true => only_changes(state, now, &changes),
            false => Outcome::silence(complete),
        };
    }
    if send {
        draft.changes(&changes);
    }
    draft.mates(&mates);
    if draft.is_empty() && !must_speak(state, now) {
        return Outcome::silence(complete);
    }
    let reason = match send && !first {
        true => Reason::Changed,
        false => Reason::Owed,
    };
    let fresh = match send && state.suspects.is_empty() {
        true => changes.selection(),
        false => draft.fresh(&changes),
    };
    Outcome {
        answer: Some(draft.finish(reason, fresh)),
        complete,
    }
}

/// Whether the client has nothing yet and is owed exactly what a wildcard covers, so that the set's own bytes are
/// the answer.
fn owes_exactly(state: &TypeState, set: &ResourceSet) -> bool {
    let subscription = &state.subscription;
    let all = match subscription.is_wildcard() {
        true => {
            let is_pure = subscription.is_pure_wildcard() && !set.has_alternatives();
            state.owed.wildcard && is_pure
        }
        false => subscription.names().is_all_of(set) && set.is_all_wildcard(),
    };
    all && state.owed.all_names
        && state.owed.names.is_empty()
        && state.known.is_nothing()
        && set.wildcard_len() > 0
}

fn whole(set: &ResourceSet) -> Outcome {
    let resources = Selection::wildcard(set);
    let answer = Answer {
        bodyless: Vec::new(),
        removed: Vec::new(),
        touched: Touched::Selected(resources.clone()),
        reason: Reason::Owed,
        fresh: resources.clone(),
        resources,
    };
    Outcome {
        answer: Some(answer),
        complete: true,
    }
}

/// Nothing but changes: what every stream in the same position sends, encoded once for all of them.
fn only_changes(state: &TypeState, now: &Circumstances<'_>, changes: &Changes) -> Outcome {
    let resources = changes.selection();
    let (removed, touched) = match tells_removals(state, now) {
        true => (changes.removals().to_vec(), changes.touched()),
        false => (Vec::new(), Touched::Selected(resources.clone())),
    };
    let answer = Answer {
        fresh: resources.clone(),
        resources,
        bodyless: Vec::new(),
        removed,
        touched,
        reason: Reason::Changed,
    };
    Outcome {
        answer: Some(answer),
        complete: true,
    }
}

/// State of the world cannot say that something of a partial type is gone (C-134). Of secrets and extension
/// configurations nothing is said either: clients reject it, or drop what still uses them.
fn tells_removals(state: &TypeState, now: &Circumstances<'_>) -> bool {
    now.variant == Variant::Delta && state.resource_type.missing_name() != MissingName::Silent
}

/// The first wildcard request of a stream is answered though there is nothing (C-160), unless the client has brought
/// versions and there is nothing new for it.
fn must_speak(state: &TypeState, now: &Circumstances<'_>) -> bool {
    now.variant == Variant::Delta && state.owed.wildcard && !state.owed.unless_claimed
}

struct Draft<'a> {
    state: &'a TypeState,
    set: &'a ResourceSet,
    now: &'a Circumstances<'a>,
    upserts: BTreeMap<&'a Name, &'a Resource>,
    removed: BTreeSet<Name>,
    bodyless: BTreeSet<Name>,
}

impl<'a> Draft<'a> {
    fn new(state: &'a TypeState, set: &'a ResourceSet, now: &'a Circumstances<'a>) -> Self {
        Self {
            state,
            set,
            now,
            upserts: BTreeMap::new(),
            removed: BTreeSet::new(),
            bodyless: BTreeSet::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.upserts.is_empty() && self.removed.is_empty() && self.bodyless.is_empty()
    }

    fn tells(&self, name: &Name) -> bool {
        self.upserts.contains_key(name)
            || self.removed.contains(name)
            || self.bodyless.contains(name)
    }

    /// Whether some of the changes are not told by what is in the draft already.
    fn leaves_untold(&self, changes: &Changes) -> bool {
        let upserts = changes.upserts().iter().map(Resource::name);
        let removals = changes.removals().iter();
        let removals = removals.filter(|_| tells_removals(self.state, self.now));
        upserts.chain(removals).any(|name| !self.tells(name))
    }

    /// What the client did not have in this version before, as far as is known: a rejected resource may have been
    /// applied or not.
    fn fresh(&self, changes: &Changes) -> Selection {
        let is_fresh = |name| changes.upserts_name(name) || self.state.suspects.contains(name);
        let fresh = self.upserts.iter().filter(|(name, _)| is_fresh(name));
        Selection::of(fresh.map(|(_, resource)| (*resource).clone()))
    }

    fn put(&mut self, resource: &'a Resource) {
        self.upserts.insert(resource.name(), resource);
    }

    fn owed(&mut self) {
        let (state, set) = (self.state, self.set);
        let owed = &state.owed;
        if owed.wildcard && !owed.unless_claimed {
            set.iter()
                .filter(|r| state.subscription.wildcard_covers(r))
                .for_each(|r| self.put(r));
        }
        if owed.all_names {
            for name in state.subscription.names().iter() {
                // What a reconnecting client lacks is among the changes.
                if self.put_all(name, |_| !owed.unless_claimed) == 0 {
                    self.missing(name);
                }
            }
        }
        for (name, why) in &owed.names {
            match why {
                Why::Asked => {
                    if self.put_all(name, |_| true) == 0 {
                        self.missing(name);
                    }
                }
                Why::Reanswer => {
                    self.put_all(name, |entry| entry.failure().is_none());
                }
                Why::GivenUp => {
                    let gone = self.put_wanted_elsewhere(name);
                    self.removed.extend(gone.into_iter().map(told));
                }
                Why::Elsewhere => drop(self.put_wanted_elsewhere(name)),
            }
        }
        self.removed.extend(self.now.stand_ins.iter().cloned());
    }

    /// Puts in what something which was named stands for, as far as it `comes` by this; gives the number of all of it.
    fn put_all(&mut self, named: &'a Name, comes: impl Fn(&Resource) -> bool) -> usize {
        let (state, set) = (self.state, self.set);
        let mut count = 0;
        for entry in state.subscription.resolve(set, named) {
            count += 1;
            if comes(entry) {
                self.put(entry);
            }
        }
        count
    }

    /// What was given up is sent again where it is still wanted, under a wildcard or by another identifier. Gives what is
    /// not, which is gone under a wildcard (C-167).
    fn put_wanted_elsewhere(&mut self, named: &'a Name) -> BTreeSet<&'a Name> {
        let (state, set) = (self.state, self.set);
        let mut gone = BTreeSet::from([named]);
        for resource in state.subscription.resolve(set, named) {
            gone.remove(named);
            match state.subscription.covers(resource) {
                true => self.put(resource),
                false => {
                    gone.insert(resource.name());
                }
            }
        }
        gone
    }

    /// A name that was asked for and does not exist, or is not known to exist yet.
    fn missing(&mut self, named: &Name) {
        let name = &told(named);
        if self.set.is_pending(name) || self.state.plan.withholds(name) {
            return;
        }
        if self.now.variant == Variant::Sotw {
            // Absence has no signal there (C-275).
            return;
        }
        let resource_type = &self.state.resource_type;
        match resource_type.missing_name() {
            MissingName::Silent => false,
            // A collection that is empty is not expected to come (C-348).
            _ if name.is_glob() => self.removed.insert(name.clone()),
            MissingName::Bodyless => self.bodyless.insert(name.clone()),
            MissingName::ReportUnlessReferenced if self.is_referenced(name) => false,
            MissingName::Report | MissingName::ReportUnlessReferenced => {
                self.removed.insert(name.clone())
            }
            _ => false,
        };
    }

    /// Whether a resource that the node is served refers to the name: then it is expected to come, and saying that
    /// it does not exist would make a client go on without it.
    fn is_referenced(&self, name: &Name) -> bool {
        let url = self.state.url();
        let mut parents = self
            .now
            .config
            .types()
            .iter()
            .filter(|t| t.reanswers() == Some(url));
        parents.any(|parent| {
            let set = self.now.snapshot.set(parent.url());
            set.is_some_and(|set| set.refers_to(self.now.config.references(), url, name))
        })
    }

    fn changes(&mut self, changes: &Changes) {
        let (state, set) = (self.state, self.set);
        for resource in changes.upserts() {
            if let Some(resource) = set.entry(resource.name()) {
                self.put(resource);
            }
        }
        if tells_removals(state, self.now) {
            changes.removals().iter().for_each(|name| self.remove(name));
        }
    }

    /// What was rejected together with something that changed now.
    fn mates(&mut self, mates: &BTreeSet<Name>) {
        let (state, set) = (self.state, self.set);
        for name in mates {
            match set.entry(name).filter(|r| state.subscription.covers(r)) {
                Some(resource) => self.put(resource),
                None if !state.subscription.covers_name(name) || set.is_pending(name) => {}
                None if tells_removals(state, self.now) => self.remove(name),
                None => {}
            }
        }
    }

    /// A name that is gone, unless it is told already that it does not exist.
    fn remove(&mut self, name: &Name) {
        if !self.bodyless.contains(name) {
            self.removed.insert(name.clone());
        }
    }

    fn finish(self, reason: Reason, fresh: Selection) -> Answer {
        let mut names: Vec<_> = self.upserts.keys().map(|n| (*n).clone()).collect();
        names.extend(self.removed.iter().cloned());
        names.sort_unstable();
        Answer {
            resources: Selection::of(self.upserts.into_values().cloned()),
            bodyless: self.bodyless.into_iter().collect(),
            removed: self.removed.into_iter().collect(),
            touched: Touched::Names(names),
            reason,
            fresh,
        }
    }
}

/// A name as clients are told of what is gone: with its constraints, but not with the parameters that it was asked for with
/// (C-320, C-323).
fn told(name: &Name) -> Name {
    match name.parameters() {
        Some(_) => name.to_stem(),
        None => name.clone(),
    }
}
