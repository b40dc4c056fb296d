//! What a client wants of a type, as the specification tells it: a few lines beside the session's many.

use std::collections::BTreeSet;

use crate::ops::{is_on_demand, name};

#[derive(Clone, Debug, Default)]
pub(crate) struct Wants {
    pub(crate) names: BTreeSet<String>,
    pub(crate) wildcard: bool,
    begun: bool,
    ever_named: bool,
}

impl Wants {
    /// A state-of-the-world request for exactly `names`.
    pub(crate) fn ask(&mut self, names: &[String], legacy: bool) {
        self.ever_named |= !names.is_empty();
        let star = names.iter().any(|n| n == "*");
        self.wildcard = star || (legacy && !self.ever_named);
        self.names = names.iter().filter(|n| *n != "*").cloned().collect();
        self.begun = true;
    }

    /// A delta request that adds and takes away names.
    pub(crate) fn change(&mut self, sub: &[String], unsub: &[String], legacy: bool) {
        let first = !std::mem::replace(&mut self.begun, true);
        self.wildcard |= first && legacy && sub.is_empty() && unsub.is_empty();
        for name in sub {
            match name.as_str() {
                "*" => self.wildcard = true,
                _ => drop(self.names.insert(name.clone())),
            }
        }
        for name in unsub {
            match name.as_str() {
                "*" => self.wildcard = false,
                _ => drop(self.names.remove(name)),
            }
        }
    }

    /// The stream is gone.
    pub(crate) fn forget(&mut self) -> Self {
        std::mem::take(self)
    }

    pub(crate) fn begun(&self) -> bool {
        self.begun
    }

    /// Whether everything was wanted as long as the stream lived.
    pub(crate) fn always_everything(&self) -> bool {
        self.wildcard && !self.ever_named
    }

    pub(crate) fn covers(&self, of_type: usize, number: usize) -> bool {
        (self.wildcard && !is_on_demand(of_type, number)) || self.names.contains(&name(number))
    }
}
