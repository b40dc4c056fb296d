use portolan_core::{ResourceSet, Selection};

use super::{Answer, Changes, Circumstances, Outcome};
use crate::Reason;
use crate::owed::Why;
use crate::touched::Touched;
use crate::type_state::TypeState;

/// A full-state type in state of the world: each answer holds everything that is subscribed, whatever caused it
/// (C-068, C-130). A rejected answer leaves nothing in doubt, because the next one is complete again (C-107).
pub(super) fn compose(state: &TypeState, set: &ResourceSet, now: &Circumstances<'_>) -> Outcome {
    let changes = Changes::between(&state.known, &state.subscription, set);
    let changed = !changes.is_empty();
    let owed = is_owed(state, set);
    if !owed && (!changed || now.hold) {
        return Outcome::silence(!changed);
    }
    let first = state.owed.wildcard || state.owed.all_names;
    let answer = Answer {
        resources: everything(state, set),
        bodyless: alloc::vec::Vec::new(),
        removed: alloc::vec::Vec::new(),
        touched: Touched::nothing(),
        reason: match changed && !first && !now.hold {
            true => Reason::Changed,
            false => Reason::Owed,
        },
        fresh: changes.selection(),
    };
    Outcome {
        answer: Some(answer),
        complete: true,
    }
}

/// A wildcard is owed an answer though there is nothing; names only where one of them exists.
fn is_owed(state: &TypeState, set: &ResourceSet) -> bool {
    let owed = &state.owed;
    let asked = owed.names.iter().filter(|(_, why)| **why == Why::Asked);
    owed.wildcard
        || (owed.all_names
            && state
                .subscription
                .names()
                .iter()
                .any(|name| set.contains(name)))
        || asked.map(|(name, _)| name).any(|name| set.contains(name))
}

fn everything(state: &TypeState, set: &ResourceSet) -> Selection {
    let subscription = &state.subscription;
    if subscription.is_pure_wildcard() {
        return Selection::wildcard(set);
    }
    if subscription.is_wildcard() {
        return Selection::of(set.iter().filter(|r| subscription.covers(r)).cloned());
    }
    let named = subscription.names().iter();
    Selection::of(named.filter_map(|name| set.get(name)).cloned())
}
