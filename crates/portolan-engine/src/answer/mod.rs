//! Puts a response together: what is owed, what changed, and how the type and the variant want it said.

mod changes;
mod failed;
mod full_state;
mod partial;
mod split;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use portolan_core::{Name, ResourceSet, Selection, Snapshot};

use self::changes::Changes;
use crate::touched::Touched;
use crate::type_state::TypeState;
use crate::{Reason, SessionConfig, Variant};

/// What a type's answer depends on besides its own state.
#[derive(Debug)]
pub(crate) struct Circumstances<'a> {
    pub(crate) variant: Variant,
    pub(crate) config: &'a SessionConfig,
    pub(crate) snapshot: &'a Snapshot,
    /// Changes wait; only what is owed goes.
    pub(crate) hold: bool,
    /// What is named as removed where a wildcard covers nothing and silence would leave the client waiting.
    pub(crate) stand_ins: Vec<Name>,
}

/// What to say of one type.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Resources, and the errors that stand in the place of some.
    pub(crate) resources: Selection,
    pub(crate) bodyless: Vec<Name>,
    pub(crate) removed: Vec<Name>,
    pub(crate) touched: Touched,
    pub(crate) reason: Reason,
    /// What is new or changed for the client among the resources.
    pub(crate) fresh: Selection,
}

impl Answer {
    pub(crate) fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.removed.is_empty() && self.bodyless.is_empty()
    }

    /// The answer without what is not subscribed, and without saying that what was asked for meanwhile is gone: that
    /// is answered next, from newer data. What is gone is `aliased` where it was wanted by an alias.
    pub(crate) fn still_wanted(mut self, state: &TypeState, aliased: &BTreeSet<Name>) -> Self {
        let (subscription, owed) = (&state.subscription, &state.owed);
        if !self.resources.iter().all(|r| subscription.covers(r)) {
            let wanted = self.resources.iter().filter(|r| subscription.covers(r));
            self.resources = Selection::of(wanted.cloned());
        }
        let is_wanted = |name: &Name| subscription.covers_name(name) || aliased.contains(name);
        self.removed
            .retain(|name| is_wanted(name) && !owed.is_asked(name));
        self.bodyless.retain(|name| subscription.covers_name(name));
        self
    }
}

/// What became of a type in a turn.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) answer: Option<Answer>,
    /// Whether the client, told this answer, has all that it subscribes.
    pub(crate) complete: bool,
}

impl Outcome {
    const fn silence(complete: bool) -> Self {
        Self {
            answer: None,
            complete,
        }
    }
}

/// Says what there is to say of one type now.
pub(crate) fn compose(state: &TypeState, set: &ResourceSet, now: &Circumstances<'_>) -> Outcome {
    if state.is_full_state(now.variant) {
        return full_state::compose(state, set, now);
    }
    let mut outcome = partial::compose(state, set, now);
    if let Some(answer) = outcome
        .answer
        .as_mut()
        .filter(|_| now.variant == Variant::Delta)
    {
        failed::tell_missing(answer, state);
    }
    outcome
}
