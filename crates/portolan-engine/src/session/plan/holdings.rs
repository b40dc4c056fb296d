//! What a client has of a type, as a set that can be compared with what there is.
//!
//! What it has and what is not found in any version that is remembered is pending in such a set: the client keeps it until
//! something else is shown, and nothing is known of where it leads.

use alloc::vec::Vec;

use portolan_core::{Name, Resource, ResourceSet, ResourceSetEdit};

use crate::everything;
use crate::type_state::TypeState;

/// What there is to say of it.
pub(super) struct Holdings<'a> {
    pub(super) state: &'a TypeState,
    /// What there is now.
    pub(super) to: &'a ResourceSet,
    /// What there was, newest first.
    pub(super) history: &'a [ResourceSet],
    /// Names that are new to the client if it does not have them, though it does not ask for them yet. What else it may
    /// ask for later makes no difference.
    pub(super) new: &'a [Name],
}

impl Holdings<'_> {
    /// What a client has that has said so name by name.
    pub(super) fn claimed(&self) -> ResourceSet {
        let (state, to) = (self.state, self.to);
        let mut edit = to.edit();
        // How resources that lead nowhere changed is all the same.
        let only_gone = state.resource_type.independent();
        for (name, version) in state.known.claimed_versions() {
            let held = |set: &ResourceSet| {
                let held = set.get(name);
                held.filter(|held| held.version() == version).cloned()
            };
            if held(to).is_some() || (only_gone && to.contains(name)) {
                continue;
            }
            match self.history.iter().find_map(held) {
                Some(former) => {
                    edit.upsert(former);
                }
                None => put_pending(state, name, &mut edit),
            }
        }
        if !only_gone {
            let covered = covered(state, to);
            for name in covered.into_iter().chain(self.new) {
                if !state.known.claims(name) {
                    edit.remove(name.clone());
                }
            }
            self.keep_unclaimed(&mut edit);
        }
        self.shared(finished(edit, self.to))
    }

    /// What a client asks for by name it may have without saying so: it does not speak of what is gone, nor of what was
    /// good in an answer that it rejected.
    fn keep_unclaimed(&self, edit: &mut ResourceSetEdit) {
        let asked = self.state.subscription.names().iter();
        for name in asked.filter(|name| !self.state.known.claims(name)) {
            put_pending(self.state, name, edit);
        }
    }

    /// The set that a client was last sent all of that it asked for, if that is remembered.
    pub(super) fn of_version(&self, version: &str) -> Option<ResourceSet> {
        let version = everything::set_version(version);
        let mut sets = [self.to].into_iter().chain(self.history);
        sets.find_map(|set| set.of_version(version))
    }

    /// What of such a set the client has that names what it wants.
    ///
    /// What was not in it the client may have from before: that something is left out of an answer does not take it away.
    /// And what was in it the client may have given up since and ask for anew, so that is not to be sent.
    pub(super) fn named_in(&self, accepted: &ResourceSet) -> ResourceSet {
        let mut edit = self.to.edit();
        self.new.iter().for_each(|name| {
            edit.remove(name.clone());
        });
        for name in self.state.subscription.names().iter() {
            let there = self.to.held(name).filter(|there| {
                let held = accepted.held(name);
                held.is_some_and(|held| held.version() == there.version())
            });
            match there {
                Some(there) => {
                    edit.upsert(there.clone());
                }
                None => put_pending(self.state, name, &mut edit),
            }
        }
        self.shared(finished(edit, self.to))
    }

    /// What there is, but that nothing is known of what the client has of the names that it asks for.
    pub(super) fn unread(&self) -> ResourceSet {
        let mut edit = self.to.edit();
        self.new.iter().for_each(|name| {
            edit.remove(name.clone());
        });
        for name in self.state.subscription.names().iter() {
            put_pending(self.state, name, &mut edit);
        }
        finished(edit, self.to)
    }

    /// Streams that come from the same publication share what is between that and this one.
    fn shared(&self, had: ResourceSet) -> ResourceSet {
        let same = self.history.iter().find(|set| set.same_content(&had));
        same.cloned().unwrap_or(had)
    }
}

/// What there is, and that it is not known yet of what is not there and the client has or names.
pub(super) fn unspoken(state: &TypeState, to: &ResourceSet) -> ResourceSet {
    let mut edit = to.edit();
    let claimed = state.known.claimed_versions().map(|(name, _)| name);
    for name in claimed.chain(state.subscription.names().iter()) {
        if to.held(name).is_none() {
            put_pending(state, name, &mut edit);
        }
    }
    finished(edit, to)
}

/// What cannot stand side by side is not what a client has, and then nothing is known of that.
fn finished(edit: ResourceSetEdit, to: &ResourceSet) -> ResourceSet {
    edit.finish().unwrap_or_else(|_| to.clone())
}

/// A name that cannot be one of a resource is left out.
fn put_pending(state: &TypeState, name: &Name, edit: &mut ResourceSetEdit) {
    if let Ok(pending) = Resource::pending(state.url().clone(), name.clone()) {
        edit.upsert(pending);
    }
}

/// The names of what the client asks for.
fn covered<'a>(state: &'a TypeState, set: &'a ResourceSet) -> Vec<&'a Name> {
    let subscription = &state.subscription;
    if subscription.is_wildcard() {
        let all = set.iter().filter(|resource| subscription.covers(resource));
        return all.map(Resource::name).collect();
    }
    let names = subscription.names().iter();
    let named = names.flat_map(|name| subscription.resolve(set, name));
    named.map(Resource::name).collect()
}
