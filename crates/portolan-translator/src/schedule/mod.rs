//! Which group is translated next, and what of it: a state machine without a clock. `now` is the time since some fixed
//! moment.
//!
//! ```text
//!            came, or released         next               finish
//!   settled ───────────────────▶ queued ─────▶ running ─────────────▶ settled, or queued again
//!      │                                                              where a newer change was released meanwhile
//!      └── went, and the linger time passed ──▶ forgotten
//! ```
//!
//! Groups do not wait for each other: one whose translation is slow is only late itself. A group is translated from
//! the newest model there is when its turn comes, so one that waited long in the queue catches up in one step. A change
//! that names groups is none of the others' business.

mod assignment;
mod group;
mod queue;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use portolan_core::GroupKey;

pub(crate) use self::assignment::{AsksGuard, Assignment, Shown, Work};
use self::group::{Group, Leaving, State};
use self::queue::{Class, Queue};
use crate::Revision;
use crate::notices::{Marks, Notices};

/// The groups that are translated, and the order of their turns.
#[derive(Debug)]
pub(crate) struct Schedule<G, D> {
    groups: BTreeMap<G, Group<D>>,
    queue: Queue<G>,
    leaving: BTreeSet<(Duration, G)>,
    linger: Duration,
    most_details: usize,
    newest: Revision,
    /// The changes that concern every group.
    everyone: Marks,
    /// The newest of them that was released.
    everyone_due: Revision,
    /// The groups that a change concerns which was not released.
    named: BTreeSet<G>,
}

/// How a group's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// What is published shows the model.
    Current,
    /// The group keeps what it has.
    Failed,
    /// There was no thread for it.
    NotTried,
}

/// A group whose turn it is.
#[derive(Clone, Debug)]
pub(crate) struct Turn<G> {
    pub(crate) group: G,
    pub(crate) revision: Revision,
    /// Since when the group waited.
    pub(crate) since: Duration,
}

/// A group that is no longer translated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Forgotten<G> {
    pub(crate) group: G,
    /// Whether something was published for it.
    pub(crate) published: bool,
}

impl<G: GroupKey, D> Schedule<G, D> {
    /// `most_details` is how many a group remembers before it is translated in full instead.
    pub(crate) fn new(linger: Duration, most_details: usize) -> Self {
        Self {
            groups: BTreeMap::new(),
            queue: Queue::default(),
            leaving: BTreeSet::new(),
            linger,
            most_details,
            newest: Revision::NONE,
            everyone: Marks::default(),
            everyone_due: Revision::NONE,
            named: BTreeSet::new(),
        }
    }

    /// A newer model is there, which groups get from their next turn on, and changes that concern some of them.
    pub(crate) fn hand_in(&mut self, newest: Revision, notices: Notices<G, D>) {
        // Whom the first change concerns does not matter: whoever is here has nothing yet.
        if self.newest == Revision::NONE {
            self.everyone.newest = newest;
        }
        self.newest = newest;
        self.everyone = self.everyone.and(notices.everyone);
        for (name, marks) in notices.named {
            if let Some(group) = self.groups.get_mut(&name) {
                group.own = group.own.and(marks);
                self.named.insert(name);
            }
        }
        for (names, detail) in notices.details {
            match names {
                None => {
                    for group in self.groups.values_mut() {
                        group.note(detail.clone(), self.most_details);
                    }
                }
                Some(names) => {
                    for name in names {
                        if let Some(group) = self.groups.get_mut(&name) {
                            group.note(detail.clone(), self.most_details);
                        }
                    }
                }
            }
        }
    }

    /// Every group is to be given what was handed in for it, for which it has waited since `since`.
    pub(crate) fn release(&mut self, since: Duration) {
        let named = std::mem::take(&mut self.named);
        if self.everyone.newest > self.everyone_due {
            self.everyone_due = self.everyone.newest;
            for (name, group) in &mut self.groups {
                group.release(self.everyone_due, since);
                group.queue_if_stale(name, &mut self.queue);
            }
            return;
        }
        for name in named {
            if let Some(group) = self.groups.get_mut(&name) {
                group.release(self.everyone_due, since);
                group.queue_if_stale(&name, &mut self.queue);
            }
        }
    }

    /// A group came. One that has not been translated is queued at once.
    pub(crate) fn came(&mut self, name: G, now: Duration) {
        let newest = self.newest;
        let group = self.groups.entry(name.clone());
        let group = group.or_insert_with(|| Group::new(newest));
        if let Leaving::At(at) = group.leaving {
            self.leaving.remove(&(at, name.clone()));
        }
        group.leaving = Leaving::No;
        let has_nothing = group.current == Revision::NONE;
        let may_help = group.attempted < newest;
        if has_nothing && may_help && matches!(group.state, State::Settled) {
            group.since = Some(now);
            group.state = State::Queued(self.queue.push(name, Class::New));
        }
    }

