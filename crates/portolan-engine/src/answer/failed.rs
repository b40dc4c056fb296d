//! What delta says of resources that cannot be had besides that there is an error.

use alloc::vec::Vec;

use portolan_core::{MissingName, Name, Resource, Selection};

use super::Answer;
use crate::type_state::TypeState;

/// Says so that clients which pass over errors know that a resource does not exist: as of one that was taken out, with
/// the error (C-366). Of virtual hosts a client that asked waits for a resource without a body, whatever has failed; it
/// comes in place of the error, for no name is told twice (C-359).
pub(super) fn tell_missing(answer: &mut Answer, state: &TypeState) {
    let missing = state.resource_type.missing_name();
    let failed = match missing {
        // Not even that something was taken out is said of these.
        MissingName::Silent => Vec::new(),
        _ => answer.resources.clone().take_failed(),
    };
    let waits = |entry: &Resource| {
        let is_asked = |name: &str| state.owed.is_asked(name);
        let asked = state.owed.all_names || state.subscription.names_any(entry, is_asked);
        missing == MissingName::Bodyless && asked
    };
    let (told, failed): (Vec<_>, Vec<_>) = failed.into_iter().partition(waits);
    let not_found = failed
        .iter()
        .filter(|entry| entry.failure().is_some_and(|f| f.is_not_found()));
    add(&mut answer.removed, not_found);
    if !told.is_empty() {
        let is_told = |entry: &&Resource| waits(entry) && entry.failure().is_some();
        let rest = answer.resources.iter().filter(|entry| !is_told(entry));
        answer.resources = Selection::of(rest.cloned().collect::<Vec<_>>());
        add(&mut answer.bodyless, told.iter());
    }
}

/// Adds the names of these to a sorted list.
fn add<'a>(names: &mut Vec<Name>, entries: impl Iterator<Item = &'a Resource>) {
    names.extend(entries.map(|entry| entry.name().clone()));
    names.sort_unstable();
    names.dedup();
}
