//! What a client wants of a type, as the specification tells it: a few lines beside the session's many.

use std::collections::BTreeSet;

use crate::content::{Content, KINDS, is_on_demand};
use crate::message::Ask;

#[derive(Clone, Debug, Default)]
pub(crate) struct Wants {
    pub(crate) names: BTreeSet<usize>,
    pub(crate) wildcard: bool,
    pub(crate) begun: bool,
    ever_named: bool,
}

impl Wants {
    /// A state-of-the-world request for exactly the names of `ask`.
    pub(crate) fn replace(&mut self, ask: &Ask) {
        self.begun = true;
        self.ever_named |= ask.star || !ask.names.is_empty();
        self.wildcard = ask.star || (KINDS[ask.at].legacy && !self.ever_named);
        self.names = ask.names.iter().copied().collect();
    }

    /// A delta request that adds names, and then takes some away.
    pub(crate) fn change(&mut self, ask: &Ask) {
        let first = !std::mem::replace(&mut self.begun, true);
        self.wildcard |= ask.star || (first && KINDS[ask.at].legacy && ask.is_empty());
        self.wildcard &= !ask.unstar;
        self.names.extend(&ask.names);
        self.names.retain(|name| !ask.unsub.contains(name));
    }

    pub(crate) fn is_pure_wildcard(&self) -> bool {
        self.wildcard && self.names.is_empty()
    }

    pub(crate) fn covers_name(&self, number: usize) -> bool {
        self.wildcard || self.names.contains(&number)
    }

    pub(crate) fn covers(&self, at: usize, number: usize, content: Content) -> bool {
        (self.wildcard && !is_on_demand(at, number, content)) || self.names.contains(&number)
    }
}
