use std::sync::Arc;

use portolan_core::{Generation, ValueId};

/// What is to be done in a turn.
#[derive(Debug)]
pub(crate) struct Assignment<D> {
    pub(crate) work: Work<D>,
    /// What was published last; a change builds on nothing else.
    pub(crate) shown: Option<Shown>,
    pub(crate) asks_guard: AsksGuard,
}

/// What has to be translated.
#[derive(Debug)]
pub(crate) enum Work<D> {
    Everything,
    Endpoints,
    /// What these details speak of, in order.
    Details(Vec<Arc<D>>),
}

/// What the loop published for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) generation: Generation,
    /// The snapshot: either of these, for a cache may keep its own where the new one is equal.
    pub(crate) value: [ValueId; 2],
}

impl Shown {
    /// Whether a snapshot is what was published, and not somebody else's.
    pub(crate) fn is(&self, snapshot: ValueId) -> bool {
        self.value.contains(&snapshot)
    }
}

/// Whether the guard against mass deletions has a say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsksGuard {
    /// It does.
    Yes,
    /// A change was allowed that lies between what is published and what is next.
    No,
}