    /// A group went. It is forgotten once the linger time has passed, at once if it never had a turn.
    #[must_use]
    pub(crate) fn went(&mut self, name: &G, now: Duration) -> Option<Forgotten<G>> {
        let group = self.groups.get_mut(name)?;
        let at = now.saturating_add(self.linger);
        group.leaving = Leaving::At(at);
        if group.ending.is_none() && !matches!(group.state, State::Running(_)) {
            return Some(self.forget(name));
        }
        self.leaving.insert((at, name.clone()));
        None
    }

    /// When [`expire`](Self::expire) has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        self.leaving.first().map(|(at, _)| *at)
    }

    /// Forgets groups whose linger time has passed. One that failed keeps its last good publication until it is
    /// translated again.
    pub(crate) fn expire(&mut self, now: Duration) -> Vec<Forgotten<G>> {
        let mut forgotten = Vec::new();
        while let Some((at, name)) = self.leaving.pop_first() {
            if at > now {
                self.leaving.insert((at, name));
                break;
            }
            if let Some(group) = self.groups.get_mut(&name) {
                group.leaving = Leaving::Expired;
                forgotten.extend(self.forget_if_free(&name));
            }
        }
        forgotten
    }

    /// The group whose turn it is, if any waits. It is running until [`finish`](Self::finish).
    pub(crate) fn next(&mut self, now: Duration) -> Option<(Turn<G>, Assignment<D>)> {
        let name = self.queue.pop()?;
        let group = self.groups.get_mut(&name)?;
        group.state = State::Running(self.newest);
        let assignment = group.assignment(self.everyone);
        let turn = Turn {
            group: name,
            revision: self.newest,
            since: group.since.take().unwrap_or(now),
        };
        Some((turn, assignment))
    }

    /// A turn ended; with what is published for the group, where it shows the model. May say that the group is
    /// forgotten now.
    #[must_use]
    pub(crate) fn finish(
        &mut self,
        turn: &Turn<G>,
        ending: Ending,
        shown: Option<Shown>,
    ) -> Option<Forgotten<G>> {
        let group = self.groups.get_mut(&turn.group)?;
        group.finish(turn.revision, turn.since, ending, shown);
        if group.leaving == Leaving::Expired
            && let Some(forgotten) = self.forget_if_free(&turn.group)
        {
            return Some(forgotten);
        }
        if let Some(group) = self.groups.get_mut(&turn.group) {
            group.queue_if_stale(&turn.group, &mut self.queue);
        }
        None
    }

    /// Whether what a turn came to after it had been finished may still count: the group had no other turn since, and
    /// none is coming.
    pub(crate) fn takes_late(&self, turn: &Turn<G>) -> bool {
        self.groups.get(&turn.group).is_some_and(|group| {
            group.attempted == turn.revision && matches!(group.state, State::Settled)
        })
    }

    /// Queues the groups for which there was no thread.
    pub(crate) fn retry_not_tried(&mut self) {
        for (name, group) in &mut self.groups {
            if group.ending == Some(Ending::NotTried) && matches!(group.state, State::Settled) {
                group.state = State::Queued(self.queue.push(name.clone(), Class::Stale));
            }
        }
    }

    /// Whether no group waits for a turn.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// The groups that have not had a turn with what was handed in for them, and the model that they wait for.
    pub(crate) fn behind(&self) -> BTreeMap<G, Revision> {
        let wanted = self.groups.iter().filter_map(|(name, group)| {
            let newest = group.own.newest.max(self.everyone.newest);
            (group.attempted < newest).then(|| (name.clone(), newest))
        });
        wanted.collect()
    }

    /// Newest model that a group's turns came to an end with, whichever; `None` for a group that is not translated.
    pub(crate) fn attempted(&self, name: &G) -> Option<Revision> {
        self.groups.get(name).map(|group| group.attempted)
    }

    fn forget_if_free(&mut self, name: &G) -> Option<Forgotten<G>> {
        let free = self.groups.get(name)?.is_free();
        free.then(|| self.forget(name))
    }

    fn forget(&mut self, name: &G) -> Forgotten<G> {
        let group = self.groups.remove(name);
        self.named.remove(name);
        if let Some(State::Queued(place)) = group.as_ref().map(|group| group.state) {
            self.queue.remove(place);
        }
        Forgotten {
            group: name.clone(),
            published: group.is_some_and(|group| group.current > Revision::NONE),
        }
    }
}
