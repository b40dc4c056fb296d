use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use portolan_core::{Name, ResourceSet, Selection};

use super::{Answer, Changes, Circumstances, Outcome};
use crate::Reason;
use crate::owed::Why;
use crate::touched::Touched;
use crate::type_state::TypeState;

/// A full-state type in state of the world: each answer holds everything that is subscribed, whatever caused it
/// (C-068, C-130). What a rejected answer left in doubt is in the next one, because that is complete again (C-107).
pub(super) fn compose(state: &TypeState, set: &ResourceSet, now: &Circumstances<'_>) -> Outcome {
    let changes = Changes::between(state, set);
    let changed = !changes.is_empty();
    let asked = is_owed(state, set);
    let owed = asked || (state.owed.refresh && !(changed && now.hold));
    if !owed && (!changed || now.hold) {
        return Outcome::silence(!changed);
    }
    let first = state.owed.wildcard || state.owed.all_names;
    let is_asked = |name: &str| state.owed.names.contains_key(name);
    let unasked = |name: &Name| !state.subscription.finds(name, |_| false, is_asked);
    let paced = !first && !now.hold && changes.names().any(unasked);
    let resources = state.subscription.select(set);
    let fresh = fresh(state, &changes, &resources);
    let touched = match first {
        true => Touched::Selected(resources.clone()),
        false => touched(state, &changes),
    };
    let answer = Answer {
        resources,
        bodyless: Vec::new(),
        removed: Vec::new(),
        touched,
        reason: match paced {
            true => Reason::Changed,
            false if asked || changed => Reason::Owed,
            false => Reason::Refresh,
        },
        fresh,
    };
    Outcome {
        answer: Some(answer),
        complete: true,
    }
}

/// What is new to a client that may or may not have applied what it rejected.
fn fresh(state: &TypeState, changes: &Changes, resources: &Selection) -> Selection {
    if state.suspects.is_empty() {
        return changes.selection();
    }
    let suspects = state.suspects.names();
    let is_fresh = |name| changes.upserts_name(name) || suspects.contains(name);
    let fresh = resources.iter().filter(|r| is_fresh(r.name())).cloned();
    Selection::of(fresh)
}

/// What is in doubt if the client rejects the answer, besides what it has not accepted when it does.
fn touched(state: &TypeState, changes: &Changes) -> Touched {
    if state.suspects.is_empty() {
        return changes.touched();
    }
    let suspects = state.suspects.names();
    let touched: BTreeSet<_> = changes.names().chain(&suspects).collect();
    Touched::Names(touched.into_iter().cloned().collect())
}

/// A wildcard is owed an answer though there is nothing; so are names on a new stream, if the client has something of
/// the type, which would be deleted by leaving it out (C-126). Other names are owed one only where one of them exists, or
/// cannot be had (C-368).
fn is_owed(state: &TypeState, set: &ResourceSet) -> bool {
    let (owed, names) = (&state.owed, state.subscription.names());
    let is_told = |name: &Name| state.subscription.resolve(set, name).next().is_some();
    let mut asked = owed.names.iter().filter(|(_, why)| **why == Why::Asked);
    owed.wildcard
        || (owed.all_names && owed.even_nothing && !names.is_empty())
        || (owed.all_names && names.iter().any(is_told))
        || asked.any(|(name, _)| is_told(name))
}
